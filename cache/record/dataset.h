/* SPDX-License-Identifier: Apache-2.0 */
/* A dataset: the records of one node of a pipeline, that is, of one tenant and one key. There is
 * one object for each dataset while somebody uses it, or some of its records wait to be written. */
#ifndef CW_CACHE_RECORD_DATASET_H
#define CW_CACHE_RECORD_DATASET_H

#include "base/map.h"
#include "base/thread.h"
#include "cache/record/counters.h"
#include "cache/record/handle_table.h"
#include "cache/record/id_map.h"
#include "cache/record/record_cache.h"
#include "format/record.h"

struct cw_cache_dataset {
    uint32_t magic;
    /* References of users and of write buffers. The last one is given up under cache->lock, since
     * the dataset can be found in the cache's list until then. */
    atomic_int refs;
    /* References of handles in use, and one that all users share. The memory is freed with the last
     * of them. */
    atomic_int memory_refs;
    struct cw_cache *cache;
    char tenant[CW_CHUNK_TENANT_BYTES];
    struct cw_hash key;
    struct cw_spec spec;
    struct cw_record_shape shape; /* shape of its records */
    /* offset in the file at which the first frame of each of its chunks begins */
    uint64_t frames_at;
    struct cw_id_map ids;
    struct cw_mutex lock;
    struct cw_strmap names; /* lock: its own; maps names of files to chunks */
    /* lock: its own; the buffer that records are added to now; NULL: none yet */
    struct cw_write_buffer *open;
    struct cw_handle_table handles; /* lock: its own; handles of its chunks and write buffers */
    atomic_size_t pending;          /* number of chunks that are not opened yet */
    /* gets should be announced: some chunk is not mapped, or its records are large */
    atomic_bool wants_prefetch;
    struct cw_counter_shard shards[CW_COUNTER_SHARDS];
    atomic_ullong lost, written, written_bytes, chunks_written, damaged;
    /* numbers of records and chunks that gets can find; changed under lock */
    atomic_ullong records, chunks;
    /* The next so many chunks are written without trying to pack them, because the last try saved
     * too little. */
    atomic_uint plain_n;
    uint64_t lost_unreported;      /* lock: its own; records lost since the last event LOST */
    char lost_why[256];            /* lock: its own; text of the next event LOST */
    int64_t lost_reported_ns;      /* maintenance thread only; time of the last event LOST */
    struct cw_cache_dataset *next; /* lock: cache->lock; next in the list of all datasets */
};
/* Makes a handle for one of the dataset's chunks or write buffers (cw_cache_handle_new). The handle
 * keeps the memory of the dataset until it is recycled. Called with dataset->lock held. */
struct cw_cache_handle *cw_dataset_handle_new(struct cw_cache_dataset *dataset,
                                              struct cw_cache_chunk *chunk,
                                              struct cw_write_buffer *buffer,
                                              void (*reclaim)(struct cw_cache_handle *handle));
/* Recycles a handle. Takes dataset->lock, and may free the dataset. */
void cw_dataset_handle_recycle(struct cw_cache_dataset *dataset, struct cw_cache_handle *handle);
static inline struct cw_cache_handle *cw_dataset_handle(const struct cw_cache_dataset *dataset,
                                                        uint64_t place)
{
    return cw_cache_handle_at(&dataset->handles, cw_place_handle(place));
}
/* Sets the place of an id in the id map, and keeps the count of records. Returns false if there is
 * no memory. Called with dataset->lock held. */
bool cw_dataset_set_place(struct cw_cache_dataset *dataset, uint64_t id, uint64_t place);
/* Returns an array with a reference to each dataset of the cache; the caller gives these up and
 * frees the array. */
struct cw_cache_dataset **cw_dataset_all(struct cw_cache *cache, size_t *ret_n);

#endif
