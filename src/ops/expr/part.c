/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of fields in expressions: x[0], x[:, 2:5], x[..., -1]. */
#include "ops/expr/part.h"

#include <string.h>

#include "ops/kernels/strided.h"

/* The dims that are left, and where the part begins. */
struct cut {
    int rank;
    int64_t dims[CW_RANK_MAX];
    ptrdiff_t steps[CW_RANK_MAX];
    ptrdiff_t begin;
};

/* Turns a place that may count from the back into one from the front. */
static int64_t from_front(int64_t place, int64_t dim)
{
    return place < 0 ? place + dim : place;
}

/* The begin of a range, and how many values it has; as in Python it is cut to what is there. */
static int64_t range_of(const struct cw_expr_index *index, int64_t dim, int64_t *ret_begin)
{
    const int64_t begin = index->has_begin ? from_front(index->begin, dim) : 0;
    const int64_t end = index->has_end ? from_front(index->end, dim) : dim;
    *ret_begin = CW_MIN(CW_MAX(begin, 0), dim);
    return CW_MAX(CW_MIN(CW_MAX(end, 0), dim) - *ret_begin, 0);
}

static int no_place(const struct cw_expr_index *index, int axis, int64_t dim, struct cw_err *err)
{
    return cw_err_set(err, CW_E_INVALID, "there is no place %lld in dimension %d, which has %lld",
                      (long long)index->begin, axis, (long long)dim);
}

/* Applies an index to a dim. An unknown dim (-1) leaves a range of unknown length. */
static int cut_dim(const struct cw_expr_index *index, int axis, int64_t dim, ptrdiff_t step,
                   struct cut *cut, struct cw_err *err)
{
    int64_t begin = 0, n = dim;
    if (index && index->kind == CW_EXPR_INDEX_AT) {
        begin = dim < 0 ? 0 : from_front(index->begin, dim);
        if (dim >= 0 && (begin < 0 || begin >= dim))
            return no_place(index, axis, dim, err);
        cut->begin += begin * step;
        return 0;
    }
    if (index && dim >= 0)
        n = range_of(index, dim, &begin);
    cut->begin += begin * step;
    cut->dims[cut->rank] = n;
    cut->steps[cut->rank++] = step;
    return 0;
}

/* rank is that of the tensor; its dims are `bytes` wide. */
static int make_cut(const struct cw_expr_part *part, int rank, const int64_t *dims, size_t bytes,
                    struct cut *ret_cut, struct cw_err *err)
{
    struct cut cut = {0};
    ptrdiff_t steps[CW_RANK_MAX], step = (ptrdiff_t)bytes;
    const int left = rank - (int)(part->n - part->has_rest);
    if (left < 0)
        return cw_err_set(err, CW_E_INVALID, "it has %d dimensions, but %zu are picked", rank,
                          part->n - part->has_rest);
    for (int i = rank - 1; i >= 0; i--) {
        steps[i] = step;
        step *= CW_MAX(dims[i], 0);
    }
    int rc = 0, axis = 0;
    for (size_t k = 0; rc == 0 && k < part->n; k++) {
        const bool is_rest = part->v[k].kind == CW_EXPR_INDEX_REST;
        for (int i = 0; rc == 0 && i < (is_rest ? left : 1); i++, axis++)
            rc = cut_dim(is_rest ? NULL : &part->v[k], axis, dims[axis], steps[axis], &cut, err);
    }
    for (; rc == 0 && axis < rank; axis++)
        rc = cut_dim(NULL, axis, dims[axis], steps[axis], &cut, err);
    if (rc == 0)
        *ret_cut = cut;
    return rc;
}

int cw_expr_part_infer(const struct cw_expr_part *part, const struct cw_field *field,
                       struct cw_field *ret_field, struct cw_err *err)
{
    struct cut cut;
    int rc = make_cut(part, field->rank, field->dims, 1, &cut, err);
    if (rc < 0)
        return rc;
    *ret_field = *field;
    ret_field->rank = cut.rank;
    memcpy(ret_field->dims, cut.dims, sizeof(cut.dims));
    return 0;
}

