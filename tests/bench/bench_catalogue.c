/* SPDX-License-Identifier: Apache-2.0 */
/* What the catalogue of the cache costs the dispatcher's loop, with 10,000 keys of together
 * 100,000 chunks:
 *   build/release/tests/bench_catalogue [events]
 * heard: a message of a worker that tells of a chunk (repeated ones too), as in a run; counts:
 * one that tells hits; list: a chunk of a listing that is known; pick: choosing a tenth of all
 * for eviction, the whole of it. The last line:
 *   bench_catalogue: chunks=100000 written_us=... again_us=... counts_us=... list_us=...
 *   pick_ms=... */
#include <stdio.h>
#include <string.h>

#include "dispatcher/cache/cache_int.h"

#define KEYS 10000
#define CHUNKS 100000

static struct cw_dispatcher d;
static struct cw_worker worker;
static char (*names)[140];

static double us_since(int64_t begin, uint64_t n)
{
    return (double)(cw_clock_ns() - begin) / 1e3 / (double)n;
}

static struct cw_hash key_of(unsigned i)
{
    return (struct cw_hash){cw_mix64(i % KEYS + 1), i % KEYS};
}

static void make_names(void)
{
    names = cw_mem_new_array(CHUNKS, sizeof(*names));
    for (unsigned i = 0; i < CHUNKS; i++) {
        char text[CW_HASH_TEXT_BYTES];
        cw_hash_text(key_of(i), text);
        snprintf(names[i], sizeof(names[i]), "default/%s/%u-100-%016llx.chunk", text, i,
                 (unsigned long long)cw_mix64(i));
    }
}

/* As a message comes in: made, told, read again. */
static void tell(uint64_t n, bool counts)
{
    char empty[] = "", tenant[] = "default";
    for (uint64_t i = 0; i < n; i++) {
        Cachew__V1__CacheEvent event = CACHEW__V1__CACHE_EVENT__INIT, *events[] = {&event};
        Cachew__V1__CacheCounts totals = CACHEW__V1__CACHE_COUNTS__INIT, *all[] = {&totals};
        Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
        uint8_t key[CW_WIRE_HASH_BYTES];
        cw_wire_hash_to(key_of((unsigned)i), key);
        event.name = names[i % CHUNKS];
        event.bytes = (uint64_t)64 << 20;
        event.records = 100;
        event.cost_ns = 1000000;
        event.why = event.job_id = event.node = empty;
        totals.key = (ProtobufCBinaryData){sizeof(key), key};
        totals.tenant = tenant;
        totals.hits = i;
        progress.cache_events = events;
        progress.n_cache_events = !counts;
        progress.cache = all;
        progress.n_cache = counts;
        cw_cache_take_report(&worker, &progress);
        cw_cache_enforce_quotas(d.cache);
    }
}

int main(int argc, char **argv)
{
    uint64_t n = 1000000;
    if (argc > 1 && !cw_str_to_u64(argv[1], &n))
        return 2;
    char address[] = "bench";
    d.loop = cw_loop_new();
    d.options.cache_store = "mem:bench";
    d.options.cache_evict = cw_evict_find("benefit");
    d.options.cache_quota = (uint64_t)1 << 60;
    cw_cache_service_open(&d);
    d.cache->timer = cw_timer_new(d.loop, NULL, NULL);
    worker = (struct cw_worker){.d = &d, .id = 1, .address = address};
    make_names();
    int64_t begin = cw_clock_ns();
    tell(CHUNKS, false);
    double written = us_since(begin, CHUNKS);
    begin = cw_clock_ns();
    tell(n, false);
    double again = us_since(begin, n);
    begin = cw_clock_ns();
    tell(n, true);
    double counts = us_since(begin, n);
    begin = cw_clock_ns();
    for (uint64_t i = 0; i < n; i++)
        if (!cw_catalogue_put(d.cache->catalogue, names[i % CHUNKS], (uint64_t)64 << 20, 1))
            return 1;
    double list = us_since(begin, n);
    struct cw_catalogue_chunk **chunks;
    const struct cw_catalogue_pick pick = {
        .bytes = d.cache->catalogue->bytes / 10, .young = true, .wall_ms = cw_clock_wall_ms()};
    begin = cw_clock_ns();
    size_t picked = cw_catalogue_pick(d.cache->catalogue, &pick, &chunks);
    double ms = us_since(begin, 1000);
    cw_mem_free(chunks);
    printf("bench_catalogue: chunks=%llu written_us=%.2f again_us=%.2f counts_us=%.2f list_us=%.2f "
           "pick_ms=%.1f picked=%zu\n",
           (unsigned long long)d.cache->catalogue->chunks_n, written, again, counts, list, ms,
           picked);
    cw_timer_free(d.cache->timer);
    cw_loop_free(d.loop);
    cw_cache_service_free(&d);
    cw_mem_free(names);
    return 0;
}
