/* SPDX-License-Identifier: Apache-2.0 */
/* Reads many rows of tables at once, column by column. Rows that are asked for in any order are read in the order in
 * which they lie, so that each slab is looked for once, and written where they belong. */
#include "base/mem.h"
#include "ops/source/table_rows_int.h"

static int find(struct cw_table_copied *c, int64_t pos)
{
    return cw_table_seat_find(c->rows, c->seat, c->column, pos, &c->slab, NULL);
}

/* ---- in the order that is asked for ---- */

/* Copies the value at the first position and those of the positions behind it that are in the slab as
 * well. Returns how many it has copied, or < 0. */
static int64_t copy_values(const struct cw_table_copied *c, const int64_t *positions, size_t n,
                           uint8_t *dst)
{
    const uint8_t *values = c->slab->fixed, *null = c->slab->null;
    size_t i = 0;
    for (; i < n && cw_table_slab_has(c->slab, positions[i]); i++) {
        const size_t row = (size_t)(positions[i] - c->slab->begin);
        if (null && null[row])
            return CW_E_INVALID;
        cw_table_copy(dst + i * c->stride, values + row * c->bytes, c->bytes);
    }
    return (int64_t)i;
}

/* The same for positions that follow each other, if values do so as well; else 0. */
static int64_t copy_run(const struct cw_table_copied *c, const int64_t *positions, size_t n,
                        uint8_t *dst)
{
    const size_t row = (size_t)(positions[0] - c->slab->begin),
                 most = CW_MIN(n, (size_t)(c->slab->end - positions[0]));
    size_t run = 1;
    if (c->stride != c->bytes)
        return 0;
    while (run < most && positions[run] == positions[run - 1] + 1)
        run++;
    if (run < 8 || (c->slab->null && memchr(c->slab->null + row, 1, run)))
        return 0;
    memcpy(dst, c->slab->fixed + row * c->bytes, run * c->bytes);
    return (int64_t)run;
}

/* The same for lists that have one length. */
static int64_t copy_lists(const struct cw_table_copied *c, const int64_t *positions, size_t n,
                          uint8_t *dst)
{
    size_t i = 0;
    for (; i < n && cw_table_slab_has(c->slab, positions[i]); i++) {
        int rc = cw_table_value_copy(c->rows, c->slab, c->column, positions[i], c->bytes,
                                     dst + i * c->stride, NULL);
        if (rc < 0)
            return rc;
    }
    return (int64_t)i;
}

/* Copies the values of one column at these positions to every `stride` bytes. */
static int copy_as_asked(struct cw_table_copied *c, const int64_t *positions, size_t n,
                         uint8_t *dst)
{
    int64_t some;
    for (size_t i = 0; i < n; i += (size_t)some) {
        int rc = find(c, positions[i]);
        if (rc < 0)
            return rc;
        uint8_t *to = dst + i * c->stride;
        some = c->slab->entry ? copy_lists(c, positions + i, n - i, to)
                              : copy_run(c, positions + i, n - i, to);
        if (some == 0)
            some = copy_values(c, positions + i, n - i, to);
        if (some < 0)
            return (int)some;
    }
    return 0;
}

/* ---- in the order of the table ---- */

static uint8_t *place_of(const struct cw_table_copied *c, size_t i, uint8_t *dst)
{
    return dst + cw_table_order_place(c->order, i) * c->stride;
}

/* Copies values of `bytes` bytes each, which is a constant. */
static inline __attribute__((always_inline)) void scatter(const struct cw_table_copied *c, size_t i,
                                                          size_t end, size_t bytes, uint8_t *dst)
{
    const uint64_t *sorted = c->order->sorted;
    const uint64_t before = (uint64_t)(c->order->first - c->slab->begin);
    const uint8_t *values = c->slab->fixed;
    const size_t stride = c->stride;
    for (; i < end; i++)
        memcpy(dst + (sorted[i] & (CW_TABLE_ORDER_ROWS - 1)) * stride,
               values + ((sorted[i] >> CW_TABLE_ORDER_BITS) + before) * bytes, bytes);
}

