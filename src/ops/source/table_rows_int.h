/* SPDX-License-Identifier: Apache-2.0 */
/* What the files table_*.c share that read rows of tables: the slab of a position, and the refusal of a row. */
#ifndef CW_OPS_SOURCE_TABLE_ROWS_INT_H
#define CW_OPS_SOURCE_TABLE_ROWS_INT_H

#include <string.h>

#include "ops/source/table_rows.h"

/* Rows that are read together; an order has an index of each in so many bits. */
enum { CW_TABLE_ORDER_BITS = 12, CW_TABLE_ORDER_ROWS = 1 << CW_TABLE_ORDER_BITS };

/* Positions of rows in ascending order, each with its place among those that were asked for: the position less
 * `first`, and the place in the lowest bits. */
struct cw_table_order {
    int64_t first;
    size_t n;
    bool is_as_asked; /* they were asked for in this order */
    uint64_t *sorted; /* one of the two */
    uint64_t memory[2][CW_TABLE_ORDER_ROWS];
};
/* Values of one column, one behind another in the order of the table, and where the value of each row is. */
struct cw_table_stage {
    uint8_t *bytes;
    size_t used, cap;
    struct {
        size_t at, n;
    } places[CW_TABLE_ORDER_ROWS];
};

static inline int64_t cw_table_order_position(const struct cw_table_order *order, size_t i)
{
    return order->first + (int64_t)(order->sorted[i] >> CW_TABLE_ORDER_BITS);
}

static inline size_t cw_table_order_place(const struct cw_table_order *order, size_t i)
{
    return order->sorted[i] & (CW_TABLE_ORDER_ROWS - 1);
}

static inline bool cw_table_slab_has(const struct cw_table_slab *slab, int64_t pos)
{
    return pos >= slab->begin && pos < slab->end;
}

/* Copies one value of a column of fixed width. */
static inline void cw_table_copy(uint8_t *dst, const uint8_t *src, size_t width)
{
    if (width == 4)
        memcpy(dst, src, 4);
    else if (width == 8)
        memcpy(dst, src, 8);
    else
        memcpy(dst, src, width);
}

/* ---- table_seats.c ---- */
void cw_table_seats_fini(struct cw_table_rows *rows);
/* Takes a seat that no other thread has, and leaves it. */
struct cw_table_seat *cw_table_seat_take(struct cw_table_rows *rows);
void cw_table_seat_leave(struct cw_table_rows *rows, struct cw_table_seat *seat);
/* Finds the slab that has a position of a column; it stays until the seat is asked for another slab of the
 * column. */
int cw_table_seat_find(struct cw_table_rows *rows, struct cw_table_seat *seat, size_t column,
                       int64_t pos, const struct cw_table_slab **ret_slab, struct cw_err *err);

/* ---- table_order.c ---- */
/* Sorts n positions, at most CW_TABLE_ORDER_ROWS. */
void cw_table_order_sort(struct cw_table_order *order, const int64_t *positions, size_t n);
/* Returns the end of the rows from i on that lie in the slab, which has row i. */
size_t cw_table_order_end(const struct cw_table_order *order, const struct cw_table_slab *slab,
                          size_t i);

/* ---- table_many.c ---- */
/* What is copied of the columns of fields of fixed size. */
struct cw_table_copied {
    struct cw_table_rows *rows;
    struct cw_table_seat *seat;
    size_t column;        /* the next one; a field moves it behind its own */
    size_t bytes, stride; /* of a value, and from one to the next where they are written */
    const struct cw_table_slab *slab;   /* that has the next value */
    const struct cw_table_order *order; /* of the rows; NULL: as they are asked for */
};
/* Copies a field of n rows. positions: used without an order. */
int cw_table_field_copy(struct cw_table_copied *copied, size_t field, const int64_t *positions,
                        size_t n, uint8_t *dst);

/* ---- table_rows.c ---- */
/* Bytes of one entry of a list: all dims but the first. */
size_t cw_table_entry_bytes(const struct cw_field *field);
/* Copies a value of fixed size: a scalar, one of a packed field, bytes of one length, or a list that must have
 * one. */
int cw_table_value_copy(struct cw_table_rows *rows, const struct cw_table_slab *slab, size_t column,
                        int64_t pos, size_t bytes, uint8_t *dst, struct cw_err *err);

#endif
