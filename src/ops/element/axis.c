/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/element/axis.h"

int cw_axis_of(int64_t axis, int rank, int *ret_axis, struct cw_err *err)
{
    const int64_t from_front = axis < 0 ? axis + rank : axis;
    if (from_front < 0 || from_front >= rank)
        return cw_err_set(err, CW_E_INVALID, "option axis: there is no axis %lld in %d dimensions",
                          (long long)axis, rank);
    *ret_axis = (int)from_front;
    return 0;
}

void cw_axis_span(int rank, const int64_t *dims, int axis, struct cw_axis_span *ret_span)
{
    struct cw_axis_span span = {.outer = 1, .n = (size_t)dims[axis], .inner = 1};
    for (int i = 0; i < axis; i++)
        span.outer *= (size_t)dims[i];
    for (int i = axis + 1; i < rank; i++)
        span.inner *= (size_t)dims[i];
    *ret_span = span;
}

void cw_axis_remove(int axis, int *rank, int64_t *dims)
{
    for (int i = axis; i + 1 < *rank; i++)
        dims[i] = dims[i + 1];
    --*rank;
}

void cw_axis_insert(int axis, int64_t n, int *rank, int64_t *dims)
{
    for (int i = *rank; i > axis; i--)
        dims[i] = dims[i - 1];
    dims[axis] = n;
    ++*rank;
}
