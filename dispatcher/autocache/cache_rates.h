/* SPDX-License-Identifier: Apache-2.0 */
/* What workers measured of reading and writing caches, added up. Workers send totals; here differences are
 * added, so that workers come, go and begin again without harm. */
#ifndef CW_DISPATCHER_AUTOCACHE_CACHE_RATES_H
#define CW_DISPATCHER_AUTOCACHE_CACHE_RATES_H

#include "dispatcher/model/node_counters.h"

struct cw_cache_rate { /* of a worker: its last second with the cache */
    double read_bytes_s, write_bytes_s;
    bool read_limited, write_limited; /* threads waited; records were lost */
    int64_t at_ms;
};
struct cw_cache_rates {
    double hits, hit_bytes, get_ns; /* sums; get_ns without waiting */
    /* of all workers, while the store was the limit; 0 = it never was */
    double read_bytes_s, write_bytes_s;
    double read_seen, write_seen; /* most that was seen, limited or not */
    struct cw_map keys;           /* worker and key -> totals it sent last */
    struct cw_map workers;        /* id -> cw_cache_rate and what it needs */
};
void cw_cache_rates_fini(struct cw_cache_rates *cache);
/* The caches' part of a worker's message. threads: its. */
void cw_cache_rates_add(struct cw_cache_rates *cache, uint64_t worker_id, uint32_t threads,
                        const Cachew__V1__Progress *progress, int64_t now_ms);
void cw_cache_rates_forget(struct cw_cache_rates *cache, uint64_t worker_id); /* it is gone */
/* Thread time of reading, from what was measured or else assumed; bandwidths; `assumed` is set
 * to a static text. probe_* as of dispatcher/autocache/store_benchmark.h. */
void cw_cache_rates_read(const struct cw_cache_rates *cache, double workers, double probe_bytes_s,
                         struct cw_autocache_store *ret_store);

#endif
