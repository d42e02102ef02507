/* SPDX-License-Identifier: Apache-2.0 */
/* Calls operators: sets their context, and measures, counts and traces them. */
#include "exec/op_call.h"

#include "base/call_note.h"
#include "base/clock.h"
#include "exec/op_bare.h"
#include "exec/op_context.h"
#include "exec/op_fold.h"
#include "exec/op_measure.h"
#include "exec/op_strips.h"
#include "exec/op_try.h"
#include "io/io.h"

/* Of an operator that makes parts of images one call in so many makes the whole, so that it is known what that
 * would cost if elements were cached before the crop. */
#define WHOLE_EVERY 256

/* Counts reads for which this thread has waited for a server since `before`. */
static void count_waits(struct cw_node_context *node, uint64_t before)
{
    uint64_t waits = cw_io_thread_waited() - before;
    if (CW_UNLIKELY(waits > 0))
        cw_tally_add(&node->count.waits, waits);
}

/* What a call cost that made the whole image. */
static void add_whole(struct cw_node_context *node, struct cw_op_measure begin, int64_t clock_ns,
                      uint64_t out_bytes)
{
    struct cw_sum_tally *sums = &node->count.sums;
    int64_t ns = CW_MAX(cw_clock_thread_cpu_ns() - begin.cpu_ns - clock_ns, 1);
    int64_t wall_ns = CW_MAX(cw_clock_ns() - begin.wall_ns - 2 * clock_ns, ns);
    cw_tally_add_real(&sums->whole_timed, 1);
    cw_tally_add_real(&sums->whole_in_bytes, (double)begin.in_bytes);
    cw_tally_add_real(&sums->whole_out_bytes, (double)out_bytes);
    cw_tally_add_real(&sums->whole_cpu_ns, (double)ns);
    cw_tally_add_real(&sums->whole_wall_ns, (double)wall_ns);
}

/* Whether this call is to make the whole image, so that it is known what that costs. It is not one of the calls
 * that are measured for the others. */
static bool tries_whole(struct cw_node_context *node, const struct cw_plan_node *of)
{
    return of->want_n > 0 && node->parts_n++ % WHOLE_EVERY == WHOLE_EVERY / 2;
}

static struct cw_op_measure whole_begin(struct cw_node_context *node, const struct cw_element *in,
                                        const struct cw_field_set *reads)
{
    uint64_t in_bytes = cw_element_bytes_of(in, reads);
    node->since++;
    int64_t wall_ns = cw_clock_ns();
    return (struct cw_op_measure){cw_clock_thread_cpu_ns(), wall_ns, in_bytes};
}

/* Whether what it has made is no part of an image. */
static bool made_whole(const struct cw_plan_node *node, const struct cw_element *element)
{
    return node->want_n > 0 && element->fields[node->fields[0]].full_h == 0;
}

int cw_op_call_trace(struct cw_thread_context *work, size_t i, const struct cw_element *element,
                     struct cw_err *err)
{
    const struct cw_plan_node *node = &work->plan->nodes[i];
    work->trace_rc = work->trace(work->trace_arg, work->trace_row, node->node, &node->out, element,
                                 cw_str_text(&work->trace_source), err);
    return work->trace_rc;
}

/* Whether the operator comes next that puts channels first, with nothing between that wants the image as
 * it is. */
static bool takes_planes(const struct cw_thread_context *work, const struct cw_plan_node *node)
{
    if (node->planes_to == SIZE_MAX || work->trace || work->plan->apart || !work->pending_n)
        return false;
    const struct cw_walk_pending *next = &work->pending[work->pending_n - 1];
    return next->node == node->planes_to && !next->put;
}

/* Takes the operator off the stack whose work the one before it has done. It counts as called, and as
 * measured where the other was, with next to no time. */
static void pass_planes(struct cw_thread_context *work, const struct cw_element *element,
                        bool is_measured)
{
    const size_t i = work->pending[--work->pending_n].node;
    const uint64_t bytes = cw_element_bytes_of(element, &work->plan->nodes[i].fields_set);
    struct cw_node_tally *count = &work->nodes[i].count;
    cw_tally_add(&count->elements, 1);
    cw_tally_add(&count->bytes_out, bytes);
    cw_tally_add(&count->element_bytes, cw_element_bytes(element));
    if (!is_measured)
        return;
    cw_tally_add(&count->cpu_ns, 1);
    cw_tally_add(&count->wall_ns, 1);
    cw_op_measure_add(&count->sums, 1, (double)bytes, (double)bytes, 1, 1);
}

