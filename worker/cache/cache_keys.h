/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the cache, and the chunks of each that the dispatcher has announced. Loop thread. */
#ifndef CW_WORKER_CACHE_CACHE_KEYS_H
#define CW_WORKER_CACHE_CACHE_KEYS_H

#include "cachew/v1/fleet.pb-c.h"
#include "worker/model/state.h"

/* Finds a tenant's key, or makes it. */
struct cw_wcache_key *cw_wcache_key(struct cw_worker_state *w, const char *tenant,
                                    struct cw_hash key);
/* Carries out a CacheChunks message. Returns NULL, or why the message is not valid. */
const char *cw_wcache_chunks(struct cw_worker_state *w, const Cachew__V1__CacheChunks *message);
/* A job begins to use the key: returns its node in the cache, with all known chunks. */
struct cw_cache_dataset *cw_wcache_key_use(struct cw_worker_state *w, struct cw_wcache_key *key,
                                           const struct cw_spec *spec);
/* A job does not use the key any more. */
void cw_wcache_key_leave(struct cw_wcache_key *key);
/* Counters of the key since the worker began. */
void cw_wcache_key_counts(const struct cw_wcache_key *key, struct cw_cache_counts *ret_counts);
/* Releases the nodes of keys that no job has used since then (cw_clock_ms). */
void cw_wcache_keys_forget_nodes(struct cw_worker_state *w, int64_t unused_since_ms);
/* The store was replaced: releases all nodes, and forgets all chunks. */
void cw_wcache_keys_retire(struct cw_worker_state *w);
void cw_wcache_keys_fini(struct cw_worker_state *w);

#endif
