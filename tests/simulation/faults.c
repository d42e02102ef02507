/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses what goes wrong, and when. Most kills are aimed: they wait for a moment in which their
 * target holds something of a chosen kind. */
#include "faults.h"

#include <string.h>

#include "disk.h"
#include "progress.h"
#include "store.h"
#include "store_faults.h"

#define SYNCS 20 /* of so many one is a moment for a kill */
#define CHUNKS 6 /* of so many chunks one is not finished */
#define TOGETHER_NS (10 * SIM_MS)
#define CONSUMERS_MAX 3
#define UNAIMED 10 /* of so many kills one does not wait for anything */
#define NETWORK 4  /* of so many faults one is the network's */
#define SPACED 8   /* in one of so many worlds one fault at a time strikes */
#define STOPS 6    /* of so many others one is a stop, ... */
#define DRAINS 8   /* ... and of the rest one a graceful end */

/* A kill, or a cut, that waits. */
struct aim {
    struct sim_actor *actor; /* NULL: none */
    bool is_cut;             /* it is this one, and no kill */
    struct sim_fault cut;
    bool is_timed; /* at from_ns; else when it holds something */
    enum sim_held what;
    uint64_t one_in; /* of so many such moments one is taken */
    int64_t from_ns, until_ns;
};
/* What may go wrong in a world: a mistake may show only where few things do, since others mend it. */
enum way { WAY_KILL = 1, WAY_STOP = 2, WAY_DRAIN = 4, WAY_CUT = 8, WAY_PART = 16, WAYS = 31 };
struct harm {
    struct sim_cluster *cluster;
    struct sim_faults *faults;
    struct sim_schedule *schedule;
    uint64_t state;                     /* of the generator */
    int64_t most_ns, next_ns, until_ns; /* between two; the next; the end */
    int64_t struck_ns;                  /* the last one */
    int64_t parted_ns;                  /* until then no partition and no delay */
    unsigned ways;                      /* set of enum way */
    unsigned targets;                   /* set of 1 << enum sim_kind */
    size_t replayed;
    struct aim aims[SIM_SEATS_MAX];
    struct sim_store_faults store;
    bool is_spaced; /* the next fault waits until everybody has gone on after the last one */
    struct sim_watch watch;
};

static const char *const names[] = {
    [SIM_FAULT_KILL] = "kill",
    [SIM_FAULT_CRASH] = "crash",
    [SIM_FAULT_POWER] = "power cut",
    [SIM_FAULT_JOB] = "kill of a job",
    [SIM_FAULT_RESIZE] = "other number of consumers",
    [SIM_FAULT_DRAIN] = "drain",
    [SIM_FAULT_STOP] = "stop",
    [SIM_FAULT_PART] = "partition",
    [SIM_FAULT_DELAY] = "delay",
    [SIM_FAULT_CUT] = "cut between",
    [SIM_FAULT_CUT_ALL] = "cut of all",
    [SIM_FAULT_CUT_ANY] = "cut of any",
    [SIM_FAULT_STORE_AWAY] = "store away",
    [SIM_FAULT_STORE_HANGS] = "store hangs",
    [SIM_FAULT_STORE_SLOW] = "store slow",
    [SIM_FAULT_STORE_FULL] = "store full",
    [SIM_FAULT_STORE_READS] = "store reads",
    [SIM_FAULT_STORE_DAMAGE] = "damage",
    [SIM_FAULT_STORE_LOSES] = "removal",
    [SIM_FAULT_EVICT] = "evict",
    [SIM_FAULT_SCAN] = "scan",
    [SIM_FAULT_DISK_FULL] = "disk full",
};

const char *sim_fault_name(enum sim_fault_kind kind)
{
    return names[kind];
}

/* ---- chance: not the world's, which goes on alike with other faults ---- */
static uint64_t below(struct harm *harm, uint64_t n)
{
    uint64_t x = harm->state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (x ^ (x >> 31)) % n;
}

static bool one_in(struct harm *harm, uint64_t n)
{
    return below(harm, n) == 0;
}

static int64_t up_to(struct harm *harm, int64_t most)
{
    return (int64_t)below(harm, (uint64_t)most + 1);
}

/* Mostly short: who is away holds nothing, and others soon wait for it. */
static int64_t pause_ns(struct harm *harm)
{
    static const int64_t most[] = {SIM_MS,       5 * SIM_MS,   20 * SIM_MS,  20 * SIM_MS,
                                   100 * SIM_MS, 100 * SIM_MS, 500 * SIM_MS, SIM_S,
                                   2 * SIM_S,    8 * SIM_S};

    return up_to(harm, most[below(harm, sizeof(most) / sizeof(most[0]))]);
}

