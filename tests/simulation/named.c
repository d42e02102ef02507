/* SPDX-License-Identifier: Apache-2.0 */
#include "named.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cached.h"
#include "left.h"
#include "store.h"

#define CACHES 2
#define PLACES 2              /* of each cache: a store may be busy while its files are deleted */
#define WORLDS 4              /* of so many worlds without cached.h one has named caches */
#define LOOK_NS (20 * SIM_MS) /* between two looks at a command */
#define TRIES 120             /* a second apart */
#define QUIET_NS (100 * SIM_S)

struct place {
    char url[24], name[8]; /* name: "a1/", the beginning of names in the world's store */
    bool is_kept;          /* its files may have been left there on purpose */
};
struct cache {
    char name[4];
    struct place places[PLACES];
    size_t at; /* the place where it is attached */
    bool is_attached, is_whole;
    bool closes; /* it was closed: next it is detached, or opened */
    struct sim_admin *admin;
};
struct operator_state {
    struct sim_cluster *cluster;
    struct sim_named_total done;
    struct cache caches[CACHES];
    uint64_t state;  /* of the generator */
    int64_t most_ns; /* between two commands */
    bool is_over;    /* it begins no other command */
};
static struct operator_state *op; /* world memory */

/* ---- chance ---- */
static uint64_t below(uint64_t *state, uint64_t n)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (x ^ (x >> 31)) % n;
}

bool sim_is_named(uint64_t seed)
{
    uint64_t state = seed ^ 0x6e616d6564;

    return seed != 0 && !sim_is_cached(seed) && below(&state, WORLDS) == 0;
}

void sim_named_jobs(uint64_t seed, struct sim_job *jobs, int n)
{
    static const char *const names[] = {"a", "a", "b", NULL};
    uint64_t state = seed + 1;

    if (!sim_is_named(seed))
        return;
    sim_cached_give(seed, jobs, n);
    for (int i = 0; i < n; i++)
        jobs[i].cache = names[below(&state, 4)];
}

/* ---- the operator ---- */
static struct sim_admin *command(struct cache *cache, enum sim_command what)
{
    struct sim_admin *admin = sim_admin_new(what);

    snprintf(admin->cache, sizeof(admin->cache), "%s", cache->name);
    snprintf(admin->url, sizeof(admin->url), "%s", cache->places[cache->at].url);
    cache->admin = admin;
    return admin;
}

static struct sim_admin *attach(struct cache *cache)
{
    static const uint64_t quotas[] = {0, 0, 60000};
    struct sim_admin *admin = command(cache, SIM_COMMAND_ATTACH);

    admin->quota = quotas[below(&op->state, 3)];
    admin->source_quota = below(&op->state, 2) ? 1 << 20 : 0;
    return admin;
}

static struct sim_admin *detach(struct cache *cache, bool keep)
{
    struct sim_admin *admin = command(cache, SIM_COMMAND_DETACH);

    admin->keep = keep;
    cache->places[cache->at].is_kept |= keep;
    return admin;
}

/* What came of the last command. Who does not know it tries something, which may be refused. */
static void take(struct cache *cache)
{
    const struct sim_admin *admin = cache->admin;
    struct place *place = &cache->places[cache->at];

    cache->closes = admin->command == SIM_COMMAND_CLOSE && admin->is_closed;
    op->done.closed += cache->closes;
    if (admin->command == SIM_COMMAND_ATTACH && admin->rc == 0) {
        op->done.attached += !cache->is_attached;
        cache->is_attached = true;
        cache->is_whole = op->cluster->whole_ns != SIM_NEVER;
    } else if (admin->command == SIM_COMMAND_ATTACH && admin->rc == CW_E_EXISTS) {
        cache->at = (cache->at + 1) % PLACES;
    } else if (admin->command == SIM_COMMAND_DETACH && admin->rc == 0) {
        op->done.detached++;
        op->done.kept += admin->keep;
        op->done.users += admin->users;
        place->is_kept = admin->keep;
        cache->is_attached = false;
        cache->at = (size_t)below(&op->state, PLACES);
    } else if (admin->rc == CW_E_NOT_FOUND) {
        cache->is_attached = false;
    }
    cache->admin = NULL;
}

