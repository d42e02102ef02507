/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that were taken apart are held by the thread that made them, and by the plan, where other threads find
 * them: those that compute rows of the same item, or of the next one. A part is copied into the thread's arena, so
 * it stays valid as long as any other element does. */
#include "exec/take_apart.h"

#include "base/clock.h"
#include "base/mem.h"
#include "exec/op_call.h"
#include "exec/row_batch.h"
#include <string.h>

/* Beside the element itself: numbers of parts, for example. */
#define SCRATCH_BYTES ((size_t)1 << 10)
#define COPY_ALIGN ((size_t)64)

/* ---- the parts of an element ---- */

struct parts {
    const struct cw_plan_node *node;
    struct cw_view *views; /* NULL with `counts` */
    uint64_t n, cap;
    bool counts; /* they are only counted */
};

static int grow(struct parts *parts, size_t fields, struct cw_err *err)
{
    const uint64_t cap = CW_MAX(2 * parts->cap, 16);
    void *grown = cw_mem_try_grow(parts->views, (size_t)cap * fields * sizeof(*parts->views));
    if (!grown)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %llu parts", (unsigned long long)cap);
    parts->views = grown;
    parts->cap = cap;
    return 0;
}

static int add_part(const struct cw_op_rows *rows, size_t first, const struct cw_view *fields,
                    struct cw_err *err)
{
    struct parts *parts = rows->arg;
    const struct cw_spec *spec = &parts->node->out;
    (void)first;
    for (size_t f = 0; f < spec->n; f++)
        if (!cw_row_batch_fits(&fields[f], &spec->fields[f]))
            return cw_err_set(err, CW_E_INTERNAL, "field \"%s\" is not what it said",
                              spec->fields[f].name);
    if (parts->n >= UINT32_MAX)
        return cw_err_set(err, CW_E_LIMIT, "an element has more than %llu parts",
                          (unsigned long long)UINT32_MAX);
    int rc = !parts->counts && parts->n == parts->cap ? grow(parts, spec->n, err) : 0;
    if (rc == 0 && !parts->counts)
        memcpy(parts->views + parts->n * spec->n, fields, spec->n * sizeof(*fields));
    parts->n += rc == 0;
    return rc;
}

/* Calls the operator that the survey's index operator stands for. What the parts have views of is the element's,
 * and memory of the arena. */
static int make_parts(struct cw_thread_context *work, size_t i, struct cw_arena *arena,
                      const struct cw_view *fields, uint64_t id, struct parts *parts,
                      struct cw_err *err)
{
    const struct cw_checked_node *of = &work->plan->checked->nodes[i];
    struct cw_node_context *mine = &work->nodes[i];
    struct cw_op_ctx ctx = mine->ctx;
    struct cw_op_rows rows = {.n = 1, .row = &fields, .id = &id, .make = add_part, .arg = parts};
    parts->node = &work->plan->nodes[i];
    ctx.arena = arena;
    const int64_t wall_ns = cw_clock_ns(), cpu_ns = cw_clock_thread_cpu_ns();
    int rc = of->op->check_row ? of->op->check_row(of->opts, parts->node->in, fields, err) : 0;
    if (rc == 0)
        rc = of->op->inside(&ctx, of->opts, &rows, err);
    cw_tally_add(&mine->count.cpu_ns, (uint64_t)(cw_clock_thread_cpu_ns() - cpu_ns));
    cw_tally_add(&mine->count.wall_ns, (uint64_t)(cw_clock_ns() - wall_ns));
    if (rc < 0)
        work->failed = i;
    return rc;
}

int cw_take_apart_count(struct cw_thread_context *work, size_t i, const struct cw_element *element,
                        uint64_t *ret_n, struct cw_err *err)
{
    struct parts parts = {.counts = true};
    int rc = make_parts(work, i, work->arena, element->fields, element->id, &parts, err);
    *ret_n = parts.n;
    return rc;
}

/* ---- what is held ---- */

/* The thread's own is looked at without a lock. */
static struct cw_whole *find(struct cw_thread_context *work, size_t node, int64_t pos, uint64_t rep)
{
    struct cw_node_context *mine = &work->nodes[node];
    struct cw_plan_exec *share = cw_plan_exec_of(work->plan);
    if (cw_whole_is(mine->whole, node, pos, rep))
        return mine->whole;
    cw_mutex_lock(&share->mutex);
    struct cw_whole *found = cw_whole_ring_find(&share->wholes, node, pos, rep);
    cw_mutex_unlock(&share->mutex);
    if (found) {
        cw_whole_unref(mine->whole);
        mine->whole = found;
    }
    return found;
}

/* From now on the thread and the plan hold it. Takes the reference. */
static void hold(struct cw_thread_context *work, struct cw_whole *whole)
{
    struct cw_node_context *mine = &work->nodes[whole->node];
    struct cw_plan_exec *share = cw_plan_exec_of(work->plan);
    struct cw_whole *removed[CW_WHOLES_MAX];
    cw_whole_unref(mine->whole);
    mine->whole = whole;
    cw_mutex_lock(&share->mutex);
    size_t n = cw_whole_ring_add(&share->wholes, whole, removed);
    cw_mutex_unlock(&share->mutex);
    while (n > 0)
        cw_whole_unref(removed[--n]);
}

