/* SPDX-License-Identifier: Apache-2.0 */
#include "controlled.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api_world.h"
#include "cached.h"
#include "left.h"
#include "named.h"
#include "store.h"
#include "tokens.h"

#define NAMES 2
#define CONTROLLERS 2
#define WORLDS 4 /* of so many worlds without other caches one has CacheBackends */
#define QUIET_NS (200 * SIM_S)
#define PATH "/apis/cachew.dev/v1alpha1/namespaces/default/cachebackends"
#define ARGS_MAX 12

/* A place for a controller: when it ends another takes its place. */
struct place {
    struct sim_actor *actor;
    int number, incarnation;
};
static struct {
    struct sim_cluster *cluster; /* NULL: not such a world */
    struct sim_controlled_total done;
    struct place places[CONTROLLERS];
    int places_n;
    bool was_there[NAMES]; /* at the last look */
    bool was_deleted[NAMES];
    bool is_over; /* the world ends: nothing is made any more */
    uint64_t state;
    int64_t most_ns; /* between two deeds */
} world;
static bool always;

/* ---- chance ---- */
static uint64_t below(uint64_t *state, uint64_t n)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (x ^ (x >> 31)) % n;
}

void sim_controlled_always(void)
{
    always = true;
}

bool sim_is_controlled(uint64_t seed)
{
    uint64_t state = seed ^ 0x636f6e74726f6c;

    if (seed == 0 || sim_is_cached(seed) || sim_is_named(seed))
        return false;
    return always || below(&state, WORLDS) == 0;
}

void sim_controlled_jobs(uint64_t seed, struct sim_job *jobs, int n)
{
    static const char *const names[] = {"default/a", "default/a", "default/b", NULL};
    uint64_t state = seed + 2;

    if (!sim_is_controlled(seed))
        return;
    sim_cached_give(seed, jobs, n);
    for (int i = 0; i < n; i++)
        jobs[i].cache = names[below(&state, 4)];
}

/* ---- controllers ---- */
static void start(struct place *place);

static bool is_whole(void)
{
    return world.cluster->whole_ns != SIM_NEVER;
}

static void on_end(void *arg)
{
    struct place *place = arg;

    place->actor = NULL;
    sim_at(NULL, sim_now_ns() + 1 + (int64_t)below(&world.state, 2 * SIM_S), (sim_fn *)start,
           place);
}

static void start(struct place *place)
{
    struct sim_args *args = sim_world_alloc(sizeof(*args));
    static const char *const options[] = {"cachew-controller",
                                          "--dispatcher=" SIM_DISPATCHER_ADDRESS,
                                          "--kubeconfig=" SIM_KUBECONFIG,
                                          "--token-file=" SIM_TOKEN_OF_OPERATORS,
                                          "--period=300ms",
                                          "--away=5s",
                                          "--lease=default/cachew-controller"};
    char host[32], name[32];

    args->argv = sim_world_alloc(ARGS_MAX * sizeof(char *));
    args->argc = world.places_n > 1 ? 7 : 6;
    for (int i = 0; i < args->argc; i++) {
        size_t n = strlen(options[i]) + 1;
        args->argv[i] = sim_world_alloc(n);
        memcpy(args->argv[i], options[i], n);
    }
    snprintf(host, sizeof(host), "controller%d", place->number);
    snprintf(name, sizeof(name), "controller%d.%d", place->number, ++place->incarnation);
    place->actor = sim_cluster_spawn(SIM_CONTROLLER, "sim_program_entry", host, args);
    sim_on_death(place->actor, on_end, place);
}

static void on_kill(void *arg)
{
    struct place *place = &world.places[below(&world.state, (uint64_t)world.places_n)];

    (void)arg;
    if (is_whole())
        return;
    if (place->actor) {
        sim_log("controller%d is killed", place->number);
        world.done.kills++;
        sim_kill(place->actor);
    }
    sim_at(NULL, sim_now_ns() + 1 + (int64_t)below(&world.state, 4 * (uint64_t)world.most_ns),
           on_kill, NULL);
}

/* ---- people ---- */
static void path_of(size_t name, char ret[128])
{
    snprintf(ret, 128, PATH "/%c", (char)('a' + name));
}

static bool is_there(size_t name)
{
    char path[128];

    path_of(name, path);
    return sim_api_ask("GET", path, NULL) == 200;
}

/* With an idle time it goes by itself. When nothing fails any more it is to stay. */
static void make(size_t name)
{
    static const char *const options[] = {"", ", \"options\": {\"idleTime\": \"1s\"}",
                                          ", \"options\": {\"idleTime\": \"10s\"}",
                                          ", \"capacity\": {\"quota\": \"60000\"}"};
    char body[512];

    snprintf(body, sizeof(body),
             "{\"apiVersion\": \"cachew.dev/v1alpha1\", \"kind\": \"CacheBackend\", \"metadata\": "
             "{\"name\": \"%c\"}, \"spec\": {\"cacheEngine\": {\"localfs\": {}}%s}}",
             (char)('a' + name), is_whole() ? "" : options[below(&world.state, 4)]);
    int status = sim_api_ask("POST", PATH, body);
    if (status != 201)
        sim_fail("a CacheBackend cannot be made: %d", status);
    world.done.made++;
}

