/* SPDX-License-Identifier: Apache-2.0 */
/* Ragged tensors: the rows of a batch whose shapes differ (docs/decisions/0004-ragged.md). The dims
 * of the field are [n, ...], with CW_DIM_RAGGED where rows differ. In memory:
 *
 *     int64_t begins[n + 1]    where each row begins; the last entry is the end of all
 *     int64_t shapes[n][rank]  the shape of each row; only if more than its first dim differs
 *     zeros up to a multiple of 64 bytes
 *     the values of all rows, one row after another
 *
 * Of strings, whose rows are lists, begins counts strings, and the values are one list of all
 * (data/strings.h).
 *
 * If only the first dim of rows differs, their other dims follow from the field, and begins counts
 * along that first dim: row i is values[begins[i]:begins[i + 1]]. Otherwise it counts values. */
#ifndef CW_DATA_RAGGED_H
#define CW_DATA_RAGGED_H

#include "data/element.h"

struct cw_ragged {
    const struct cw_field *field; /* of the tensor */
    int64_t rows;
    int rank;     /* of a row */
    bool shaped;  /* shapes are stored */
    bool strings; /* rows are lists of strings */
    /* bytes that begins counts as one; of strings 0 */
    int64_t unit_bytes;
    size_t shapes_at, values_at; /* offsets from the begin of the tensor */
};

/* Fills in the layout of a ragged field whose number of rows is known. LIMIT: it cannot be in
 * memory. */
int cw_ragged_init(struct cw_ragged *ret_ragged, const struct cw_field *field, struct cw_err *err);
/* Whether the shapes of rows would be stored: it is not only their first dim that differs. */
bool cw_ragged_is_shaped(const struct cw_field *field);
/* Checks the begins and shapes of a tensor that a peer or a file claims to be ragged. data: `bytes`
 * bytes; NULL if there are none. The message does not name the field. */
int cw_ragged_check(const struct cw_ragged *ragged, const void *data, size_t bytes,
                    struct cw_err *err);
/* Returns where row r begins, in the unit of begins; for r = rows the end of all. */
int64_t cw_ragged_begin(const void *data, int64_t r);
/* Makes a view of row r of a tensor that is sound. That of a list of strings has no data: these are
 * copied by cw_ragged_copy_strings to memory of its bytes. */
void cw_ragged_row(const struct cw_ragged *ragged, const void *data, int64_t r,
                   struct cw_view *ret_row);

void cw_ragged_copy_strings(const struct cw_ragged *ragged, const void *data, int64_t r, void *dst);

/* A ragged tensor as plain ones. Without shapes, `shapes` is zeroed. */
struct cw_ragged_parts {
    struct cw_view begins; /* i64[n + 1] */
    struct cw_view shapes; /* i64[n, rank], if shapes are stored */
    struct cw_view values; /* of one dimension if shapes are stored, otherwise like a row */
};
/* Splits a sound tensor. INVALID: the field is not ragged. */
int cw_ragged_split(const struct cw_field *field, const void *data, size_t bytes,
                    struct cw_ragged_parts *ret_parts);

/* ---- writing a tensor: rows in order ---- */

struct cw_ragged_writer {
    struct cw_ragged ragged;
    char *data;
    int64_t row;
    int64_t at; /* in the unit of begins */
};
/* data: memory for the whole tensor, at an address that fits int64_t. */
int cw_ragged_write_begin(struct cw_ragged_writer *writer, const struct cw_field *field, void *data,
                          struct cw_err *err);
/* Writes begin and shape of the next row, and returns where its values are to be copied; of strings: of
 * no use, the list stands behind the tensor's values_at. dims: of the row, which fit the field. */
void *cw_ragged_write_row(struct cw_ragged_writer *writer, const int64_t *dims);

#endif
