/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk of a dataset as the cache uses it: its open file, its index, and those of its frames that
 * are in memory. */
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
    CW_CHUNK_QUEUED,  /* a loader thread will open it */
    CW_CHUNK_LOADING, /* a loader thread is opening it */
    /* the store is unavailable; the chunk is queued again when the store answers */
    CW_CHUNK_PARKED,
    CW_CHUNK_LOADED /* it has a handle, and gets find its records */
};
struct cw_bits {
    _Atomic uint64_t word;
};
struct cw_cache_chunk {
    struct cw_cache_dataset *dataset;
    char *name;                /* name of its file in the store, with the tenant's folder */
    enum cw_chunk_state state; /* lock: dataset->lock */
    bool removed; /* lock: dataset->lock; the owner removed the chunk before it was LOADED */
    /* lock: dataset->lock; another chunk has some of its ids, too, and gets read them there */
    bool shadowed;
    bool installing; /* lock: dataset->lock; a loader is entering its ids into the id map */
    struct cw_cache_handle *handle;
    struct cw_store_file *file;
    const unsigned char *map; /* the mapped file; NULL: this store does not map files */
    /* the last bytes of the footer in map, which show that the file is whole (intact.c) */
    const unsigned char *map_end;
    struct cw_chunk_index *index;
    struct cw_bits *checked; /* one bit for each frame of the mapping: its checksum was verified */
    struct cw_mutex lock;
    struct cw_cond arrived; /* lock: chunk->lock; signalled when a read of a span has ended */
    /* lock: chunk->lock; for each frame the span that holds its stored bytes; NULL: only the map is
     * used */
    struct cw_span **stored;
    /* lock: chunk->lock; for each packed frame the span that holds it unpacked; NULL: no frame is
     * packed */
    struct cw_span **plain;
    /* lock: the budget's; for each frame its entries in the prefetch queue; NULL if stored is
     * NULL */
    struct cw_queued_frame *queued;
    /* number of entries in the prefetch queue; changed under the budget's lock */
    atomic_uint queued_n;
    atomic_uint failures; /* number of reads that failed one after another */
    int end;   /* lock: cache->lock; kind of the event that reports its retirement; -1: none */
    char *why; /* text of that event, owned */
    /* lock: cache->lock; next in the list of chunks to be opened, or of retired chunks */
    struct cw_cache_chunk *next;
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
/* Finds out why the mapped file is not whole any more, and sets chunk->why. Reads from the store,
 * so it may wait. */
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
