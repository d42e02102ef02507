/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up single elements in caches during the walk, and puts them there. */
#include "exec/element_cache.h"
#include "exec/positions.h"

#include "base/clock.h"
#include <string.h>

/* With more pins than this, records are copied instead of pinned: the rows of an inner batch may
 * come from many chunks. */
#define PINS_MANY (CW_CACHE_PINS / 2)
#define COPY_ALIGN ((size_t)64)

/* Whether each element of the node has the id of the element of its only input from which it is
 * made. */
static bool keeps_ids(const struct cw_plan_node *node)
{
    return node->step == CW_STEP_ELEMENT || node->step == CW_STEP_PASS ||
           (node->step == CW_STEP_INDEX && !cw_plan_chooses(node));
}

bool cw_element_cache_below(const struct cw_plan *plan, size_t i)
{
    for (;; i = plan->nodes[i].inputs[0]) {
        if (cw_element_cache_use(&plan->nodes[i]))
            return true;
        if (!keeps_ids(&plan->nodes[i]))
            return false;
    }
}

/* Maps the position down to the node that gives elements their ids, and returns that node. */
static size_t map_position(struct cw_thread_context *work, struct cw_walk_at *at)
{
    size_t i = at->node;
    while (keeps_ids(&work->plan->nodes[i])) {
        const struct cw_plan_node *node = &work->plan->nodes[i];
        if (node->step == CW_STEP_INDEX) {
            cw_tally_add(&work->nodes[i].count.elements, 1);
            i = cw_plan_map(work->plan, node, work->epoch, &at->pos, &at->rep);
        } else {
            i = node->inputs[0];
        }
    }
    at->mapped = true;
    return i;
}

/* The position at that node is the id, unless it chooses from several inputs. */
static void find_id(struct cw_thread_context *work, struct cw_walk_at *at)
{
    if (at->id_known)
        return;
    size_t base = at->mapped ? SIZE_MAX : map_position(work, at);
    at->id_known = true;
    at->id = (uint64_t)at->pos;
    at->id_rep = at->rep;
    uint64_t each = at->each;
    if (base != SIZE_MAX && cw_plan_chooses(&work->plan->nodes[base]))
        at->id = cw_positions_chosen_id(work->plan, work->epoch, base, at->pos, &at->id_rep, &each);
    at->id_rep = cw_plan_drawn_rep(at->id_rep, each);
}

/* Copies the fields into the arena. Returns false when there is no memory. */
static bool copy_fields(struct cw_thread_context *work, struct cw_element *element)
{
    size_t bytes = 0;
    for (size_t k = 0; k < element->n; k++)
        bytes += CW_ALIGN_UP(element->fields[k].bytes, COPY_ALIGN);
    uint8_t *dst = cw_arena_alloc(work->arena, bytes);
    if (!dst)
        return false;
    for (size_t k = 0; k < element->n; k++) {
        struct cw_view *view = &element->fields[k];
        if (view->bytes)
            memcpy(dst, view->data, view->bytes);
        view->data = dst;
        dst += CW_ALIGN_UP(view->bytes, COPY_ALIGN);
    }
    return true;
}

static enum cw_cache_found get(struct cw_thread_context *work, struct cw_cache_dataset *cache,
                               uint64_t id, struct cw_element *element)
{
    if (work->pins.n < PINS_MANY)
        return cw_cache_get(cache, id, &work->pins, element);
    struct cw_cache_pins pins = {.n = 0};
    enum cw_cache_found found = cw_cache_get(cache, id, &pins, element);
    if (found == CW_CACHE_HIT && !(copy_fields(work, element) && cw_cache_is_intact(&pins)))
        found = CW_CACHE_MISS;
    cw_cache_unpin(&pins);
    return found;
}

static void push_put(struct cw_thread_context *work, const struct cw_walk_at *at,
                     struct cw_cache_dataset *cache)
{
    work->puts[work->puts_n++] =
        (struct cw_pending_put){.cache = cache, .id = at->id, .begin_ns = cw_clock_ns()};
    work->pending[work->pending_n++] =
        (struct cw_walk_pending){.node = (uint32_t)at->node, .put = (uint32_t)work->puts_n};
}

