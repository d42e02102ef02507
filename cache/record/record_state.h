/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a record cache, and the structs that it consists of (docs/cache.md, "Inside a
 * worker").
 *
 * Locks, in this order: cache->lock, dataset->lock, budget.lock, chunk->lock. None is held while
 * the store works or the owner's event function runs. */
#ifndef CW_CACHE_RECORD_RECORD_STATE_H
#define CW_CACHE_RECORD_RECORD_STATE_H

#include "base/mem.h"
#include "base/thread.h"
#include "cache/record/cached_chunk.h"
#include "cache/record/dataset.h"
#include "cache/record/memory_budget.h"
#include "cache/record/record_cache.h"
#include "cache/record/write_buffer.h"

#define CW_CACHE_LOADERS 2 /* number of threads that open chunks */
#define CW_CACHE_WRITERS 2 /* number of threads that write chunks */

struct cw_cache {
    uint32_t magic;
    atomic_int refs;       /* references of the owner and of datasets */
    atomic_int store_refs; /* references of the owner and of open files */
    atomic_bool closed;
    struct cw_store *store;
    size_t chunk_bytes, segment_bytes;
    int level; /* level of compression */
    /* Called with the last reference to a dataset. It gives up all chunks of the dataset. */
    void (*drop_chunks)(struct cw_cache_dataset *dataset);
    cw_cache_event_fn *event;
    void *event_arg;
    struct cw_memory_budget budget;
    struct cw_mutex lock; /* guards what follows, unless a comment says otherwise */
    struct cw_cond load_wake, write_wake, maintenance_wake;
    struct cw_cond idle; /* signalled when nothing is unwritten, and when no read is under way */
    struct cw_cache_dataset *datasets;
    /* chunks to be opened, in the order in which they came */
    struct cw_cache_chunk *load_first, **load_end;
    /* buffers to be written, in the order in which they came */
    struct cw_write_buffer *write_first;
    size_t writing;                 /* number of buffers that writers are writing */
    struct cw_cache_chunk *retired; /* chunks to be taken out of use */
    struct cw_cache_handle *dead;   /* handles of chunks to be reclaimed */
    bool stop, stop_maintenance, maintenance_ended;
    bool has_requests;         /* the maintenance thread has something to do */
    atomic_bool unavailable;   /* the store is unavailable; changed under lock */
    bool unavailable_reported; /* the last event said that it is unavailable */
    char unavailable_why[256];
    int64_t timeout_ms; /* how long a get waits for a read; constant */
    /* mapped bytes are verified at each get, not only at the first; constant */
    bool verifies_always;
    int64_t full_until_ns; /* the store was full: nothing is written before this time */
    atomic_size_t parked;  /* number of chunks that wait for the store */
    atomic_bool pressed;   /* a record was lost because memory was full */
    /* number of write buffers whose records are neither written nor given up */
    atomic_size_t unwritten;
    size_t reads; /* number of reads of frames under way */
    struct cw_thread maintenance, loaders[CW_CACHE_LOADERS], writers[CW_CACHE_WRITERS];
};
/* Whether the checksum of a record is taken when it is encoded: it will be a frame by itself, and
 * is hardly ever packed. */
static inline bool cw_write_buffer_sums(const struct cw_cache *cache,
                                        const struct cw_buffered_record *record)
{
    return cache->level <= 0 && record->bytes >= CW_CHUNK_FRAME_BYTES &&
           record->bytes != CW_CHUNK_LEFT_OUT;
}

/* Give up a reference to the cache's memory, or to its store (cache_ref.c). */
void cw_cache_unref(struct cw_cache *cache);
void cw_cache_store_unref(struct cw_cache *cache);

#endif
