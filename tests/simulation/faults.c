/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong, and when: drawn by the seed while the world runs. */
#include "cluster.h"

#include <stdio.h>

#include "disk.h"
#include "rpc/net.h"

#define SYNCS 20 /* of so many one is a moment for a kill */

struct harm {
    struct sim_cluster *cluster;
    struct sim_faults *faults;
    int64_t until_ns;
    int64_t most_ns; /* between two */
};
struct later { /* a seat that is started, or an actor that goes on */
    struct harm *harm;
    struct sim_seat *seat;
    struct sim_actor *actor;
};

static struct later *later(struct harm *harm, struct sim_seat *seat)
{
    struct later *l = sim_world_alloc(sizeof(*l));

    l->harm = harm;
    l->seat = seat;
    l->actor = seat->actor;
    return l;
}

static void restart(void *arg)
{
    struct later l = *(struct later *)arg;

    sim_world_free(arg);
    if (!sim_seat_is_alive(l.seat) && l.seat->wanted &&
        !(l.seat->kind == SIM_TRAINER && sim_seat_is_done(l.seat)))
        sim_seat_start(l.harm->cluster, l.seat);
}

static void go_on(void *arg)
{
    struct later l = *(struct later *)arg;

    sim_world_free(arg);
    sim_cont(l.actor);
}

static int64_t pause_ns(void)
{
    static const int64_t most[] = {SIM_MS, 100 * SIM_MS, SIM_S, 8 * SIM_S};

    return sim_between(0, most[sim_below(sizeof(most) / sizeof(most[0]))]);
}

static void add_worker(const struct sim_seat *seat, int64_t held[SIM_HELD_N])
{
    void (*ask)(uint64_t * leased, uint64_t * outputs);
    uint64_t leased, outputs;

    *(void **)&ask = sim_program_symbol(seat->actor, "sim_worker_held");
    if (!ask)
        sim_fail("a worker does not tell what it holds");
    ask(&leased, &outputs);
    held[SIM_HELD_LEASE] += (int64_t)leased;
    held[SIM_HELD_OUTPUT] += (int64_t)outputs;
}

/* What a kill takes. A trainer's outputs are those that it was given since its checkpoint. */
static void look(const struct sim_seat *seat, int64_t held[SIM_HELD_N])
{
    struct net_held net = net_held(seat->actor);

    for (int i = 0; i < SIM_HELD_N; i++)
        held[i] = i == SIM_HELD_MESSAGE ? 0 : sim_held(seat->actor, (enum sim_held)i);
    held[SIM_HELD_MESSAGE] += (int64_t)(net.unread + net.unsent);
    held[SIM_HELD_TRANSACTION] += (int64_t)sim_disk_unsynced(seat->actor);
    if (seat->kind == SIM_WORKER)
        add_worker(seat, held);
    if (seat->kind == SIM_TRAINER)
        held[SIM_HELD_OUTPUT] += (int64_t)(seat->trainer->given.n - seat->trainer->saved_n);
}

static void note_kill(struct sim_faults *faults, const struct sim_seat *seat)
{
    int64_t held[SIM_HELD_N];
    bool counts = false;

    look(seat, held);
    faults->kills[seat->kind]++;
    for (int i = 0; i < SIM_HELD_N; i++) {
        faults->held[seat->kind][i] += held[i] > 0;
        counts |= held[i] > 0;
    }
    faults->kills_that_count += counts;
}

static void kill_seat(struct harm *harm, struct sim_seat *seat)
{
    bool host = sim_one_in(2);

    note_kill(harm->faults, seat);
    harm->faults->host_crashes += host;
    sim_disk_next_crash(host ? SIM_CRASH_HOST : SIM_CRASH_PROCESS);
    sim_kill(seat->actor);
    sim_at(NULL, sim_now_ns() + pause_ns(), restart, later(harm, seat));
}