/* ---- doing ---- */
static bool do_fault(struct harm *harm, const struct sim_fault *fault)
{
    if (!sim_fault_do(harm->cluster, fault, harm->faults))
        return false;
    if (harm->is_spaced)
        sim_watch_begin(&harm->watch, harm->cluster, sim_fault_name(fault->kind), fault->pause_ns);
    return true;
}

static void strike(struct harm *harm, struct sim_fault fault)
{
    struct sim_schedule *s = harm->schedule;

    fault.at_ns = sim_now_ns();
    if (!do_fault(harm, &fault))
        return;
    harm->faults->together += fault.at_ns - harm->struck_ns < TOGETHER_NS;
    harm->struck_ns = fault.at_ns;
    if (s && s->n < SIM_FAULTS_MAX)
        s->at[s->n++] = fault;
}

static void strike_seat(struct harm *harm, size_t seat, enum sim_fault_kind kind)
{
    struct sim_fault fault = {.kind = kind, .seat = (int)seat, .pause_ns = pause_ns(harm)};

    if (kind == SIM_FAULT_RESIZE)
        fault.other = 1 + (int)below(harm, CONSUMERS_MAX);
    strike(harm, fault);
}

static void kill_seat(struct harm *harm, size_t seat)
{
    static const enum sim_fault_kind kinds[] = {SIM_FAULT_KILL,  SIM_FAULT_KILL,  SIM_FAULT_CRASH,
                                                SIM_FAULT_CRASH, SIM_FAULT_POWER, SIM_FAULT_JOB,
                                                SIM_FAULT_RESIZE};
    bool is_trainer = harm->cluster->seats[seat].kind == SIM_TRAINER;

    strike_seat(harm, seat, kinds[below(harm, is_trainer ? 7 : 5)]);
}

/* ---- aims ---- */
static enum sim_held something(struct harm *harm, enum sim_kind kind)
{
    static const enum sim_held of[SIM_KINDS_N][4] = {
        [SIM_DISPATCHER] = {SIM_HELD_TRANSACTION, SIM_HELD_TRANSACTION, SIM_HELD_MESSAGE,
                            SIM_HELD_MESSAGE},
        [SIM_WORKER] = {SIM_HELD_LEASE, SIM_HELD_OUTPUT, SIM_HELD_LEASE, SIM_HELD_MESSAGE},
        [SIM_TRAINER] = {SIM_HELD_OUTPUT, SIM_HELD_OUTPUT, SIM_HELD_OUTPUT, SIM_HELD_MESSAGE}};

    if (kind == SIM_WORKER && harm->cluster->has_store && one_in(harm, 2))
        return SIM_HELD_CHUNK;
    return of[kind][below(harm, 4)];
}

static void aim(struct harm *harm, size_t seat)
{
    static const uint64_t one[] = {1, 1, 4, 30};
    const struct sim_seat *target = &harm->cluster->seats[seat];

    harm->aims[seat] = (struct aim){.actor = target->actor,
                                    .what = something(harm, target->kind),
                                    .one_in = one[below(harm, sizeof(one) / sizeof(one[0]))],
                                    .until_ns = sim_now_ns() + up_to(harm, 4 * SIM_S)};
}

/* Now and then one is killed while it commits, or right after: what it has promised by then is
 * seen to be stored, or not. */
static void on_sync(void *arg)
{
    struct harm *harm = arg;

    if (!(harm->ways & WAY_KILL) || !(harm->targets & (1u << SIM_DISPATCHER)) ||
        !one_in(harm, SYNCS))
        return;
    for (size_t i = 0; i < harm->cluster->seats_n; i++)
        if (harm->cluster->seats[i].actor == sim_self())
            harm->aims[i] = (struct aim){.actor = sim_self(),
                                         .is_timed = true,
                                         .from_ns = sim_now_ns() + up_to(harm, 4 * SIM_MS),
                                         .until_ns = SIM_NEVER};
}

/* A worker has begun to write a chunk: it does not come to its end. */
static void on_chunk(void *arg)
{
    struct harm *harm = arg;

    if (!(harm->ways & WAY_KILL) || !(harm->targets & (1u << SIM_WORKER)) || !one_in(harm, CHUNKS))
        return;
    for (size_t i = 0; i < harm->cluster->seats_n; i++)
        if (harm->cluster->seats[i].actor == sim_self())
            harm->aims[i] = (struct aim){.actor = sim_self(),
                                         .is_timed = true,
                                         .from_ns = sim_now_ns() + up_to(harm, 2 * SIM_MS),
                                         .until_ns = SIM_NEVER};
}