int cw_op_call_apply(struct cw_thread_context *work, const struct cw_walk_pending *pending,
                     struct cw_element *element, struct cw_err *err)
{
    const struct cw_plan_node *node = &work->plan->nodes[pending->node];
    struct cw_node_context *mine = &work->nodes[pending->node];
    struct cw_walk_pending own = *pending;
    uint64_t bytes = 0;
    int rc = 0;
    if (node->strips_n && cw_op_strips_apply(work, pending, element, &rc, err))
        return rc;
    cw_op_try_before(work, pending->node, element);
    mine->ctx.planes = takes_planes(work, node);
    if (mine->ctx.planes) { /* the result is that of the next operator, and so is its place */
        own.live = work->pending[work->pending_n - 1].live;
        own.shift = work->pending[work->pending_n - 1].shift;
    }
    const bool tries = tries_whole(mine, node);
    struct cw_op_measure begin = tries ? whole_begin(mine, element, &node->reads)
                                       : cw_op_measure_begin(mine, element, &node->reads, 1);
    cw_op_context_stream(work, node, &mine->ctx, element->id, element->rep);
    cw_op_context_want(work, node, &mine->ctx, element, tries);
    if (node->op->foreign)
        cw_call_at_element(node->node->name, element->id);
    const uint64_t waited = cw_io_thread_waited();
    rc = cw_op_call_bare(work, &own, &mine->ctx, mine->scratch, element, &bytes, err);
    count_waits(mine, waited);
    const uint64_t written = rc == 0 ? cw_element_bytes_of(element, &node->writes) : 0;
    if (begin.cpu_ns && rc == 0 && mine->ctx.prefers_whole && made_whole(node, element))
        add_whole(mine, begin, work->clock_ns, written);
    if (begin.cpu_ns && !tries)
        cw_op_measure_end(mine, begin, work->clock_ns, written, 1);
    uint64_t all = rc == 0 ? cw_element_bytes(element) : 0;
    cw_tally_add(&mine->count.elements, 1);
    cw_tally_add(&mine->count.bytes_out, bytes);
    cw_tally_add(&mine->count.element_bytes, all);
    if (CW_UNLIKELY(node->folds_to != SIZE_MAX))
        cw_op_fold_made(mine, bytes, all);
    if (mine->ctx.planes && rc == 0)
        pass_planes(work, element, begin.cpu_ns > 0 && !tries);
    if (rc == CW_EVAL_DROP)
        cw_tally_add_real(&mine->count.sums.dropped, 1);
    if (rc == 0 && work->trace)
        rc = cw_op_call_trace(work, own.node, element, err);
    if (rc < 0) /* an operator that was asked what it needs may have refused the element */
        work->failed = work->want_asked != SIZE_MAX ? work->want_asked : own.node;
    return rc;
}

int cw_op_call_many(struct cw_thread_context *work, size_t i, uint64_t live, size_t rows,
                    struct cw_element *element, struct cw_err *err)
{
    const struct cw_plan_node *node = &work->plan->nodes[i];
    struct cw_node_context *mine = &work->nodes[i];
    struct cw_walk_pending pending = {.node = (uint32_t)i, .live = live};
    const uint64_t all_rows = (uint64_t)element->fields[0].dims[0];
    uint64_t bytes = 0;
    if (!node->op->apply_field && node->out.n != 1)
        pending.live = 0; /* it does not say which field it writes */
    if (node->op->foreign)
        cw_call_at_node(node->node->name);
    cw_op_try_before_many(work, i, element);
    struct cw_op_measure begin = cw_op_measure_begin(mine, element, &node->reads, all_rows);
    int rc =
        cw_op_call_bare(work, &pending, &mine->many_ctx, mine->many_scratch, element, &bytes, err);
    if (begin.cpu_ns)
        cw_op_measure_end_batch(mine, begin, work->clock_ns,
                                rc == 0 ? cw_element_bytes_of(element, &node->writes) : 0,
                                all_rows);
    cw_tally_add(&mine->count.elements, rows);
    cw_tally_add(&mine->count.bytes_out, bytes / all_rows * rows);
    const uint64_t row_bytes = rc == 0 ? cw_element_bytes(element) / all_rows : 0;
    cw_tally_add(&mine->count.element_bytes, row_bytes * rows);
    cw_op_fold_made(mine, bytes / all_rows, row_bytes);
    if (rc < 0)
        work->failed = i;
    return rc;
}

