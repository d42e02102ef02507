/* SPDX-License-Identifier: Apache-2.0 */
/* The walk: down from a node to a source, and back up through the operators on the stack. There
 * is no recursion; frames stand for merges and inner batches while their inputs are computed. */
#include "exec/eval.h"

#include "exec/element_cache.h"
#include "exec/op_call.h"
#include "exec/op_fold.h"
#include "exec/pad_rows.h"
#include "exec/row_batch.h"
#include "exec/take_apart.h"
#include "ops/index/surveyed.h"

#define AGAIN_ARENA_BYTES ((size_t)1 << 16)

/* Pushes an element operator. The nodes below it must not write into the slots that it fills. */
static void push_pending(struct cw_thread_context *work, struct cw_walk_at *at)
{
    const struct cw_plan_node *node = &work->plan->nodes[at->node];
    uint64_t mine, below;
    if (node->op->apply_field) {
        mine = at->live & (node->fields_set.word[0] | node->moved.all.word[0]);
        below = at->live & ~mine;
    } else if (node->same) {
        mine = 0;
        below = at->live;
    } else {
        mine = node->out.n == 1 ? at->live : 0;
        below = 0;
    }
    work->pending[work->pending_n++] =
        (struct cw_walk_pending){.node = (uint32_t)at->node, .live = mine, .shift = at->shift};
    at->live = below;
    at->node = work->skip[node->inputs[0]];
}

/* Computes an element again that was bad when it was surveyed, and returns its error. pos: the position at the base
 * of the survey. */
static int compute_again(const struct cw_plan_node *node, int64_t pos, size_t *ret_failed,
                         struct cw_err *err)
{
    struct cw_plan *plan = node->survey;
    struct cw_arena *arena = cw_arena_new(AGAIN_ARENA_BYTES);
    struct cw_thread_context *work = cw_thread_context_get(plan, arena, 0, plan->stop);
    struct cw_walk_at at = {.node = plan->survey_top, .pos = pos};
    uint64_t parts;
    int rc = cw_eval(work, &at, work->element, err);
    if (rc == 0 && cw_plan_counts_parts(plan))
        rc = cw_take_apart_count(work, plan->survey_top, work->element, &parts, err);
    *ret_failed = rc < 0 ? work->failed : plan->survey_top;
    if (rc >= 0)
        rc = cw_err_set(err, CW_E_CORRUPT, "was bad when it was surveyed, and is not now");
    cw_thread_context_put(work);
    cw_arena_free(arena);
    return rc;
}

/* Goes down into the chosen input. On the way up its number becomes part of the id, or the position a
 * field. */
static int push_choice(struct cw_thread_context *work, struct cw_walk_at *at, struct cw_err *err)
{
    const struct cw_plan_node *node = &work->plan->nodes[at->node];
    cw_tally_add(&work->nodes[at->node].count.elements, 1);
    int64_t pos = at->pos;
    size_t input = cw_plan_choose(work->plan, node, work->epoch, &at->pos, &at->rep, &at->each);
    if (node->survey && cw_surveyed_is_bad(node->state, at->pos))
        return compute_again(node, at->pos, &work->failed, err);
    work->pending[work->pending_n++] = (struct cw_walk_pending){
        .node = (uint32_t)at->node, .put = CW_WALK_CHOICE, .live = input, .pos = pos};
    at->live &= cw_field_mask(work->plan->nodes[node->inputs[input]].out.n);
    at->node = work->skip[node->inputs[input]];
    at->mapped = at->id_known = false;
    return 0;
}

/* The same for a part of an element. Returns 1 if it is known: then *element is the part. */
static int enter_part(struct cw_thread_context *work, struct cw_walk_at *at,
                      struct cw_element *element, struct cw_err *err)
{
    const struct cw_plan_node *node = &work->plan->nodes[at->node];
    uint64_t part;
    const int64_t pos = cw_surveyed_part_at(node->state, at->pos, &part);
    if (node->survey && cw_surveyed_is_bad(node->state, pos))
        return compute_again(node, pos, &work->failed, err);
    return cw_take_apart_enter(work, at, pos, part, element, err);
}

/* Sets *at to the input that the frame needs next. */
static void enter_input(const struct cw_thread_context *work, const struct cw_walk_frame *frame,
                        struct cw_walk_at *at)
{
    const struct cw_plan_node *node = &work->plan->nodes[frame->node];
    at->rep = frame->rep;
    at->each = frame->each;
    at->mapped = at->id_known = false;
    if (node->step == CW_STEP_GROUP) {
        at->node = work->skip[node->inputs[0]];
        at->pos = frame->pos * node->shift + frame->next;
        at->live = 0;
        return;
    }
    size_t before = frame->next ? frame->element->n : 0;
    at->node = work->skip[node->inputs[frame->next]];
    at->pos = frame->pos;
    at->shift = frame->shift + (uint32_t)before;
    at->live = (before < 64 ? frame->live >> before : 0) &
               cw_field_mask(work->plan->nodes[at->node].out.n);
}

