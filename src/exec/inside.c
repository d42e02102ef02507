/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the operators that work inside an item. Elements on the way are views of the rows, and of memory of
 * the thread's arena, which is not reset until the item is made. */
#include "exec/inside.h"

#include "base/call_note.h"
#include "base/clock.h"
#include "base/mem.h"
#include "exec/item_batch.h"
#include "exec/op_call.h"
#include "exec/pad_rows.h"
#include "exec/row_batch.h"
#include <string.h>

/* An element on the way. */
struct inside_row {
    const struct cw_view *fields;
    uint64_t id, rep;
    int64_t origin; /* the row of the item that its id is of */
};
struct rows {
    struct inside_row *v;
    size_t n, cap;
};
struct inside {
    struct cw_exec_task *task;
    struct cw_thread_context *work;
    size_t at; /* the node of the operator that is called */
    struct rows in, out;
    struct cw_spec row; /* of the rows that a group is made of */
    uint32_t *made;     /* for each row of `in`, how many elements have its id */
    int64_t bad;
};

static const struct cw_plan_node *node_of(const struct inside *inside)
{
    return &inside->task->plan->nodes[inside->at];
}

static int add(struct rows *rows, const struct inside_row *row, struct cw_err *err)
{
    if (rows->n == rows->cap) {
        size_t cap = CW_MAX(2 * rows->cap, 64);
        void *grown = cw_mem_try_grow(rows->v, cap * sizeof(*rows->v));
        if (!grown)
            return cw_err_set(err, CW_E_NOMEM, "no memory for %zu elements", cap);
        rows->v = grown;
        rows->cap = cap;
    }
    rows->v[rows->n++] = *row;
    return 0;
}

static void to_element(const struct inside *inside, const struct cw_spec *spec,
                       const struct inside_row *row, struct cw_element *ret_element)
{
    (void)inside;
    ret_element->n = spec->n;
    ret_element->id = row->id;
    ret_element->rep = row->rep;
    memcpy(ret_element->fields, row->fields, spec->n * sizeof(row->fields[0]));
}

/* Copies the views of an element into the arena. */
static const struct cw_view *keep_views(const struct inside *inside, const struct cw_view *fields,
                                        size_t n, struct cw_err *err)
{
    struct cw_view *views = cw_arena_alloc(inside->work->arena, n * sizeof(*views));
    if (!views) {
        cw_err_set(err, CW_E_NOMEM, "no memory for an element");
        return NULL;
    }
    memcpy(views, fields, n * sizeof(*views));
    return views;
}

/* ---- what is bad ---- */

/* An element that the operator refuses fails the item with its name, or is left out. */
static int refuse(struct inside *inside, const struct inside_row *row, size_t elements,
                  struct cw_err *err)
{
    struct cw_exec_task *task = inside->task;
    inside->work->failed = inside->at;
    if (!cw_exec_task_may_skip(task, err->code) || inside->work->trace_rc)
        return cw_exec_task_name_row(task, inside->at, row->origin, err);
    cw_exec_task_made_is_bad(task, inside->at, row->origin, elements, err);
    inside->bad += (int64_t)elements;
    return 0;
}

static int check(const struct cw_plan_node *node, const struct cw_view *row, struct cw_err *err)
{
    int rc = node->op->check_row ? node->op->check_row(node->opts, node->in, row, err) : 0;
    return rc < 0 ? rc : cw_pad_check(node, row, err);
}

int cw_inside_check(struct cw_thread_context *work, const struct cw_element *row,
                    struct cw_err *err)
{
    size_t first = work->plan->inside[0];
    int rc = check(&work->plan->nodes[first], row->fields, err);
    if (rc < 0)
        work->failed = first;
    return rc;
}

/* Leaves out rows that the operator refuses. Those of the item were looked at when they were computed. */
static int check_rows(struct inside *inside, struct cw_err *err)
{
    const struct cw_plan_node *node = node_of(inside);
    size_t left = 0;
    if (inside->at == inside->task->plan->inside[0] ||
        !(node->op->check_row || node->op->group_pad))
        return 0;
    for (size_t i = 0; i < inside->in.n; i++) {
        int rc = check(node, inside->in.v[i].fields, err);
        if (rc == 0)
            inside->in.v[left++] = inside->in.v[i];
        else if ((rc = refuse(inside, &inside->in.v[i], 1, err)) < 0)
            return rc;
    }
    inside->in.n = left;
    return 0;
}

/* ---- what operators make ---- */

