/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the batch of the computed rows: closes the gaps of rows that were left out, concatenates
 * kept rows, and applies the operators behind the batch. */
#include "base/mem.h"
#include "exec/batch_cache.h"
#include "exec/inside.h"
#include "exec/item_batch.h"
#include "exec/op_call.h"
#include "exec/pad_rows.h"
#include "exec/task.h"
#include <string.h>

#define SPARE_PART 8 /* one part in so many of an output's memory may stay unused */

static int64_t count_fate(const struct cw_exec_task *task, enum cw_row_fate fate)
{
    int64_t n = 0;
    if (!atomic_load_explicit(&task->has_dropped, memory_order_relaxed))
        return fate == CW_ROW_KEPT ? task->rows : 0;
    for (int64_t r = 0; r < task->rows; r++)
        n += task->dropped[r] == fate;
    return n;
}

/* Copies the remaining rows to memory of their own if the memory for all rows is much larger.
 * Returns NULL if the batch stays where it is. */
static struct cw_buf *shrink_memory(const struct cw_exec_task *task, size_t bytes)
{
    struct cw_err ignored = {0};
    const struct cw_exec_item *item = task->item;
    size_t cap = task->batch->buf->cap;
    if (task->cut.above_n || !bytes || cap - bytes <= cap / SPARE_PART)
        return NULL;
    struct cw_buf *buf =
        item->alloc ? item->alloc(item->alloc_arg, bytes, &ignored) : cw_buf_new(bytes);
    if (buf && buf->cap >= cap)
        buf = cw_buf_unref(buf);
    return buf;
}

/* Moves rows up over those that were left out, and tensors over the bytes that this frees. */
static int close_gaps(struct cw_exec_task *task, int64_t left, struct cw_err *err)
{
    struct cw_batch *batch = task->batch;
    size_t from[CW_FIELDS_MAX], bytes = 0;
    for (size_t f = 0; f < batch->n; f++) {
        from[f] = batch->tensors[f].offset;
        batch->tensors[f].field.dims[0] = left;
    }
    int rc = cw_batch_layout(batch, &bytes, err);
    if (rc < 0 || !batch->buf)
        return rc;
    struct cw_buf *old = batch->buf, *own = shrink_memory(task, bytes);
    const uint8_t *base = old->data;
    if (own)
        batch->buf = own;
    for (size_t f = 0; f < batch->n; f++) {
        uint8_t *dst = (uint8_t *)batch->buf->data + batch->tensors[f].offset;
        for (int64_t r = 0; r < task->rows;) {
            if (task->dropped[r]) {
                r++;
                continue;
            }
            int64_t first = r;
            while (r < task->rows && !task->dropped[r])
                r++;
            size_t run = (size_t)(r - first) * task->row_bytes[f];
            memmove(dst, base + from[f] + (size_t)first * task->row_bytes[f], run);
            dst += run;
        }
    }
    batch->buf->len = bytes;
    if (own)
        cw_buf_unref(old);
    if (!bytes)
        batch->buf = cw_buf_unref(batch->buf);
    return 0;
}

/* Fails the item, with the names of both elements whose shapes differ. */
static int wrap_shape(const struct cw_exec_task *task, int64_t row, struct cw_err *err)
{
    return cw_exec_task_name_row(
        task, task->cut.group != SIZE_MAX ? task->cut.group : task->cut.node, row, err);
}

static int assemble(struct cw_exec_task *task, struct cw_thread_context *work, int64_t left,
                    struct cw_err *err)
{
    if (task->pieces.last && task->pieces.rows == task->rows)
        return cw_row_pieces_join(task, err);
    if (cw_row_pieces_keep(task, work, err) < 0)
        return err->code;
    cw_autofree const struct cw_view **row = cw_mem_try(((size_t)left + 1) * sizeof(*row));
    if (!row)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %lld rows", (long long)left);
    struct cw_row_batch rows = {
        .row = row, .spec = task->spec, .out = task->out, .lead = task->lead};
    rows.loose = task->cut.group == SIZE_MAX && task->lead;
    for (int64_t r = 0; r < task->rows; r++)
        if (!task->dropped[r])
            row[rows.n++] = task->kept[r];
    size_t bad = 0;
    int rc = 0;
    if (task->cut.group != SIZE_MAX) {
        cw_arena_reset(work->arena);
        rc = cw_pad_rows(&task->plan->nodes[task->cut.group], &rows, work->arena, err);
    }
    struct cw_batch *batch = task->batch = cw_batch_new(rows.spec->n);
    if (rc == 0)
        rc = cw_row_batch_measure(&rows, batch, &bad, err);
    if (rc < 0) {
        int64_t r = 0;
        for (size_t n = 0; n <= bad && r < task->rows; r++)
            n += !task->dropped[r];
        return wrap_shape(task, r - 1, err);
    }
    rc = cw_exec_batch_alloc(task, !task->cut.above_n, batch, err);
    if (rc >= 0 && batch->buf)
        cw_row_batch_copy(&rows, batch, batch->buf->data);
    return rc;
}

