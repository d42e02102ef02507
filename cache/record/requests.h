/* SPDX-License-Identifier: Apache-2.0 */
/* What threads ask of the cache's own threads. These functions only append to lists, under
 * cache->lock; so they may be called from everywhere where that lock may be taken. */
#ifndef CW_CACHE_RECORD_REQUESTS_H
#define CW_CACHE_RECORD_REQUESTS_H

#include "cache/record/record_cache.h"

struct cw_cache_chunk;
struct cw_cache_handle;
struct cw_write_buffer;

/* The chunk is not to be used any more. end: the event that says so to the owner, or -1. why NULL:
 * the maintenance thread finds it out (cw_intact_explain). */
void cw_request_retire(struct cw_cache_chunk *chunk, int end, const char *why);
/* A chunk's handle without references is to be reclaimed on the maintenance thread, since closing
 * its file may take long. false: that thread has ended. */
bool cw_request_reclaim(struct cw_cache *cache, struct cw_cache_handle *handle);
/* A loader is to open the chunk. */
void cw_request_open(struct cw_cache *cache, struct cw_cache_chunk *chunk);
/* A writer is to write the buffer. */
void cw_request_flush(struct cw_cache *cache, struct cw_write_buffer *buffer);
/* What an operation of the store returned: is the store away, or back? */
void cw_request_note_result(struct cw_cache *cache, int rc, const struct cw_err *err);
/* Counts records that were lost; the maintenance thread reports them. Takes dataset->lock. */
void cw_request_report_lost(struct cw_cache_dataset *dataset, uint64_t records, const char *why);
/* Calls the owner's event function, on this thread. No lock may be held. */
void cw_cache_emit(struct cw_cache *cache, const struct cw_cache_event *event);

#endif
