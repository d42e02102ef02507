/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/op_try.h"

#include "exec/op_bare.h"
#include "exec/op_measure.h"
#include "ops/op_util.h"
#include <string.h>

/* One call of so many for one element is followed by one for MANY_ROWS, where a call is measured anyway, so rarely if it
 * takes little; the first one after a few. */
#define MANY_EVERY 8192
#define MANY_AT CW_TRY_FIRST
#define MANY_ROWS ((size_t)64)
#define BLOCK_BYTES ((size_t)32 << 10) /* as in row_block.c */
#define BLOCK_ROWS_MIN ((size_t)8)
/* One call of so many for many elements is followed by ONE_CALLS for one. */
#define ONE_EVERY 64
#define ONE_CALLS 16

/* ---- many instead of one ---- */

static size_t bytes_of(const struct cw_spec *spec)
{
    size_t bytes = 0;
    for (size_t f = 0; f < spec->n; f++)
        bytes += (size_t)CW_MAX(cw_field_bytes(&spec->fields[f]), 0);
    return bytes;
}

/* Makes the trial element of so many copies of one. Returns false if there is no memory. */
static bool repeat(struct cw_thread_context *work, const struct cw_element *element, size_t rows)
{
    struct cw_element *many = work->trial;
    cw_element_copy(many, element);
    for (size_t f = 0; f < many->n; f++) {
        struct cw_view *view = &many->fields[f];
        const size_t bytes = view->bytes;
        uint8_t *data = cw_arena_alloc(work->arena, rows * bytes + 1);
        if (!data || view->rank >= CW_RANK_MAX)
            return false;
        for (size_t row = 0; bytes && row < rows; row++)
            memcpy(data + row * bytes, view->data, bytes);
        memmove(view->dims + 1, view->dims, (size_t)view->rank * sizeof(view->dims[0]));
        view->dims[0] = (int64_t)rows;
        view->rank++;
        view->data = data;
        view->bytes = rows * bytes;
    }
    return true;
}

static void try_many(struct cw_thread_context *work, size_t i, const struct cw_element *element)
{
    const struct cw_plan_node *node = &work->plan->nodes[i];
    struct cw_node_context *mine = &work->nodes[i];
    const struct cw_walk_pending pending = {.node = (uint32_t)i};
    const size_t bytes = CW_MAX(bytes_of(node->in), bytes_of(&node->out));
    const size_t rows = CW_MIN(BLOCK_BYTES / CW_MAX(2 * bytes, 1), MANY_ROWS);
    uint64_t made = 0;
    if (rows < BLOCK_ROWS_MIN || !repeat(work, element, rows))
        return;
    const struct cw_op_measure begin = cw_op_measure_read(mine, work->trial, &node->reads);
    if (cw_op_call_bare(work, &pending, &mine->many_ctx, mine->many_scratch, work->trial, &made,
                        NULL) == 0)
        cw_op_measure_extra(mine, begin, work->clock_ns,
                            cw_element_bytes_of(work->trial, &node->writes), rows, true);
}

static bool is_many_due(struct cw_node_context *mine, uint32_t n)
{
    if (n != MANY_AT && (mine->left > 1 || n - mine->many_last < MANY_EVERY))
        return false;
    mine->many_last = n;
    return true;
}

void cw_op_try_slow(struct cw_thread_context *work, size_t i, const struct cw_element *element,
                    uint32_t n)
{
    const struct cw_plan_node *node = &work->plan->nodes[i];
    if (work->trace || work->plan->apart || work->plan->unmeasured)
        return;
    if (node->many_in && is_many_due(&work->nodes[i], n))
        try_many(work, i, element);
    if (work->plan->filters_n > 1 && work->plan->filters[0].node == i &&
        (n < CW_TRY_FIRST || n % CW_TRY_EVERY == 0))
        cw_op_filters_show(work, element);
}

/* ---- one instead of many ---- */

/* Makes the trial element the first one of many. */
static void take_first(struct cw_thread_context *work, const struct cw_element *many)
{
    struct cw_element *one = work->trial;
    cw_element_copy(one, many);
    for (size_t f = 0; f < one->n; f++) {
        struct cw_view *view = &one->fields[f];
        view->bytes /= (size_t)view->dims[0];
        view->rank--;
        memmove(view->dims, view->dims + 1, (size_t)view->rank * sizeof(view->dims[0]));
    }
}

static void try_one(struct cw_thread_context *work, size_t i, const struct cw_element *many)
{
    const struct cw_plan_node *node = &work->plan->nodes[i];
    struct cw_node_context *mine = &work->nodes[i];
    const struct cw_walk_pending pending = {.node = (uint32_t)i};
    uint64_t made = 0;
    int rc = 0;
    take_first(work, many);
    struct cw_op_measure begin = cw_op_measure_read(mine, work->trial, &node->reads);
    begin.in_bytes *= ONE_CALLS;
    for (int k = 0; rc == 0 && k < ONE_CALLS; k++) {
        if (k > 0)
            take_first(work, many);
        rc = cw_op_call_bare(work, &pending, &mine->ctx, mine->scratch, work->trial, &made, NULL);
    }
    if (rc == 0)
        cw_op_measure_extra(mine, begin, work->clock_ns,
                            ONE_CALLS * cw_element_bytes_of(work->trial, &node->writes), ONE_CALLS,
                            false);
}

void cw_op_try_before_many(struct cw_thread_context *work, size_t i,
                           const struct cw_element *element)
{
    if (work->plan->nodes[i].has_tries && !work->plan->unmeasured &&
        work->nodes[i].tries_n++ % ONE_EVERY == ONE_EVERY / 16)
        try_one(work, i, element);
}
