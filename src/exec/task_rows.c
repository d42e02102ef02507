/* SPDX-License-Identifier: Apache-2.0 */
/* Computes rows of a task, and stores them. */
#include "exec/task.h"

#include "base/clock.h"
#include "base/mem.h"
#include "exec/element_cache.h"
#include "exec/inside.h"
#include "exec/pad_rows.h"
#include "exec/positions.h"
#include "exec/row_block.h"
#include "exec/source_rows.h"
#include "format/source_file.h"
#include <string.h>

#define KEPT_ALIGN ((size_t)64)

static void row_at(const struct cw_thread_context *work, int64_t row, struct cw_walk_at *at)
{
    *at = (struct cw_walk_at){
        .node = work->way->node, .pos = work->way->pos + row, .rep = work->way->rep};
}

/* Records that a row failed. Only the lowest failed row is reported: which one that is does not
 * depend on the threads. */
static void fail_row(struct cw_exec_task *task, const struct cw_thread_context *work, int64_t row,
                     struct cw_err *err)
{
    const struct cw_plan_node *node = &work->plan->nodes[work->failed];
    struct cw_walk_at at;
    CW_STR_AUTO source = {0};
    int64_t id;
    row_at(work, row, &at);
    cw_eval_describe(work->plan, task->item->epoch, &at, &id, &source);
    cw_err_wrap(err, "node \"%s\" (%s), element %lld (%s)", node->node->name, node->op->name,
                (long long)(id < 0 ? at.pos : id), cw_str_text(&source));
    cw_mutex_lock(&task->mutex);
    if (row < task->failed_row) {
        task->failed_row = row;
        task->err = *err;
    }
    cw_mutex_unlock(&task->mutex);
}

static int check_field(const struct cw_spec *spec, size_t f, const struct cw_view *view,
                       struct cw_err *err)
{
    if (cw_row_batch_fits(view, &spec->fields[f]))
        return 0;
    CW_STR_AUTO shape = {0};
    cw_row_batch_print_shape(view, &shape);
    return cw_err_set(err, CW_E_INTERNAL, "gave field \"%s\" as %s, which is not what it said",
                      spec->fields[f].name, cw_str_text(&shape));
}

/* Copies the row to its place, except for fields that their last operator has written there
 * already. */
static int store_fixed(struct cw_thread_context *work, const struct cw_element *element,
                       struct cw_err *err)
{
    for (size_t f = 0; f < work->to.spec->n; f++) {
        const struct cw_view *view = &element->fields[f];
        int rc = check_field(work->to.spec, f, view, err);
        if (rc < 0)
            return rc;
        if (view->data != work->slot[f] && view->bytes)
            memcpy(work->slot[f], view->data, view->bytes);
    }
    return 0;
}

/* Whether the group that fills the row up, here or in the client, allows its length. */
static int check_padded(const struct cw_exec_task *task, const struct cw_element *element,
                        struct cw_err *err)
{
    const struct cw_plan *plan = task->plan;
    const bool by_client = plan->info.pads && plan->inside_n == 0;
    const size_t group = by_client ? plan->sparse.pads : task->cut.group;
    return group == SIZE_MAX ? 0 : cw_pad_check(&plan->nodes[group], element->fields, err);
}

static int store_kept(struct cw_exec_task *task, struct cw_thread_context *work, int64_t row,
                      const struct cw_element *element, struct cw_err *err)
{
    size_t n = task->spec->n, bytes = CW_ALIGN_UP(n * sizeof(struct cw_view), KEPT_ALIGN);
    for (size_t f = 0; f < n; f++) {
        int rc = check_field(task->spec, f, &element->fields[f], err);
        if (rc < 0)
            return rc;
        bytes += CW_ALIGN_UP(element->fields[f].bytes, KEPT_ALIGN);
    }
    int rc = check_padded(task, element, err);
    if (rc < 0)
        return rc;
    uint8_t *block = cw_row_memory_get(task, work, bytes);
    if (!block)
        return cw_err_set(err, CW_E_NOMEM, "no memory for an element of %zu bytes", bytes);
    struct cw_view *views = (struct cw_view *)(void *)block;
    uint8_t *at = block + CW_ALIGN_UP(n * sizeof(struct cw_view), KEPT_ALIGN);
    for (size_t f = 0; f < n; f++) {
        views[f] = element->fields[f];
        if (views[f].bytes)
            memcpy(at, views[f].data, views[f].bytes);
        views[f].data = at;
        at += CW_ALIGN_UP(views[f].bytes, KEPT_ALIGN);
    }
    task->kept[row] = views;
    return 0;
}

