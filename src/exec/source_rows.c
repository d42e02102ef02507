/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/source_rows.h"

#include "exec/element_cache.h"
#include "exec/op_call.h"

#define AFFINE_ROWS 1024

static bool is_passed(const struct cw_plan_node *node)
{
    return node->step == CW_STEP_PASS ||
           (node->step == CW_STEP_INDEX && node->inputs_n == 1 && !node->apart);
}

void cw_source_rows_find(const struct cw_exec_task *task, struct cw_row_way *way)
{
    const struct cw_plan *plan = way->plan;
    size_t at = way->node;
    bool affine = true;

    way->rows_source = SIZE_MAX;
    way->affine = false;
    if (!task->fixed || (cw_element_cache_any(plan) && cw_element_cache_below(plan, at)))
        return;
    for (; is_passed(&plan->nodes[at]); at = plan->nodes[at].inputs[0])
        affine = affine && (plan->nodes[at].step == CW_STEP_PASS ||
                            (plan->nodes[at].op->traits & CW_OP_AFFINE));
    if (plan->nodes[at].step != CW_STEP_SOURCE || !plan->nodes[at].op->read_rows)
        return;
    way->rows_source = at;
    way->affine = affine;
}

bool cw_source_rows_read(struct cw_thread_context *work, int64_t row, const int64_t *positions,
                         size_t n)
{
    const struct cw_row_target *to = &work->to;
    struct cw_column columns[CW_FIELDS_MAX];

    for (size_t f = 0; f < to->spec->n; f++) {
        columns[f] = (struct cw_column){cw_row_place(to, f, row), to->row_bytes[f]};
        if (!columns[f].data)
            return false;
    }
    return cw_op_call_read_rows(work, work->way->rows_source, positions, n, columns);
}

/* Maps a row down to its position in the source. */
static int64_t position_of(const struct cw_exec_task *task, struct cw_thread_context *work,
                           int64_t row, uint64_t count)
{
    size_t at = work->way->node;
    int64_t pos = work->way->pos + row;
    uint64_t rep = work->way->rep;

    while (at != work->way->rows_source) {
        const struct cw_plan_node *node = &work->plan->nodes[at];
        if (node->step == CW_STEP_INDEX) {
            cw_tally_add(&work->nodes[at].count.elements, count);
            at = cw_plan_map(work->plan, node, task->item->epoch, &pos, &rep);
        } else {
            at = node->inputs[0];
        }
    }
    return pos;
}

bool cw_source_rows_read_affine(const struct cw_exec_task *task, struct cw_thread_context *work,
                                int64_t lo, int64_t hi)
{
    const int64_t first = position_of(task, work, lo, (uint64_t)(hi - lo)),
                  step = position_of(task, work, lo + 1, 0) - first;
    int64_t positions[AFFINE_ROWS];

    for (int64_t row = lo; row < hi; row += AFFINE_ROWS) {
        const int64_t n = CW_MIN(hi - row, AFFINE_ROWS), begin = first + (row - lo) * step;
        for (int64_t i = 0; i < n; i++)
            positions[i] = begin + i * step;
        if (!cw_source_rows_read(work, row, positions, (size_t)n))
            return false;
    }
    return true;
}
