/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/source_rows.h"

#include "exec/element_cache.h"
#include "exec/op_call.h"

/* Rows at a time whose positions follow each other: more gain nothing, and their positions would not stay in the
 * processor's first cache. */
#define AFFINE_ROWS 1024

static bool is_passed(const struct cw_plan_node *node)
{
    return node->step == CW_STEP_PASS ||
           (node->step == CW_STEP_INDEX && node->inputs_n == 1 && !node->apart);
}

static bool is_affine(const struct cw_plan_node *node)
{
    return node->step == CW_STEP_PASS ||
           (is_passed(node) && (node->op->traits & CW_OP_AFFINE) != 0);
}

/* Whether the node's elements are those of a source that reads many at once, with nothing but take, skip and
 * shard between. */
static bool has_rows(const struct cw_plan *plan, size_t at)
{
    while (is_affine(&plan->nodes[at]))
        at = plan->nodes[at].inputs[0];
    return plan->nodes[at].step == CW_STEP_SOURCE && plan->nodes[at].op->read_rows;
}

static bool all_have_rows(const struct cw_plan *plan, const struct cw_plan_node *node)
{
    for (size_t k = 0; k < node->inputs_n; k++)
        if (!has_rows(plan, node->inputs[k]))
            return false;
    return true;
}

/* Whether the rows below index operators are those of a source that gives fields of no fixed size, many at once. */
static bool is_loose(const struct cw_exec_task *task, const struct cw_plan *plan, size_t at)
{
    while (is_passed(&plan->nodes[at]))
        at = plan->nodes[at].inputs[0];
    return plan->nodes[at].step == CW_STEP_SOURCE && plan->nodes[at].op->read_loose &&
           cw_row_pieces_fit(task);
}

void cw_source_rows_find(const struct cw_exec_task *task, struct cw_row_way *way)
{
    const struct cw_plan *plan = way->plan;
    size_t at = way->node;
    bool affine = true;

    way->rows_source = SIZE_MAX;
    way->affine = false;
    way->loose = !task->fixed && is_loose(task, plan, at);
    if ((!task->fixed && !way->loose) ||
        (cw_element_cache_any(plan) && cw_element_cache_below(plan, at)))
        return;
    for (; is_passed(&plan->nodes[at]); at = plan->nodes[at].inputs[0])
        affine = affine && is_affine(&plan->nodes[at]);
    const struct cw_plan_node *node = &plan->nodes[at];
    const bool has = way->loose || (node->step == CW_STEP_MERGE
                                        ? all_have_rows(plan, node) && !cw_element_cache_any(plan)
                                        : has_rows(plan, at));
    if (!has)
        return;
    way->rows_source = at;
    way->affine = affine;
}

static size_t bytes_of(const struct cw_column *columns, size_t n)
{
    size_t bytes = 0;
    for (size_t f = 0; f < n; f++)
        bytes += columns[f].bytes;
    return bytes;
}

/* Counts rows of the index operators from one node down to another. */
static void count_index(struct cw_thread_context *work, size_t from, size_t to, size_t n)
{
    for (size_t at = from; at != to; at = work->plan->nodes[at].inputs[0])
        if (work->plan->nodes[at].step == CW_STEP_INDEX)
            cw_tally_add(&work->nodes[at].count.elements, n);
}

/* Counts rows of a source, which have so many bytes together, and of the index operators from `at` down to it. */
static void count_source(struct cw_thread_context *work, size_t at, size_t n, size_t bytes)
{
    const struct cw_plan *plan = work->plan;
    size_t source = at;
    while (plan->nodes[source].step != CW_STEP_SOURCE)
        source = plan->nodes[source].inputs[0];
    count_index(work, at, source, n);
    struct cw_node_tally *count = &work->nodes[source].count;
    cw_tally_add(&count->elements, n);
    cw_tally_add(&count->bytes_out, bytes);
    cw_tally_add(&count->element_bytes, bytes);
}