static void stop_seat(struct harm *harm, struct sim_seat *seat)
{
    harm->faults->stops++;
    sim_stop(seat->actor);
    sim_at(NULL, sim_now_ns() + pause_ns(), go_on, later(harm, seat));
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

static void write_host(char text[NET_HOST_BYTES], const struct sim_seat *seat)
{
    snprintf(text, NET_HOST_BYTES, "%s", sim_host(seat->actor));
}

/* Nothing passes from one host to another for a while: one way, so that half of a talk is heard. */
static void part(struct harm *harm, const struct sim_seat *a, const struct sim_seat *b)
{
    struct heal *h = sim_world_alloc(sizeof(*h));

    write_host(h->from, a);
    write_host(h->to, b);
    harm->faults->partitions++;
    sim_log("%s does not reach %s", h->from, h->to);
    net_partition(h->from, h->to);
    sim_at(NULL, sim_now_ns() + pause_ns(), heal, h);
}

static void delay(struct harm *harm, const struct sim_seat *a, const struct sim_seat *b)
{
    harm->faults->delays++;
    net_delay(sim_host(a->actor), sim_host(b->actor), sim_between(0, SIM_S),
              sim_now_ns() + pause_ns());
}

static void harm_network(struct harm *harm, const struct sim_seat *a)
{
    const struct sim_seat *b = &harm->cluster->seats[sim_below(harm->cluster->seats_n)];

    if (!b->actor || !a->actor || a == b)
        return;
    switch (sim_below(4)) {
    case 0:
        part(harm, a, b);
        break;
    case 1:
        delay(harm, a, b);
        break;
    case 2:
        harm->faults->cuts += net_cut(a->actor, b->actor);
        break;
    default:
        harm->faults->cuts += net_cut_any();
        break;
    }
}

static void one(struct harm *harm)
{
    struct sim_seat *seat = &harm->cluster->seats[sim_below(harm->cluster->seats_n)];

    if (sim_one_in(3)) {
        harm_network(harm, seat);
        return;
    }
    if (!sim_seat_is_alive(seat) || sim_is_stopped(seat->actor) || seat->is_safe)
        return;
    if (sim_one_in(4))
        stop_seat(harm, seat);
    else
        kill_seat(harm, seat);
}

static void kill_later(void *arg)
{
    struct later l = *(struct later *)arg;

    sim_world_free(arg);
    if (sim_now_ns() < l.harm->until_ns && l.seat->actor == l.actor && sim_seat_is_alive(l.seat))
        kill_seat(l.harm, l.seat);
}

/* Now and then it is killed while it commits, or right after: what it has promised by then is seen
 * to be stored, or not. */
static void on_sync(void *arg)
{
    struct harm *harm = arg;

    if (sim_now_ns() >= harm->until_ns || !sim_one_in(SYNCS))
        return;
    for (size_t i = 0; i < harm->cluster->seats_n; i++)
        if (harm->cluster->seats[i].actor == sim_self())
            sim_at(NULL, sim_now_ns() + sim_between(0, 4 * SIM_MS), kill_later,
                   later(harm, &harm->cluster->seats[i]));
}

/* All that is to live lives. */
static void make_whole(struct harm *harm)
{
    sim_log("no more faults");
    net_heal_all();
    for (size_t i = 0; i < harm->cluster->seats_n; i++) {
        struct sim_seat *seat = &harm->cluster->seats[i];
        if (seat->actor)
            sim_cont(seat->actor);
        restart(later(harm, seat));
    }
}

static void on_time(void *arg)
{
    struct harm *harm = arg;

    if (sim_now_ns() >= harm->until_ns) {
        make_whole(harm);
        return;
    }
    one(harm);
    sim_at(NULL, sim_now_ns() + sim_between(0, harm->most_ns), on_time, harm);
}

void sim_faults_begin(struct sim_cluster *cluster, struct sim_faults *faults, int64_t until_ns)
{
    static const int64_t most[] = {50 * SIM_MS, 300 * SIM_MS, 2 * SIM_S};
    struct harm *harm = sim_world_alloc(sizeof(*harm));

    harm->cluster = cluster;
    harm->faults = faults;
    harm->until_ns = until_ns;
    sim_disk_on_sync(on_sync, harm);
    harm->most_ns = most[sim_below(sizeof(most) / sizeof(most[0]))];
    sim_at(NULL, sim_now_ns() + sim_between(0, harm->most_ns), on_time, harm);
}
