/* SPDX-License-Identifier: Apache-2.0 */
/* The writer threads: they turn write buffers into chunks. */
#ifndef CW_CACHE_RECORD_FLUSH_H
#define CW_CACHE_RECORD_FLUSH_H

struct cw_cache;

void cw_flush_thread(void *arg); /* Main function of a writer thread; arg is the cache. */
/* Gives up all buffers that wait for a writer; their records are counted as lost, for the reason
 * `why`. */
void cw_flush_discard_all(struct cw_cache *cache, const char *why);

#endif
