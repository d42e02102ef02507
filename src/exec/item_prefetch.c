/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the records that an item will look up in the caches of its plan, topmost cache first as
 * the walk does, and prefetches them; or finds where the bytes lie that it will read, of what no cache
 * has. */
#include "base/mem.h"
#include "exec/element_cache.h"
#include "exec/positions.h"
#include "format/source_file.h"

/* The most ids of an item. It bounds the work, since zips of zips of batches may have any number of
 * parts. */
#define IDS_MAX ((size_t)1 << 16)
/* What is read behind a filter is read ahead for all that come to the filter, unless it has kept less than
 * one in so many, once it has seen enough. */
#define WASTE_MAX 8
#define SEEN_MIN 256

/* elements of a node that no cache above it has */
struct todo {
    struct todo *next;
    size_t node;
    bool reads; /* the files are read that the node's elements name (READS in ops/op.h) */
    struct cw_positions positions;
};
struct prefetch {
    const struct cw_plan *plan;
    uint64_t epoch;
    struct cw_ahead *ahead;             /* to which bytes are added; NULL: records are prefetched */
    const struct cw_exec_count *counts; /* of the plan's nodes, with ahead */
    struct todo *todo;
    size_t ids;
};

static struct todo *push(struct prefetch *prefetch, size_t node, bool reads)
{
    struct todo *todo = CW_NEW(struct todo);
    todo->node = node;
    todo->reads = reads;
    todo->next = prefetch->todo;
    prefetch->todo = todo;
    return todo;
}

/* Prefetches for the elements [pos, pos + n) of a node. */
static void push_run(struct prefetch *prefetch, size_t node, int64_t pos, int64_t n, uint64_t rep,
                     bool reads)
{
    for (int64_t i = 0; i < n && prefetch->ids < IDS_MAX;) {
        struct cw_positions *positions = &push(prefetch, node, reads)->positions;
        for (; i < n && positions->n < CW_POSITIONS_MAX; i++) {
            positions->pos[positions->n] = pos + i;
            positions->rep[positions->n++] = rep;
        }
        prefetch->ids += positions->n;
    }
}

/* Prefetches the records that the cache has; *ids keeps the others. */
static void ask(const struct prefetch *prefetch, struct cw_cache_dataset *cache,
                struct cw_positions *ids)
{
    uint64_t has[CW_POSITIONS_MAX];
    size_t has_n = 0, left = 0;
    for (size_t i = 0; i < ids->n; i++) {
        if (cw_cache_has(cache, (uint64_t)ids->pos[i])) {
            has[has_n++] = (uint64_t)ids->pos[i];
        } else {
            ids->pos[left] = ids->pos[i];
            ids->rep[left++] = ids->rep[i];
        }
    }
    ids->n = left;
    if (has_n && !prefetch->ahead)
        cw_cache_prefetch(cache, has, has_n);
}

/* Whether a cache at one of the nodes down to `base` has the record; it is prefetched. */
static bool has_chosen(const struct prefetch *prefetch, size_t at, size_t base, uint64_t id)
{
    const struct cw_plan *plan = prefetch->plan;
    for (;; at = plan->nodes[at].inputs[0]) {
        const struct cw_plan_use *use = cw_element_cache_use(&plan->nodes[at]);
        if (use && use->read && cw_cache_has(use->cache, id)) {
            if (!prefetch->ahead)
                cw_cache_prefetch(use->cache, &id, 1);
            return true;
        }
        if (at == base)
            return false;
    }
}

/* Of a node that chooses from several inputs: what no cache above it has goes on to the chosen ones. */
static void work_off_choice(struct prefetch *prefetch, size_t top, size_t base, bool reads,
                            struct cw_positions *all)
{
    const struct cw_plan *plan = prefetch->plan;
    const struct cw_plan_node *node = &plan->nodes[base];
    struct cw_positions *last = NULL;
    size_t last_input = 0;
    for (size_t i = 0; i < all->n; i++) {
        uint64_t rep = all->rep[i], each = 0;
        uint64_t id = cw_positions_chosen_id(plan, prefetch->epoch, base, all->pos[i], &rep, &each);
        if (has_chosen(prefetch, top, base, id))
            continue;
        size_t input =
            cw_plan_choose(plan, node, prefetch->epoch, &all->pos[i], &all->rep[i], &each);
        if (!last || input != last_input)
            last = &push(prefetch, node->inputs[input], reads)->positions;
        else if (node->parts && last->pos[last->n - 1] == all->pos[i] &&
                 last->rep[last->n - 1] == all->rep[i])
            continue; /* another part of the same element */
        last_input = input;
        last->pos[last->n] = all->pos[i];
        last->rep[last->n++] = all->rep[i];
    }
}

/* Whether a filter lets so few elements through that reading ahead for the others would cost more than
 * waiting for them does. reader: the node that reads those that come through. */
static bool is_waste(const struct prefetch *prefetch, size_t filter, size_t reader)
{
    if (!prefetch->counts || reader == SIZE_MAX)
        return false;
    const struct cw_exec_count *in = &prefetch->counts[filter], *out = &prefetch->counts[reader];
    return in->elements >= SEEN_MIN && (out->elements + out->hits) * WASTE_MAX < in->elements;
}

/* Whether the files are read that elements of `base` name, by an operator between it and `at` or
 * further up. */
