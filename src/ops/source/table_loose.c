/* SPDX-License-Identifier: Apache-2.0 */
/* Reads many rows of tables at once of which fields are strings or lists of any length. The values of a column are
 * first put one behind another in the order in which they lie in the table, so that each slab is looked for once and
 * read from its begin to its end, and from there in the order that was asked for. */
#include "base/mem.h"
#include "ops/source/table_rows_int.h"

/* Short values are copied as so many bytes, whatever lies behind them: that takes no branch. */
enum { SHORT = 64 };
#define STAGE_KEPT_MAX ((size_t)4 << 20) /* bytes that a thread keeps for the next rows */

/* A column that is staged. */
struct staged {
    struct cw_table_rows *rows;
    struct cw_table_seat *seat;
    const struct cw_table_order *order;
    struct cw_table_stage *stage;
    const struct cw_table_slab *slab;
    size_t column, entry_bytes; /* 0: strings */
};

/* Copies n bytes to memory with room for SHORT more, from memory that can be read up to `readable`. */
static inline void copy(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t *readable)
{
    if (n <= SHORT && (size_t)(readable - src) >= SHORT)
        memcpy(dst, src, SHORT);
    else if (n > 0)
        memcpy(dst, src, n);
}

static int grow(struct cw_table_stage *stage, size_t n)
{
    const size_t cap = CW_MAX(2 * stage->cap, stage->used + n + SHORT);
    uint8_t *grown = n < SIZE_MAX / 4 ? cw_mem_try_grow(stage->bytes, cap) : NULL;
    if (!grown)
        return CW_E_NOMEM;
    stage->bytes = grown;
    stage->cap = cap;
    return 0;
}

/* Appends the value of the i-th row in order. */
static inline int append(const struct staged *s, size_t i, const uint8_t *value, size_t n)
{
    struct cw_table_stage *stage = s->stage;
    const size_t place = cw_table_order_place(s->order, i);
    if (CW_UNLIKELY(stage->cap < SHORT || n > stage->cap - SHORT - stage->used) &&
        grow(stage, n) < 0)
        return CW_E_NOMEM;
    copy(stage->bytes + stage->used, value, n, s->slab->readable);
    stage->places[place].at = stage->used;
    stage->places[place].n = n;
    stage->used += n;
    return 0;
}

static size_t row_of(const struct staged *s, size_t i)
{
    return (size_t)(cw_table_order_position(s->order, i) - s->slab->begin);
}

/* Rows that lie far from each other are not in the processor's cache: what is needed of a row is asked for while
 * others before it are copied, first where its value is, and then the value. */
enum { FAR = 16, NEAR = 8 };

static inline __attribute__((always_inline)) void ask_for_string(const struct staged *s, size_t i,
                                                                 size_t end)
{
    if (i + FAR >= end)
        return;
    __builtin_prefetch(&s->slab->refs[row_of(s, i + FAR)]);
    __builtin_prefetch(s->slab->bytes + s->slab->refs[row_of(s, i + NEAR)].at);
}

static int append_strings(const struct staged *s, size_t i, size_t end)
{
    const struct cw_table_slab *slab = s->slab;
    for (; i < end; i++) {
        const struct cw_byte_ref *ref = &slab->refs[row_of(s, i)];
        ask_for_string(s, i, end);
        if (append(s, i, slab->bytes + ref->at, ref->n) < 0)
            return CW_E_NOMEM;
    }
    return 0;
}

static inline __attribute__((always_inline)) void ask_for_list(const struct staged *s, size_t i,
                                                               size_t end)
{
    if (i + FAR >= end)
        return;
    __builtin_prefetch(&s->slab->entry[row_of(s, i + FAR)]);
    __builtin_prefetch(s->slab->fixed + s->slab->entry[row_of(s, i + NEAR)] * s->entry_bytes);
}

static int append_lists(const struct staged *s, size_t i, size_t end)
{
    const struct cw_table_slab *slab = s->slab;
    for (; i < end; i++) {
        const uint64_t *entry = &slab->entry[row_of(s, i)];
        ask_for_list(s, i, end);
        if (append(s, i, slab->fixed + entry[0] * s->entry_bytes,
                   (entry[1] - entry[0]) * s->entry_bytes) < 0)
            return CW_E_NOMEM;
    }
    return 0;
}

