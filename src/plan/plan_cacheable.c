/* SPDX-License-Identifier: Apache-2.0 */
/* Says which nodes of a plan may be cached, and sets how they use caches while the plan runs. */
#include "graph/cacheable.h"
#include "base/mem.h"
#include "format/source_file.h"
#include "io/source_root.h"
#include "plan/plan_int.h"

static void add_hash(struct cw_hasher *hasher, struct cw_hash hash)
{
    cw_hasher_add_u64(hasher, hash.hi);
    cw_hasher_add_u64(hasher, hash.lo);
}

static struct cw_hash hash_manifest(const struct cw_plan_node *node)
{
    struct cw_value value = {0};
    CW_STR_AUTO text = {0};
    if (node->op->manifest) {
        node->op->manifest(node->opts, node->state, &value);
        cw_value_print(&value, &text);
        cw_value_fini(&value);
    }
    return cw_hash_bytes(cw_str_text(&text), text.len);
}

/* Adds the files that an operator itself reads: its model. Blocks decide the order alone. */
static struct cw_hash with_own_files(const struct cw_plan_node *node, struct cw_hash of_input,
                                     struct cw_hasher *hasher)
{
    if (!cw_op_has_manifest(node->op, node->opts) || node->op->by_blocks)
        return of_input;
    cw_hasher_reset(hasher);
    add_hash(hasher, of_input);
    add_hash(hasher, hash_manifest(node));
    return cw_hasher_get(hasher);
}

/* Hashes the files that a node's elements come from, in the order in which the node reads its
 * inputs. */
static struct cw_hash hash_files(const struct cw_plan *plan, size_t i, struct cw_hasher *hasher)
{
    const struct cw_plan_node *node = &plan->nodes[i];
    if (!node->inputs_n)
        return hash_manifest(node);
    if (node->inputs_n == 1)
        return with_own_files(node, plan->nodes[node->inputs[0]].files, hasher);
    cw_hasher_reset(hasher);
    for (size_t k = 0; k < node->inputs_n; k++)
        add_hash(hasher, plan->nodes[node->inputs[k]].files);
    return cw_hasher_get(hasher);
}

static bool is_drawn(const struct cw_plan *plan, size_t i)
{
    const struct cw_plan_node *node = &plan->nodes[i];
    bool drawn = node->step == CW_STEP_ELEMENT && cw_op_draws(node->op, node->opts);
    for (size_t k = 0; k < node->inputs_n; k++)
        drawn = drawn || plan->nodes[node->inputs[k]].drawn;
    return drawn;
}

/* Ids of nodes behind several inputs may grow beyond what a cache has places for. */
#define IDS_MAX (UINT64_C(1) << 60)

/* The ids of a node are below the result, which is above IDS_MAX if they are too many. Inputs come
 * before the nodes that read them. */
static uint64_t ids_of(const struct cw_plan *plan, size_t i)
{
    const struct cw_plan_node *node = &plan->nodes[i];
    uint64_t most = 0;
    if (cw_plan_chooses(node)) {
        for (size_t k = 0; k < node->inputs_n; k++)
            most = CW_MAX(most, plan->nodes[node->inputs[k]].ids);
        return most > IDS_MAX >> cw_plan_choice_bits(node) ? IDS_MAX + 1
                                                           : most << cw_plan_choice_bits(node);
    }
    if (node->step == CW_STEP_ELEMENT || node->step == CW_STEP_PASS || node->step == CW_STEP_INDEX)
        return plan->nodes[node->inputs[0]].ids;
    return (uint64_t)node->n;
}

static const char *why_not(const struct cw_plan *plan, size_t i)
{
    const char *why = plan->checked->nodes[i].uncacheable;
    if (!why && plan->nodes[i].ids > IDS_MAX)
        why = "there are more ids behind so many inputs than a cache has places for; put it before "
              "they meet";
    return why;
}

void cw_plan_find_files(struct cw_plan *plan)
{
    struct cw_hasher *hasher = cw_hasher_new();
    for (size_t i = 0; i < plan->n; i++) {
        plan->nodes[i].files = hash_files(plan, i, hasher);
        plan->nodes[i].drawn = is_drawn(plan, i);
        plan->nodes[i].ids = ids_of(plan, i);
    }
    cw_hasher_free(hasher);
}

