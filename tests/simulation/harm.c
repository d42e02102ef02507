/* SPDX-License-Identifier: Apache-2.0 */
/* Does what goes wrong, and ends it: in the world's context. */
#include "faults.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "api_world.h"
#include "disk.h"
#include "rpc/net.h"
#include "store.h"
#include "store_faults.h"

#define DRAIN_NS (60 * SIM_S) /* the longest that a process takes to end */

struct later { /* a seat that is started, or an actor that goes on */
    struct sim_cluster *cluster;
    struct sim_seat *seat;
    struct sim_actor *actor;
    int64_t until_ns;
};

static struct later *later(struct sim_cluster *cluster, struct sim_seat *seat)
{
    struct later *l = sim_world_alloc(sizeof(*l));

    l->cluster = cluster;
    l->seat = seat;
    l->actor = seat->actor;
    return l;
}

void sim_seat_restart(struct sim_cluster *cluster, struct sim_seat *seat)
{
    if (sim_seat_is_alive(seat) || !seat->wanted ||
        (seat->kind == SIM_TRAINER && sim_seat_is_done(seat)))
        return;
    if (seat->actor)
        net_host_down(sim_host(seat->actor), false);
    sim_seat_start(cluster, seat);
}

static void restart_later(void *arg)
{
    struct later l = *(struct later *)arg;

    sim_world_free(arg);
    sim_seat_restart(l.cluster, l.seat);
}

static void go_on(void *arg)
{
    struct later l = *(struct later *)arg;

    sim_world_free(arg);
    sim_cont(l.actor);
}

/* Messages that have come are counted by the network, with those that are on their way. A
 * trainer's outputs are those that it was given since its checkpoint. */
int64_t sim_seat_holds(const struct sim_seat *seat, enum sim_held what)
{
    uint64_t leased = 0, outputs = 0;

    if (what == SIM_HELD_MESSAGE) {
        struct net_held net = net_held(seat->actor);
        return (int64_t)(net.unread + net.unsent);
    }
    int64_t n = sim_held(seat->actor, what);
    if (what == SIM_HELD_TRANSACTION)
        n += (int64_t)sim_disk_unsynced(seat->actor);
    if (seat->ask && !seat->is_leaving)
        seat->ask(&leased, &outputs);
    if (what == SIM_HELD_LEASE)
        n += (int64_t)leased;
    if (what == SIM_HELD_OUTPUT)
        n += (int64_t)outputs;
    if (what == SIM_HELD_OUTPUT && seat->kind == SIM_TRAINER)
        n += (int64_t)(seat->trainer->given.n - sim_checkpoint_given(seat->trainer));
    return n;
}

static void note_kill(struct sim_faults *faults, const struct sim_seat *seat)
{
    bool counts = false;

    faults->kills[seat->kind]++;
    for (int i = 0; i < SIM_HELD_N; i++) {
        bool holds = sim_seat_holds(seat, (enum sim_held)i) > 0;
        faults->held[seat->kind][i] += holds;
        counts |= holds;
    }
    faults->counted[seat->kind] += counts;
    faults->kills_that_count += counts;
}

static void host_is_up(void *arg)
{
    struct later l = *(struct later *)arg;

    sim_world_free(arg);
    net_host_down(sim_host(l.actor), false);
}

static void kill_actor(struct sim_cluster *cluster, struct sim_seat *seat,
                       const struct sim_fault *fault, struct sim_faults *faults)
{
    note_kill(faults, seat);
    bool is_host = fault->kind == SIM_FAULT_CRASH || fault->kind == SIM_FAULT_POWER;
    sim_disk_next_crash(is_host ? SIM_CRASH_HOST : SIM_CRASH_PROCESS);
    sim_kill(seat->actor);
    sim_at(NULL, sim_now_ns() + fault->pause_ns, restart_later, later(cluster, seat));
}

static bool is_same_job(const struct sim_seat *a, const struct sim_seat *b)
{
    return a->kind == SIM_TRAINER && b->kind == SIM_TRAINER && a->number / 10 == b->number / 10;
}

