/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of the hot paths, in shards: each of the first threads has a shard of its own, and needs
 * no locked instructions to count there. All later threads share the last shard. */
#ifndef CW_CACHE_RECORD_COUNTERS_H
#define CW_CACHE_RECORD_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>
#include "base/compiler.h"

#define CW_COUNTER_SHARDS 64u
struct cw_counter_shard {
    _Alignas(64) atomic_ullong hits, misses, hit_bytes, put;
    /* total time in gets that were hits, and the part of it that was spent waiting for the store */
    atomic_ullong get_ns, wait_ns;
};
unsigned cw_counter_shard_no(void); /* Returns the number of the calling thread's shard. */
static inline void cw_counter_add(atomic_ullong *count, uint64_t n, unsigned shard)
{
    if (CW_LIKELY(shard < CW_COUNTER_SHARDS - 1))
        atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + n,
                              memory_order_relaxed);
    else
        atomic_fetch_add_explicit(count, n, memory_order_relaxed);
}

#endif
