/* SPDX-License-Identifier: Apache-2.0 */
/* Counters that get and put change are kept in shards, one a thread, so that threads do not
 * invalidate each other's cache lines. */
#include "cache/record/record_state.h"

unsigned cw_counter_shard_no(void)
{
    static atomic_uint threads;
    /* the number of this thread's shard plus 1; 0: it has none yet */
    static _Thread_local unsigned mine;

    if (CW_UNLIKELY(!mine)) {
        unsigned no = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);

        /* Shards of threads that have ended are not used again: that would take a destructor of the
         * thread and gain little. */
        mine = 1 + CW_MIN(no, CW_COUNTER_SHARDS - 1);
    }
    return mine - 1;
}

static uint64_t get(const atomic_ullong *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

void cw_cache_counts(const struct cw_cache_dataset *dataset, struct cw_cache_counts *ret_counts)
{
    struct cw_cache_counts counts = {
        .lost = get(&dataset->lost),
        .written = get(&dataset->written),
        .written_bytes = get(&dataset->written_bytes),
        .chunks_written = get(&dataset->chunks_written),
        .records = get(&dataset->records),
        .chunks = get(&dataset->chunks),
        .damaged = get(&dataset->damaged),
    };

    for (unsigned i = 0; i < CW_COUNTER_SHARDS; i++) {
        const struct cw_counter_shard *shard = &dataset->shards[i];

        counts.hits += get(&shard->hits);
        counts.misses += get(&shard->misses);
        counts.hit_bytes += get(&shard->hit_bytes);
        counts.get_ns += get(&shard->get_ns) + get(&shard->wait_ns);
        counts.wait_ns += get(&shard->wait_ns);
        counts.put += get(&shard->put);
    }
    *ret_counts = counts;
}
