/* SPDX-License-Identifier: Apache-2.0 */
/* A dataset: the records of one node of a pipeline, that is, of one tenant and key. There is one
 * object for each while somebody uses it, or something of it waits to be written. */
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
    /* users and write buffers; the last one is given up under cache->lock, since the dataset can
     * be found there until then */
    atomic_int refs;
    /* handles in use, and one for all users together: the memory is freed with the last */
    atomic_int memory_refs;
    struct cw_cache *cache;
    char tenant[CW_CHUNK_TENANT_BYTES];
    struct cw_hash key;
    struct cw_spec spec;
    struct cw_record_shape shape; /* of its records */
    uint64_t frames_at;           /* offset of the first frame in each of its chunks */
    struct cw_id_map ids;
    struct cw_mutex lock;
    struct cw_strmap names;         /* lock: name -> chunk */
    struct cw_write_buffer *open;   /* lock: records are added to it; NULL: none yet */
    struct cw_handle_table handles; /* lock: of chunks and write buffers */
    atomic_size_t pending;          /* chunks that are to be opened */
    atomic_bool wants_prefetch;     /* a chunk does not map, or its records are large */
    struct cw_counter_shard shards[CW_COUNTER_SHARDS];
    atomic_ullong lost, written, written_bytes, chunks_written, damaged;
    atomic_ullong records, chunks; /* that exist; changed under lock */
    /* so many chunks more are written without trying to pack: the last try was not worth it */
    atomic_uint plain_n;
    uint64_t lost_unreported;      /* lock: records lost since the last event that said so */
    char lost_why[256];            /* lock */
    int64_t lost_reported_ns;      /* the maintenance thread's: when that event was */
    struct cw_cache_dataset *next; /* cache->lock */
};
/* A handle for one of the dataset's chunks or write buffers (cw_cache_handle_new); it keeps the
 * memory of the dataset until it is recycled. dataset->lock. */
struct cw_cache_handle *cw_dataset_handle_new(struct cw_cache_dataset *dataset,
                                              struct cw_cache_chunk *chunk,
                                              struct cw_write_buffer *buffer,
                                              void (*reclaim)(struct cw_cache_handle *handle));
/* Takes dataset->lock; may free the dataset. */
void cw_dataset_handle_recycle(struct cw_cache_dataset *dataset, struct cw_cache_handle *handle);
static inline struct cw_cache_handle *cw_dataset_handle(const struct cw_cache_dataset *dataset,
                                                        uint64_t place)
{
    return cw_cache_handle_at(&dataset->handles, cw_place_handle(place));
}
/* Sets an id's place, and keeps the count of records. false: no memory. dataset->lock. */
bool cw_dataset_set_place(struct cw_cache_dataset *dataset, uint64_t id, uint64_t place);
/* A reference to each dataset of the cache; the caller gives them up and frees the array. */
struct cw_cache_dataset **cw_dataset_all(struct cw_cache *cache, size_t *ret_n);

#endif