/* The actor that runs is to die where it is: at the end of this step. */
static void on_death_point(void *arg)
{
    struct harm *harm = arg;

    if (harm->schedule && harm->schedule->is_replayed)
        return;
    for (size_t i = 0; i < harm->cluster->seats_n; i++)
        if (harm->cluster->seats[i].actor == sim_self() && !harm->cluster->seats[i].is_safe &&
            harm->targets & (1u << harm->cluster->seats[i].kind))
            harm->aims[i] = (struct aim){.actor = sim_self(),
                                         .is_timed = true,
                                         .from_ns = sim_now_ns(),
                                         .until_ns = SIM_NEVER};
}

static bool is_moment(struct harm *harm, const struct aim *a, size_t seat,
                      const struct sim_actor *ran)
{
    if (a->is_timed)
        return sim_now_ns() >= a->from_ns;
    return a->actor == ran && sim_seat_holds(&harm->cluster->seats[seat], a->what) > 0 &&
           one_in(harm, a->one_in);
}

static void look(struct harm *harm, const struct sim_actor *ran)
{
    for (size_t i = 0; i < harm->cluster->seats_n; i++) {
        struct aim *a = &harm->aims[i];
        if (!a->actor)
            continue;
        if (harm->cluster->seats[i].actor != a->actor || !sim_is_alive(a->actor) ||
            harm->cluster->seats[i].is_leaving || sim_now_ns() > a->until_ns) {
            a->actor = NULL;
        } else if (is_moment(harm, a, i, ran)) {
            a->actor = NULL;
            if (a->is_cut)
                strike(harm, a->cut);
            else
                kill_seat(harm, i);
        }
    }
}

/* The cut waits until something is on its way from the seat. */
static void aim_cut(struct harm *harm, size_t seat, struct sim_fault cut)
{
    struct aim *a = &harm->aims[seat];

    if (!a->actor && sim_seat_is_alive(&harm->cluster->seats[seat]))
        *a = (struct aim){.actor = harm->cluster->seats[seat].actor,
                          .is_cut = true,
                          .cut = cut,
                          .what = SIM_HELD_MESSAGE,
                          .one_in = 1 + below(harm, 8),
                          .until_ns = sim_now_ns() + up_to(harm, 4 * SIM_S)};
}

/* ---- choosing ---- */
static bool is_target(const struct harm *harm, size_t seat)
{
    return harm->targets & (1u << harm->cluster->seats[seat].kind);
}

static bool is_meant(const struct harm *harm, const struct sim_fault *fault)
{
    bool all = harm->targets == (1u << SIM_KINDS_N) - 1;

    if (fault->kind == SIM_FAULT_CUT_ANY)
        return all;
    return is_target(harm, (size_t)fault->seat) &&
           (fault->kind == SIM_FAULT_CUT_ALL || is_target(harm, (size_t)fault->other));
}

/* Two partitions or delays do not follow each other closely: who is away for too long is given up. */
static void harm_network(struct harm *harm, size_t seat)
{
    static const enum sim_fault_kind kinds[] = {SIM_FAULT_PART, SIM_FAULT_DELAY, SIM_FAULT_CUT,
                                                SIM_FAULT_CUT_ANY, SIM_FAULT_CUT_ALL};
    bool cuts = sim_now_ns() < harm->parted_ns || !(harm->ways & WAY_PART);
    if (cuts && !(harm->ways & WAY_CUT))
        return;
    struct sim_fault fault = {.kind = kinds[cuts ? 2 + below(harm, 3) : below(harm, 5)],
                              .seat = (int)seat,
                              .other = (int)below(harm, harm->cluster->seats_n),
                              .pause_ns = pause_ns(harm),
                              .extra_ns = up_to(harm, SIM_S)};

    if (!is_meant(harm, &fault))
        return;
    if (!cuts)
        harm->parted_ns = sim_now_ns() + 3 * fault.pause_ns;
    if ((fault.kind == SIM_FAULT_CUT || fault.kind == SIM_FAULT_CUT_ALL) && one_in(harm, 2))
        aim_cut(harm, seat, fault);
    else
        strike(harm, fault);
}

