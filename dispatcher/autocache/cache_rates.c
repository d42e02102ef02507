/* SPDX-License-Identifier: Apache-2.0 */
/* How fast workers read and write caches. The bandwidth of the store is known only while the store
 * is the limit: when threads wait for it, what arrives is all that it can give. */
#include "dispatcher/autocache/cache_rates.h"
#include "dispatcher/model/model.h"

#include "base/hash.h"
#include "base/mem.h"

/* The thread time of reading a record from memory that is assumed before anything was read (ns). */
#define READ_NS 2000.0
/* The thread time of reading one byte that is assumed before anything was read (ns): it is
 * checksummed and touched for the first time. */
#define READ_BYTE_NS 0.15
#define WRITE_NS 5000.0
/* The assumed thread time of writing one byte (ns): it is copied, checksummed and handed to the
 * store. */
#define WRITE_BYTE_NS 1.0
/* The store is the limit if threads wait for it for this fraction of their time. */
#define LIMITED_SHARE 0.7
#define WINDOW_MS 300 /* The shortest time that a rate is computed over. */
#define RATE_KEPT_MS 5000
#define HITS_MIN 64.0
#define SUMS_MAX 1e6 /* Above this number of hits, older ones count half. */

struct key_totals {
    uint64_t worker_id;
    uint64_t hits, hit_bytes, get_ns, wait_ns, written_bytes, lost;
};
struct worker_rate {
    struct cw_cache_rate rate;
    int64_t since_ms;
    /* The sums of the worker's counts since the time since_ms. */
    double read_bytes, write_bytes, wait_ns, lost;
};

void cw_cache_rates_fini(struct cw_cache_rates *cache)
{
    cw_map_fini_free(&cache->keys);
    cw_map_fini_free(&cache->workers);
    *cache = (struct cw_cache_rates){0};
}

static void *value_of(struct cw_map *map, uint64_t key, size_t bytes)
{
    void *value = cw_map_get(map, key);
    if (!value) {
        value = cw_mem_new(bytes);
        (void)cw_map_set(map, key, value);
    }
    return value;
}

static void add_key(struct cw_cache_rates *cache, struct worker_rate *rate, uint64_t worker_id,
                    const Cachew__V1__CacheCounts *counts)
{
    uint64_t key = cw_hash_u64(counts->key.data, counts->key.len) ^ cw_mix64(worker_id);
    struct key_totals *last = value_of(&cache->keys, key, sizeof(*last));
    last->worker_id = worker_id;
    double bytes = cw_counter_delta(&last->hit_bytes, counts->hit_bytes),
           wait_ns = cw_counter_delta(&last->wait_ns, counts->wait_ns);
    double get_ns = cw_counter_delta(&last->get_ns, counts->get_ns);
    cache->hits += cw_counter_delta(&last->hits, counts->hits);
    cache->hit_bytes += bytes;
    cache->get_ns += CW_MAX(get_ns - wait_ns, 0);
    rate->read_bytes += bytes;
    rate->wait_ns += wait_ns;
    rate->write_bytes += cw_counter_delta(&last->written_bytes, counts->written_bytes);
    rate->lost += cw_counter_delta(&last->lost, counts->lost);
    if (cache->hits > SUMS_MAX) {
        cache->hits /= 2;
        cache->hit_bytes /= 2;
        cache->get_ns /= 2;
    }
}

static void learn(double *limit, double *seen, double rate, bool limited)
{
    *seen = CW_MAX(*seen, rate);
    if (limited)
        *limit = *limit > 0 ? (*limit + rate) / 2 : rate;
    else if (*limit > 0)
        *limit = CW_MAX(*limit, rate);
}

static void add_up(struct cw_cache_rates *cache, int64_t now_ms)
{
    double read = 0, write = 0;
    bool read_limited = false, write_limited = false;
    uint64_t id;
    void *value;
    for (size_t i = 0; cw_map_next(&cache->workers, &i, &id, &value);) {
        const struct cw_cache_rate *rate = &((struct worker_rate *)value)->rate;
        if (now_ms - rate->at_ms > RATE_KEPT_MS)
            continue;
        read += rate->read_bytes_s;
        write += rate->write_bytes_s;
        read_limited = read_limited || rate->read_limited;
        write_limited = write_limited || rate->write_limited;
    }
    learn(&cache->read_bytes_s, &cache->read_seen, read, read_limited);
    learn(&cache->write_bytes_s, &cache->write_seen, write, write_limited);
}

void cw_cache_rates_add(struct cw_cache_rates *cache, uint64_t cache_id,
                        const struct cw_worker *worker, const Cachew__V1__Progress *progress,
                        int64_t now_ms)
{
    struct worker_rate *rate = value_of(&cache->workers, worker->id, sizeof(*rate));
    for (size_t i = 0; i < progress->n_cache; i++)
        if (progress->cache[i]->cache == cache_id)
            add_key(cache, rate, worker->id, progress->cache[i]);
    double ms = (double)(now_ms - rate->since_ms);
    if (ms < WINDOW_MS)
        return;
    bool began = rate->since_ms > 0;
    rate->rate = (struct cw_cache_rate){
        .read_bytes_s = rate->read_bytes / ms * 1e3,
        .write_bytes_s = rate->write_bytes / ms * 1e3,
        .read_limited =
            rate->read_bytes > 0 && rate->wait_ns > LIMITED_SHARE * ms * 1e6 * worker->threads,
        .write_limited = rate->write_bytes > 0 && rate->lost > 0,
        .at_ms = now_ms,
    };
    rate->since_ms = now_ms;
    rate->read_bytes = rate->write_bytes = rate->wait_ns = rate->lost = 0;
    if (began)
        add_up(cache, now_ms);
}

void cw_cache_rates_forget(struct cw_cache_rates *cache, uint64_t worker_id)
{
    uint64_t key;
    void *value;
    cw_mem_free(cw_map_remove(&cache->workers, worker_id));
    for (size_t i = 0; cw_map_next(&cache->keys, &i, &key, &value);) {
        if (((struct key_totals *)value)->worker_id == worker_id)
            cw_mem_free(cw_map_remove(&cache->keys, key));
    }
}

void cw_cache_rates_read(const struct cw_cache_rates *cache, double workers, double probe_bytes_s,
                         struct cw_autocache_store *ret_store)
{
    double factor = 1;
    bool measured = cache->hits >= HITS_MIN;
    if (measured)
        factor = cache->get_ns / (cache->hits * READ_NS + cache->hit_bytes * READ_BYTE_NS);
    ret_store->read_ns = READ_NS * factor;
    ret_store->read_byte_ns = READ_BYTE_NS * factor;
    ret_store->write_ns = WRITE_NS;
    ret_store->write_byte_ns = WRITE_BYTE_NS;
    ret_store->samples = cache->hits;
    ret_store->write_bytes_s = cache->write_bytes_s;
    ret_store->read_bytes_s =
        cache->read_bytes_s > 0 ? cache->read_bytes_s : probe_bytes_s * CW_MAX(workers, 1);
    if (cache->read_bytes_s <= 0 && ret_store->read_bytes_s > 0)
        ret_store->read_bytes_s = CW_MAX(ret_store->read_bytes_s, cache->read_seen);
    ret_store->assumed = measured ? NULL
                         : ret_store->read_bytes_s > 0
                             ? "what it gives was tried out by the dispatcher, the time to read a "
                               "record is assumed (2 us + 0.15 ns/byte)"
                             : "assumed, nothing was read yet (2 us + 0.15 ns/byte)";
}
