/* SPDX-License-Identifier: Apache-2.0 */
/* A run of operators on an image, by strips. How the time of a run is shared by its operators is measured
 * at some of the strips. */
#include "exec/op_strips.h"

#include "base/clock.h"
#include "base/mem.h"
#include "exec/op_context.h"
#include "exec/op_measure.h"

/* The strips of an image, before and behind an operator, stay within the first-level cache together with
 * the rows that a resize reads. */
#define STRIP_BYTES ((size_t)16 << 10)
/* Kernels that resize make so many rows at once. */
#define STRIP_ROWS ((int64_t)4)
/* One strip of so many is measured. */
#define STRIPS_A_MARK 4

/* An operator of a run, for one element. */
struct stage {
    const struct cw_plan_node *node;
    struct cw_node_context *mine;
    uint32_t at; /* the node's number */
    bool same;   /* it leaves this image as it is */
    bool planes; /* it writes the image with channels first */
    struct cw_view in,
        view;   /* what comes in; what it makes, until its place is known without data */
    int64_t ns; /* wall time, if it is measured */
};
struct run {
    struct cw_thread_context *work;
    struct stage stages[CW_PLAN_STRIPS_MAX];
    size_t n;      /* operators of the run that are on the stack */
    size_t called; /* without the one whose work is done by the one before it */
    size_t field;
    struct cw_op_measure sample; /* of all together, with the first one */
    int64_t mark_ns;             /* when the time of the next stage begins */
    bool unmarked;               /* the strip is none of those that are measured */
};

/* ---- time ---- */

static void mark(struct run *run, struct stage *stage)
{
    if (!run->sample.cpu_ns || run->unmarked)
        return;
    const int64_t now = cw_clock_ns();
    if (stage)
        stage->ns += now - run->mark_ns;
    run->mark_ns = now;
}

/* ---- which operators ---- */

/* Finds the operators of the run that come next on the stack, with no cache between. */
static void find_stages(struct run *run, const struct cw_plan_node *first)
{
    struct cw_thread_context *work = run->work;
    for (size_t k = 1; k < first->strips_n && work->pending_n >= k; k++) {
        const struct cw_walk_pending *next = &work->pending[work->pending_n - k];
        if (next->put || next->node != first->strips[k])
            break;
        run->stages[k].at = next->node;
        run->n = k + 1;
    }
}

static void set_stages(struct run *run)
{
    struct cw_thread_context *work = run->work;
    for (size_t k = 0; k < run->n; k++) {
        struct stage *stage = &run->stages[k];
        stage->node = &work->plan->nodes[stage->at];
        stage->mine = &work->nodes[stage->at];
        stage->same = false;
        stage->ns = 0;
        const bool turns = stage->node->op->puts_channels_first &&
                           stage->node->op->puts_channels_first(stage->node->opts);
        const bool done = k > 0 && run->stages[k - 1].planes;
        stage->planes =
            (turns && !done) || (k + 1 < run->n && stage->node->planes_to == run->stages[k + 1].at);
        run->called = done ? k : k + 1;
    }
}

/* ---- what they make ---- */

static void set_bytes(struct stage *stage)
{
    struct cw_view *view = &stage->view;
    if (stage->planes) {
        const int64_t channels = view->dims[2];
        view->dims[2] = view->dims[1];
        view->dims[1] = view->dims[0];
        view->dims[0] = channels;
    }
    view->bytes = cw_dtype_bytes(view->dtype);
    for (int i = 0; i < view->rank; i++)
        view->bytes *= (size_t)view->dims[i];
}

/* Whether the image that an operator makes is so small that the others may as well read it as a whole. */
static bool ends_here(const struct run *run, size_t k)
{
    const struct stage *stage = &run->stages[k];
    return k + 1 < run->called && !stage->same && stage->view.bytes < CW_STRIPS_IMAGE_BYTES;
}

/* Asks each operator what it makes of what the one before it makes. Where one cannot work by rows, the run
 * ends before it. */