static bool has_null(const struct staged *s, size_t i, size_t end)
{
    const uint8_t *null = s->slab->null;
    while (null && i < end && !null[row_of(s, i)])
        i++;
    return null && i < end;
}

/* Puts the values of all rows into the stage. */
static int stage_values(struct staged *s)
{
    int rc = 0;
    s->stage->used = 0;
    for (size_t i = 0, end; rc == 0 && i < s->order->n; i = end) {
        rc = cw_table_seat_find(s->rows, s->seat, s->column, cw_table_order_position(s->order, i),
                                &s->slab, NULL);
        if (rc < 0)
            return rc;
        end = cw_table_order_end(s->order, s->slab, i);
        if (has_null(s, i, end) || (s->entry_bytes ? !s->slab->entry : !s->slab->refs))
            return CW_E_INVALID; /* read one by one, it is said why */
        rc = s->entry_bytes ? append_lists(s, i, end) : append_strings(s, i, end);
    }
    return rc;
}

/* Puts them from there into their order. */
static int unstage(const struct cw_table_stage *stage, bool is_as_asked,
                   const struct cw_loose_rows *loose, struct cw_loose_column *column)
{
    const uint8_t *readable = stage->bytes + stage->cap;
    uint8_t *dst = loose->get(loose->arg, stage->used + SHORT);
    size_t at = 0;
    if (!dst)
        return CW_E_NOMEM;
    if (is_as_asked && stage->used > 0)
        memcpy(dst, stage->bytes, stage->used);
    for (size_t i = 0; i < loose->n; i++) {
        if (!is_as_asked)
            copy(dst + at, stage->bytes + stage->places[i].at, stage->places[i].n, readable);
        at += stage->places[i].n;
        column->ends[i] = (int64_t)at;
    }
    column->data = dst;
    column->bytes = at;
    return 0;
}

static int read_loose_field(struct staged *s, const struct cw_field *field,
                            const struct cw_loose_rows *loose, struct cw_loose_column *column)
{
    s->entry_bytes = field->dtype == CW_DTYPE_STR ? 0 : cw_table_entry_bytes(field);
    int rc = stage_values(s);
    return rc < 0 ? rc : unstage(s->stage, s->order->is_as_asked, loose, column);
}

static int read_fields(struct cw_table_rows *r, struct cw_table_seat *seat,
                       const struct cw_loose_rows *loose)
{
    struct cw_table_copied fixed = {.rows = r, .seat = seat, .order = seat->order};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < r->fields->spec.n; i++) {
        struct cw_loose_column *column = &loose->columns[i];
        struct staged s = {.rows = r,
                           .seat = seat,
                           .order = seat->order,
                           .stage = seat->stage,
                           .column = fixed.column};
        if (column->ends) {
            rc = read_loose_field(&s, &r->fields->spec.fields[i], loose, column);
            fixed.column++;
        } else {
            rc = cw_table_field_copy(&fixed, i, NULL, loose->n, column->data);
        }
    }
    return rc;
}

int cw_table_rows_read_loose(struct cw_table_rows *r, const struct cw_loose_rows *loose)
{
    CW_ASSERT(loose->n <= CW_TABLE_ORDER_ROWS);
    if (loose->n == 0)
        return 0;
    struct cw_table_seat *seat = cw_table_seat_take(r);
    if (!seat->order)
        seat->order = CW_NEW(struct cw_table_order);
    if (!seat->stage)
        seat->stage = CW_NEW(struct cw_table_stage);
    cw_table_order_sort(seat->order, loose->positions, loose->n);
    int rc = read_fields(r, seat, loose);
    if (seat->stage->cap > STAGE_KEPT_MAX) {
        cw_mem_free(seat->stage->bytes);
        seat->stage->bytes = NULL;
        seat->stage->cap = 0;
    }
    cw_table_seat_leave(r, seat);
    return rc;
}