/* Reads rows of a source below operators that map position p to first + step * p. */
static bool read_affine(struct cw_thread_context *work, size_t at, const int64_t *positions,
                        size_t n, const struct cw_column *columns)
{
    const struct cw_plan *plan = work->plan;
    int64_t first = 0, second = 1;
    uint64_t rep = 0;

    for (; plan->nodes[at].step != CW_STEP_SOURCE; at = plan->nodes[at].inputs[0]) {
        if (plan->nodes[at].step != CW_STEP_INDEX)
            continue;
        (void)cw_plan_map(plan, &plan->nodes[at], work->epoch, &first, &rep);
        (void)cw_plan_map(plan, &plan->nodes[at], work->epoch, &second, &rep);
    }
    for (size_t i = 0; i < n; i++)
        work->affine_pos[i] = first + (second - first) * positions[i];
    return cw_op_call_read_rows(work, at, work->affine_pos, n, columns);
}

/* Reads rows of several sources side by side. They count when all have given them: otherwise they are
 * read again one by one. */
static bool read_merged(struct cw_thread_context *work, size_t at, const int64_t *positions,
                        size_t n, const struct cw_column *columns)
{
    const struct cw_plan_node *node = &work->plan->nodes[at];
    struct cw_node_tally *count = &work->nodes[at].count;
    size_t f = 0;

    for (size_t k = 0; k < node->inputs_n; k++) {
        if (!read_affine(work, node->inputs[k], positions, n, columns + f))
            return false;
        f += work->plan->nodes[node->inputs[k]].out.n;
    }
    f = 0;
    for (size_t k = 0; k < node->inputs_n; k++) {
        const size_t fields = work->plan->nodes[node->inputs[k]].out.n;
        count_source(work, node->inputs[k], n, n * bytes_of(columns + f, fields));
        f += fields;
    }
    cw_tally_add(&count->elements, n);
    cw_tally_add(&count->element_bytes, n * bytes_of(columns, f));
    return true;
}

/* Reads rows of unknown size. */
static bool read_pieces(struct cw_exec_task *task, struct cw_thread_context *work, int64_t row,
                        const int64_t *positions, size_t n)
{
    size_t bytes;
    if (!cw_row_pieces_read(task, work, row, positions, n, &bytes))
        return false;
    count_source(work, work->way->rows_source, n, bytes);
    return true;
}

bool cw_source_rows_read(struct cw_exec_task *task, struct cw_thread_context *work, int64_t row,
                         const int64_t *positions, size_t n)
{
    const struct cw_row_target *to = &work->to;
    const size_t at = work->way->rows_source;
    struct cw_column *columns = work->columns;

    CW_ASSERT(n <= CW_SOURCE_ROWS_MAX);
    if (work->way->loose)
        return read_pieces(task, work, row, positions, n);
    for (size_t f = 0; f < to->spec->n; f++) {
        columns[f] = (struct cw_column){cw_row_place(to, f, row), to->row_bytes[f]};
        if (!columns[f].data)
            return false;
    }
    if (work->plan->nodes[at].step == CW_STEP_MERGE)
        return read_merged(work, at, positions, n, columns);
    if (!cw_op_call_read_rows(work, at, positions, n, columns))
        return false;
    count_source(work, at, n, n * bytes_of(columns, to->spec->n));
    return true;
}

/* Maps a row down to its position in the source. */
static int64_t position_of(const struct cw_exec_task *task, const struct cw_thread_context *work,
                           int64_t row)
{
    size_t at = work->way->node;
    int64_t pos = work->way->pos + row;
    uint64_t rep = work->way->rep;

    while (at != work->way->rows_source) {
        const struct cw_plan_node *node = &work->plan->nodes[at];
        at = node->step == CW_STEP_INDEX
                 ? cw_plan_map(work->plan, node, task->item->epoch, &pos, &rep)
                 : node->inputs[0];
    }
    return pos;
}

int64_t cw_source_rows_read_affine(struct cw_exec_task *task, struct cw_thread_context *work,
                                   int64_t lo, int64_t hi)
{
    const int64_t first = position_of(task, work, lo),
                  step = position_of(task, work, lo + 1) - first;
    int64_t positions[AFFINE_ROWS], row = lo;

    for (int64_t n; row < hi; row += n) {
        const int64_t begin = first + (row - lo) * step;
        n = CW_MIN(hi - row, AFFINE_ROWS);
#pragma GCC unroll 4 /* its time is that of the whole, where rows are cheap */
        for (int64_t i = 0; i < n; i++)
            positions[i] = begin + i * step;
        if (!cw_source_rows_read(task, work, row, positions, (size_t)n))
            break;
        count_index(work, work->way->node, work->way->rows_source, (size_t)n);
    }
    return row - lo;
}