static int begin(struct run *run, const struct cw_element *element, struct cw_err *err)
{
    struct cw_thread_context *work = run->work;
    struct cw_view view = element->fields[run->field];
    for (size_t k = 0; k < run->called; k++) {
        struct stage *stage = &run->stages[k];
        const struct cw_plan_node *node = stage->node;
        struct cw_op_ctx *ctx = &stage->mine->ctx;
        cw_op_context_stream(work, node, ctx, element->id, element->rep);
        ctx->motion = NULL;
        ctx->field = run->field;
        ctx->planes = false;
        stage->in = stage->view = view;
        const int rc = node->op->strips->begin(ctx, node->opts, node->state, stage->mine->scratch,
                                               &stage->in, &stage->view, err);
        mark(run, stage);
        if (rc < 0) {
            work->failed = work->want_asked != SIZE_MAX ? work->want_asked : stage->at;
            run->n = run->called = k + 1;
            return rc;
        }
        if (rc == CW_STRIP_APART) {
            run->n = run->called = k;
            return 0;
        }
        stage->same = rc == CW_STRIP_SAME;
        if (!stage->same)
            stage->view.data = NULL; /* it has no place yet */
        set_bytes(stage);
        view = stage->view;
        if (ends_here(run, k)) {
            run->n = run->called = k + 1;
            return 0;
        }
    }
    return 0;
}

/* ---- strips ---- */

static size_t row_bytes(const struct cw_view *view, bool planes)
{
    const int64_t h = view->dims[planes ? 1 : 0];
    return h > 0 ? view->bytes / (size_t)h : 0;
}

static struct cw_strip whole(const struct cw_view *view)
{
    return (struct cw_strip){
        .data = view->data, .n = view->dims[0], .stride = row_bytes(view, false)};
}

/* The rows [y, y + n) of the result, where they are written. */
static struct cw_strip of_result(const struct stage *last, int64_t y, int64_t n)
{
    const struct cw_view *view = &last->view;
    struct cw_strip strip = {.y = y, .n = n, .stride = row_bytes(view, last->planes)};
    if (last->planes) {
        strip.stride /= CW_MAX((size_t)view->dims[0], 1);
        strip.plane = strip.stride * (size_t)view->dims[1];
    }
    strip.data = (uint8_t *)view->data + (size_t)y * strip.stride;
    return strip;
}

/* The operators that do something, in order. */
static size_t find_makers(struct run *run, struct stage **ret_makers)
{
    size_t n = 0;
    for (size_t k = 0; k < run->called; k++)
        if (!run->stages[k].same || run->stages[k].planes)
            ret_makers[n++] = &run->stages[k];
    return n;
}

/* What the last one makes is written elsewhere, and not read again. */
static int64_t strip_rows(struct stage *const *makers, size_t n)
{
    size_t bytes = 1;
    for (size_t k = 0; k + 1 < n; k++)
        bytes = CW_MAX(bytes, row_bytes(&makers[k]->view, false));
    return CW_MAX((int64_t)(STRIP_BYTES / bytes) / STRIP_ROWS * STRIP_ROWS, STRIP_ROWS);
}

/* Makes the rows [y, y + n) of the result. buffer: each for a strip of any operator; the third for an
 * operator that puts channels first. */
static void make_strip(struct run *run, struct stage *const *makers, size_t makers_n, int64_t y,
                       int64_t n, uint8_t *const buffer[3])
{
    int64_t first[CW_PLAN_STRIPS_MAX]; /* of the rows that each makes */
    int64_t at = y;
    for (size_t k = makers_n; k-- > 0;) {
        const struct stage *stage = makers[k];
        first[k] = at;
        if (stage->node->op->strips->rows)
            stage->node->op->strips->rows(&stage->mine->ctx, stage->node->opts, &stage->in, &at, n);
    }
    struct cw_strip from = whole(&makers[0]->in);
    if (!makers[0]->node->op->strips->from_whole) {
        from.data += (size_t)at * from.stride;
        from.y = at;
        from.n = n;
    }
    for (size_t k = 0; k < makers_n; k++) {
        struct stage *stage = makers[k];
        struct cw_strip to = of_result(stage, first[k], n);
        to.spare = buffer[2];
        if (k + 1 < makers_n)
            to.data = buffer[k % 2];
        stage->node->op->strips->make(&stage->mine->ctx, stage->node->opts, stage->node->state,
                                      stage->mine->scratch, &stage->in, &from, &to);
        mark(run, stage);
        from = to;
    }
}