static int put(struct inside *inside, size_t first, const struct cw_view *fields,
               struct cw_err *err)
{
    const struct inside_row *from = &inside->in.v[first];
    struct cw_thread_context *work = inside->work;
    struct cw_node_tally *count = &work->nodes[inside->at].count;
    uint64_t number = inside->made[first]++;
    struct inside_row row = {
        .fields = fields, .id = from->id, .rep = from->rep, .origin = from->origin};
    struct cw_element *element = work->second;
    if (number > 0)
        row.id = cw_mix64(from->id + cw_mix64(number));
    to_element(inside, &node_of(inside)->out, &row, element);
    uint64_t bytes = cw_element_bytes(element);
    cw_tally_add(&count->elements, 1);
    cw_tally_add(&count->bytes_out, bytes);
    cw_tally_add(&count->element_bytes, bytes);
    int rc = work->trace ? cw_op_call_trace(work, inside->at, element, err) : 0;
    return rc < 0 ? rc : add(&inside->out, &row, err);
}

static int make(const struct cw_op_rows *rows, size_t first, const struct cw_view *fields,
                struct cw_err *err)
{
    struct inside *inside = rows->arg;
    const struct cw_spec *spec = &node_of(inside)->out;
    for (size_t f = 0; f < spec->n; f++)
        if (!cw_row_batch_fits(&fields[f], &spec->fields[f]))
            return cw_err_set(err, CW_E_INTERNAL, "field \"%s\" is not what it said",
                              spec->fields[f].name);
    const struct cw_view *kept = keep_views(inside, fields, spec->n, err);
    return kept ? put(inside, first, kept, err) : CW_E_NOMEM;
}

static int join(const struct cw_op_rows *op_rows, size_t first, const struct cw_view *const *row,
                size_t n, int64_t length, struct cw_err *err)
{
    struct inside *inside = op_rows->arg;
    const struct cw_plan_node *node = node_of(inside);
    struct cw_arena *arena = inside->work->arena;
    struct cw_row_batch rows = {
        .row = row, .n = n, .spec = &inside->row, .out = &node->out, .lead = true, .least = length};
    struct cw_element *element = inside->work->element;
    int rc = cw_pad_rows(node, &rows, arena, err);
    if (rc == 0)
        rc = cw_row_batch_to_element(&rows, arena, element, err);
    if (rc < 0)
        return refuse(inside, &inside->in.v[first], n, err);
    const struct cw_view *kept = keep_views(inside, element->fields, node->out.n, err);
    return kept ? put(inside, first, kept, err) : CW_E_NOMEM;
}

/* Makes groups of consecutive rows, as a batch does of positions. */
static int cut(const struct inside *inside, const struct cw_op_rows *rows, struct cw_err *err)
{
    const struct cw_plan_node *node = node_of(inside);
    size_t size = (size_t)node->op->group_size(node->opts);
    size_t shift = (size_t)cw_op_group_shift(node->op, node->opts);
    bool drops = node->op->group_drops(node->opts);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < rows->n && !(drops && rows->n - i < size); i += shift)
        rc = join(rows, i, rows->row + i, CW_MIN(size, rows->n - i), 0, err);
    return rc;
}

/* ---- the operators ---- */

static int call(struct inside *inside, const struct cw_op_rows *rows, struct cw_err *err)
{
    const struct cw_plan_node *node = node_of(inside);
    struct cw_node_context *mine = &inside->work->nodes[inside->at];
    if (node->op->foreign)
        cw_call_at_node(node->node->name);
    int64_t wall_ns = cw_clock_ns(), cpu_ns = cw_clock_thread_cpu_ns();
    int rc = node->op->inside ? node->op->inside(&mine->ctx, node->opts, rows, err)
                              : cut(inside, rows, err);
    cw_tally_add(&mine->count.cpu_ns, (uint64_t)(cw_clock_thread_cpu_ns() - cpu_ns));
    cw_tally_add(&mine->count.wall_ns, (uint64_t)(cw_clock_ns() - wall_ns));
    if (rc < 0 && !inside->work->trace_rc)
        inside->work->failed = inside->at;
    return rc;
}

/* The rows of groups are what comes in where they are filled up, and otherwise what their output says. */
static void set_row_spec(struct inside *inside)
{
    const struct cw_plan_node *node = node_of(inside);
    cw_spec_fini(&inside->row);
    inside->row = cw_spec_copy(node->op->group_pad ? node->in : &node->out);
    for (size_t f = 0; !node->op->group_pad && f < inside->row.n; f++) {
        struct cw_field *field = &inside->row.fields[f];
        field->rank = CW_MAX(field->rank - 1, 0);
        memmove(field->dims, field->dims + 1, (size_t)field->rank * sizeof(field->dims[0]));
    }
}

