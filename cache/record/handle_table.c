/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of chunks and write buffers (handle_table.h explains why readers need no lock). */
#include "cache/record/handle_table.h"

#include <string.h>

#include "base/mem.h"

#define REFS(state) ((uint32_t)(state))

static bool add_segment(struct cw_handle_table *table)
{
    size_t bytes = CW_HANDLES_OF_SEGMENT * sizeof(struct cw_cache_handle);

    if (table->made == CW_HANDLES_OF_SEGMENT * CW_HANDLE_SEGMENTS)
        return false;
    struct cw_cache_handle *handles = cw_mem_try_aligned(64, bytes);
    if (!handles)
        return false;
    memset(handles, 0, bytes);
    for (uint32_t i = CW_HANDLES_OF_SEGMENT; i-- > 0;) {
        handles[i].no = table->made + i;
        atomic_store_explicit(&handles[i].state, CW_HANDLE_FREE, memory_order_relaxed);
        handles[i].next = table->unused;
        table->unused = &handles[i];
    }
    atomic_store_explicit(&table->segments[table->made / CW_HANDLES_OF_SEGMENT], handles,
                          memory_order_release);
    table->made += CW_HANDLES_OF_SEGMENT;
    return true;
}

struct cw_cache_handle *cw_cache_handle_new(struct cw_handle_table *table,
                                            struct cw_cache_chunk *chunk,
                                            struct cw_write_buffer *buffer,
                                            void (*reclaim)(struct cw_cache_handle *handle))
{
    if (!table->unused && !add_segment(table))
        return NULL;
    struct cw_cache_handle *handle = table->unused;
    table->unused = handle->next;
    handle->next = NULL;
    handle->chunk = chunk;
    handle->buffer = buffer;
    handle->reclaim = reclaim;
    /* The flag is added, not stored, since readers with an old place may be adding a reference at
     * the same time. */
    atomic_fetch_add_explicit(&handle->state, CW_HANDLE_LIVE + 1 - CW_HANDLE_FREE,
                              memory_order_acq_rel);
    return handle;
}

void cw_cache_handle_recycle(struct cw_handle_table *table, struct cw_cache_handle *handle)
{
    handle->chunk = NULL;
    handle->buffer = NULL;
    handle->next = table->unused;
    table->unused = handle;
}

void cw_handle_table_fini(struct cw_handle_table *table)
{
    for (size_t i = 0; i < CW_HANDLE_SEGMENTS; i++)
        cw_mem_free(atomic_load_explicit(&table->segments[i], memory_order_relaxed));
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

    if (CW_LIKELY(REFS(state) != 0 || (state & (CW_HANDLE_LIVE | CW_HANDLE_FREE))))
        return;
    /* If a reader adds a reference in between, the exchange fails, and that reader does the
     * reclaiming later. */
    if (atomic_compare_exchange_strong_explicit(&handle->state, &state, state | CW_HANDLE_FREE,
                                                memory_order_acq_rel, memory_order_relaxed))
        handle->reclaim(handle);
}

bool cw_cache_handle_invalidate(struct cw_cache_handle *handle)
{
    return atomic_fetch_and_explicit(&handle->state, ~CW_HANDLE_LIVE, memory_order_acq_rel) &
           CW_HANDLE_LIVE;
}
