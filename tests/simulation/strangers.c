/* SPDX-License-Identifier: Apache-2.0 */
#include "strangers.h"

#include <signal.h>

#include "liar.h"
#include "rpc/net.h"

#define WORLDS 5 /* one in so many has strangers */
#define OPEN 10  /* so many of 16 of these have no tokens */
#define ACTS_MOST 60
#define DRAIN_NS (90 * SIM_S)
/* A dispatcher keeps a job without a name for 10 s. */
#define AWAY_MIN_NS (11 * SIM_S)
#define AWAY_MAX_NS (25 * SIM_S)

enum { STRANGER, LIAR, VICTIM_WORKER, VICTIM_TRAINER, STRANGERS_N };
static struct sim_actor *actors[STRANGERS_N];
static bool has_strangers, always_come;

static struct sim_stranger *told(const struct sim_cluster *cluster, const char *dispatcher)
{
    struct sim_stranger *s = sim_world_alloc(sizeof(*s));

    s->cluster = cluster;
    s->dispatcher = dispatcher;
    s->acts = (int)sim_between(1, ACTS_MOST);
    return s;
}

static void come_back(void *arg)
{
    const struct sim_seat *seat = arg;

    if (seat->actor) {
        net_heal(sim_host(seat->actor), SIM_DISPATCHER_HOST);
        net_heal(SIM_DISPATCHER_HOST, sim_host(seat->actor));
        sim_log("%s is no longer cut off", sim_host(seat->actor));
    }
}

/* Its connections are gone, and it gets no new ones. */
static void go_away(void *arg)
{
    struct sim_seat *seat = arg;

    if (!sim_seat_is_alive(seat) || sim_seat_is_done(seat))
        return;
    sim_log("%s is cut off from the dispatcher", sim_host(seat->actor));
    net_partition(sim_host(seat->actor), SIM_DISPATCHER_HOST);
    net_partition(SIM_DISPATCHER_HOST, sim_host(seat->actor));
    net_cut(seat->actor, NULL);
    sim_at(NULL, sim_now_ns() + sim_between(AWAY_MIN_NS, AWAY_MAX_NS), come_back, seat);
}

static void send_away(struct sim_cluster *cluster)
{
    for (size_t i = 0; i < cluster->seats_n; i++) {
        struct sim_seat *seat = &cluster->seats[i];
        if (seat->kind == SIM_TRAINER && !seat->trainer->name[0] && !seat->is_safe)
            sim_at(NULL, sim_now_ns() + sim_between(0, 2 * SIM_S), go_away, seat);
    }
}

bool sim_strangers_come(uint64_t seed, const struct sim_cluster *cluster)
{
    return !cluster->is_calm && (always_come || seed * 0x9e3779b97f4a7c15u % WORLDS == 1);
}

bool sim_strangers_find_it_open(uint64_t seed, const struct sim_cluster *cluster)
{
    return sim_strangers_come(seed, cluster) && (seed * 0x9e3779b97f4a7c15u >> 60) < OPEN;
}

void sim_strangers_always_come(void)
{
    always_come = true;
}

bool sim_strangers_say_all(void)
{
    return always_come;
}

void sim_strangers_begin(uint64_t seed, struct sim_cluster *cluster)
{
    has_strangers = sim_strangers_come(seed, cluster);
    if (!has_strangers)
        return;
    actors[STRANGER] = sim_cluster_spawn(SIM_TRAINER, "sim_stranger_main", "stranger",
                                         told(cluster, SIM_DISPATCHER_ADDRESS));
    actors[LIAR] = sim_cluster_spawn(SIM_TRAINER, "sim_liar_main", SIM_LIAR_HOST, NULL);
    actors[VICTIM_WORKER] =
        sim_cluster_spawn(SIM_WORKER, "sim_program_entry", "victim",
                          sim_worker_args(cluster, SIM_LIAR_ADDRESS, "victim:8000"));
    actors[VICTIM_TRAINER] = sim_cluster_spawn(SIM_TRAINER, "sim_victim_main", "victims_trainer",
                                               told(NULL, SIM_LIAR_ADDRESS));
    send_away(cluster);
}

static bool is_worker_gone(void *arg)
{
    (void)arg;
    return !sim_is_alive(actors[VICTIM_WORKER]);
}

void sim_strangers_end(void)
{
    if (!has_strangers)
        return;
    sim_kill(actors[STRANGER]);
    sim_kill(actors[VICTIM_TRAINER]);
    sim_signal(actors[VICTIM_WORKER], SIGTERM);
    if (sim_world_run(is_worker_gone, NULL, sim_now_ns() + DRAIN_NS) != SIM_END_DONE)
        sim_fail("a worker whose dispatcher lies does not end");
    sim_kill(actors[LIAR]);
}
