/* SPDX-License-Identifier: Apache-2.0 */
#include "cached.h"

#include <inttypes.h>
#include <stdio.h>

#include "admin.h"
#include "faults.h"

#define QUIET_NS (60 * SIM_S) /* what waits to be written is written, or given up, by then */
#define PLACE "shared/"       /* the names of its files begin with it */
#define TRIES 30              /* a second apart */
#define TEMP_AGE_MS (2 * INT64_C(3600000))

/* Behind sources that are the same, so that jobs share what they have in common. */
static const struct {
    const char *label, *pipeline;
    bool is_sparse;
} pipelines[] = {
    {"cached",
     "{\"pipeline\": [{\"op\": \"range\", \"stop\": 300}, {\"op\": \"eval\", \"expr\": \"x * 3 + "
     "1\"}, {\"op\": \"sleep\", \"ms\": 1}, {\"op\": \"inflate\", \"factor\": 60}, {\"op\": "
     "\"cache\"}, {\"op\": \"shuffle\"}, {\"op\": \"batch\", \"size\": 5}]}",
     false},
    {"cached twice",
     "{\"pipeline\": [{\"op\": \"range\", \"stop\": 300}, {\"op\": \"shuffle\"}, {\"op\": "
     "\"eval\", "
     "\"expr\": \"x * 3 + 1\"}, {\"op\": \"sleep\", \"ms\": 1}, {\"op\": \"inflate\", \"factor\": "
     "60}, {\"op\": \"cache\"}, {\"op\": \"inflate\", \"factor\": 2}, {\"op\": \"cache\"}, "
     "{\"op\": "
     "\"batch\", \"size\": 4}]}",
     false},
    {"marked",
     "{\"pipeline\": [{\"op\": \"range\", \"stop\": 300}, {\"op\": \"eval\", \"expr\": \"x * 3 + "
     "1\"}, {\"op\": \"sleep\", \"ms\": 1}, {\"op\": \"inflate\", \"factor\": 60}, {\"op\": "
     "\"mark\", \"name\": \"large\"}, {\"op\": \"shuffle\"}, {\"op\": \"batch\", \"size\": 5}]}",
     false},
    {"cached, sparse",
     "{\"pipeline\": [{\"op\": \"range\", \"stop\": 450}, {\"op\": \"shuffle\"}, {\"op\": "
     "\"sleep\", \"ms\": 1}, {\"op\": \"filter\", \"expr\": \"x % 3 != 1\"}, {\"op\": \"inflate\", "
     "\"factor\": 40}, {\"op\": \"cache\"}, {\"op\": \"skip\", \"count\": 7}, {\"op\": \"batch\", "
     "\"size\": 8}]}",
     true},
    {"marked, sparse",
     "{\"pipeline\": [{\"op\": \"range\", \"stop\": 450}, {\"op\": \"sleep\", \"ms\": 1}, {\"op\": "
     "\"filter\", \"expr\": \"x % 3 != 1\"}, {\"op\": \"inflate\", \"factor\": 40}, {\"op\": "
     "\"mark\", \"name\": \"large\"}, {\"op\": \"shuffle\"}, {\"op\": \"batch\", \"size\": 8}]}",
     true},
};

/* ---- what a world has ---- */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The n-th number of a world's cache, below `most`. */
static uint64_t drawn(uint64_t seed, uint64_t n, uint64_t most)
{
    return mix(mix(seed) + n) % most;
}

bool sim_is_cached(uint64_t seed)
{
    return drawn(seed, 0, 3) == 0;
}

static void give(struct sim_job *job, uint64_t which)
{
    const size_t n = sizeof(pipelines) / sizeof(pipelines[0]);

    for (size_t i = 0; i < n; i++, which++) {
        if (pipelines[which % n].is_sparse != job->is_sparse)
            continue;
        job->label = pipelines[which % n].label;
        job->pipeline = pipelines[which % n].pipeline;
        job->is_cached = true;
        return;
    }
}

void sim_cached_give(uint64_t seed, struct sim_job *jobs, int n)
{
    for (int i = 0; i < n; i++)
        if (drawn(seed, 10 + (uint64_t)i, 4) > 0)
            give(&jobs[i], drawn(seed, 20 + (uint64_t)i, 1000));
}

void sim_cached_jobs(uint64_t seed, struct sim_job *jobs, int n)
{
    if (sim_is_cached(seed))
        sim_cached_give(seed, jobs, n);
}