/* For operators inside the item. */
static int keep_id(struct cw_exec_task *task, struct cw_thread_context *work, int64_t row,
                   const struct cw_element *element, struct cw_err *err)
{
    task->ids[row] = (struct cw_row_id){.id = element->id, .rep = element->rep};
    return cw_inside_check(work, element, err);
}

static int compute_row(struct cw_exec_task *task, struct cw_thread_context *work,
                       struct cw_walk_at *at, struct cw_element *element, int64_t row,
                       struct cw_err *err)
{
    const struct cw_spec *spec = work->to.spec;
    if (task->fixed) {
        at->live = cw_field_mask(spec->n);
        for (size_t f = 0; f < spec->n; f++)
            work->slot[f] = cw_row_place(&work->to, f, row);
    }
    cw_arena_reset(work->arena);
    if (CW_UNLIKELY(work->trace)) {
        int64_t id;
        work->trace_row = row;
        cw_str_clear(&work->trace_source);
        cw_eval_describe(work->plan, task->item->epoch, at, &id, &work->trace_source);
    }
    int rc = cw_eval(work, at, element, err);
    if (rc)
        return rc;
    if (element->n != spec->n)
        rc = cw_err_set(err, CW_E_INTERNAL, "gave %zu fields instead of %zu", element->n, spec->n);
    else
        rc = task->fixed ? store_fixed(work, element, err)
                         : store_kept(task, work, row, element, err);
    if (rc < 0)
        work->failed = work->way->node;
    else if (task->ids)
        rc = keep_id(task, work, row, element, err);
    return rc;
}

/* Releases the pins of a row that is stored. Returns false if a pinned record became unreadable
 * while it was used: then the row, or its error, is dropped. */
static bool release(struct cw_exec_task *task, struct cw_thread_context *work, int64_t row)
{
    bool intact = cw_cache_is_intact(&work->pins);
    if (intact)
        cw_cache_unpin_element(&work->pins);
    else
        cw_cache_unpin(&work->pins);
    if (!intact && task->kept) {
        cw_row_memory_undo(work, task->kept[row]);
        task->kept[row] = NULL;
    }
    return intact;
}

static void drop_row(struct cw_exec_task *task, int64_t row, enum cw_row_fate fate)
{
    task->dropped[row] = (uint8_t)fate;
    if (!atomic_load_explicit(&task->has_dropped, memory_order_relaxed))
        atomic_store_explicit(&task->has_dropped, true, memory_order_relaxed);
}

/* Computes one row. Returns false if the item has failed. */
static bool run_row(struct cw_exec_task *task, struct cw_thread_context *work,
                    struct cw_walk_at *at, struct cw_element *element, int64_t row)
{
    struct cw_err err;
    err.code = 0;
    err.msg[0] = 0;
    if (CW_UNLIKELY(cw_stop_is_set(&task->stop))) {
        cw_exec_task_cancel(task);
        return false;
    }
    int64_t pos = at->pos;
    uint64_t rep = at->rep;
    bool mapped = at->mapped;
    int rc = compute_row(task, work, at, element, row, &err);
    while (CW_UNLIKELY(work->pins.n) && !release(task, work, row)) {
        err.code = 0;
        row_at(work, row, at);
        at->pos = pos;
        at->rep = rep;
        at->mapped = mapped;
        rc = compute_row(task, work, at, element, row, &err);
    }
    if (rc == 0)
        return true;
    if (rc > 0) {
        drop_row(task, row, CW_ROW_FILTERED);
    } else if (cw_exec_task_may_skip(task, rc) && !work->trace_rc) {
        drop_row(task, row, CW_ROW_BAD);
        cw_exec_task_row_is_bad(task, work, row, &err);
    } else {
        fail_row(task, work, row, &err);
        return false;
    }
    return true;
}