/* All trainers of a job, as when one of those that train together fails: they go on from one step. */
static void kill_job(struct sim_cluster *cluster, const struct sim_seat *seat,
                     const struct sim_fault *fault, struct sim_faults *faults)
{
    size_t seats_n = cluster->seats_n;
    struct sim_trainer *trainers[SIM_TRAINERS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < cluster->seats_n; i++) {
        struct sim_seat *other = &cluster->seats[i];
        if (!is_same_job(seat, other) || other->trainer->is_former)
            continue;
        trainers[n++] = other->trainer;
        if (sim_seat_is_alive(other))
            kill_actor(cluster, other, fault, faults);
        else
            sim_at(NULL, sim_now_ns() + fault->pause_ns, restart_later, later(cluster, other));
    }
    sim_checkpoint_join(trainers, n);
    if (fault->kind != SIM_FAULT_RESIZE ||
        !sim_job_resize(cluster, seat->number / 10, fault->other))
        return;
    faults->resized++;
    for (size_t i = 0; i < cluster->seats_n; i++)
        if (i >= seats_n || (is_same_job(seat, &cluster->seats[i]) && cluster->seats[i].wanted))
            sim_at(NULL, sim_now_ns() + fault->pause_ns, restart_later,
                   later(cluster, &cluster->seats[i]));
}

/* A host with all that runs there. */
static void kill_host(struct sim_cluster *cluster, struct sim_seat *seat,
                      const struct sim_fault *fault, struct sim_faults *faults)
{
    const char *host = sim_host(seat->actor);

    net_host_down(host, true);
    for (size_t i = 0; i < cluster->seats_n; i++)
        if (sim_seat_is_alive(&cluster->seats[i]) &&
            strcmp(sim_host(cluster->seats[i].actor), host) == 0)
            kill_actor(cluster, &cluster->seats[i], fault, faults);
    if (fault->kind == SIM_FAULT_CRASH)
        sim_at(NULL, sim_now_ns() + fault->pause_ns / 2, host_is_up, later(cluster, seat));
}

/* It ends by itself, and soon. */
static void await_end(void *arg)
{
    struct later *l = arg;

    if (l->seat->actor == l->actor && sim_is_alive(l->actor)) {
        if (sim_now_ns() > l->until_ns)
            sim_fail("%s was told to end, and does not", sim_name(l->actor));
        sim_at(NULL, sim_now_ns() + 100 * SIM_MS, await_end, l);
        return;
    }
    /* At its start; or since it leads no longer. */
    bool may_fail = (l->cluster->disk_fills || sim_is_leased()) && l->seat->kind == SIM_DISPATCHER;
    if (l->seat->actor == l->actor && sim_status(l->actor) > 0 && !may_fail)
        sim_fail("%s was told to end, and has failed", sim_name(l->actor));
    restart_later(l);
}

static void drain(struct sim_cluster *cluster, struct sim_seat *seat)
{
    struct later *l = later(cluster, seat);

    seat->is_leaving = true;
    l->until_ns = sim_now_ns() + DRAIN_NS;
    sim_signal(seat->actor, SIGTERM);
    sim_at(NULL, sim_now_ns() + 100 * SIM_MS, await_end, l);
}

struct heal { /* world memory */
    char from[NET_HOST_BYTES], to[NET_HOST_BYTES];
};

static void heal(void *arg)
{
    const struct heal *h = arg;

    sim_log("%s reaches %s again", h->from, h->to);
    net_heal(h->from, h->to);
    sim_world_free(arg);
}

/* Nothing passes from one host to another for a while: one way, so that half of a talk is heard. */
static void part(const struct sim_actor *a, const struct sim_actor *b, int64_t pause_ns)
{
    struct heal *h = sim_world_alloc(sizeof(*h));

    snprintf(h->from, sizeof(h->from), "%s", sim_host(a));
    snprintf(h->to, sizeof(h->to), "%s", sim_host(b));
    net_partition(h->from, h->to);
    sim_at(NULL, sim_now_ns() + pause_ns, heal, h);
}

