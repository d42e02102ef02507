/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the speed of each cache's store: what workers report, and a benchmark that begins
 * when the first job of the cache is to be decided about. */
#include "dispatcher/autocache/autocache_int.h"

/* The time after which a failed benchmark of a store is tried again. */
#define BENCHMARK_RETRY_MS 30000
/* The longest time that decisions wait for the benchmark of a store. */
#define BENCHMARK_WAIT_MS 15000

static void speed_free(struct cw_autocache_store_speed *speed)
{
    cw_store_benchmark_free(speed->benchmark);
    cw_cache_rates_fini(&speed->rates);
    cw_mem_free(speed);
}

static void drop_detached(struct cw_dispatcher *d)
{
    for (struct cw_autocache_store_speed **at = &d->autocache->stores; *at;) {
        struct cw_autocache_store_speed *speed = *at;
        if (cw_cache_by_id(d, speed->cache_id)) {
            at = &speed->next;
            continue;
        }
        *at = speed->next;
        speed_free(speed);
    }
}

static struct cw_autocache_store_speed *find(const struct cw_dispatcher *d, uint64_t cache_id)
{
    struct cw_autocache_store_speed *speed = d->autocache->stores;
    while (speed && speed->cache_id != cache_id)
        speed = speed->next;
    return speed;
}

struct cw_autocache_store_speed *cw_store_speed_of(const struct cw_cache_service *cache)
{
    struct cw_dispatcher *d = cache->d;
    struct cw_autocache_store_speed *speed = find(d, cache->id);
    if (speed)
        return speed;
    drop_detached(d);
    speed = CW_NEW(struct cw_autocache_store_speed);
    speed->cache_id = cache->id;
    if (d->autocache->benchmarks) {
        speed->benchmark = cw_store_benchmark_start(cache->url);
        speed->benchmark_ms = cw_clock_ms();
    }
    speed->next = d->autocache->stores;
    d->autocache->stores = speed;
    return speed;
}

bool cw_store_is_benchmarking(const struct cw_cache_service *cache, int64_t now_ms)
{
    struct cw_autocache_store_speed *speed = cw_store_speed_of(cache);
    const struct cw_store_benchmark_result *result = cw_store_benchmark_result(speed->benchmark);
    if (!result)
        return now_ms - speed->benchmark_ms < BENCHMARK_WAIT_MS;
    if (result->points_n == 0 && now_ms - speed->benchmark_ms > BENCHMARK_RETRY_MS) {
        cw_log_debug(CW_LOG_MOD, "the speed of the store of cache %s could not be measured: %s",
                     cache->name, result->err.msg);
        cw_store_benchmark_free(speed->benchmark);
        speed->benchmark = cw_store_benchmark_start(cache->url);
        speed->benchmark_ms = now_ms;
    }
    return false;
}

/* Whether the worker has said anything of the cache's store. */
static bool has_state(const Cachew__V1__Progress *progress, uint64_t cache_id)
{
    for (size_t i = 0; i < progress->n_named_stores; i++)
        if (progress->named_stores[i]->cache == cache_id)
            return true;
    return cache_id == 0 && progress->store;
}

void cw_store_speeds_add(const struct cw_worker *worker, const Cachew__V1__Progress *progress,
                         int64_t now_ms)
{
    for (struct cw_autocache_store_speed *speed = worker->d->autocache->stores; speed;
         speed = speed->next)
        if (has_state(progress, speed->cache_id))
            cw_cache_rates_add(&speed->rates, speed->cache_id, worker, progress, now_ms);
}

void cw_store_speeds_forget(const struct cw_worker *worker)
{
    for (struct cw_autocache_store_speed *speed = worker->d->autocache->stores; speed;
         speed = speed->next)
        cw_cache_rates_forget(&speed->rates, worker->id);
}

void cw_store_speeds_free(struct cw_autocache_service *service)
{
    for (struct cw_autocache_store_speed *speed; (speed = service->stores) != NULL;) {
        service->stores = speed->next;
        speed_free(speed);
    }
}
