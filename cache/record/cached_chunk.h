/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk that a dataset has: opened, with its index and the frames of it that are in memory. */
#ifndef CW_CACHE_RECORD_CACHED_CHUNK_H
#define CW_CACHE_RECORD_CACHED_CHUNK_H

#include <string.h>
#include "base/mapped.h"
#include "base/thread.h"
#include "cache/record/dataset.h"
#include "cache/record/prefetch_queue.h"
#include "cache/record/span.h"
#include "format/chunk.h"

enum cw_chunk_state {
    CW_CHUNK_QUEUED,  /* a loader is to open it */
    CW_CHUNK_LOADING, /* one is opening it */
    CW_CHUNK_PARKED,  /* the store is away; it is queued again when the store is back */
    CW_CHUNK_LOADED   /* it has a handle, and its records are found */
};
struct cw_bits {
    _Atomic uint64_t word;
};
struct cw_cache_chunk {
    struct cw_cache_dataset *dataset;
    char *name;                /* in the store, with the tenant */
    enum cw_chunk_state state; /* dataset->lock */
    bool removed;              /* dataset->lock: the owner took it back before it was LOADED */
    bool shadowed;             /* dataset->lock: some of its ids are found in another chunk */
    bool installing;           /* dataset->lock: its ids are being entered */
    struct cw_cache_handle *handle;
    struct cw_store_file *file;
    const unsigned char *map;     /* the whole file; NULL: the store does not map */
    const unsigned char *map_end; /* where the last bytes of the footer are in map (intact.c) */
    struct cw_chunk_index *index;
    struct cw_bits *checked; /* a bit a frame of the mapping: its checksum was verified */
    struct cw_mutex lock;
    struct cw_cond arrived;  /* lock: a read of a span has ended */
    struct cw_span **stored; /* lock: frames as they are in the file; NULL: only the map is used */
    struct cw_span **plain;  /* lock: frames unpacked; NULL when none is packed */
    struct cw_queued_frame *queued; /* budget's lock: frames in the queue; NULL when stored is */
    atomic_uint queued_n;           /* entries in the queue; changed under the budget's lock */
    atomic_uint failures;           /* reads that failed in a row */
    int end;                        /* cache->lock: the event that ends it; -1: none */
    char *why;                      /* text of that event */
    struct cw_cache_chunk *next;    /* cache->lock: to be opened, or retired */
};
static inline bool cw_chunk_is_checked(const struct cw_cache_chunk *chunk, uint32_t frame)
{
    return atomic_load_explicit(&chunk->checked[frame / 64].word, memory_order_acquire) >>
               (frame % 64) &
           1;
}

/* intact.c. Whether the mapped file of a chunk whose record was just used is still whole: neither
 * cut short, nor unreadable in part. If it is not, the chunk is retired, and what was made from
 * the record must be thrown away. true of chunks that are not mapped. */
bool cw_intact_check(struct cw_cache_chunk *chunk);
/* Finds out what is the matter with the file, and sets chunk->why. Reads from the store. */
void cw_intact_explain(struct cw_cache_chunk *chunk);
static inline bool cw_chunk_is_intact(const struct cw_cache_chunk *chunk)
{
    uint64_t now, end;

    if (!chunk->map)
        return true;
    cw_mapped_fence();
    memcpy(&now, chunk->map_end, sizeof(now));
    memcpy(&end, CW_CHUNK_END, sizeof(end));
    return CW_LIKELY(now == end);
}

#endif
