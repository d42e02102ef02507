/* SPDX-License-Identifier: Apache-2.0 */
/* Write buffers become chunks. */
#ifndef CW_CACHE_RECORD_FLUSH_H
#define CW_CACHE_RECORD_FLUSH_H

struct cw_cache;

void cw_flush_thread(void *arg); /* a writer; arg: the cache */
/* What waits for a writer is lost. */
void cw_flush_discard_all(struct cw_cache *cache, const char *why);

#endif