/* Makes the image, which becomes *view. */
static int make(struct run *run, const struct cw_walk_pending *last, struct cw_view *view,
                struct cw_err *err)
{
    struct stage *makers[CW_PLAN_STRIPS_MAX];
    const size_t n = find_makers(run, makers);
    if (!n)
        return 0;
    struct stage *end = makers[n - 1];
    struct cw_op_ctx *ctx = &end->mine->ctx;
    cw_op_context_slot(run->work, ctx, last->live, run->field, last->shift);
    run->work->failed = end->at;
    int rc = cw_op_output(ctx, &end->view, err);
    if (rc < 0)
        return rc;
    const int64_t h = end->view.dims[end->planes ? 1 : 0];
    const int64_t rows = CW_MIN(strip_rows(makers, n), h);
    size_t bytes = 0;
    for (size_t k = makers[0]->node->op->strips->from_whole ? 1 : 0; k < n; k++)
        bytes = CW_MAX(bytes, (size_t)rows * row_bytes(&makers[k]->in, false));
    bytes = CW_ALIGN_UP(bytes + 64, (size_t)64); /* kernels may read a little behind the end */
    uint8_t *buffers = cw_op_scratch(ctx, 3 * bytes, err);
    if (!buffers)
        return CW_E_NOMEM;
    uint8_t *const buffer[3] = {buffers, buffers + bytes, buffers + 2 * bytes};
    for (int64_t y = 0; y < h; y += rows) {
        run->unmarked = y / rows % STRIPS_A_MARK > 0;
        mark(run, NULL);
        make_strip(run, makers, n, y, CW_MIN(rows, h - y), buffer);
    }
    /* what was written past the caches is visible before anyone learns that the batch is complete */
    cw_mem_fence_nontemporal();
    *view = end->view;
    return 0;
}

/* ---- counters ---- */

/* What the operator behind one that has done its work makes. */
static void set_done(struct run *run)
{
    if (run->called == run->n)
        return;
    struct stage *done = &run->stages[run->n - 1];
    done->in = done->view = run->stages[run->n - 2].view;
    done->ns = 1;
}

static void count(struct run *run, const struct cw_element *element, int rc)
{
    uint64_t others = cw_element_bytes(element) - element->fields[run->field].bytes;
    const int64_t clock_ns = run->work->clock_ns;
    int64_t wall_ns = 1, cpu_ns = 1;
    for (size_t k = 0; k < run->n; k++)
        wall_ns += run->stages[k].ns;
    if (run->sample.cpu_ns)
        cpu_ns = CW_MAX(cw_clock_thread_cpu_ns() - run->sample.cpu_ns - clock_ns, 1);
    for (size_t k = 0; k < run->n; k++) {
        const struct stage *stage = &run->stages[k];
        struct cw_node_tally *tally = &stage->mine->count;
        const bool made = rc == 0 || k + 1 < run->n;
        cw_tally_add(&tally->elements, 1);
        cw_tally_add(&tally->bytes_out, made ? stage->view.bytes : 0);
        cw_tally_add(&tally->element_bytes, made ? others + stage->view.bytes : 0);
        if (k > 0)
            stage->mine->since++;
        if (!run->sample.cpu_ns)
            continue;
        const double share = (double)stage->ns / (double)wall_ns;
        cw_op_measure_take(stage->mine, CW_MAX((int64_t)((double)cpu_ns * share), 1),
                           CW_MAX(stage->ns, 1), stage->in.bytes, made ? stage->view.bytes : 0, 1);
    }
    if (run->sample.cpu_ns)
        cw_op_measure_next(run->stages[0].mine, cpu_ns, clock_ns);
}

bool cw_op_strips_apply(struct cw_thread_context *work, const struct cw_walk_pending *pending,
                        struct cw_element *element, int *ret_rc, struct cw_err *err)
{
    const struct cw_plan_node *node = &work->plan->nodes[pending->node];
    if (work->trace || work->plan->apart)
        return false;
    struct run run = {.work = work, .n = 1, .field = node->fields[0]};
    run.stages[0].at = pending->node;
    find_stages(&run, node);
    set_stages(&run);
    if (run.called < 2)
        return false;
    run.sample = cw_op_measure_begin(run.stages[0].mine, element, &node->reads, 1);
    mark(&run, NULL);
    cw_op_context_want(work, node, &run.stages[0].mine->ctx, element, false);
    struct cw_view view = element->fields[run.field];
    int rc = begin(&run, element, err);
    if (rc == 0 && run.called < 2) { /* it can as well be called */
        run.stages[0].mine->since--;
        return false;
    }
    if (rc == 0)
        rc = make(&run, run.n > 1 ? &work->pending[work->pending_n - (run.n - 1)] : pending, &view,
                  err);
    set_done(&run);
    count(&run, element, rc);
    work->pending_n -= run.n - 1;
    element->fields[run.field] = view;
    *ret_rc = rc;
    return true;
}