/* Applies the element operators behind the batch to the whole batch, and packs their result. */
static int apply_above(struct cw_exec_task *task, struct cw_thread_context *work, bool keep,
                       struct cw_err *err)
{
    struct cw_batch *below = task->batch;
    struct cw_element *element = work->element;
    element->id = (uint64_t)task->cut.group_pos;
    element->rep = task->cut.rep;
    cw_arena_reset(work->arena);
    cw_row_batch_view(below, below->buf ? below->buf->data : NULL, element);
    work->trace_row = -1;
    work->pending_n = 0;
    for (size_t k = task->cut.above_n; k > 0; k--) {
        struct cw_walk_pending pending = {.node = task->cut.above[k - 1]};
        int rc = cw_op_call_apply(work, &pending, element, err);
        if (rc < 0)
            return wrap_shape(task, 0, err);
        if (keep)
            cw_batch_cache_put(task, k - 1, element);
    }
    const struct cw_view *row = element->fields;
    const struct cw_spec *spec = &task->plan->nodes[task->plan->output].out;
    struct cw_row_batch rows = {.row = &row, .n = 1, .spec = spec, .out = spec};
    struct cw_batch *batch = cw_batch_new(spec->n);
    size_t bad = 0;
    int rc = cw_row_batch_measure(&rows, batch, &bad, err);
    if (rc >= 0)
        rc = cw_exec_batch_alloc(task, true, batch, err);
    if (rc >= 0 && batch->buf)
        cw_row_batch_copy(&rows, batch, batch->buf->data);
    if (rc < 0) {
        work->failed = task->plan->output;
        cw_batch_unref(batch);
        return rc;
    }
    cw_exec_batch_give_back(task, below);
    task->batch = batch;
    return 0;
}

/* Puts the batch into the caches directly behind it. */
static void cache_batch(const struct cw_exec_task *task, struct cw_thread_context *work)
{
    const struct cw_batch *batch = task->batch;
    struct cw_element *element = work->element;
    element->id = (uint64_t)task->cut.group_pos;
    element->rep = task->cut.rep;
    if (!cw_batch_cache_wants(task, task->cut.above_n))
        return;
    cw_row_batch_view(batch, batch->buf ? batch->buf->data : NULL, element);
    cw_batch_cache_put(task, task->cut.above_n, element);
}

/* Makes the batch from the rows. */
static int join_rows(struct cw_exec_task *task, struct cw_thread_context *work, int64_t left,
                     struct cw_err *err)
{
    if (task->batch_cache_hit != SIZE_MAX)
        return 0;
    if (!task->fixed)
        return assemble(task, work, left, err);
    return left < task->rows && task->lead ? close_gaps(task, left, err) : 0;
}

/* Makes an output without tensors, for one whose only element was left out. */
static void make_empty(struct cw_exec_task *task)
{
    cw_batch_unref(task->batch);
    task->batch = cw_batch_new(0);
}

static int finish(struct cw_exec_task *task, struct cw_thread_context *work, int64_t *left,
                  int64_t *bad, struct cw_err *err)
{
    *bad = count_fate(task, CW_ROW_BAD);
    *left = task->batch_cache_hit == SIZE_MAX ? count_fate(task, CW_ROW_KEPT) : task->cut.rows;
    if (!task->lead && !*left) {
        make_empty(task);
        return 0;
    }
    if (task->plan->inside_n > 0)
        return cw_inside_run(task, work, left, bad, err);
    int rc = join_rows(task, work, *left, err);
    /* A batch from which bad elements were left out is not cached, since another run may not skip
     * them. */
    bool keep = rc >= 0 && !*bad;
    if (keep)
        cache_batch(task, work);
    if (rc < 0 || !task->cut.above_n)
        return rc;
    rc = apply_above(task, work, keep, err);
    if (rc < 0 && cw_exec_task_may_skip(task, rc) && !work->trace_rc) {
        cw_exec_task_batch_is_bad(task, work, *left, err);
        *bad += *left;
        *left = 0;
        make_empty(task);
        return 0;
    }
    return rc;
}

struct cw_batch *cw_exec_task_finish(struct cw_exec_task *task, struct cw_thread_context *work,
                                     struct cw_err *err)
{
    int64_t left = 0, bad = 0;
    if (task->failed_row != INT64_MAX) {
        *err = task->err;
        return NULL;
    }
    if (finish(task, work, &left, &bad, err) < 0)
        return NULL;
    struct cw_batch *batch = task->batch;
    task->batch = NULL;
    batch->epoch = task->item->epoch;
    batch->item = task->item->item;
    batch->elements = (uint64_t)left;
    batch->skipped = (uint64_t)bad;
    batch->bad = task->bad;
    task->bad = NULL;
    if (task->batch_cache_hit != SIZE_MAX) {
        cw_tally_add(&work->nodes[task->batch_cache_hit].count.hits, 1);
    } else if (task->cut.group != SIZE_MAX) {
        struct cw_node_tally *count = &work->nodes[task->cut.group].count;
        cw_tally_add(&count->elements, 1);
        cw_tally_add(&count->bytes_out, batch->buf ? batch->buf->len : 0);
        for (size_t f = 0; f < batch->n; f++)
            cw_tally_add(&count->element_bytes, batch->tensors[f].bytes);
    }
    return batch;
}
