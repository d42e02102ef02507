/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the cache's own threads. These functions only append to lists under cache->lock, so
 * they may be called wherever that lock may be taken. */
#ifndef CW_CACHE_RECORD_REQUESTS_H
#define CW_CACHE_RECORD_REQUESTS_H

#include "cache/record/record_cache.h"

struct cw_cache_chunk;
struct cw_cache_handle;
struct cw_write_buffer;

/* Retires a chunk: it is not used any more. end: the kind of event that reports this to the owner,
 * or -1. why NULL: the maintenance thread finds out the reason (cw_intact_explain). */
void cw_request_retire(struct cw_cache_chunk *chunk, int end, const char *why);
/* Asks the maintenance thread to reclaim a chunk's handle that has no references, since closing its
 * file may take long. Returns false if that thread has ended. */
bool cw_request_reclaim(struct cw_cache *cache, struct cw_cache_handle *handle);
/* Asks a loader to open the chunk. */
void cw_request_open(struct cw_cache *cache, struct cw_cache_chunk *chunk);
/* Asks a writer to write the buffer. */
void cw_request_flush(struct cw_cache *cache, struct cw_write_buffer *buffer);
/* Records the result of an operation of the store, from which follows whether the store is
 * available. */
void cw_request_note_result(struct cw_cache *cache, int rc, const struct cw_err *err);
/* Counts records that were lost; the maintenance thread reports them. Takes dataset->lock. */
void cw_request_report_lost(struct cw_cache_dataset *dataset, uint64_t records, const char *why);
/* Calls the owner's event function, on this thread. No lock may be held. */
void cw_cache_emit(struct cw_cache *cache, const struct cw_cache_event *event);

#endif