int cw_expr_part_take(const struct cw_expr_part *part, const struct cw_op_ctx *ctx,
                      const struct cw_view *view, struct cw_view *ret_view, struct cw_err *err)
{
    const size_t bytes = cw_dtype_bytes(view->dtype);
    struct cut cut;
    int rc = make_cut(part, view->rank, view->dims, bytes, &cut, err);
    if (rc < 0)
        return rc;
    struct cw_view out = {.dtype = view->dtype, .rank = cut.rank, .bytes = bytes};
    memcpy(out.dims, cut.dims, sizeof(out.dims));
    for (int i = 0; i < cut.rank; i++)
        out.bytes *= (size_t)cut.dims[i];
    uint8_t *from = (uint8_t *)view->data + cut.begin;
    out.data = cut.rank > 0 ? cw_op_scratch(ctx, out.bytes, err) : from;
    if (!out.data)
        return CW_E_NOMEM;
    if (cut.rank > 0 && out.bytes > 0)
        cw_strided_copy(out.data, from, bytes, cut.rank, cut.dims, cut.steps);
    *ret_view = out;
    return 0;
}

int cw_expr_length_infer(const struct cw_field *field, struct cw_field *ret_field,
                         struct cw_err *err)
{
    if (field->rank == 0 && field->dtype != CW_DTYPE_STR)
        return cw_err_set(err, CW_E_INVALID, "field \"%s\" is one number, which has no length",
                          field->name);
    const int64_t rows = field->dims[0];
    const bool is_batch = field->rank > 0 && field->dtype == CW_DTYPE_STR;
    *ret_field = *field;
    ret_field->dtype = CW_DTYPE_I64;
    ret_field->rank = is_batch ? 1 : 0;
    ret_field->dims[0] = rows;
    return 0;
}

int cw_expr_length_take(const struct cw_op_ctx *ctx, const struct cw_view *view,
                        struct cw_view *ret_view, struct cw_err *err)
{
    const bool is_batch = view->rank > 0 && view->dtype == CW_DTYPE_STR;
    const size_t n = is_batch ? (size_t)view->dims[0] : 1;
    int64_t *length = cw_op_scratch(ctx, n * sizeof(*length), err);
    if (!length)
        return CW_E_NOMEM;
    if (is_batch) { /* the table of where each begins (data/batch.h) */
        for (size_t i = 0; i < n; i++)
            length[i] = cw_num_get_i64(CW_DTYPE_I64, view->data, i + 1) -
                        cw_num_get_i64(CW_DTYPE_I64, view->data, i);
    } else {
        length[0] = view->rank > 0 ? view->dims[0] : (int64_t)view->bytes;
    }
    *ret_view = (struct cw_view){.data = length,
                                 .bytes = n * sizeof(*length),
                                 .dtype = CW_DTYPE_I64,
                                 .rank = is_batch ? 1 : 0,
                                 .dims = {is_batch ? view->dims[0] : 0}};
    return 0;
}

int cw_expr_find_views(const struct cw_expr *expr, const struct cw_op_ctx *ctx,
                       const struct cw_element *element, const struct cw_view **views,
                       struct cw_err *err)
{
    int rc = 0;
    struct cw_view *parts =
        expr->parts_n ? cw_op_scratch(ctx, expr->parts_n * sizeof(*parts), err) : NULL;
    if (expr->parts_n && !parts)
        return CW_E_NOMEM;
    for (size_t s = 0; s < expr->n && rc == 0; s++) {
        const struct cw_expr_step *step = &expr->steps[s];
        if (step->code != CW_EXPR_NAME)
            continue;
        const struct cw_view *field = &element->fields[step->field];
        views[s] = step->part ? &parts[step->part - 1] : field;
        if (step->is_length)
            rc = cw_expr_length_take(ctx, field, &parts[step->part - 1], err);
        else if (step->part)
            rc = cw_expr_part_take(&expr->parts[step->part - 1], ctx, field, &parts[step->part - 1],
                                   err);
        if (rc < 0)
            return cw_err_wrap(err, "expression: column %zu", step->column);
    }
    return rc;
}
