/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the cache, and the chunks of each that the dispatcher has announced. Loop thread. */
#ifndef CW_WORKER_CACHE_CACHE_KEYS_H
#define CW_WORKER_CACHE_CACHE_KEYS_H

#include "cachew/v1/fleet.pb-c.h"
#include "worker/model/state.h"

/* Returns a tenant's key of a cache; makes it if there is none. */
struct cw_wcache_key *cw_wcache_key(struct cw_worker_state *w, uint64_t cache_id,
                                    const char *tenant, struct cw_hash key);
/* Carries out a CacheChunks message. Returns NULL, or a text that says why the message is not
 * valid. */
const char *cw_wcache_chunks(struct cw_worker_state *w, const Cachew__V1__CacheChunks *message);
/* Begins the use of a key by a job: returns the key's dataset in the cache, with all known
 * chunks. */
struct cw_cache_dataset *cw_wcache_key_use(struct cw_worker_state *w, struct cw_wcache_key *key,
                                           const struct cw_spec *spec);
/* Ends the use of a key by a job. */
void cw_wcache_key_leave(struct cw_wcache_key *key);
/* Returns the counters of the key since the worker began. */
void cw_wcache_key_counts(const struct cw_wcache_key *key, struct cw_cache_counts *ret_counts);
/* Releases the datasets of keys that no job has used since that time (cw_clock_ms). */
void cw_wcache_keys_release_datasets(struct cw_worker_state *w, int64_t unused_since_ms);
/* Releases all datasets of the cache and forgets its chunks, because its store was replaced. */
void cw_wcache_keys_retire(struct cw_worker_state *w, uint64_t cache_id);
void cw_wcache_keys_fini(struct cw_worker_state *w);

#endif