/* Copies rows from the first on that a cache has as they are, and returns how many. */
static size_t copy_rows(struct cw_thread_context *work, int64_t row, const int64_t *positions,
                        size_t n)
{
    struct cw_cache_rows rows;
    rows.n = work->to.spec->n;
    for (size_t f = 0; f < rows.n; f++) {
        rows.bytes[f] = work->to.row_bytes[f];
        rows.to[f] = cw_row_place(&work->to, f, row);
    }
    return cw_element_cache_rows(work, work->way->node, positions, n, &rows);
}

/* Computes a few rows of known positions. Returns false if the item has failed. */
static bool run_positions(struct cw_exec_task *task, struct cw_thread_context *work,
                          struct cw_element *element, int64_t row,
                          const struct cw_position_run *positions, size_t first, size_t n)
{
    struct cw_walk_at at;
    size_t i = first, end = first + n, copied;
    if (work->caching && work->way->ids && task->fixed && task->batch->buf && !work->trace &&
        !cw_stop_is_set(&task->stop))
        do {
            copied = copy_rows(work, row + (int64_t)(i - first), &positions->pos[i], end - i);
            i += copied;
        } while (copied > 0 && i < end);
    for (; i < end; i++) {
        row_at(work, row + (int64_t)(i - first), &at);
        at.pos = positions->pos[i];
        at.rep = positions->rep[i];
        at.mapped = work->way->mapped;
        if (!run_row(task, work, &at, element, row + (int64_t)(i - first)))
            return false;
    }
    return true;
}

static bool read_run(struct cw_exec_task *task, struct cw_thread_context *work, int64_t row,
                     const struct cw_position_run *run)
{
    return work->way->rows_source != SIZE_MAX && !cw_stop_is_set(&task->stop) &&
           cw_source_rows_read(task, work, row, run->pos, run->n);
}

/* Computes rows whose positions are mapped. Where a source has refused many together, fewer are tried: one
 * bad row does not make all of them slow. Returns false if the item has failed. */
static bool run_run(struct cw_exec_task *task, struct cw_thread_context *work,
                    struct cw_element *element, int64_t row, const struct cw_position_run *run)
{
    if (read_run(task, work, row, run))
        return true;
    if (run->n > CW_POSITIONS_MAX) {
        for (size_t i = 0; i < run->n; i += CW_POSITIONS_MAX) {
            const struct cw_position_run part = {.n = CW_MIN(run->n - i, (size_t)CW_POSITIONS_MAX),
                                                 .pos = run->pos + i,
                                                 .rep = run->rep + i};
            if (!run_run(task, work, element, row + (int64_t)i, &part))
                return false;
        }
        return true;
    }
    for (size_t i = 0, n; i < run->n; i += n) {
        n = CW_MIN(run->n - i, (size_t)CW_CACHE_CPU_PREFETCH);
        if (work->caching && work->way->mapped)
            cw_element_cache_cpu_prefetch(work->plan, work->way->node, &run->pos[i], n);
        if (!run_positions(task, work, element, row + (int64_t)i, run, i, n))
            return false;
    }
    return true;
}

/* Computes rows whose positions are mapped, or looked up in a cache, many at a time: more if a source reads
 * them together. Returns false if the item has failed. */