static size_t bytes_of(const struct cw_view *fields, size_t n)
{
    size_t bytes = 0;
    for (size_t f = 0; f < n; f++)
        bytes += CW_ALIGN_UP(fields[f].bytes, COPY_ALIGN);
    return bytes;
}

/* Copies the bytes of fields into the arena. */
static int copy(struct cw_arena *arena, struct cw_view *fields, size_t n, struct cw_err *err)
{
    const size_t bytes = bytes_of(fields, n);
    uint8_t *to = cw_arena_alloc(arena, bytes);
    if (!to)
        return cw_err_set(err, CW_E_NOMEM, "no memory for an element of %zu bytes", bytes);
    for (size_t f = 0; f < n; f++) {
        if (fields[f].bytes > 0)
            memcpy(to, fields[f].data, fields[f].bytes);
        fields[f].data = to;
        to += CW_ALIGN_UP(fields[f].bytes, COPY_ALIGN);
    }
    return 0;
}

/* Makes all parts of an element, of whose memory nothing is needed any more. Its views change. */
static int take_apart(struct cw_thread_context *work, size_t i, struct cw_element *element,
                      struct cw_whole **ret_whole, struct cw_err *err)
{
    struct parts parts = {.n = 0};
    struct cw_whole *whole = cw_whole_new(bytes_of(element->fields, element->n) + SCRATCH_BYTES);
    whole->node = i;
    whole->id = element->id;
    whole->its_rep = element->rep;
    work->failed = i;
    int rc = copy(whole->arena, element->fields, element->n, err);
    if (rc == 0)
        rc = make_parts(work, i, whole->arena, element->fields, element->id, &parts, err);
    whole->views = parts.views;
    whole->n = parts.n;
    whole->bytes = cw_arena_bytes(whole->arena) +
                   (size_t)parts.cap * work->plan->nodes[i].out.n * sizeof(*whole->views);
    if (rc < 0) {
        cw_whole_unref(whole);
        return rc;
    }
    *ret_whole = whole;
    return 0;
}

/* ---- a part ---- */

static int give(struct cw_thread_context *work, const struct cw_whole *whole, uint64_t part,
                struct cw_element *element, struct cw_err *err)
{
    const size_t fields = work->plan->nodes[whole->node].out.n;
    struct cw_node_tally *count = &work->nodes[whole->node].count;
    work->failed = whole->node;
    if (part >= whole->n)
        return cw_err_set(err, CW_E_CORRUPT,
                          "makes %llu elements of this one, and made more when it was surveyed",
                          (unsigned long long)whole->n);
    element->n = fields;
    element->id = part > 0 ? cw_mix64(whole->id + cw_mix64(part)) : whole->id;
    element->rep = whole->its_rep;
    memcpy(element->fields, whole->views + part * fields, fields * sizeof(*whole->views));
    int rc = copy(work->arena, element->fields, fields, err);
    if (rc < 0)
        return rc;
    const uint64_t bytes = cw_element_bytes(element);
    cw_tally_add(&count->bytes_out, bytes);
    cw_tally_add(&count->element_bytes, bytes);
    return work->trace ? cw_op_call_trace(work, whole->node, element, err) : 0;
}

int cw_take_apart_enter(struct cw_thread_context *work, struct cw_walk_at *at, int64_t pos,
                        uint64_t part, struct cw_element *element, struct cw_err *err)
{
    const struct cw_plan_node *node = &work->plan->nodes[at->node];
    const uint64_t rep = cw_plan_drawn_rep(at->rep, at->each);
    const struct cw_whole *whole = work->trace ? NULL : find(work, at->node, pos, rep);
    cw_tally_add(&work->nodes[at->node].count.elements, 1);
    if (whole) {
        int rc = give(work, whole, part, element, err);
        return rc < 0 ? rc : 1;
    }
    work->nodes[at->node].whole_rep = rep;
    work->pending[work->pending_n++] = (struct cw_walk_pending){
        .node = (uint32_t)at->node, .put = CW_WALK_PART, .live = part, .pos = pos};
    at->live = 0; /* nothing below is a field of the row */
    at->pos = pos;
    at->mapped = at->id_known = false;
    at->node = work->skip[node->inputs[0]];
    return 0;
}

int cw_take_apart_end(struct cw_thread_context *work, const struct cw_walk_pending *pending,
                      struct cw_element *element, struct cw_err *err)
{
    struct cw_whole *whole = NULL;
    const uint64_t part = pending->live; /* the stack may be used again */
    int rc = take_apart(work, pending->node, element, &whole, err);
    if (rc < 0)
        return rc;
    whole->pos = pending->pos;
    whole->rep = work->nodes[whole->node].whole_rep;
    rc = give(work, whole, part, element, err);
    if (cw_cache_is_intact(&work->pins)) /* else the row is computed again, and so is this */
        hold(work, whole);
    else
        cw_whole_unref(whole);
    return rc;
}