/* Copies rows from i to `end`, all in the slab. */
static int copy_slab(const struct cw_table_copied *c, size_t i, size_t end, uint8_t *dst)
{
    int rc = 0;
    if (!c->slab->entry && !c->slab->null && c->bytes == 4)
        scatter(c, i, end, 4, dst);
    else if (!c->slab->entry && !c->slab->null && c->bytes == 8)
        scatter(c, i, end, 8, dst);
    else
        for (; rc == 0 && i < end; i++)
            rc = cw_table_value_copy(c->rows, c->slab, c->column,
                                     cw_table_order_position(c->order, i), c->bytes,
                                     place_of(c, i, dst), NULL);
    return rc;
}

static int copy_sorted(struct cw_table_copied *c, uint8_t *dst)
{
    int rc = 0;
    for (size_t i = 0, end; rc == 0 && i < c->order->n; i = end) {
        rc = find(c, cw_table_order_position(c->order, i));
        if (rc < 0)
            return rc;
        end = cw_table_order_end(c->order, c->slab, i);
        rc = copy_slab(c, i, end, dst);
    }
    return rc;
}

/* ---- all columns ---- */

int cw_table_field_copy(struct cw_table_copied *c, size_t i, const int64_t *positions, size_t n,
                        uint8_t *dst)
{
    const struct cw_table_fields *f = c->rows->fields;
    const struct cw_field *field = &f->spec.fields[i];
    int rc = 0;
    c->stride = (size_t)cw_field_bytes(field);
    c->bytes = f->is_packed[i] ? cw_dtype_bytes(field->dtype) : c->stride;
    for (; rc == 0 && c->column < f->columns_n && f->columns[c->column].field == i;
         c->column++, dst += c->bytes)
        rc = c->order ? copy_sorted(c, dst) : copy_as_asked(c, positions, n, dst);
    return rc;
}

/* Reads some rows, from row `at` of the columns on. */
static int read_some(struct cw_table_rows *r, struct cw_table_seat *seat,
                     const struct cw_table_order *order, const int64_t *positions, size_t n,
                     const struct cw_column *columns, size_t at)
{
    struct cw_table_copied c = {.rows = r, .seat = seat, .order = order};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < r->fields->spec.n; i++)
        rc = cw_table_field_copy(&c, i, positions, n,
                                 (uint8_t *)columns[i].data + at * columns[i].bytes);
    return rc;
}

/* Rows as they are asked for, few at a time: what is written of one column is then still in the processor's
 * cache for the next. */
enum { ROWS_AS_ASKED = 256 };

static int read_as_asked(struct cw_table_rows *r, struct cw_table_seat *seat,
                         const int64_t *positions, size_t n, const struct cw_column *columns)
{
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < n; at += ROWS_AS_ASKED)
        rc = read_some(r, seat, NULL, positions + at, CW_MIN(n - at, (size_t)ROWS_AS_ASKED),
                       columns, at);
    return rc;
}

static int read_sorted(struct cw_table_rows *r, struct cw_table_seat *seat,
                       const int64_t *positions, size_t n, const struct cw_column *columns)
{
    int rc = 0;
    if (!seat->order)
        seat->order = CW_NEW(struct cw_table_order);
    for (size_t at = 0, some; rc == 0 && at < n; at += some) {
        some = CW_MIN(n - at, (size_t)CW_TABLE_ORDER_ROWS);
        cw_table_order_sort(seat->order, positions + at, some);
        rc = read_some(r, seat, seat->order, positions + at, some, columns, at);
    }
    return rc;
}

/* So few are as fast unsorted. */
enum { UNSORTED_ROWS = 32 };

static bool is_ascending(const int64_t *positions, size_t n)
{
    size_t i = 1;
    while (i < n && positions[i] >= positions[i - 1])
        i++;
    return i >= n;
}

int cw_table_rows_read_many(struct cw_table_rows *r, const int64_t *positions, size_t n,
                            const struct cw_column *columns)
{
    struct cw_table_seat *seat = cw_table_seat_take(r);
    int rc = n <= UNSORTED_ROWS || is_ascending(positions, n)
                 ? read_as_asked(r, seat, positions, n, columns)
                 : read_sorted(r, seat, positions, n, columns);
    cw_table_seat_leave(r, seat);
    return rc;
}