static struct sim_admin *after_closing(struct cache *cache)
{
    struct sim_admin *admin;

    if (below(&op->state, 3) == 0) {
        admin = command(cache, SIM_COMMAND_CLOSE);
        admin->reopen = true;
    } else {
        admin = detach(cache, false);
        admin->if_closed = true;
    }
    return admin;
}

static struct sim_admin *choose(struct cache *cache)
{
    if (!cache->is_attached || (op->cluster->whole_ns != SIM_NEVER && !cache->is_whole))
        return attach(cache);
    if (cache->closes)
        return after_closing(cache);
    switch (below(&op->state, 8)) {
    case 0:
    case 1:
        return detach(cache, false);
    case 2:
        return detach(cache, true);
    case 3:
    case 4:
        return command(cache, SIM_COMMAND_CLOSE);
    case 5:
        return attach(cache);
    case 6:
        return command(cache, SIM_COMMAND_NOTE_SOURCE);
    default:
        return command(cache, SIM_COMMAND_DESCRIBE);
    }
}

static void step(void *arg)
{
    struct cache *cache = arg;
    int64_t pause_ns = LOOK_NS;

    if (cache->admin && cache->admin->has_ended) {
        take(cache);
        pause_ns = 1 + (int64_t)below(&op->state, (uint64_t)op->most_ns);
    } else if (!cache->admin && !cache->is_whole && !op->is_over) {
        sim_admin_run(op->cluster, choose(cache));
    }
    if (cache->admin || !(cache->is_whole || op->is_over))
        sim_at(NULL, sim_now_ns() + pause_ns, step, cache);
}

static void make_cache(struct cache *cache, char letter)
{
    snprintf(cache->name, sizeof(cache->name), "%c", letter);
    for (unsigned k = 0; k < PLACES; k++) {
        struct place *place = &cache->places[k];
        snprintf(place->name, sizeof(place->name), "%c%u/", letter, k);
        snprintf(place->url, sizeof(place->url), "mem:%c%u%s", letter, k,
                 k ? "?timeout=300ms" : "");
    }
}

void sim_named_begin(uint64_t seed, struct sim_cluster *cluster)
{
    static const int64_t most[] = {100 * SIM_MS, SIM_S, 4 * SIM_S};

    op = NULL;
    if (!sim_is_named(seed))
        return;
    op = sim_world_alloc(sizeof(*op));
    op->cluster = cluster;
    op->state = ~seed;
    op->most_ns = most[below(&op->state, 3)];
    cluster->has_store = true;
    sim_store_begin(0, below(&op->state, 2) == 0);
    cluster->chunk_bytes = 4096;
    cluster->autocache = "off";
    cluster->evict = "lru";
    if (below(&op->state, 2) == 0)
        cluster->cache_store = "mem:shared";
    for (size_t i = 0; i < CACHES; i++) {
        make_cache(&op->caches[i], (char)('a' + i));
        sim_at(NULL, sim_now_ns(), step, &op->caches[i]);
    }
}

void sim_named_choose(struct sim_admin *admin, uint64_t which)
{
    if (op)
        snprintf(admin->cache, sizeof(admin->cache), "%s", op->caches[which / 2 % CACHES].name);
}

/* ---- after the jobs ---- */
static bool has_ended(void *arg)
{
    return ((const struct sim_admin *)arg)->has_ended;
}

static bool is_idle(void *arg)
{
    return !((const struct cache *)arg)->admin;
}