static int push_frame(struct cw_thread_context *work, struct cw_walk_at *at, struct cw_err *err)
{
    const struct cw_plan_node *node = &work->plan->nodes[at->node];
    struct cw_walk_frame *frame = &work->frames[work->frames_n];
    frame->node = at->node;
    frame->pos = at->pos;
    frame->rep = at->rep;
    frame->each = at->each;
    frame->live = at->live;
    frame->shift = at->shift;
    frame->base = work->pending_n;
    frame->next = 0;
    frame->n = (int64_t)node->inputs_n;
    if (node->step == CW_STEP_GROUP) {
        frame->n = cw_plan_group_rows(node, at->pos * node->shift);
        frame->rows = cw_arena_alloc(work->arena, (size_t)frame->n * sizeof(*frame->rows));
        if (!frame->rows)
            return cw_err_set(err, CW_E_NOMEM, "no memory for %lld rows", (long long)frame->n);
    }
    work->frames_n++;
    enter_input(work, frame, at);
    return 0;
}

/* Walks down to a source or to a cache hit; pushes element operators. */
static int descend(struct cw_thread_context *work, struct cw_walk_at *at,
                   struct cw_element *element, struct cw_err *err)
{
    for (;;) {
        const struct cw_plan_node *node = &work->plan->nodes[at->node];
        int rc = 0;
        if (CW_UNLIKELY(work->caching)) {
            enum cw_element_cache_answer found = cw_element_cache_find(work, at, element);
            if (found != CW_ELEMENT_CACHE_MISS)
                return found == CW_ELEMENT_CACHE_HIT ? 0 : CW_EVAL_DROP;
        }
        switch (node->step) {
        case CW_STEP_SOURCE:
            return cw_op_call_read(work, at, element, err);
        case CW_STEP_INDEX:
            if (CW_UNLIKELY(node->parts)) {
                rc = enter_part(work, at, element, err);
                if (rc != 0)
                    return rc < 0 ? rc : 0;
                break;
            }
            if (cw_plan_chooses(node)) {
                rc = push_choice(work, at, err);
                if (rc < 0)
                    return rc;
                break;
            }
            if (at->mapped) {
                at->node = work->skip[node->inputs[0]];
                break;
            }
            cw_tally_add(&work->nodes[at->node].count.elements, 1);
            at->node = work->skip[cw_plan_map(work->plan, node, work->epoch, &at->pos, &at->rep)];
            break;
        case CW_STEP_PASS:
            at->node = node->inputs[0];
            break;
        case CW_STEP_ELEMENT:
            if (CW_UNLIKELY(node->folds_to != SIZE_MAX) && cw_op_fold(work, at->node))
                at->node = work->skip[node->inputs[0]];
            else
                push_pending(work, at);
            break;
        case CW_STEP_MERGE:
        case CW_STEP_GROUP:
            rc = push_frame(work, at, err);
            break;
        case CW_STEP_INSIDE: /* not below an item's rows */
            rc = cw_err_set(err, CW_E_INTERNAL, "is below the rows of an item");
            break;
        }
        if (rc < 0) {
            work->failed = at->node;
            return rc;
        }
    }
}

/* Returns the id of a merged element: that of its inputs if they are equal, otherwise a hash of
 * them, in order. */
static uint64_t mix_ids(uint64_t a, uint64_t b)
{
    return a == b ? a : cw_mix64(a + cw_mix64(b + UINT64_C(0x9e3779b97f4a7c15)));
}

static int merge_input(struct cw_walk_frame *frame, const struct cw_element *element,
                       struct cw_err *err)
{
    struct cw_element *whole = frame->element;
    if (!frame->next) {
        whole->n = 0;
        whole->id = element->id;
        whole->rep = element->rep;
    }
    if (whole->n + element->n > CW_FIELDS_MAX)
        return cw_err_set(err, CW_E_INTERNAL, "an input has more fields than it said");
    for (size_t k = 0; k < element->n; k++)
        whole->fields[whole->n++] = element->fields[k];
    whole->id = mix_ids(whole->id, element->id);
    whole->rep = mix_ids(whole->rep, element->rep);
    return 0;
}

static int store_row(struct cw_thread_context *work, struct cw_walk_frame *frame,
                     const struct cw_element *element, struct cw_err *err)
{
    size_t bytes = element->n * sizeof(element->fields[0]);
    struct cw_view *row = cw_arena_alloc(work->arena, bytes);
    if (!row)
        return cw_err_set(err, CW_E_NOMEM, "no memory for a row");
    for (size_t k = 0; k < element->n; k++)
        row[k] = element->fields[k];
    frame->rows[frame->next] = row;
    return 0;
}

