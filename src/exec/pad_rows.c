/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/pad_rows.h"

#include <string.h>

/* One field that is filled up. */
struct padding {
    const struct cw_field *field; /* what comes in */
    struct cw_pad how;
    struct cw_pad_shape shape; /* that all rows get */
};

static int find(const struct cw_plan_node *group, size_t f, struct padding *ret_padding)
{
    struct padding padding = {.field = &group->in->fields[f]};
    if (!group->op->group_pad(group->opts, group->in, f, &padding.how))
        return 0;
    *ret_padding = padding;
    return 1;
}

int cw_pad_check(const struct cw_plan_node *group, const struct cw_view *row, struct cw_err *err)
{
    struct padding padding;
    for (size_t f = 0; group->op->group_pad && f < group->in->n; f++) {
        const struct cw_view *view = &row[f];
        if (!find(group, f, &padding))
            continue;
        for (int d = 0; d < view->rank; d++)
            if (padding.how.on[d] && padding.how.to[d] >= 0 && view->dims[d] > padding.how.to[d])
                return cw_err_set(
                    err, CW_E_INVALID,
                    "field \"%s\": dimension %d is %lld, longer than the %lld to which "
                    "it is to be filled up",
                    padding.field->name, d, (long long)view->dims[d], (long long)padding.how.to[d]);
    }
    return 0;
}

/* Finds the shape that all rows get, and its bytes. */
static int measure(struct padding *padding, const struct cw_row_batch *rows, size_t f,
                   struct cw_err *err)
{
    const struct cw_field *field = padding->field;
    int64_t most[CW_RANK_MAX] = {rows->least};
    for (size_t r = 0; r < rows->n; r++)
        for (int d = 0; d < field->rank; d++)
            most[d] = CW_MAX(most[d], rows->row[r][f].dims[d]);
    int rc = cw_pad_measure(&padding->how, field->dtype, field->rank, most, &padding->shape, err);
    return rc < 0 ? cw_err_wrap(err, "field \"%s\"", field->name) : 0;
}

/* Makes the view of the lengths of a row. */
static int add_length(const struct padding *padding, const struct cw_view *from,
                      struct cw_arena *arena, struct cw_view *ret_view)
{
    int64_t *lengths = cw_arena_alloc(arena, CW_RANK_MAX * sizeof(*lengths));
    if (!lengths)
        return CW_E_NOMEM;
    const size_t n = cw_pad_lengths(&padding->how, from->rank, from->dims, lengths);
    *ret_view = (struct cw_view){.data = lengths,
                                 .bytes = n * sizeof(*lengths),
                                 .dtype = CW_DTYPE_I64,
                                 .rank = n > 1,
                                 .dims = {(int64_t)n}};
    return 0;
}

static int add_mask(const struct padding *padding, const struct cw_view *from,
                    struct cw_arena *arena, struct cw_view *ret_view)
{
    const struct cw_pad_shape *shape = &padding->shape;
    char *mask = cw_arena_alloc(arena, shape->mask_bytes + 1);
    if (!mask)
        return CW_E_NOMEM;
    cw_pad_mask(&padding->how, shape, from->dims, mask);
    *ret_view = (struct cw_view){
        .data = mask, .bytes = shape->mask_bytes, .dtype = CW_DTYPE_BOOL, .rank = shape->mask_rank};
    memcpy(ret_view->dims, shape->dims, sizeof(ret_view->dims));
    return 0;
}

/* Fills one field of a row up. */
static int pad_row(const struct padding *padding, const struct cw_view *from,
                   struct cw_arena *arena, struct cw_view *row, size_t f)
{
    const struct cw_pad_shape *shape = &padding->shape;
    char *to = cw_arena_alloc(arena, shape->bytes + 1);
    int rc = to ? 0 : CW_E_NOMEM;
    if (rc == 0 && padding->how.length >= 0)
        rc = add_length(padding, from, arena, &row[padding->how.length]);
    if (rc == 0 && padding->how.mask >= 0)
        rc = add_mask(padding, from, arena, &row[padding->how.mask]);
    if (rc < 0)
        return rc;
    cw_pad_row(&padding->how, shape, from->dtype, from->rank, from->dims, from->data, to);
    row[f] = *from;
    row[f].data = to;
    row[f].bytes = shape->bytes;
    memcpy(row[f].dims, shape->dims, sizeof(row[f].dims));
    return 0;
}

/* Fills up, or takes as it is, one field of all rows. */
static int pad_field(const struct cw_plan_node *group, const struct cw_row_batch *rows, size_t f,
                     struct cw_arena *arena, struct cw_view **to, struct cw_err *err)
{
    struct padding padding;
    int on = find(group, f, &padding);
    int rc = on ? measure(&padding, rows, f, err) : 0;
    for (size_t r = 0; rc == 0 && r < rows->n; r++) {
        to[r][f] = rows->row[r][f];
        if (on && pad_row(&padding, &rows->row[r][f], arena, to[r], f) < 0)
            rc = cw_err_set(err, CW_E_NOMEM, "no memory to fill up %zu bytes", padding.shape.bytes);
    }
    return rc;
}

/* Makes the spec of filled-up rows: that of the batch, without its first dimension. */
static const struct cw_spec *row_spec(const struct cw_spec *out, struct cw_arena *arena)
{
    struct cw_spec *spec = cw_arena_alloc(arena, sizeof(*spec));
    struct cw_field *fields = cw_arena_alloc(arena, (out->n + 1) * sizeof(*fields));
    if (!spec || !fields)
        return NULL;
    memcpy(fields, out->fields, out->n * sizeof(*fields));
    *spec = (struct cw_spec){.n = out->n, .fields = fields};
    for (size_t f = 0; f < spec->n; f++) {
        struct cw_field *field = &spec->fields[f];
        field->rank--;
        memmove(field->dims, field->dims + 1, (size_t)field->rank * sizeof(field->dims[0]));
    }
    return spec;
}

/* Checks what rows are filled up by: their dtypes and dims. */
static int check_rows(const struct cw_plan_node *group, const struct cw_row_batch *rows,
                      struct cw_err *err)
{
    int rc = 0;
    for (size_t r = 0; rc == 0 && r < rows->n; r++) {
        for (size_t f = 0; f < group->in->n; f++)
            if (!cw_row_batch_fits(&rows->row[r][f], &group->in->fields[f]))
                return cw_err_set(err, CW_E_INTERNAL, "field \"%s\" is not what its operator said",
                                  group->in->fields[f].name);
        rc = cw_pad_check(group, rows->row[r], err);
    }
    return rc;
}

int cw_pad_rows(const struct cw_plan_node *group, struct cw_row_batch *rows, struct cw_arena *arena,
                struct cw_err *err)
{
    if (!group->op->group_pad)
        return 0;
    int rc = check_rows(group, rows, err);
    if (rc < 0)
        return rc;
    const struct cw_spec *spec = row_spec(&group->out, arena);
    struct cw_view **to = cw_arena_alloc(arena, (rows->n + 1) * sizeof(*to));
    bool ok = spec && to;
    for (size_t r = 0; ok && r < rows->n; r++)
        ok = (to[r] = cw_arena_alloc(arena, spec->n * sizeof(**to))) != NULL;
    if (!ok)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %zu rows", rows->n);
    for (size_t f = 0; rc == 0 && f < group->in->n; f++)
        rc = pad_field(group, rows, f, arena, to, err);
    rows->row = (const struct cw_view *const *)to;
    rows->spec = spec;
    return rc;
}
