/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/row_block.h"

#include "base/mem.h"
#include "exec/element_cache.h"
#include "exec/op_call.h"
#include "exec/op_fold.h"
#include <string.h>

/* A block's columns, before and behind its operators, stay within the first-level cache. */
#define BLOCK_BYTES ((size_t)32 << 10)
/* A call costs little beside the work on so few large rows. */
#define BLOCK_ROWS_MIN ((size_t)8)
#define BLOCK_ROWS_MAX ((size_t)1024)
#define COLUMN_ALIGN ((size_t)64)

static size_t bytes_of(const struct cw_spec *spec)
{
    size_t bytes = 0;
    for (size_t f = 0; f < spec->n; f++)
        bytes += (size_t)CW_MAX(cw_field_bytes(&spec->fields[f]), 0);
    return bytes;
}

void cw_row_block_find(const struct cw_exec_task *task, struct cw_row_way *way)
{
    const struct cw_plan *plan = way->plan;
    uint16_t ops[CW_BLOCK_OPS_MAX];
    size_t n = 0, at = way->node, bytes = bytes_of(&plan->nodes[at].out);
    if (!task->fixed || plan->apart)
        return;
    for (; n < CW_BLOCK_OPS_MAX; at = plan->nodes[at].inputs[0]) {
        const struct cw_plan_node *node = &plan->nodes[at];
        if (cw_element_cache_use(node) || (node->step != CW_STEP_PASS && !node->many_in))
            break;
        if (node->step == CW_STEP_PASS)
            continue;
        ops[n++] = (uint16_t)at;
        bytes = CW_MAX(bytes, bytes_of(node->in));
    }
    const size_t rows = BLOCK_BYTES / CW_MAX(2 * bytes, 1);
    if (!n || rows < BLOCK_ROWS_MIN)
        return;
    memcpy(way->block_ops, ops, n * sizeof(ops[0]));
    way->block_ops_n = n;
    way->block_rows = (int64_t)CW_MIN(rows, BLOCK_ROWS_MAX);
    way->node = at;
}

/* Returns the fields that an operator of the block from the k-th on, counted from the last one,
 * writes. */
static struct cw_field_set written(const struct cw_thread_context *work, size_t k)
{
    struct cw_field_set fields = {{0}};
    while (k-- > 0)
        cw_field_set_join(&fields, &work->plan->nodes[work->way->block_ops[k]].writes);
    return fields;
}

static uint8_t *of_batch(const struct cw_exec_task *task, size_t f, int64_t row)
{
    return task->batch->buf ? (uint8_t *)task->batch->buf->data + task->batch->tensors[f].offset +
                                  (size_t)row * task->row_bytes[f]
                            : NULL;
}

int cw_row_block_begin(struct cw_exec_task *task, struct cw_thread_context *work, int64_t lo,
                       int64_t hi, struct cw_err *err)
{
    struct cw_row_target *to = &work->to;
    const struct cw_field_set changed = written(work, work->way->block_ops_n);
    size_t at = 0;
    to->spec = &work->plan->nodes[work->way->node].out;
    to->first = lo;
    /* No spec has more; the compiler does not know it. */
    const size_t n = CW_MIN(to->spec->n, (size_t)CW_FIELDS_MAX);
    for (size_t f = 0; f < n; f++) {
        to->row_bytes[f] = (size_t)CW_MAX(cw_field_bytes(&to->spec->fields[f]), 0);
        to->column[f] = cw_field_set_has(&changed, f) ? NULL : of_batch(task, f, lo);
        if (cw_field_set_has(&changed, f))
            at += CW_ALIGN_UP((size_t)(hi - lo) * to->row_bytes[f], COLUMN_ALIGN);
    }
    at = CW_MAX(at, COLUMN_ALIGN); /* values of no bytes have a place as well */
    if (at > work->block_bytes) {
        cw_mem_free(work->block);
        work->block = cw_mem_try(at);
        work->block_bytes = work->block ? at : 0;
    }
    if (!work->block) {
        work->failed = work->way->node;
        return cw_err_set(err, CW_E_NOMEM, "no memory for a block of %zu bytes", at);
    }
    at = 0;
    for (size_t f = 0; f < n; f++) {
        if (!cw_field_set_has(&changed, f))
            continue;
        to->column[f] = work->block + at;
        at += CW_ALIGN_UP((size_t)(hi - lo) * to->row_bytes[f], COLUMN_ALIGN);
    }
    return 0;
}