int cw_op_call_read(struct cw_thread_context *work, const struct cw_walk_at *at,
                    struct cw_element *element, struct cw_err *err)
{
    const struct cw_plan_node *node = &work->plan->nodes[at->node];
    struct cw_node_context *mine = &work->nodes[at->node];
    struct cw_op_measure begin = cw_op_measure_begin(mine, NULL, NULL, 1);
    element->id = (uint64_t)at->pos;
    element->rep = cw_plan_drawn_rep(at->rep, at->each);
    element->n = 0;
    cw_op_context_stream(work, node, &mine->ctx, element->id, element->rep);
    cw_op_context_slot(work, &mine->ctx, node->out.n == 1 ? at->live : 0, 0, at->shift);
    if (node->op->foreign)
        cw_call_at_element(node->node->name, element->id);
    const uint64_t waited = cw_io_thread_waited();
    int rc = node->op->read(&mine->ctx, node->opts, node->state, at->pos, element, err);
    count_waits(mine, waited);
    const uint64_t bytes = rc == 0 ? cw_element_bytes(element) : 0;
    if (begin.cpu_ns)
        cw_op_measure_end(mine, begin, work->clock_ns, bytes, 1);
    cw_tally_add(&mine->count.elements, 1);
    cw_tally_add(&mine->count.bytes_out, bytes);
    cw_tally_add(&mine->count.element_bytes, bytes);
    if (rc == 0 && work->trace)
        rc = cw_op_call_trace(work, at->node, element, err);
    if (rc < 0)
        work->failed = at->node;
    return rc;
}

/* Counts what a source has done at a call for n elements, or that it has refused them. */
static bool end_many(struct cw_thread_context *work, struct cw_node_context *mine,
                     struct cw_op_measure begin, uint64_t bytes, size_t n, int rc)
{
    if (rc < 0)
        mine->since -= n;
    else if (begin.cpu_ns)
        cw_op_measure_end(mine, begin, work->clock_ns, bytes, n);
    return rc >= 0;
}

bool cw_op_call_read_rows(struct cw_thread_context *work, size_t i, const int64_t *positions,
                          size_t n, const struct cw_column *columns)
{
    const struct cw_plan_node *node = &work->plan->nodes[i];
    struct cw_node_context *mine = &work->nodes[i];
    uint64_t bytes = 0;
    for (size_t f = 0; f < node->out.n; f++)
        bytes += n * columns[f].bytes;
    struct cw_op_measure begin = cw_op_measure_begin(mine, NULL, NULL, n);
    const uint64_t waited = cw_io_thread_waited();
    int rc = node->op->read_rows(node->opts, node->state, positions, n, columns);
    count_waits(mine, waited);
    return end_many(work, mine, begin, bytes, n, rc);
}

bool cw_op_call_read_loose(struct cw_thread_context *work, size_t i,
                           const struct cw_loose_rows *rows)
{
    const struct cw_plan_node *node = &work->plan->nodes[i];
    struct cw_node_context *mine = &work->nodes[i];
    struct cw_op_measure begin = cw_op_measure_begin(mine, NULL, NULL, rows->n);
    const uint64_t waited = cw_io_thread_waited();
    int rc = node->op->read_loose(node->opts, node->state, rows);
    count_waits(mine, waited);
    uint64_t bytes = 0;
    for (size_t f = 0; rc >= 0 && f < node->out.n; f++)
        bytes += cw_loose_bytes(&rows->columns[f], rows->n);
    return end_many(work, mine, begin, bytes, rows->n, rc);
}