enum cw_element_cache_answer cw_element_cache_find(struct cw_thread_context *work,
                                                   struct cw_walk_at *at,
                                                   struct cw_element *element)
{
    const struct cw_plan_use *use = cw_element_cache_use(&work->plan->nodes[at->node]);
    if (!use)
        return CW_ELEMENT_CACHE_MISS;
    find_id(work, at);
    enum cw_cache_found found = CW_CACHE_MISS;
    if (use->read)
        found = get(work, use->cache, at->id, element);
    if (found == CW_CACHE_MISS) {
        if (use->write)
            push_put(work, at, use->cache);
        return CW_ELEMENT_CACHE_MISS;
    }
    cw_tally_add(&work->nodes[at->node].count.hits, 1);
    if (found == CW_CACHE_LEFT_OUT)
        return CW_ELEMENT_CACHE_DROPPED;
    element->id = at->id;
    element->rep = at->id_rep;
    return CW_ELEMENT_CACHE_HIT;
}

/* Returns the topmost cache at the node or below it, if its elements are those of the node; NULL if
 * they are not, or it is not read. */
static const struct cw_plan_use *same_elements(const struct cw_plan *plan, size_t *node)
{
    for (;; *node = plan->nodes[*node].inputs[0]) {
        const struct cw_plan_use *use = cw_element_cache_use(&plan->nodes[*node]);
        if (use)
            return use->read ? use : NULL;
        if (!keeps_ids(&plan->nodes[*node]) || plan->nodes[*node].step == CW_STEP_ELEMENT)
            return NULL;
    }
}

size_t cw_element_cache_rows(struct cw_thread_context *work, size_t node, const int64_t *positions,
                             size_t n, const struct cw_cache_rows *rows)
{
    const struct cw_plan_use *use = same_elements(work->plan, &node);
    size_t copied = use ? cw_cache_get_rows(use->cache, positions, n, &work->pins, rows) : 0;
    cw_tally_add(&work->nodes[node].count.hits, copied);
    return copied;
}

/* Only the topmost cache that is read matters: those below it are only asked for its misses. */
void cw_element_cache_cpu_prefetch(const struct cw_plan *plan, size_t i, const int64_t *ids,
                                   size_t n)
{
    const struct cw_plan_use *use;
    while (!(use = cw_element_cache_use(&plan->nodes[i])) || !use->read) {
        if (!keeps_ids(&plan->nodes[i]))
            return;
        i = plan->nodes[i].inputs[0];
    }
    cw_cache_cpu_prefetch(use->cache, (const uint64_t *)ids, n);
}

/* Whether a field holds only a part of an image, namely what the next operator needs (op.h
 * prefers_whole). */
static bool is_partial(const struct cw_element *element)
{
    for (size_t k = 0; k < element->n; k++)
        if (element->fields[k].full_h)
            return true;
    return false;
}

/* Whether an element that was made from records of another cache may be put into this one. It may
 * have views of those records, so it is copied first; then it is checked that the records have
 * stayed intact. */
static bool is_sound(struct cw_thread_context *work, const struct cw_element *element,
                     struct cw_element *copy)
{
    if (element) {
        cw_element_copy(copy, element);
        if (!copy_fields(work, copy))
            return false;
    }
    return cw_cache_is_intact(&work->pins);
}

void cw_element_cache_put(struct cw_thread_context *work, const struct cw_walk_pending *pending,
                          const struct cw_element *element)
{
    const struct cw_pending_put *put = &work->puts[pending->put - 1];
    int64_t ns = cw_clock_ns() - put->begin_ns;
    struct cw_element *copy = work->second;
    bool may = !element || !is_partial(element);
    if (may && work->pins.n) {
        may = is_sound(work, element, copy);
        element = element ? copy : NULL;
    }
    if (may)
        cw_cache_put(put->cache, put->id, element, CW_MAX(ns, 1));
    work->puts_n = pending->put - 1;
}

void cw_element_cache_drop(struct cw_thread_context *work, size_t base)
{
    while (work->pending_n > base) {
        const struct cw_walk_pending *pending = &work->pending[--work->pending_n];
        if (pending->put && pending->put < CW_WALK_PART)
            cw_element_cache_put(work, pending, NULL);
    }
}