/* Until it is done, or, with `gone`, there is no such cache. */
static void insist(struct cache *cache, struct sim_admin *(*make)(struct cache *), bool gone)
{
    const char *why = "it has not ended";

    for (int i = 0; i < TRIES; i++) {
        struct sim_admin *admin = make(cache);
        sim_admin_run(op->cluster, admin);
        (void)sim_world_run(has_ended, admin, sim_now_ns() + QUIET_NS);
        cache->admin = NULL;
        if (admin->has_ended && (admin->rc == 0 || (gone && admin->rc == CW_E_NOT_FOUND)))
            return;
        why = admin->message;
        (void)sim_world_run(NULL, NULL, sim_now_ns() + SIM_S);
    }
    sim_fail("cache %s: %s", cache->name, why);
}

static struct sim_admin *detach_at_last(struct cache *cache)
{
    return detach(cache, false);
}

/* Workers have closed what nobody uses: a minute after the last job. */
static bool are_closed(void *arg)
{
    (void)arg;
    return !sim_left_of_caches(op->cluster, false);
}

static bool is_nothing_left(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < CACHES; i++)
        for (size_t k = 0; k < PLACES; k++) {
            const struct sim_store_count count = sim_store_count(op->caches[i].places[k].name);
            if (count.files + count.left + count.open > 0)
                return false;
        }
    return !sim_left_of_caches(op->cluster, true);
}

static void fail_for_what_is_left(void)
{
    const char *left = sim_left_of_caches(op->cluster, true);

    for (size_t i = 0; i < CACHES && !left; i++)
        for (size_t k = 0; k < PLACES; k++) {
            const struct sim_store_count count = sim_store_count(op->caches[i].places[k].name);
            if (count.files + count.left + count.open > 0)
                sim_fail("the store of %s has %zu chunks, %zu temporary files and %zu open ones, "
                         "and its "
                         "cache was detached",
                         op->caches[i].places[k].url, count.files, count.left, count.open);
        }
    sim_fail("no cache is attached, and there is still %s", left ? left : "something");
}

static void detach_all(struct cache *cache)
{
    if (sim_world_run(is_idle, cache, sim_now_ns() + QUIET_NS) != SIM_END_DONE)
        sim_fail("a command about cache %s does not end", cache->name);
    insist(cache, detach_at_last, true);
    for (size_t k = 0; k < PLACES; k++) {
        cache->at = k;
        if (!cache->places[k].is_kept)
            continue;
        insist(cache, attach, false);
        insist(cache, detach_at_last, true);
    }
}

static void add(struct sim_named_total *total, const struct sim_named_total *one)
{
    total->worlds++;
    total->attached += one->attached;
    total->detached += one->detached;
    total->kept += one->kept;
    total->closed += one->closed;
    total->users += one->users;
    total->written += sim_store_count(NULL).written;
}

void sim_named_settle(struct sim_cluster *cluster, struct sim_named_total *total)
{
    if (!op)
        return;
    (void)cluster;
    op->is_over = true;
    sim_log("all jobs have ended: what is left of named caches?");
    if (sim_world_run(are_closed, NULL, sim_now_ns() + QUIET_NS) != SIM_END_DONE)
        sim_fail("no job uses a named cache, and there is still %s",
                 sim_left_of_caches(op->cluster, false));
    for (size_t i = 0; i < CACHES; i++)
        detach_all(&op->caches[i]);
    if (sim_world_run(is_nothing_left, NULL, sim_now_ns() + QUIET_NS) != SIM_END_DONE)
        fail_for_what_is_left();
    add(total, &op->done);
}

void sim_named_print(const struct sim_named_total *total)
{
    printf("named caches: worlds=%" PRIu64 " attached=%" PRIu64 " detached=%" PRIu64
           " with_users=%" PRIu64 " kept=%" PRIu64 " closed=%" PRIu64 " written=%" PRIu64 "\n",
           total->worlds, total->attached, total->detached, total->users, total->kept,
           total->closed, total->written);
}