/* Ends a frame whose inputs are all computed: *element becomes the merged element, or the group. */
static int close_frame(struct cw_thread_context *work, struct cw_walk_frame *frame,
                       struct cw_element *element, struct cw_err *err)
{
    const struct cw_plan_node *node = &work->plan->nodes[frame->node];
    struct cw_node_context *mine = &work->nodes[frame->node];
    int rc = 0;
    if (node->step == CW_STEP_MERGE) {
        cw_element_copy(element, frame->element);
    } else {
        struct cw_row_batch rows = {.row = frame->rows,
                                    .n = (size_t)frame->n,
                                    .spec = node->in,
                                    .out = &node->out,
                                    .lead = true};
        rc = cw_pad_rows(node, &rows, work->arena, err);
        if (rc == 0)
            rc = cw_row_batch_to_element(&rows, work->arena, element, err);
        element->id = (uint64_t)frame->pos;
        element->rep = cw_plan_drawn_rep(frame->rep, frame->each);
    }
    if (rc < 0)
        work->failed = frame->node;
    cw_tally_add(&mine->count.elements, 1);
    cw_tally_add(&mine->count.element_bytes, rc == 0 ? cw_element_bytes(element) : 0);
    return rc == 0 && work->trace ? cw_op_call_trace(work, frame->node, element, err) : rc;
}

/* Adds the position as the last field. */
static int add_position(struct cw_thread_context *work, const struct cw_walk_pending *pending,
                        struct cw_element *element, struct cw_err *err)
{
    struct cw_view *view = &element->fields[element->n];
    int64_t *value = cw_arena_alloc(work->arena, sizeof(*value));
    work->failed = pending->node;
    if (!value)
        return cw_err_set(err, CW_E_NOMEM, "no memory for a position");
    if (element->n >= CW_FIELDS_MAX)
        return cw_err_set(err, CW_E_INTERNAL, "what comes in has more fields than it said");
    *value = pending->pos;
    *view = (struct cw_view){.data = value, .bytes = sizeof(*value), .dtype = CW_DTYPE_I64};
    element->n++;
    return work->trace ? cw_op_call_trace(work, pending->node, element, err) : 0;
}

/* Ends a choice: the element is that of the chosen input. */
static int end_choice(struct cw_thread_context *work, const struct cw_walk_pending *pending,
                      struct cw_element *element, struct cw_err *err)
{
    const struct cw_plan_node *node = &work->plan->nodes[pending->node];
    element->id = cw_plan_pair_id(node, element->id, pending->live);
    return node->op->traits & CW_OP_POSITION ? add_position(work, pending, element, err) : 0;
}

/* Walks up through the stack of the innermost frame, or through the whole stack. */
static int ascend(struct cw_thread_context *work, struct cw_element *element, struct cw_err *err)
{
    size_t base = work->frames_n ? work->frames[work->frames_n - 1].base : 0;
    while (work->pending_n > base) {
        const struct cw_walk_pending *pending = &work->pending[--work->pending_n];
        if (CW_UNLIKELY(pending->put == CW_WALK_CHOICE)) {
            int rc = end_choice(work, pending, element, err);
            if (rc)
                return rc;
            continue;
        }
        if (CW_UNLIKELY(pending->put == CW_WALK_PART)) {
            int rc = cw_take_apart_end(work, pending, element, err);
            if (rc)
                return rc;
            continue;
        }
        if (CW_UNLIKELY(pending->put)) {
            cw_element_cache_put(work, pending, element);
            continue;
        }
        int rc = cw_op_call_apply(work, pending, element, err);
        if (rc)
            return rc;
    }
    return 0;
}

static int eval(struct cw_thread_context *work, struct cw_walk_at *at, struct cw_element *element,
                struct cw_err *err)
{
    at->node = work->skip[at->node];
    work->pending_n = work->frames_n = work->puts_n = 0;
    for (;;) {
        int rc = descend(work, at, element, err);
        if (rc)
            return rc;
        for (;;) {
            rc = ascend(work, element, err);
            if (rc || !work->frames_n)
                return rc;
            struct cw_walk_frame *frame = &work->frames[work->frames_n - 1];
            bool group = work->plan->nodes[frame->node].step == CW_STEP_GROUP;
            rc = group ? store_row(work, frame, element, err) : merge_input(frame, element, err);
            if (rc) {
                work->failed = frame->node;
                return rc;
            }
            if (++frame->next < frame->n) {
                /* The flag is checked at each element, since a row may be made of many. */
                rc = cw_stop_check(work->stop, err);
                if (CW_UNLIKELY(rc)) {
                    work->failed = frame->node;
                    return rc;
                }
                enter_input(work, frame, at);
                break;
            }
            rc = close_frame(work, frame, element, err);
            if (rc)
                return rc;
            work->frames_n--;
        }
    }
}

int cw_eval(struct cw_thread_context *work, struct cw_walk_at *at, struct cw_element *element,
            struct cw_err *err)
{
    int rc = eval(work, at, element, err);
    if (rc == CW_EVAL_DROP && work->puts_n)
        cw_element_cache_drop(work, work->frames_n ? work->frames[work->frames_n - 1].base : 0);
    return rc;
}
