/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: what a place names. A reader finds a place without a lock, and by then the chunk may be
 * gone; so slots are never freed while the node lives, and a reader adds its ref first and asks
 * then whether the slot was still live. The last one who drops a dead slot has it buried. A slot
 * that was used again for another chunk does no harm: the record's id is compared. */
#include <string.h>

#include "cache/record/record_int.h"

#define REFS(state) ((uint32_t)(state))

struct cw_cache_handle *cw_cache_handle_at(const struct cw_cache_dataset *dataset, uint64_t place)
{
    uint32_t no = cw_place_handle(place);

    return &atomic_load_explicit(&dataset->segments[no / CW_HANDLES_OF_SEGMENT],
                                 memory_order_acquire)[no % CW_HANDLES_OF_SEGMENT];
}

static bool add_segment(struct cw_cache_dataset *dataset)
{
    size_t bytes = CW_HANDLES_OF_SEGMENT * sizeof(struct cw_cache_handle);

    if (dataset->slots_n == CW_HANDLES_OF_SEGMENT * CW_HANDLE_SEGMENTS)
        return false;
    struct cw_cache_handle *slots = cw_mem_try_aligned(64, bytes);
    if (!slots)
        return false;
    memset(slots, 0, bytes);
    for (uint32_t i = CW_HANDLES_OF_SEGMENT; i-- > 0;) {
        slots[i].no = dataset->slots_n + i;
        slots[i].dataset = dataset;
        atomic_store_explicit(&slots[i].state, CW_HANDLE_FREE, memory_order_relaxed);
        slots[i].next = dataset->unused;
        dataset->unused = &slots[i];
    }
    atomic_store_explicit(&dataset->segments[dataset->slots_n / CW_HANDLES_OF_SEGMENT], slots,
                          memory_order_release);
    dataset->slots_n += CW_HANDLES_OF_SEGMENT;
    return true;
}

struct cw_cache_handle *cw_cache_handle_new(struct cw_cache_dataset *dataset,
                                            struct cw_cache_chunk *chunk,
                                            struct cw_write_buffer *buffer)
{
    if (!dataset->unused && !add_segment(dataset))
        return NULL;
    struct cw_cache_handle *handle = dataset->unused;
    dataset->unused = handle->next;
    handle->chunk = chunk;
    handle->buffer = buffer;
    handle->next = NULL;
    atomic_fetch_add(&dataset->memory_refs, 1);
    /* Added, not stored: readers with an old place may be looking just now. */
    atomic_fetch_add_explicit(&handle->state, CW_HANDLE_LIVE + 1 - CW_HANDLE_FREE,
                              memory_order_acq_rel);
    return handle;
}

bool cw_cache_handle_is_live(const struct cw_cache_handle *handle)
{
    return atomic_load_explicit(&handle->state, memory_order_acquire) & CW_HANDLE_LIVE;
}

bool cw_cache_handle_acquire(struct cw_cache_handle *handle)
{
    if (CW_LIKELY(atomic_fetch_add_explicit(&handle->state, 1, memory_order_acq_rel) &
                  CW_HANDLE_LIVE))
        return true;
    cw_cache_handle_release(handle);
    return false;
}

bool cw_cache_handle_try_acquire(struct cw_cache_handle *handle)
{
    uint64_t state = atomic_load_explicit(&handle->state, memory_order_acquire);

    while (state & CW_HANDLE_LIVE)
        if (atomic_compare_exchange_weak_explicit(&handle->state, &state, state + 1,
                                                  memory_order_acq_rel, memory_order_acquire))
            return true;
    return false;
}

void cw_cache_handle_ref(struct cw_cache_handle *handle)
{
    atomic_fetch_add_explicit(&handle->state, 1, memory_order_acq_rel);
}

void cw_cache_handle_release(struct cw_cache_handle *handle)
{
    uint64_t state = atomic_fetch_sub_explicit(&handle->state, 1, memory_order_acq_rel) - 1;

    /* If a reader comes between, the exchange fails, and this falls to that reader. A block's
     * memory is waited for by what is to be kept next; a chunk may have a file to close, which
     * can take time. */
    if (CW_LIKELY(REFS(state) != 0 || (state & (CW_HANDLE_LIVE | CW_HANDLE_FREE))))
        return;
    if (!atomic_compare_exchange_strong_explicit(&handle->state, &state, state | CW_HANDLE_FREE,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return;
    if (handle->buffer)
        cw_cache_handle_reclaim(handle);
    else
        cw_request_reclaim(handle->dataset->cache, handle);
}

bool cw_cache_handle_invalidate(struct cw_cache_handle *handle)
{
    return atomic_fetch_and_explicit(&handle->state, ~CW_HANDLE_LIVE, memory_order_acq_rel) &
           CW_HANDLE_LIVE;
}

void cw_cache_handle_reclaim(struct cw_cache_handle *handle)
{
    struct cw_cache_dataset *dataset = handle->dataset;

    if (handle->chunk)
        cw_cache_chunk_free(handle->chunk);
    if (handle->buffer)
        cw_write_buffer_free(handle->buffer);
    cw_mutex_lock(&dataset->lock);
    handle->chunk = NULL;
    handle->buffer = NULL;
    handle->next = dataset->unused;
    dataset->unused = handle;
    cw_mutex_unlock(&dataset->lock);
    cw_dataset_unhold(dataset);
}