static bool harm_network(const struct sim_seat *a, const struct sim_seat *b,
                         const struct sim_fault *fault)
{
    if (!a->actor || !b->actor || a == b)
        return false;
    sim_log("%s of %s and %s", sim_fault_name(fault->kind), sim_host(a->actor), sim_host(b->actor));
    switch (fault->kind) {
    case SIM_FAULT_PART:
        part(a->actor, b->actor, fault->pause_ns);
        return true;
    case SIM_FAULT_DELAY:
        net_delay(sim_host(a->actor), sim_host(b->actor), fault->extra_ns,
                  sim_now_ns() + fault->pause_ns);
        return true;
    case SIM_FAULT_CUT:
        return net_cut(a->actor, b->actor) > 0;
    case SIM_FAULT_CUT_ALL:
        return net_cut(a->actor, NULL) > 0;
    case SIM_FAULT_CUT_ANY:
    default:
        return net_cut_any();
    }
}

/* One that has ended is not replaced; others that advance in step with it would wait for what it has not
 * acknowledged. */
static bool is_over(const struct sim_seat *seat, const struct sim_fault *fault)
{
    if (seat->kind != SIM_TRAINER || !seat->trainer->has_ended || fault->kind == SIM_FAULT_STOP)
        return false;
    return fault->kind == SIM_FAULT_JOB || fault->kind == SIM_FAULT_RESIZE
               ? *seat->trainer->left == 0
               : seat->trainer->consumers > 1;
}

static bool harm_seat(struct sim_cluster *cluster, struct sim_seat *seat,
                      const struct sim_fault *fault, struct sim_faults *faults)
{
    if (!sim_seat_is_alive(seat) || seat->is_safe || seat->is_leaving || is_over(seat, fault))
        return false;
    sim_log("%s of %s", sim_fault_name(fault->kind), sim_name(seat->actor));
    switch (fault->kind) {
    case SIM_FAULT_DRAIN:
        if (sim_is_stopped(seat->actor) || seat->kind == SIM_TRAINER)
            return false;
        drain(cluster, seat);
        return true;
    case SIM_FAULT_STOP:
        if (sim_is_stopped(seat->actor))
            return false;
        sim_stop(seat->actor);
        sim_at(NULL, sim_now_ns() + fault->pause_ns, go_on, later(cluster, seat));
        return true;
    case SIM_FAULT_JOB:
    case SIM_FAULT_RESIZE:
        if (seat->kind != SIM_TRAINER)
            return false;
        kill_job(cluster, seat, fault, faults);
        return true;
    case SIM_FAULT_CRASH:
    case SIM_FAULT_POWER:
        kill_host(cluster, seat, fault, faults);
        return true;
    default:
        kill_actor(cluster, seat, fault, faults);
        return true;
    }
}

bool sim_fault_do(struct sim_cluster *cluster, const struct sim_fault *fault,
                  struct sim_faults *faults)
{
    struct sim_seat *seat = &cluster->seats[fault->seat];
    bool done;

    if (sim_is_store_fault(fault->kind))
        done = sim_store_fault_do(cluster, fault);
    else if (fault->kind >= SIM_FAULT_PART)
        done = harm_network(seat, &cluster->seats[fault->other], fault);
    else
        done = harm_seat(cluster, seat, fault, faults);

    faults->n[fault->kind] += done;
    return done;
}

void sim_make_whole(struct sim_cluster *cluster)
{
    sim_log("no more faults");
    net_heal_all();
    sim_cluster_part(cluster);
    sim_disk_fill(0);
    if (cluster->has_store)
        sim_store_make_whole();
    for (size_t i = 0; i < cluster->seats_n; i++) {
        struct sim_seat *seat = &cluster->seats[i];
        if (seat->actor)
            sim_cont(seat->actor);
        sim_seat_restart(cluster, seat);
    }
}
