/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded rows of one column: what a stretch of pages holds. A slab is not changed once it is made,
 * so any thread may read it. */
#ifndef CW_FORMAT_PARQUET_SLAB_H
#define CW_FORMAT_PARQUET_SLAB_H

#include "format/parquet/page_map.h"
#include "format/parquet/values.h"

#define CW_PQ_BYTES_MAX ((size_t)2 << 30) /* of one slab, unless less is allowed */

/* How values are changed on their way from the file. */
enum cw_pq_change {
    CW_PQ_SAME,
    CW_PQ_TO_8, /* an INT32 of 8 or 16 bits */
    CW_PQ_TO_16,
    CW_PQ_INT96_NS,    /* days and nanoseconds: i64 nanoseconds since 1970 */
    CW_PQ_DECIMAL_F64, /* unscaled integers */
    CW_PQ_DECIMAL_I64
};
/* What is wanted of a column. */
struct cw_pq_want {
    const struct cw_pq_leaf *leaf;
    enum cw_pq_change change;
    size_t width;     /* bytes of a value; 0: strings */
    const void *fill; /* the value of nulls; NULL: rows with nulls are marked */
    size_t fill_bytes;
    size_t bytes_max; /* limit of a page, and of a slab */
};
/* Says which dtype (and how many values, for u8[n]) the values of a leaf have, and how they get it.
 * Errors: what cannot be read, without the file's name. decimals: CW_DTYPE_STR: refused, else F64 or
 * I64. */
int cw_pq_leaf_dtype(const struct cw_pq_leaf *leaf, enum cw_dtype decimals,
                     enum cw_dtype *ret_dtype, int64_t *ret_dim, enum cw_pq_change *ret_change,
                     struct cw_err *err);

/* Bytes before the values of a column that may be written to while they are made. */
enum { CW_PQ_COLUMN_FRONT = 64 };
/* A dictionary, and the values of a slab. */
struct cw_pq_column {
    size_t n;
    uint8_t *fixed; /* n values, behind CW_PQ_COLUMN_FRONT bytes; NULL for strings */
    size_t fixed_cap;
    struct cw_byte_strings strings;
    bool has_dict; /* the strings of the dictionary lie at dict_at */
    size_t dict_at;
};
struct cw_pq_slab {
    int64_t first; /* row in the row group */
    size_t rows;
    struct cw_pq_column values;
    uint64_t *entry; /* lists: the entries of row i are entry[i] to entry[i + 1]; NULL: no lists */
    uint8_t *null;   /* rows with a null that is not filled are 1; NULL: there are none */
    size_t bytes;    /* memory that the slab takes */
};
void cw_pq_column_fini(struct cw_pq_column *column);
size_t cw_pq_column_cost(const struct cw_pq_column *column);
void cw_pq_slab_fini(struct cw_pq_slab *slab);
/* The end of the memory of values, or of the bytes of strings. */
static inline const uint8_t *cw_pq_slab_readable(const struct cw_pq_slab *slab)
{
    const struct cw_pq_column *c = &slab->values;
    return c->fixed ? c->fixed + c->fixed_cap : c->strings.bytes + c->strings.cap;
}

/* Memory that is only needed while a slab is read, and may be used again for the next one. Zeroed: none. */
struct cw_pq_bytes {
    uint8_t *p;
    size_t cap;
};
struct cw_pq_scratch {
    struct cw_pq_bytes raw, page, rep, def, mask;
};
void cw_pq_scratch_fini(struct cw_pq_scratch *scratch);
size_t cw_pq_scratch_bytes(const struct cw_pq_scratch *scratch);

int cw_pq_dictionary_read(const struct cw_readable *file, const struct cw_pq_want *want,
                          const struct cw_pq_chunk *chunk, const struct cw_pq_pages *pages,
                          struct cw_pq_scratch *scratch, struct cw_pq_column *ret_dict,
                          struct cw_err *err);
/* Reads stretch k. dict may be NULL if there is none. Errors name the file, the column, and the byte
 * of the page. */
int cw_pq_slab_read(const struct cw_readable *file, const struct cw_pq_want *want,
                    const struct cw_pq_chunk *chunk, const struct cw_pq_pages *pages, size_t k,
                    const struct cw_pq_column *dict, struct cw_pq_scratch *scratch,
                    struct cw_pq_slab *ret_slab, struct cw_err *err);

#endif