void sim_cached_begin(uint64_t seed, struct sim_cluster *cluster)
{
    static const char *const policies[] = {"auto", "auto", "cachew:20", "off"};
    static const uint64_t quotas[] = {0, 0, 60000, 150000};
    static const uint64_t limits[] = {0, 0, 0, 250000};
    static const unsigned chunks[] = {4096, 16384, 65536};

    cluster->disk_fills = drawn(seed, 1, 4) == 0;
    cluster->is_calm = sim_is_cached(seed) && drawn(seed, 9, 8) == 0;
    if (!sim_is_cached(seed))
        return;
    sim_store_begin(limits[drawn(seed, 2, 4)], drawn(seed, 3, 2) == 0);
    cluster->has_store = true;
    cluster->cache_store = drawn(seed, 4, 2) == 0 ? "mem:shared" : "mem:shared?timeout=300ms";
    cluster->cache_quota = quotas[drawn(seed, 5, 4)];
    cluster->chunk_bytes = chunks[drawn(seed, 6, 3)];
    cluster->autocache = policies[drawn(seed, 7, 4)];
    cluster->evict = drawn(seed, 8, 2) == 0 ? "benefit" : "lru";
}

/* ---- after the jobs ---- */
static bool has_ended(void *arg)
{
    return ((const struct sim_admin *)arg)->has_ended;
}

/* False: it could not be done now. */
static bool run_command(struct sim_cluster *cluster, enum sim_command command,
                        struct sim_admin **ret)
{
    struct sim_admin *admin = sim_admin_start(cluster, command, 0);

    *ret = admin;
    (void)sim_world_run(has_ended, admin, sim_now_ns() + QUIET_NS);
    return admin->has_ended && admin->rc == 0;
}

/* NULL: the dispatcher knows what is in the store. */
static const char *difference(const struct sim_admin *list)
{
    const struct sim_store_count count = sim_store_count(PLACE);
    uint64_t bytes = 0;

    if (list->chunks_n != count.files)
        return "the dispatcher knows another number of chunks than there are";
    if (list->total != count.bytes)
        return "the dispatcher knows another number of bytes than there are";
    for (size_t i = 0; i < list->chunks_n; i++) {
        char name[SIM_STORE_NAME_BYTES + sizeof(PLACE)];
        snprintf(name, sizeof(name), PLACE "%s", list->chunks[i].name);
        if (!sim_store_has(name, &bytes) || bytes != list->chunks[i].bytes)
            return "the dispatcher knows a chunk that is not there, or is another";
    }
    return NULL;
}

/* Two workers may compute the same records and write them under one name, as chunks that differ in how
 * they are packed. The dispatcher believes the report that comes last, which need not be that of the file
 * that came last, until it lists the store. */
static bool is_known_without_listing(const struct sim_cluster *cluster)
{
    return cluster->is_calm && sim_store_count(PLACE).resized == 0;
}

static const char *compare(struct sim_cluster *cluster)
{
    struct sim_admin *scan, *list;

    if (!is_known_without_listing(cluster) && !run_command(cluster, SIM_COMMAND_SCAN, &scan))
        return scan->has_ended ? scan->message : "the store is not listed";
    if (!run_command(cluster, SIM_COMMAND_LIST, &list))
        return list->has_ended ? list->message : "the cache is not shown";
    cluster->cache_hits = list->hits;
    if (sim_store_count(PLACE).left > 0)
        return "an old file that a dead writer has left is there after a listing";
    return difference(list);
}

static const char *clear(struct sim_cluster *cluster)
{
    struct sim_admin *evict;

    if (!run_command(cluster, SIM_COMMAND_EVICT, &evict))
        return evict->has_ended ? evict->message : "the cache is not evicted";
    return sim_store_count(PLACE).files > 0 ? "chunks are there that were evicted" : NULL;
}

/* In the end it must be so; until then jobs that have ended may write what they still have. */
static void await(struct sim_cluster *cluster, const char *(*fn)(struct sim_cluster *))
{
    const char *why = NULL;

    for (int i = 0; i < TRIES; i++) {
        why = fn(cluster);
        if (!why)
            return;
        (void)sim_world_run(NULL, NULL, sim_now_ns() + SIM_S);
    }
    sim_fail("%s", why);
}

static bool is_written(void *arg)
{
    (void)arg;
    return sim_store_count(NULL).open == 0;
}

void sim_cached_settle(struct sim_cluster *cluster, struct sim_cache_total *total)
{
    if (!cluster->cache_store)
        return;
    sim_log("all jobs have ended: what is left of the cache?");
    if (sim_world_run(is_written, NULL, sim_now_ns() + QUIET_NS) != SIM_END_DONE)
        sim_fail("a chunk is still being written though nothing fails");
    total->worlds++;
    total->left += sim_store_count(PLACE).left;
    sim_store_age(TEMP_AGE_MS);
    await(cluster, compare);
    cluster->is_calm = false;
    await(cluster, compare);
    total->written += sim_store_count(PLACE).written;
    total->chunks += sim_store_count(PLACE).files;
    total->hits += cluster->cache_hits;
    await(cluster, clear);
}

void sim_cached_print(const struct sim_cache_total *total)
{
    printf("caches: worlds=%" PRIu64 " written=%" PRIu64 " kept=%" PRIu64 " left_behind=%" PRIu64
           " hits=%" PRIu64 "\n",
           total->worlds, total->written, total->chunks, total->left, total->hits);
}
