/* SPDX-License-Identifier: Apache-2.0 */
/* The tiers of the source cache that lie in stores: one for each cache whose jobs are here. */
#include "cache/source/tiers.h"

#include "base/mem.h"

void cw_store_tiers_init(struct cw_store_tiers *t)
{
    cw_mutex_init(&t->mutex);
    cw_cond_init(&t->unused);
}

/* Called with the lock held. */
static struct cw_tier_of_store *find(const struct cw_store_tiers *t, uint64_t cache_id)
{
    struct cw_tier_of_store *tier = t->list;
    while (tier && (tier->cache_id != cache_id || tier->is_going))
        tier = tier->next;
    return tier;
}

struct cw_tier_of_store *cw_store_tiers_take(struct cw_store_tiers *t, uint64_t cache_id)
{
    cw_mutex_lock(&t->mutex);
    struct cw_tier_of_store *tier = find(t, cache_id);
    if (tier)
        tier->users++;
    cw_mutex_unlock(&t->mutex);
    return tier;
}

bool cw_store_tiers_has(struct cw_store_tiers *t, uint64_t cache_id)
{
    cw_mutex_lock(&t->mutex);
    const bool has = find(t, cache_id) != NULL;
    cw_mutex_unlock(&t->mutex);
    return has;
}

void cw_store_tiers_give(struct cw_store_tiers *t, struct cw_tier_of_store *tier)
{
    if (!tier)
        return;
    cw_mutex_lock(&t->mutex);
    if (--tier->users == 0 && tier->is_going)
        cw_cond_broadcast(&t->unused);
    cw_mutex_unlock(&t->mutex);
}

bool cw_store_tiers_set_quota(struct cw_store_tiers *t, uint64_t cache_id, uint64_t quota)
{
    struct cw_tier_of_store *tier = cw_store_tiers_take(t, cache_id);
    if (tier)
        cw_tier_store_set_quota(tier->packs, quota);
    cw_store_tiers_give(t, tier);
    return tier != NULL;
}

void cw_store_tiers_add(struct cw_store_tiers *t, uint64_t cache_id, struct cw_tier_store *packs)
{
    struct cw_tier_of_store *tier = CW_NEW(struct cw_tier_of_store);
    tier->cache_id = cache_id;
    tier->packs = packs;
    cw_mutex_lock(&t->mutex);
    tier->next = t->list;
    t->list = tier;
    cw_mutex_unlock(&t->mutex);
}

/* Takes the tier out of the list once nobody uses it. */
static struct cw_tier_of_store *remove_unused(struct cw_store_tiers *t, uint64_t cache_id)
{
    cw_mutex_lock(&t->mutex);
    struct cw_tier_of_store *tier = find(t, cache_id), **at = &t->list;
    if (tier)
        tier->is_going = true;
    while (tier && tier->users > 0)
        cw_cond_wait(&t->unused, &t->mutex);
    while (tier && *at != tier)
        at = &(*at)->next;
    if (tier)
        *at = tier->next;
    cw_mutex_unlock(&t->mutex);
    return tier;
}

void cw_store_tiers_drop(struct cw_store_tiers *t, uint64_t cache_id)
{
    struct cw_tier_of_store *tier = remove_unused(t, cache_id);
    if (!tier)
        return;
    cw_tier_store_free(tier->packs);
    cw_mem_free(tier);
}

uint64_t cw_store_tiers_pending(struct cw_store_tiers *t)
{
    uint64_t bytes = 0;
    cw_mutex_lock(&t->mutex);
    for (const struct cw_tier_of_store *tier = t->list; tier; tier = tier->next)
        bytes += atomic_load(&cw_tier_store_queue(tier->packs)->pending);
    cw_mutex_unlock(&t->mutex);
    return bytes;
}

size_t cw_store_tiers_counts(struct cw_store_tiers *t, uint64_t *ret_ids,
                             struct cw_source_counts *ret_counts, size_t max)
{
    size_t n = 0;
    cw_mutex_lock(&t->mutex);
    for (const struct cw_tier_of_store *tier = t->list; tier && n < max; tier = tier->next) {
        if (tier->cache_id == 0 || tier->is_going)
            continue;
        ret_ids[n] = tier->cache_id;
        ret_counts[n] = (struct cw_source_counts){0};
        cw_tier_store_counts(tier->packs, &ret_counts[n]);
        ret_counts[n++].there = true;
    }
    cw_mutex_unlock(&t->mutex);
    return n;
}

void cw_store_tiers_fini(struct cw_store_tiers *t)
{
    while (t->list)
        cw_store_tiers_drop(t, t->list->cache_id);
    cw_cond_fini(&t->unused);
    cw_mutex_fini(&t->mutex);
}
