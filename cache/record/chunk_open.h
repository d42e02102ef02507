/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks become known by name; the loaders open them, read their indices and enter their ids. */
#ifndef CW_CACHE_RECORD_CHUNK_OPEN_H
#define CW_CACHE_RECORD_CHUNK_OPEN_H

#include "cache/record/cached_chunk.h"

struct cw_cache_chunk *cw_cache_chunk_new(struct cw_cache_dataset *dataset, const char *name);
void cw_cache_chunk_free(struct cw_cache_chunk *chunk); /* closes its file */
/* Frees the chunk of a handle without references, and recycles the handle. */
void cw_chunk_reclaim(struct cw_cache_handle *handle);
/* Opens a chunk in state LOADING on this thread, and owns it from then on. */
void cw_chunk_open(struct cw_cache *cache, struct cw_cache_chunk *chunk);
/* The store is back: queues what was parked. */
void cw_chunk_open_parked(struct cw_cache *cache);
void cw_chunk_open_thread(void *arg); /* a loader; arg: the cache */
/* Enters ids that are not found in another chunk. The caller has a reference of its handle. */
void cw_chunk_enter_ids(struct cw_cache_chunk *chunk);

#endif
