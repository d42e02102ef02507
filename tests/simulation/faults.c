/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong, and when: drawn by the seed while the world runs. */
#include "cluster.h"

#include "disk.h"

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

static void note_kill(struct sim_faults *faults, const struct sim_seat *seat)
{
    bool counts = false;

    faults->kills[seat->kind]++;
    for (int i = 0; i < SIM_HELD_N; i++) {
        int64_t n = i == SIM_HELD_TRANSACTION ? (int64_t)sim_disk_unsynced(seat->actor)
                                              : sim_held(seat->actor, (enum sim_held)i);
        faults->held[seat->kind][i] += n > 0;
        counts |= n > 0;
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

static void one(struct harm *harm)
{
    struct sim_seat *seat = &harm->cluster->seats[sim_below(harm->cluster->seats_n)];

    if (!sim_seat_is_alive(seat) || sim_is_stopped(seat->actor))
        return;
    if (sim_one_in(4))
        stop_seat(harm, seat);
    else
        kill_seat(harm, seat);
}

/* All that is to live lives. */
static void make_whole(struct harm *harm)
{
    sim_log("no more faults");
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
    harm->most_ns = most[sim_below(sizeof(most) / sizeof(most[0]))];
    sim_at(NULL, sim_now_ns() + sim_between(0, harm->most_ns), on_time, harm);
}
