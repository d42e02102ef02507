/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of a source of tables, put together of slabs: decoded rows of one column, which a format has
 * made and the source's cache keeps. Threads have seats, where the slabs that they used last are at
 * hand. */
#ifndef CW_OPS_SOURCE_TABLE_ROWS_H
#define CW_OPS_SOURCE_TABLE_ROWS_H

#include "format/byte_strings.h"
#include "ops/source/file_source.h"
#include "ops/source/table_cache.h"
#include "ops/source/table_fields.h"

/* As many slabs as a window of `shuffle` has blocks, and those that its bounds cut. */
enum { CW_TABLE_SEATS = 64, CW_TABLE_PINS = 20 };

/* A slab as it is read: memory of the thing that it is of. */
struct cw_table_slab {
    int64_t begin, end;   /* positions in the source */
    const uint8_t *fixed; /* values of fixed size; NULL: strings */
    const struct cw_byte_ref *refs;
    const uint8_t *bytes;    /* of strings */
    const uint8_t *readable; /* the end of the memory of values, or of the bytes of strings */
    const uint64_t
        *entry; /* lists: the entries of row i are entry[i] to entry[i + 1]; NULL: no lists */
    const uint8_t *null; /* rows with a null that is not filled are 1; NULL: there are none */
};
/* What a thread keeps at hand of a column. */
struct cw_table_pins {
    unsigned last, next; /* which was used last, and which is replaced next */
    int64_t begins[CW_TABLE_PINS],
        ends[CW_TABLE_PINS];                      /* positions of the slabs, to look through */
    struct cw_table_thing *things[CW_TABLE_PINS]; /* NULL: none */
    struct cw_table_slab slabs[CW_TABLE_PINS];
};
/* Used by one thread at a time. */
struct cw_table_seat {
    _Atomic(bool) is_taken;
    _Atomic(bool)
        must_clear; /* memory is short, and who sits here has not given back what is kept */
    size_t counted; /* bytes of what the pointers point to, as the cache was told */
    struct cw_table_pins *columns; /* NULL: nobody has sat here yet */
    struct cw_table_order *order;  /* memory for that of many rows; NULL: not needed yet */
    struct cw_table_stage *stage;  /* for values without a fixed size; NULL: not needed yet */
    uint8_t apart[24];             /* no other seat in the same cache line */
};
/* Finds the slab that has a position of a column, and the thing that it is of, which it does not give
 * back. */
typedef int cw_table_find_fn(void *arg, size_t column, int64_t pos, struct cw_table_slab *ret_slab,
                             struct cw_table_thing **ret_thing, struct cw_err *err);

struct cw_table_rows {
    const struct cw_file_source *source;
    const struct cw_table_fields *fields;
    struct cw_table_cache *cache;
    cw_table_find_fn *find;
    void *arg;
    struct cw_table_seat seats[CW_TABLE_SEATS];
    size_t at[CW_FIELDS_MAX]; /* where fields of fixed size lie in the memory of an element */
    size_t fixed_bytes;
    bool is_fixed[CW_FIELDS_MAX];
};
/* Sets up zeroed rows. Borrows all but the cache, which it takes. */
void cw_table_rows_init(struct cw_table_rows *rows, const struct cw_file_source *source,
                        const struct cw_table_fields *fields, struct cw_table_cache *cache,
                        cw_table_find_fn *find, void *arg);
void cw_table_rows_fini(struct cw_table_rows *rows);
/* Gives back what threads keep at hand; one that reads at the moment does so when it has read. The cache calls it
 * (cw_table_cache_lend), unless the source has it call a function of its own. arg: the rows. */
void cw_table_rows_let_go(void *arg);
/* For `read`, `read_rows` and `read_loose` of an operator. */
int cw_table_rows_read(struct cw_table_rows *rows, const struct cw_op_ctx *ctx, int64_t pos,
                       struct cw_element *ret_element, struct cw_err *err);
int cw_table_rows_read_many(struct cw_table_rows *rows, const int64_t *positions, size_t n,
                            const struct cw_column *columns);
int cw_table_rows_read_loose(struct cw_table_rows *rows, const struct cw_loose_rows *loose);

#endif