static int run_group(struct inside *inside, struct cw_err *err)
{
    int rc = check_rows(inside, err);
    size_t n = inside->in.n;
    if (rc < 0 || n == 0)
        return rc;
    cw_autofree const struct cw_view **row = cw_mem_try(n * sizeof(*row));
    cw_autofree uint64_t *id = cw_mem_try(n * sizeof(*id));
    cw_autofree uint32_t *made = cw_mem_try(n * sizeof(*made));
    if (!row || !id || !made)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %zu rows", n);
    for (size_t i = 0; i < n; i++) {
        row[i] = inside->in.v[i].fields;
        id[i] = inside->in.v[i].id;
    }
    memset(made, 0, n * sizeof(*made));
    inside->made = made;
    set_row_spec(inside);
    struct cw_op_rows rows = {.n = n,
                              .row = row,
                              .id = id,
                              .state = node_of(inside)->state,
                              .make = make,
                              .join = join,
                              .arg = inside};
    return call(inside, &rows, err);
}

/* Applies an element operator to each element. */
static int run_element(struct inside *inside, struct cw_err *err)
{
    const struct cw_plan_node *node = node_of(inside);
    struct cw_walk_pending pending = {.node = (uint32_t)inside->at};
    for (size_t i = 0; i < inside->in.n; i++) {
        struct inside_row row = inside->in.v[i];
        struct cw_element *element = inside->work->element;
        int rc = cw_stop_check(inside->work->stop, err);
        if (rc < 0)
            return rc;
        to_element(inside, node->in, &row, element);
        rc = cw_op_call_apply(inside->work, &pending, element, err);
        if (rc < 0)
            rc = refuse(inside, &row, 1, err);
        else if (rc == 0 && !(row.fields = keep_views(inside, element->fields, node->out.n, err)))
            rc = CW_E_NOMEM;
        else if (rc == 0)
            rc = add(&inside->out, &row, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* What an operator has made comes to the next one. */
static void step(struct inside *inside)
{
    struct rows in = inside->in;
    inside->in = inside->out;
    inside->out = in;
    inside->out.n = 0;
}

static int take_rows(struct inside *inside, struct cw_err *err)
{
    const struct cw_exec_task *task = inside->task;
    int rc = 0;
    for (int64_t r = 0; rc == 0 && r < task->rows; r++) {
        struct inside_row row = {.fields = task->kept[r], .origin = r};
        if (task->dropped[r])
            continue;
        row.id = task->ids[r].id;
        row.rep = task->ids[r].rep;
        rc = add(&inside->in, &row, err);
    }
    return rc;
}

/* Puts the elements one after another into the batch that is sent. */
static int pack_rows(struct inside *inside, const struct cw_spec *spec, struct cw_err *err)
{
    struct cw_exec_task *task = inside->task;
    size_t n = inside->in.n, bad = 0;
    cw_autofree const struct cw_view **row = cw_mem_try((n + 1) * sizeof(*row));
    if (!row)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %zu rows", n);
    for (size_t i = 0; i < n; i++)
        row[i] = inside->in.v[i].fields;
    struct cw_row_batch rows = {
        .row = row, .n = n, .spec = spec, .out = spec, .lead = true, .loose = true};
    struct cw_batch *batch = task->batch = cw_batch_new(spec->n);
    int rc = cw_row_batch_measure(&rows, batch, &bad, err);
    if (rc >= 0)
        rc = cw_exec_batch_alloc(task, true, batch, err);
    if (rc >= 0 && batch->buf)
        cw_row_batch_copy(&rows, batch, batch->buf->data);
    return rc;
}

/* Leaves out what the client cannot fill up: it is longer than the group allows. */
static int check_padded(struct inside *inside, struct cw_err *err)
{
    const struct cw_plan *plan = inside->task->plan;
    if (!plan->info.pads)
        return 0;
    inside->at = plan->sparse.pads;
    return check_rows(inside, err);
}

int cw_inside_run(struct cw_exec_task *task, struct cw_thread_context *work, int64_t *left,
                  int64_t *bad, struct cw_err *err)
{
    const struct cw_plan *plan = task->plan;
    struct inside inside = {.task = task, .work = work};
    cw_arena_reset(work->arena);
    work->trace_row = -1;
    work->pending_n = 0;
    int rc = take_rows(&inside, err);
    for (size_t k = 0; rc == 0 && k < plan->inside_n; k++) {
        inside.at = plan->inside[k];
        rc = plan->nodes[inside.at].step == CW_STEP_INSIDE ? run_group(&inside, err)
                                                           : run_element(&inside, err);
        step(&inside);
    }
    const struct cw_spec *spec = &plan->nodes[inside.at].out;
    if (rc == 0)
        rc = check_padded(&inside, err);
    if (rc == 0)
        rc = pack_rows(&inside, spec, err);
    *left = (int64_t)inside.in.n;
    *bad += inside.bad;
    cw_mem_free(inside.in.v);
    cw_mem_free(inside.out.v);
    cw_spec_fini(&inside.row);
    return rc;
}