static bool are_read(const struct prefetch *prefetch, size_t at, size_t base, bool reads)
{
    const struct cw_plan *plan = prefetch->plan;
    size_t reader = SIZE_MAX;
    for (; at != base; at = plan->nodes[at].inputs[0]) {
        const struct cw_plan_node *node = &plan->nodes[at];
        if (node->step != CW_STEP_ELEMENT)
            continue;
        if (node->op->traits & CW_OP_READS) {
            reads = true;
            reader = at;
        } else if (reads && (node->op->traits & CW_OP_CHANGES_COUNT) &&
                   is_waste(prefetch, at, reader)) {
            reads = false;
        }
    }
    return reads;
}

/* Adds the bytes of a source's elements. */
static void add_bytes(const struct prefetch *prefetch, const struct cw_plan_node *node,
                      const struct cw_positions *ids, bool reads)
{
    if (!prefetch->ahead || node->step != CW_STEP_SOURCE || !node->op->ahead)
        return;
    if ((node->op->traits & CW_OP_PATHS) && !reads)
        return;
    for (size_t i = 0; i < ids->n; i++)
        if (!node->op->ahead(node->opts, node->state, ids->pos[i], prefetch->ahead))
            return;
}

/* Maps positions down to the node that gives elements their ids: they are the same at all nodes in
 * between. */
static void work_off(struct prefetch *prefetch, struct todo *todo)
{
    const struct cw_plan *plan = prefetch->plan;
    struct cw_positions *ids = &todo->positions;
    const struct cw_position_run run = {ids->n, ids->pos, ids->rep};
    size_t base = cw_positions_map(plan, prefetch->epoch, NULL, todo->node, &run);
    bool reads = are_read(prefetch, todo->node, base, todo->reads);
    if (cw_plan_chooses(&plan->nodes[base])) {
        work_off_choice(prefetch, todo->node, base, reads, ids);
        return;
    }
    for (size_t at = todo->node; ids->n; at = plan->nodes[at].inputs[0]) {
        const struct cw_plan_use *use = cw_element_cache_use(&plan->nodes[at]);
        if (use && use->read)
            ask(prefetch, use->cache, ids);
        if (at == base)
            break;
    }
    const struct cw_plan_node *node = &plan->nodes[base];
    add_bytes(prefetch, node, ids, reads);
    if (node->step == CW_STEP_MERGE)
        for (size_t k = 0; ids->n && k < node->inputs_n && prefetch->ids < IDS_MAX; k++) {
            prefetch->ids += ids->n;
            push(prefetch, node->inputs[k], reads)->positions = *ids;
        }
    if (node->step == CW_STEP_GROUP)
        for (size_t i = 0; i < ids->n; i++) {
            int64_t first = ids->pos[i] * node->shift;
            push_run(prefetch, node->inputs[0], first, cw_plan_group_rows(node, first), ids->rep[i],
                     reads);
        }
}

/* Whether a cache at the item's batch or behind it has all of it. */
static bool has_whole(const struct prefetch *prefetch, uint64_t item,
                      const struct cw_plan_item *cut)
{
    const struct cw_plan *plan = prefetch->plan;
    int64_t pos = (int64_t)item;
    uint64_t rep = 0, id = (uint64_t)cut->group_pos;
    for (size_t at = plan->output;;) {
        const struct cw_plan_node *node = &plan->nodes[at];
        const struct cw_plan_use *use = cw_element_cache_use(node);
        if (use && use->read && cw_cache_has(use->cache, id)) {
            if (!prefetch->ahead)
                cw_cache_prefetch(use->cache, &id, 1);
            return true;
        }
        if (at == cut->group)
            return false;
        at = node->step == CW_STEP_INDEX ? cw_plan_map(plan, node, prefetch->epoch, &pos, &rep)
                                         : node->inputs[0];
    }
}

static void walk(struct prefetch *prefetch, uint64_t item)
{
    struct cw_plan_item cut;
    if (item >= prefetch->plan->info.items)
        return;
    cw_plan_item(prefetch->plan, prefetch->epoch, item, &cut);
    if (cut.group != SIZE_MAX && has_whole(prefetch, item, &cut))
        return;
    push_run(prefetch, cut.node, cut.pos, cut.rows, cut.rep, false);
    while (prefetch->todo) {
        struct todo *todo = prefetch->todo;
        prefetch->todo = todo->next;
        work_off(prefetch, todo);
        cw_mem_free(todo);
    }
}

void cw_exec_prefetch(struct cw_plan *plan, uint64_t epoch, uint64_t item)
{
    struct prefetch prefetch = {.plan = plan, .epoch = epoch};
    if (cw_element_cache_any(plan))
        walk(&prefetch, item);
}

bool cw_exec_can_ahead(const struct cw_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++) {
        const struct cw_plan_node *node = &plan->nodes[i];
        if (node->step == CW_STEP_SOURCE && node->op->ahead &&
            node->op->ahead(node->opts, node->state, 0, NULL))
            return true;
    }
    return false;
}

void cw_exec_ahead(struct cw_plan *plan, uint64_t epoch, uint64_t item, struct cw_ahead *ahead)
{
    cw_autofree struct cw_exec_count *counts = CW_NEW_ARRAY(struct cw_exec_count, plan->n);
    struct prefetch prefetch = {.plan = plan, .epoch = epoch, .ahead = ahead, .counts = counts};
    cw_exec_counts(plan, counts);
    cw_plan_read_for(plan);
    walk(&prefetch, item);
}
