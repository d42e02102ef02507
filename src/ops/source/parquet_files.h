/* SPDX-License-Identifier: Apache-2.0 */
/* The open state of the source `parquet`: files with their footers, and what was decoded of them. */
#ifndef CW_OPS_SOURCE_PARQUET_FILES_H
#define CW_OPS_SOURCE_PARQUET_FILES_H

#include "ops/source/file_source.h"
#include "ops/source/parquet_cache.h"
#include "ops/source/parquet_fields.h"

enum { CW_PARQUET_SEATS = 64, CW_PARQUET_PINS = 4 };

/* What a thread keeps at hand of a column: the slabs that it used last. */
struct cw_parquet_pin {
    struct cw_parquet_thing *thing; /* NULL: none */
    int64_t begin, end;             /* positions in the source */
    unsigned next;                  /* of a column's first: which is replaced next */
};
/* Used by one thread at a time. */
struct cw_parquet_seat {
    _Atomic(bool) is_taken;
    struct cw_parquet_pin *pins; /* CW_PARQUET_PINS for each column */
    uint8_t apart[48];           /* no other seat in the same cache line */
};
struct cw_parquet_state {
    struct cw_file_source source; /* loads the footer of each file */
    const struct cw_parquet_opts *opts;
    struct cw_parquet_fields fields;
    struct cw_parquet_cache *cache;
    struct cw_parquet_seat seats[CW_PARQUET_SEATS];
    size_t at[CW_FIELDS_MAX]; /* where fields of fixed size lie in the memory of an element */
    size_t fixed_bytes;
    bool is_fixed[CW_FIELDS_MAX];
};

int cw_parquet_files_open(const struct cw_parquet_opts *opts, const struct cw_op_open *how,
                          struct cw_parquet_state **ret_state, struct cw_err *err);
void cw_parquet_files_close(struct cw_parquet_state *state);

struct cw_parquet_seat *cw_parquet_seat_take(struct cw_parquet_state *state);
void cw_parquet_seat_leave(struct cw_parquet_seat *seat);
/* Finds the slab that has a position of a column; it stays until the seat is asked for other slabs
 * of the column. *ret_row: its row of the slab; *ret_rows: how many follow from there on. */
int cw_parquet_slab_find(struct cw_parquet_state *state, struct cw_parquet_seat *seat,
                         size_t column, int64_t pos, const struct cw_pq_slab **ret_slab,
                         size_t *ret_row, size_t *ret_rows, struct cw_err *err);
/* Adds the bytes that a row is decoded of, for an operator's `ahead`. */
bool cw_parquet_ahead(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead);
/* What a row with a null, or a list of another length, is refused with. */
int cw_parquet_refuse(const struct cw_parquet_state *state, size_t column, int64_t pos,
                      const char *why, struct cw_err *err);

#endif