static bool is_whole(const struct cw_plan *plan, size_t i)
{
    while (plan->nodes[i].inputs_n == 1 && plan->nodes[i].step != CW_STEP_GROUP)
        i = plan->nodes[i].inputs[0];
    return plan->nodes[i].step == CW_STEP_GROUP;
}

/* The key of a node of a second plan is that of the written node whose elements it has. */
static struct cw_hash hash_key(const struct cw_plan *plan, size_t i)
{
    size_t same = plan->written ? cw_plan_same_elements(plan, i) : SIZE_MAX;
    if (same != SIZE_MAX)
        return hash_key(plan->written, same);
    const struct cw_plan_node *node = &plan->nodes[i];
    struct cw_hasher *hasher = cw_hasher_new();
    add_hash(hasher, plan->checked->nodes[i].element);
    add_hash(hasher, node->files);
    cw_hasher_add_u64(hasher, node->drawn);
    cw_hasher_add_u64(hasher, node->drawn ? plan->seed : 0);
    struct cw_hash hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return hash;
}

void cw_plan_cacheable(const struct cw_plan *plan, size_t i, struct cw_plan_cacheable *ret)
{
    const struct cw_plan_node *node = &plan->nodes[i];
    *ret =
        (struct cw_plan_cacheable){.why_not = why_not(plan, i),
                                   .key = hash_key(plan, i),
                                   .ids = node->ids,
                                   .asked = (node->op->traits & CW_OP_CACHE) != 0,
                                   .mark = node->op->traits & CW_OP_MARK ? node->node->name : NULL,
                                   .whole = is_whole(plan, i),
                                   .out = &node->out};
}

/* Finds a use of the cache that was set before, or makes it; so switching on and off again
 * allocates nothing. Called with the lock held. */
static const struct cw_plan_use *find_use(struct cw_plan *plan, struct cw_cache_dataset *cache,
                                          bool read, bool write)
{
    for (struct cw_plan_use *use = plan->uses; use; use = use->next)
        if (use->cache == cache && use->read == read && use->write == write)
            return use;
    struct cw_plan_use *use = CW_NEW(struct cw_plan_use);
    *use = (struct cw_plan_use){
        .next = plan->uses, .cache = cw_cache_dataset_ref(cache), .read = read, .write = write};
    plan->uses = use;
    return use;
}

void cw_plan_set_source_store(struct cw_plan *plan, uint64_t cache_id)
{
    atomic_store_explicit(&plan->source_store, cache_id, memory_order_relaxed);
}

uint64_t cw_plan_source_store(struct cw_plan *plan)
{
    return atomic_load_explicit(&plan->source_store, memory_order_relaxed);
}

void cw_plan_read_for(struct cw_plan *plan)
{
    cw_source_use_store(cw_plan_source_store(plan));
    cw_source_root_read_as(plan->reader);
}

int cw_plan_set_cache(struct cw_plan *plan, size_t i, struct cw_cache_dataset *cache, bool read,
                      bool write, struct cw_err *err)
{
    if (i >= plan->n)
        return cw_err_set(err, CW_E_INVALID, "there is no node %zu", i);
    struct cw_plan_node *node = &plan->nodes[i];
    const char *why = why_not(plan, i);
    bool on = cache && (read || write);
    if (on && why)
        return cw_err_set(err, CW_E_INVALID, "node \"%s\" (%s): elements cannot be cached here: %s",
                          node->node->name, node->op->name, why);
    cw_mutex_lock(&plan->uses_mutex);
    const struct cw_plan_use *use = on ? find_use(plan, cache, read, write) : NULL;
    const struct cw_plan_use *old = atomic_exchange_explicit(&node->use, use, memory_order_acq_rel);
    int more = (use != NULL) - (old != NULL);
    atomic_fetch_add_explicit(&plan->uses_n, more, memory_order_release);
    cw_mutex_unlock(&plan->uses_mutex);
    return 0;
}

void cw_plan_free_uses(struct cw_plan *plan)
{
    while (plan->uses) {
        struct cw_plan_use *next = plan->uses->next;
        cw_cache_dataset_unref(plan->uses->cache);
        cw_mem_free(plan->uses);
        plan->uses = next;
    }
    cw_mutex_fini(&plan->uses_mutex);
}
