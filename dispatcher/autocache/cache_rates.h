/* SPDX-License-Identifier: Apache-2.0 */
/* How fast workers read and write a cache, summed over workers. A worker sends totals; differences
 * of totals are added up here, so workers may come, go and begin again at zero. */
#ifndef CW_DISPATCHER_AUTOCACHE_CACHE_RATES_H
#define CW_DISPATCHER_AUTOCACHE_CACHE_RATES_H

#include "dispatcher/model/node_counters.h"

struct cw_worker;

/* The rates at which one worker used the cache, during its last second of use. */
struct cw_cache_rate {
    double read_bytes_s, write_bytes_s;
    /* Threads waited for the store; or records were lost because it was too slow. */
    bool read_limited, write_limited;
    int64_t at_ms;
};
struct cw_cache_rates {
    /* Sums over all workers; get_ns is the time of reads without the time of waiting. */
    double hits, hit_bytes, get_ns;
    /* The rates of all workers together while the store was the limit; 0 if it never was. */
    double read_bytes_s, write_bytes_s;
    /* The highest rates that were seen, whether or not the store was the limit. */
    double read_seen, write_seen;
    /* Worker and key -> the totals that the worker sent last (struct key_totals). */
    struct cw_map keys;
    struct cw_map workers; /* Worker id -> struct worker_rate. */
};
void cw_cache_rates_fini(struct cw_cache_rates *cache);
/* Adds what a worker has reported of one cache. */
void cw_cache_rates_add(struct cw_cache_rates *cache, uint64_t cache_id,
                        const struct cw_worker *worker, const Cachew__V1__Progress *progress,
                        int64_t now_ms);
/* Forgets the rates of a worker that is gone. */
void cw_cache_rates_forget(struct cw_cache_rates *cache, uint64_t worker_id);
/* Fills in the thread time of reading, as measured or assumed, and the bandwidths. `assumed` is set
 * to a constant text. probe_bytes_s is the result of measure_store.h. */
void cw_cache_rates_read(const struct cw_cache_rates *cache, double workers, double probe_bytes_s,
                         struct cw_autocache_store *ret_store);

#endif