/* Rows that were left out become zeros, so that the operators meet no values that nobody has set.
 * Returns how many rows there are. */
static size_t clear_left_out(const struct cw_exec_task *task, struct cw_thread_context *work,
                             int64_t lo, int64_t hi)
{
    const struct cw_row_target *to = &work->to;
    size_t left = 0;
    for (int64_t row = lo; row < hi; row++) {
        if (!task->dropped[row]) {
            left++;
            continue;
        }
        for (size_t f = 0; f < to->spec->n; f++)
            if (to->column[f])
                memset(to->column[f] + (size_t)(row - lo) * to->row_bytes[f], 0, to->row_bytes[f]);
    }
    return left;
}

/* Whether the k-th operator of the block, counted from the last one, is left out for these rows: it has no effect, or
 * one of those behind it does its work. */
static bool is_left_out(struct cw_thread_context *work, size_t k, size_t rows)
{
    const uint16_t *ops = work->way->block_ops;
    const size_t to = work->plan->nodes[ops[k]].folds_to;
    bool has_to = to == ops[k];
    for (size_t j = 0; j < k; j++)
        has_to = has_to || to == ops[j];
    return has_to && cw_op_fold_calls(work, ops[k], rows);
}

/* Sets a view for each column. */
static void view_columns(const struct cw_row_target *to, int64_t rows, struct cw_element *element)
{
    element->n = to->spec->n;
    for (size_t f = 0; f < to->spec->n; f++) {
        const struct cw_field *field = &to->spec->fields[f];
        struct cw_view *view = &element->fields[f];
        *view = (struct cw_view){.data = to->column[f],
                                 .bytes = (size_t)rows * to->row_bytes[f],
                                 .dtype = field->dtype,
                                 .rank = field->rank + 1};
        view->dims[0] = rows;
        memcpy(view->dims + 1, field->dims, (size_t)field->rank * sizeof(field->dims[0]));
    }
}

static int store(const struct cw_exec_task *task, struct cw_thread_context *work,
                 const struct cw_element *element, int64_t lo, int64_t hi, struct cw_err *err)
{
    work->failed = work->way->block_ops[0];
    for (size_t f = 0; f < task->spec->n; f++) {
        const struct cw_view *view = &element->fields[f];
        const size_t bytes = (size_t)(hi - lo) * task->row_bytes[f];
        if (f >= element->n || view->dtype != task->spec->fields[f].dtype || view->bytes != bytes)
            return cw_err_set(err, CW_E_INTERNAL, "gave another field \"%s\" than it said",
                              task->spec->fields[f].name);
        uint8_t *to = of_batch(task, f, lo);
        if (bytes && view->data != to)
            memcpy(to, view->data, bytes);
    }
    return 0;
}

int cw_row_block_end(struct cw_exec_task *task, struct cw_thread_context *work, int64_t lo,
                     int64_t hi, struct cw_err *err)
{
    const struct cw_row_way *way = work->way;
    struct cw_element *element = work->element;
    const size_t left = clear_left_out(task, work, lo, hi);
    if (!left)
        return 0;
    cw_arena_reset(work->arena);
    element->id = element->rep = 0;
    view_columns(&work->to, hi - lo, element);
    for (size_t f = 0; f < task->spec->n; f++) {
        work->slot[f] = of_batch(task, f, lo);
        work->slot_bytes[f] = (size_t)(hi - lo) * task->row_bytes[f];
    }
    for (size_t k = way->block_ops_n; k-- > 0;) {
        const uint64_t live = ~written(work, k).word[0];
        if (is_left_out(work, k, left))
            continue;
        const int rc = cw_op_call_many(work, way->block_ops[k], live, left, element, err);
        if (rc < 0)
            return rc;
    }
    return store(task, work, element, lo, hi, err);
}