static bool run_mapped(struct cw_exec_task *task, struct cw_thread_context *work,
                       struct cw_element *element, int64_t lo, int64_t hi)
{
    const int64_t most = work->way->rows_source != SIZE_MAX ? CW_SOURCE_ROWS_MAX : CW_POSITIONS_MAX;
    struct cw_position_run run = {.pos = work->run_pos, .rep = work->run_rep};
    for (int64_t row = lo; row < hi; row += (int64_t)run.n) {
        run.n = (size_t)CW_MIN(hi - row, most);
        for (size_t i = 0; i < run.n; i++) {
            run.pos[i] = work->way->pos + row + (int64_t)i;
            run.rep[i] = work->way->rep;
        }
        if (work->way->mapped)
            cw_positions_map(work->plan, task->item->epoch, work, work->way->node, &run);
        if (!run_run(task, work, element, row, &run))
            return false;
    }
    return true;
}

/* Computes the rows up to the operators that are called by blocks. Returns false if the item has
 * failed. */
static bool run_rows(struct cw_exec_task *task, struct cw_thread_context *work, int64_t lo,
                     int64_t hi)
{
    struct cw_element *element = work->element;
    struct cw_walk_at at;
    if (work->way->affine && !work->trace)
        lo += cw_source_rows_read_affine(task, work, lo, hi);
    for (size_t f = 0; f < work->to.spec->n; f++)
        work->slot_bytes[f] = task->fixed ? work->to.row_bytes[f] : 0;
    if ((work->way->mapped || work->caching) && !work->trace)
        return run_mapped(task, work, element, lo, hi);
    for (int64_t row = lo; row < hi; row++) {
        row_at(work, row, &at);
        if (!run_row(task, work, &at, element, row))
            return false;
    }
    return true;
}

/* Computes rows block by block. */
static void run_blocks(struct cw_exec_task *task, struct cw_thread_context *work, int64_t lo,
                       int64_t hi)
{
    struct cw_err err = {0};
    for (int64_t row = lo, end; row < hi; row = end) {
        end = CW_MIN(row + work->way->block_rows, hi);
        if (cw_stop_is_set(&task->stop)) {
            cw_exec_task_cancel(task);
            return;
        }
        int rc = cw_row_block_begin(task, work, row, end, &err);
        if (rc == 0 && !run_rows(task, work, row, end))
            return;
        if (rc == 0)
            rc = cw_row_block_end(task, work, row, end, &err);
        if (rc < 0) {
            fail_row(task, work, row, &err);
            return;
        }
    }
}

static void run(struct cw_exec_task *task, struct cw_thread_context *work, int64_t lo, int64_t hi)
{
    if (work->way->block_ops_n) {
        run_blocks(task, work, lo, hi);
        return;
    }
    work->to.spec = task->spec;
    work->to.first = 0;
    for (size_t f = 0; task->fixed && f < task->spec->n; f++) {
        work->to.row_bytes[f] = task->row_bytes[f];
        work->to.column[f] =
            task->batch->buf ? (uint8_t *)task->batch->buf->data + task->batch->tensors[f].offset
                             : NULL;
    }
    (void)run_rows(task, work, lo, hi);
}

void cw_exec_task_run(struct cw_exec_task *task, struct cw_thread_context *work,
                      const struct cw_row_way *way, int64_t lo, int64_t hi)
{
    struct cw_row_way by_rows;
    if (lo >= hi)
        return;
    if (work->trace && way->block_ops_n) { /* which is shown what every operator gives for a row */
        by_rows = *way;
        by_rows.node = way->top;
        by_rows.block_ops_n = 0;
        way = &by_rows;
    }
    work->way = way;
    int64_t begin = task->batch_caches_n ? cw_clock_ns() : 0;
    cw_plan_read_for(work->plan);
    run(task, work, lo, hi);
    cw_row_memory_pause(task, work);
    if (work->pins.n > 0)
        cw_cache_unpin(&work->pins);
    if (task->batch_caches_n)
        atomic_fetch_add_explicit(&task->run_ns, cw_clock_ns() - begin, memory_order_relaxed);
}
