/* SPDX-License-Identifier: Apache-2.0 */
/* Axes of tensors, for operators that have one as an option: from the front 0, 1, ..., from the back
 * -1, -2, ... */
#ifndef CW_OPS_ELEMENT_AXIS_H
#define CW_OPS_ELEMENT_AXIS_H

#include "ops/op.h"

/* The row of the option `axis`, which is the last axis unless it is given. */
#define CW_AXIS_ROW(offset_, help_)                                                                \
    {                                                                                              \
        .name = "axis", .help = (help_), .type = CW_OPT_I64, .offset = (offset_), .def = "-1",     \
        .min = -CW_RANK_MAX, .max = CW_RANK_MAX                                                    \
    }

/* A tensor as [outer, n, inner], where n is the length of the axis. */
struct cw_axis_span {
    size_t outer, n, inner;
};

/* Turns the option into 0 <= *ret_axis < rank. INVALID if there is no such axis. */
int cw_axis_of(int64_t axis, int rank, int *ret_axis, struct cw_err *err);
void cw_axis_span(int rank, const int64_t *dims, int axis, struct cw_axis_span *ret_span);
/* Removes an axis, and adds one of n values. */
void cw_axis_remove(int axis, int *rank, int64_t *dims);
void cw_axis_insert(int axis, int64_t n, int *rank, int64_t *dims);

#endif
