/* SPDX-License-Identifier: Apache-2.0 */
/* Opening of chunks: loader threads open chunks that are known by name, read their indices and
 * enter their ids. */
#ifndef CW_CACHE_RECORD_CHUNK_OPEN_H
#define CW_CACHE_RECORD_CHUNK_OPEN_H

#include "cache/record/cached_chunk.h"

struct cw_cache_chunk *cw_cache_chunk_new(struct cw_cache_dataset *dataset, const char *name);
void cw_cache_chunk_free(struct cw_cache_chunk *chunk); /* Frees the chunk and closes its file. */
/* Frees the chunk of a handle without references, and recycles the handle. */
void cw_chunk_reclaim(struct cw_cache_handle *handle);
/* Opens a chunk in state LOADING on the calling thread, and takes the chunk. */
void cw_chunk_open(struct cw_cache *cache, struct cw_cache_chunk *chunk);
/* Queues all parked chunks again; called when the store answers again. */
void cw_chunk_open_parked(struct cw_cache *cache);
void cw_chunk_open_thread(void *arg); /* Main function of a loader thread; arg is the cache. */
/* Enters those ids of the chunk that are not found in another chunk. The caller holds a reference
 * to its handle. */
void cw_chunk_enter_ids(struct cw_cache_chunk *chunk);

#endif
