/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: what a place names. A reader finds a place without a lock, and by then the chunk may be
 * gone; so slots are never freed while the node lives, and a reader adds its ref first and asks
 * then whether the slot was still live. The last one who drops a dead slot has it buried. A slot
 * that was used again for another chunk does no harm: the record's id is compared. */
#include <string.h>

#include "cache/record/record_int.h"

#define REFS(state) ((uint32_t)(state))

struct cw_slot *cw_slot_at(const struct cw_cache_node *node, uint64_t place)
{
    uint32_t no = cw_place_slot(place);

    return &atomic_load_explicit(&node->segments[no / CW_SLOTS_OF_SEGMENT],
                                 memory_order_acquire)[no % CW_SLOTS_OF_SEGMENT];
}

static bool add_segment(struct cw_cache_node *node)
{
    size_t bytes = CW_SLOTS_OF_SEGMENT * sizeof(struct cw_slot);

    if (node->slots_n == CW_SLOTS_OF_SEGMENT * CW_SLOT_SEGMENTS)
        return false;
    struct cw_slot *slots = cw_mem_try_aligned(64, bytes);
    if (!slots)
        return false;
    memset(slots, 0, bytes);
    for (uint32_t i = CW_SLOTS_OF_SEGMENT; i-- > 0;) {
        slots[i].no = node->slots_n + i;
        slots[i].node = node;
        atomic_store_explicit(&slots[i].state, CW_SLOT_FREE, memory_order_relaxed);
        slots[i].next = node->unused;
        node->unused = &slots[i];
    }
    atomic_store_explicit(&node->segments[node->slots_n / CW_SLOTS_OF_SEGMENT], slots,
                          memory_order_release);
    node->slots_n += CW_SLOTS_OF_SEGMENT;
    return true;
}

struct cw_slot *cw_slot_new(struct cw_cache_node *node, struct cw_cache_chunk *chunk,
                            struct cw_block *block)
{
    if (!node->unused && !add_segment(node))
        return NULL;
    struct cw_slot *slot = node->unused;
    node->unused = slot->next;
    slot->chunk = chunk;
    slot->block = block;
    slot->next = NULL;
    atomic_fetch_add(&node->holds, 1);
    /* Added, not stored: readers with an old place may be looking just now. */
    atomic_fetch_add_explicit(&slot->state, CW_SLOT_LIVE + 1 - CW_SLOT_FREE, memory_order_acq_rel);
    return slot;
}

bool cw_slot_is_live(const struct cw_slot *slot)
{
    return atomic_load_explicit(&slot->state, memory_order_acquire) & CW_SLOT_LIVE;
}

bool cw_slot_take(struct cw_slot *slot)
{
    if (CW_LIKELY(atomic_fetch_add_explicit(&slot->state, 1, memory_order_acq_rel) & CW_SLOT_LIVE))
        return true;
    cw_slot_drop(slot);
    return false;
}

bool cw_slot_try(struct cw_slot *slot)
{
    uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);

    while (state & CW_SLOT_LIVE)
        if (atomic_compare_exchange_weak_explicit(&slot->state, &state, state + 1,
                                                  memory_order_acq_rel, memory_order_acquire))
            return true;
    return false;
}

void cw_slot_ref(struct cw_slot *slot)
{
    atomic_fetch_add_explicit(&slot->state, 1, memory_order_acq_rel);
}

void cw_slot_drop(struct cw_slot *slot)
{
    uint64_t state = atomic_fetch_sub_explicit(&slot->state, 1, memory_order_acq_rel) - 1;

    /* If a reader comes between, the exchange fails, and this falls to that reader. A block's
     * memory is waited for by what is to be kept next; a chunk may have a file to close, which
     * can take time. */
    if (CW_LIKELY(REFS(state) != 0 || (state & (CW_SLOT_LIVE | CW_SLOT_FREE))))
        return;
    if (!atomic_compare_exchange_strong_explicit(&slot->state, &state, state | CW_SLOT_FREE,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return;
    if (slot->block)
        cw_slot_bury(slot);
    else
        cw_keep_bury(slot->node->cache, slot);
}

bool cw_slot_kill(struct cw_slot *slot)
{
    return atomic_fetch_and_explicit(&slot->state, ~CW_SLOT_LIVE, memory_order_acq_rel) &
           CW_SLOT_LIVE;
}

void cw_slot_bury(struct cw_slot *slot)
{
    struct cw_cache_node *node = slot->node;

    if (slot->chunk)
        cw_load_chunk_free(slot->chunk);
    if (slot->block)
        cw_block_free(slot->block);
    cw_mutex_lock(&node->lock);
    slot->chunk = NULL;
    slot->block = NULL;
    slot->next = node->unused;
    node->unused = slot;
    cw_mutex_unlock(&node->lock);
    cw_node_unhold(node);
}
