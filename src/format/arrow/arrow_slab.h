/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded rows of one column of an Arrow file: some or all rows of a record batch. A slab is not changed
 * once it is made, so any thread may read it. */
#ifndef CW_FORMAT_ARROW_ARROW_SLAB_H
#define CW_FORMAT_ARROW_ARROW_SLAB_H

#include "format/arrow/buffers.h"
#include "format/arrow/head.h"
#include "format/byte_strings.h"

#define CW_ARROW_BYTES_MAX ((size_t)2 << 30) /* of one slab, unless less is allowed */

/* What is wanted of a column. */
struct cw_arrow_want {
    size_t leaf;
    const void *fill; /* the value of nulls; NULL: rows with nulls are marked */
    size_t fill_bytes;
    size_t bytes_max; /* limit of what a buffer unpacks to */
};
struct cw_arrow_slab {
    size_t rows, values_n;
    size_t width;   /* bytes of a value; 0: strings */
    uint8_t *fixed; /* values; NULL for strings */
    struct cw_byte_strings strings;
    uint64_t *entry; /* lists: the entries of row i are entry[i] to entry[i + 1]; NULL: no lists */
    uint8_t *null;   /* rows with a null that is not filled are 1; NULL: there are none */
    size_t bytes;    /* memory that the slab takes */
};
void cw_arrow_slab_fini(struct cw_arrow_slab *slab);
/* The end of the memory of values, or of the bytes of strings. */
static inline const uint8_t *cw_arrow_slab_readable(const struct cw_arrow_slab *slab)
{
    return slab->fixed ? slab->fixed + slab->values_n * slab->width
                       : slab->strings.bytes + slab->strings.cap;
}

/* Reads n rows of a record batch from row `first` of it on. dictionary: the values of the column's
 * dictionary; NULL if it has none. Errors name the file, the column and the byte. */
int cw_arrow_slab_read(const struct cw_readable *file, const struct cw_arrow_head *head,
                       const struct cw_arrow_want *want, const struct cw_arrow_batch *batch,
                       const struct cw_arrow_places *places, int64_t first, int64_t n,
                       const struct cw_arrow_slab *dictionary, struct cw_arrow_slab *ret_slab,
                       struct cw_err *err);
/* Calls `add` with each range of the file that this reads, but for the head and the dictionary. What lies behind
 * offsets that were not read is estimated. */
void cw_arrow_slab_ranges(const struct cw_arrow_head *head, size_t leaf,
                          const struct cw_arrow_batch *batch, const struct cw_arrow_places *places,
                          int64_t first, int64_t n,
                          void (*add)(void *arg, uint64_t begin, uint64_t end), void *arg);
/* The same for the dictionary of a leaf that holds for a batch. */
void cw_arrow_dictionary_ranges(const struct cw_arrow_head *head, size_t leaf,
                                const struct cw_arrow_batch *batch,
                                void (*add)(void *arg, uint64_t begin, uint64_t end), void *arg);
/* Reads the dictionary of the wanted column that holds for a record batch: each value is a row. */
int cw_arrow_dictionary_read(const struct cw_readable *file, const struct cw_arrow_head *head,
                             const struct cw_arrow_want *want, const struct cw_arrow_batch *batch,
                             struct cw_arrow_slab *ret_slab, struct cw_err *err);

#endif