static void choose(struct harm *harm)
{
    size_t i = (size_t)below(harm, harm->cluster->seats_n);
    const struct sim_seat *seat = &harm->cluster->seats[i];

    if ((harm->ways & (WAY_CUT | WAY_PART)) && one_in(harm, NETWORK))
        harm_network(harm, i);
    else if (!sim_seat_is_alive(seat) || seat->is_safe || harm->aims[i].actor ||
             !is_target(harm, i))
        return;
    else if ((harm->ways & WAY_STOP) && one_in(harm, STOPS))
        strike_seat(harm, i, SIM_FAULT_STOP);
    else if ((harm->ways & WAY_DRAIN) && one_in(harm, DRAINS))
        strike_seat(harm, i, SIM_FAULT_DRAIN);
    else if (!(harm->ways & WAY_KILL))
        return;
    else if (one_in(harm, UNAIMED))
        kill_seat(harm, i);
    else
        aim(harm, i);
}

/* In two of three worlds all, in the others some of it; in a quiet one nothing that takes a place from
 * a trainer. */
static void choose_ways(struct harm *harm)
{
    const unsigned all = (1u << SIM_KINDS_N) - 1;

    harm->ways = WAYS;
    harm->targets = all;
    if (one_in(harm, 3)) {
        harm->ways = 1 + (unsigned)below(harm, WAYS);
        harm->targets = 1 + (unsigned)below(harm, all);
    }
    if (harm->cluster->is_quiet) {
        harm->ways &= WAY_KILL | WAY_STOP | WAY_DRAIN;
        harm->targets = 1u << SIM_WORKER;
    }
}

static void replay(struct harm *harm)
{
    struct sim_schedule *s = harm->schedule;

    for (; harm->replayed < s->n && s->at[harm->replayed].at_ns <= sim_now_ns(); harm->replayed++)
        if (!s->at[harm->replayed].is_left_out)
            (void)do_fault(harm, &s->at[harm->replayed]);
}

static void on_step(void *arg, const struct sim_actor *ran)
{
    struct harm *harm = arg;
    bool rests = harm->is_spaced && !sim_watch_is_over(&harm->watch, harm->cluster);

    if (harm->schedule && harm->schedule->is_replayed) {
        replay(harm);
        return;
    }
    if (rests)
        return;
    if (ran)
        look(harm, ran);
    if (harm->watch.since_ns > 0)
        return;
    if (sim_now_ns() >= harm->next_ns) {
        choose(harm);
        harm->next_ns = sim_now_ns() + up_to(harm, harm->most_ns);
    }
    struct sim_fault fault;
    if (sim_store_faults_due(&harm->store, &fault))
        strike(harm, fault);
}

void sim_faults_end(struct sim_cluster *cluster)
{
    sim_on_step(NULL, NULL);
    sim_disk_on_sync(NULL, NULL);
    if (cluster->has_store)
        sim_store_on_chunk(NULL, NULL);
    sim_points_off();
    if (cluster->whole_ns == SIM_NEVER)
        cluster->whole_ns = sim_now_ns();
    sim_make_whole(cluster);
}

static void end(void *arg)
{
    struct sim_cluster *cluster = ((const struct harm *)arg)->cluster;

    sim_faults_end(cluster);
    sim_lag_begin(cluster);
}

void sim_faults_begin(struct sim_cluster *cluster, struct sim_faults *faults,
                      struct sim_schedule *schedule, int64_t until_ns)
{
    static const int64_t most[] = {5 * SIM_MS, 20 * SIM_MS, 200 * SIM_MS};
    struct harm *harm = sim_world_alloc(sizeof(*harm));

    cluster->whole_ns = SIM_NEVER;
    harm->cluster = cluster;
    harm->faults = faults;
    harm->schedule = schedule;
    harm->state = sim_random();
    choose_ways(harm);
    harm->is_spaced = one_in(harm, SPACED);
    harm->most_ns = most[below(harm, sizeof(most) / sizeof(most[0]))];
    harm->next_ns = sim_now_ns() + up_to(harm, harm->most_ns);
    sim_store_faults_init(&harm->store, cluster);
    if (!schedule || !schedule->is_replayed)
        sim_disk_on_sync(on_sync, harm);
    if (cluster->has_store && (!schedule || !schedule->is_replayed))
        sim_store_on_chunk(on_chunk, harm);
    if (!cluster->is_quiet)
        sim_points_on(harm->ways & WAY_KILL ? on_death_point : NULL, harm);
    sim_on_step(on_step, harm);
    sim_at(NULL, until_ns, end, harm);
}
