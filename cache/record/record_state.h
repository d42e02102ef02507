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

#define CW_CACHE_LOADERS 2 /* threads that open chunks */
#define CW_CACHE_WRITERS 2 /* threads that write them */

struct cw_cache {
    uint32_t magic;
    atomic_int refs;       /* the owner, datasets */
    atomic_int store_refs; /* the owner, open files */
    atomic_bool closed;
    struct cw_store *store;
    size_t chunk_bytes, segment_bytes;
    int level; /* of compression */
    /* Called with the last reference to a dataset: it gives up all chunks of it. */
    void (*drop_chunks)(struct cw_cache_dataset *dataset);
    cw_cache_event_fn *event;
    void *event_arg;
    struct cw_memory_budget budget;
    struct cw_mutex lock; /* guards what follows, unless it says otherwise */
    struct cw_cond load_wake, write_wake, maintenance_wake;
    struct cw_cond idle; /* nothing is unwritten, or no read is under way */
    struct cw_cache_dataset *datasets;
    struct cw_cache_chunk *load_first,
        **load_end;                      /* chunks to be opened, first come first served */
    struct cw_write_buffer *write_first; /* buffers to be written, the same */
    size_t writing;                      /* buffers that a writer has in hand */
    struct cw_cache_chunk *retired;      /* chunks to be taken out of use */
    struct cw_cache_handle *dead;        /* handles of chunks to be reclaimed */
    bool stop, stop_maintenance, maintenance_ended;
    bool has_requests;  /* for the maintenance thread */
    atomic_bool away;   /* the store is; changed under lock */
    bool away_reported; /* the last event said away, not back */
    char away_why[256];
    int64_t timeout_ms;      /* how long a get waits for a read; does not change */
    bool verifies_always;    /* mapped bytes: at each get, not at the first only; does not change */
    int64_t full_until_ns;   /* the store was full: nothing is written before */
    atomic_size_t parked;    /* chunks */
    atomic_bool pressed;     /* a record was lost because memory is full */
    atomic_size_t unwritten; /* write buffers with records that have not come to an end */
    size_t reads;            /* of frames, under way */
    struct cw_thread maintenance, loaders[CW_CACHE_LOADERS], writers[CW_CACHE_WRITERS];
};
/* Whether to take the checksum of a record as it is encoded: it will be a frame of its own, and
 * hardly ever packed. */
static inline bool cw_write_buffer_sums(const struct cw_cache *cache,
                                        const struct cw_buffered_record *record)
{
    return cache->level <= 0 && record->bytes >= CW_CHUNK_FRAME_BYTES &&
           record->bytes != CW_CHUNK_LEFT_OUT;
}

/* cache_ref.c: give up a reference to its memory, to its store */
void cw_cache_unref(struct cw_cache *cache);
void cw_cache_store_unref(struct cw_cache *cache);

#endif