static void delete (size_t name)
{
    char path[128];

    path_of(name, path);
    (void)sim_api_ask("DELETE", path, NULL);
    world.was_deleted[name] = true;
    world.done.deleted++;
}

static void look(size_t name)
{
    bool there = is_there(name);

    world.done.expired += world.was_there[name] && !there && !world.was_deleted[name];
    world.was_there[name] = there;
    if (!there)
        world.was_deleted[name] = false;
    if (!there && (is_whole() || below(&world.state, 2) == 0)) {
        make(name);
        world.was_there[name] = true;
    } else if (there && !is_whole() && below(&world.state, 3) == 0) {
        delete (name);
    }
}

static void on_deed(void *arg)
{
    (void)arg;
    if (world.is_over)
        return;
    for (size_t i = 0; i < NAMES; i++)
        look(i);
    sim_at(NULL, sim_now_ns() + 1 + (int64_t)below(&world.state, (uint64_t)world.most_ns), on_deed,
           NULL);
}

static void begin(struct sim_cluster *cluster, int controllers)
{
    world.cluster = cluster;
    world.places_n = controllers;
    cluster->has_store = true;
    cluster->connections = (size_t)world.places_n;
    sim_store_begin(0, below(&world.state, 2) == 0);
    cluster->chunk_bytes = 4096;
    cluster->autocache = "off";
    cluster->evict = "lru";
    for (int i = 0; i < world.places_n; i++) {
        world.places[i].number = i;
        start(&world.places[i]);
    }
}

void sim_controlled_begin(uint64_t seed, struct sim_cluster *cluster)
{
    static const int64_t most[] = {200 * SIM_MS, SIM_S, 5 * SIM_S};

    memset(&world, 0, sizeof(world));
    if (!sim_is_controlled(seed))
        return;
    world.state = ~seed;
    world.most_ns = most[below(&world.state, 3)];
    begin(cluster, 1 + (int)below(&world.state, CONTROLLERS));
    sim_at(NULL, sim_now_ns(), on_deed, NULL);
    if (!cluster->is_calm)
        sim_at(NULL, sim_now_ns() + world.most_ns, on_kill, NULL);
}

void sim_controlled_begin_still(uint64_t seed, struct sim_cluster *cluster)
{
    memset(&world, 0, sizeof(world));
    world.state = ~seed;
    begin(cluster, CONTROLLERS);
    for (size_t i = 0; i < NAMES; i++)
        make(i);
}

bool sim_controlled_are_ready(void)
{
    char path[128];

    for (size_t i = 0; i < NAMES; i++) {
        path_of(i, path);
        if (!sim_api_says(path, "\"cacheStatus\":\"CacheReady\"") &&
            !sim_api_says(path, "\"cacheStatus\":\"Idle\""))
            return false;
    }
    return true;
}

/* ---- after the jobs ---- */
static bool have_gone(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < NAMES; i++)
        if (is_there(i))
            return false;
    return true;
}

static const char *what_is_left(void)
{
    const char *file = sim_store_any();

    return file ? file : sim_left_of_caches(world.cluster, true);
}

static bool is_nothing_left(void *arg)
{
    (void)arg;
    return !what_is_left();
}

void sim_controlled_settle(struct sim_controlled_total *total)
{
    if (!world.cluster)
        return;
    world.is_over = true;
    sim_log("all jobs have ended: CacheBackends are deleted");
    for (size_t i = 0; i < NAMES; i++)
        delete (i);
    if (sim_world_run(have_gone, NULL, sim_now_ns() + QUIET_NS) != SIM_END_DONE)
        sim_fail("a CacheBackend was deleted, and is still there");
    if (sim_world_run(is_nothing_left, NULL, sim_now_ns() + QUIET_NS) != SIM_END_DONE)
        sim_fail("no CacheBackend is there, and there is still %s", what_is_left());
    total->worlds++;
    total->made += world.done.made;
    total->deleted += world.done.deleted;
    total->expired += world.done.expired;
    total->kills += world.done.kills;
    total->written += sim_store_count(NULL).written;
}

void sim_controlled_print(const struct sim_controlled_total *total)
{
    printf("CacheBackends: worlds=%" PRIu64 " made=%" PRIu64 " deleted=%" PRIu64 " expired=%" PRIu64
           " kills_of_controllers=%" PRIu64 " written=%" PRIu64 "\n",
           total->worlds, total->made, total->deleted, total->expired, total->kills,
           total->written);
}
