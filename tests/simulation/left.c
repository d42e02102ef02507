/* SPDX-License-Identifier: Apache-2.0 */
#include "left.h"

#include "bounds.h"
#include "faults.h"
#include "rpc/net.h"
#include "system.h"

#define LEFT_NS (120 * SIM_S) /* nothing is left of jobs so long after their end */
#define EVERY_NS (250 * SIM_MS)

static void *symbol(const struct sim_seat *seat, const char *name)
{
    void *found = sim_program_symbol(seat->actor, name);

    if (!found)
        sim_fail("%s has no %s", sim_name(seat->actor), name);
    return found;
}

const struct sim_seat *sim_serving(const struct sim_cluster *cluster)
{
    for (size_t i = 0; i < cluster->seats_n; i++) {
        const struct sim_seat *seat = &cluster->seats[i];
        bool (*ask)(void) = NULL;
        if (seat->kind != SIM_DISPATCHER || !sim_seat_is_alive(seat))
            continue;
        *(void **)&ask = symbol(seat, "sim_dispatcher_serves");
        if (ask())
            return seat;
    }
    return NULL;
}

/* What a process has of jobs that are over; NULL: nothing. */
static const char *left_of(const struct sim_seat *seat, const struct sim_seat *dispatcher)
{
    const char *(*ask_dispatcher)(void) = NULL;
    const char *(*ask_worker)(bool (*)(const char *)) = NULL;
    bool (*is_over)(const char *) = NULL;

    if (seat->kind == SIM_DISPATCHER) {
        *(void **)&ask_dispatcher = symbol(seat, "sim_dispatcher_left");
        return ask_dispatcher();
    }
    *(void **)&ask_worker = symbol(seat, "sim_worker_left");
    *(void **)&is_over = symbol(dispatcher, "sim_dispatcher_is_over");
    return ask_worker(is_over);
}

/* Each worker has one connection to the dispatcher, and no other is open; threads have ended but for
 * those that a process always has. (A store that hangs keeps threads and what they hold.) */
static const char *left_of_system(const struct sim_cluster *cluster, const struct sim_seat *seat,
                                  const struct sim_seat *dispatcher)
{
    size_t open = net_open(seat->actor), workers = 0;

    for (size_t i = 0; i < cluster->seats_n; i++)
        workers += cluster->seats[i].kind == SIM_WORKER && sim_seat_is_alive(&cluster->seats[i]);
    if (open > (seat->kind == SIM_WORKER ? 1
                : seat == dispatcher     ? workers + cluster->connections
                                         : 0))
        return "a connection too many";
    if (!cluster->has_store &&
        sim_fibres_of(seat->actor) > SIM_MOST_FIBRES(seat->kind == SIM_WORKER ? 2 : 3))
        return "a thread too many";
    return NULL;
}

/* The same of any process; ret_whose gets its name. */
static const char *what_is_left(const struct sim_cluster *cluster, const char **ret_whose)
{
    const struct sim_seat *dispatcher = sim_serving(cluster);
    const char *left = dispatcher ? NULL : "no dispatcher that serves";

    *ret_whose = "the cluster";
    for (size_t i = 0; i < cluster->seats_n && !left; i++) {
        const struct sim_seat *seat = &cluster->seats[i];
        if (seat->kind == SIM_TRAINER || !sim_seat_is_alive(seat))
            continue;
        left = left_of(seat, dispatcher);
        if (!left)
            left = left_of_system(cluster, seat, dispatcher);
        *ret_whose = sim_name(seat->actor);
    }
    if (left)
        sim_log("%s still has %s", *ret_whose, left);
    return left;
}

const char *sim_left_of_caches(const struct sim_cluster *cluster, bool detached)
{
    const struct sim_seat *dispatcher = sim_serving(cluster);
    const char *(*ask)(bool) = NULL;
    const char *left = dispatcher ? NULL : "no dispatcher that serves";

    for (size_t i = 0; i < cluster->seats_n && !left; i++) {
        const struct sim_seat *seat = &cluster->seats[i];
        if (!sim_seat_is_alive(seat) || (seat->kind != SIM_WORKER && seat != dispatcher))
            continue;
        *(void **)&ask = symbol(seat, seat == dispatcher ? "sim_dispatcher_left_of_caches"
                                                         : "sim_worker_left_of_caches");
        left = ask(detached);
    }
    return left;
}

struct wait {
    const struct sim_cluster *cluster;
    int64_t next_ns;
};

static bool is_quiet(void *arg)
{
    struct wait *wait = arg;
    const char *whose;

    if (sim_now_ns() < wait->next_ns)
        return false;
    wait->next_ns = sim_now_ns() + EVERY_NS;
    return !what_is_left(wait->cluster, &whose);
}

void sim_settle(struct sim_cluster *cluster)
{
    struct wait wait = {.cluster = cluster};
    const char *whose;

    sim_log("all jobs have ended: what is left of them?");
    sim_faults_end(cluster);
    if (sim_world_run(is_quiet, &wait, sim_now_ns() + LEFT_NS) == SIM_END_DONE)
        return;
    const char *left = what_is_left(cluster, &whose);
    sim_fail("when all jobs have ended, %s still has %s", whose, left ? left : "something");
}
