/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include "cachew/client.h"
#include "controlled.h"
#include "faults.h"
#include "left.h"
#include "system.h"

#define EVERY_NS SIM_S
#define WATCH_NS (20 * SIM_MS)
#define WAITS_NS (120 * SIM_S) /* the longest that a trainer waits for what it can take */
#define SILENT_NS                                                                                  \
    (150 * SIM_S) /* the longest that a controller trusts a watch that has gone silent */
#define LAGS 6    /* in one of so many worlds with several consumers one lags */
#define LAG_NS (180 * SIM_S)

/* A CacheBackend that was made while the controller's watch told nothing is seen when that is noticed. */
static int64_t longest_wait_ns(void)
{
    return WAITS_NS + (sim_is_controlled(sim_seed()) ? SILENT_NS : 0);
}

/* Whether the trainer waits for a batch that it can be given. */
static bool waits(const struct sim_cluster *cluster, const struct sim_seat *seat)
{
    const struct sim_trainer *t = seat->trainer;
    const struct sim_seat *dispatcher = NULL;
    bool (*can_take)(const char *, uint32_t) = NULL;

    if (!sim_seat_is_alive(seat) || sim_is_stopped(seat->actor) || t->asked_ns == 0 ||
        sim_seat_is_done(seat))
        return false;
    if (t->consumers > 1)
        dispatcher = sim_serving(cluster);
    if (!dispatcher || t->job_id[0] == '\0')
        return true; /* it is given one in the end, whatever the others do */
    *(void **)&can_take = sim_program_symbol(dispatcher->actor, "sim_dispatcher_can_take");
    return can_take && can_take(t->job_id, (uint32_t)t->consumer);
}

void sim_check_progress(struct sim_cluster *cluster)
{
    int64_t now = sim_now_ns();

    if (cluster->whole_ns == SIM_NEVER || now < cluster->looked_ns + EVERY_NS)
        return;
    cluster->looked_ns = now;
    for (size_t i = 0; i < cluster->seats_n; i++) {
        struct sim_seat *seat = &cluster->seats[i];
        if (seat->kind != SIM_TRAINER)
            continue;
        if (!waits(cluster, seat)) {
            seat->waits_ns = 0;
            continue;
        }
        int64_t asked = seat->trainer->asked_ns;
        seat->waits_ns = seat->waits_ns ? seat->waits_ns : now;
        seat->waits_ns = asked > seat->waits_ns ? asked : seat->waits_ns;
        if (now - seat->waits_ns > cluster->waited_ns)
            cluster->waited_ns = now - seat->waits_ns;
        if (now - seat->waits_ns > longest_wait_ns())
            sim_fail("%s has waited for %lld s though nothing fails, and its batch can be had",
                     sim_name(seat->actor), (long long)((now - seat->waits_ns) / SIM_S));
    }
}

/* ---- after each fault ---- */
static bool has_any_gone_on(const struct sim_watch *watch, const struct sim_cluster *cluster,
                            int job)
{
    for (size_t i = 0; i < cluster->seats_n; i++)
        if (cluster->seats[i].kind == SIM_TRAINER && cluster->seats[i].trainer->job == job &&
            cluster->seats[i].trainer->batches != watch->batches[i])
            return true;
    return false;
}

/* Consumers of a shared job may have nothing to get, since others have all. */
static bool has_gone_on(const struct sim_watch *watch, const struct sim_cluster *cluster, size_t i)
{
    const struct sim_trainer *t = cluster->seats[i].trainer;

    if (sim_seat_is_done(&cluster->seats[i]) || !cluster->seats[i].wanted)
        return true;
    if (t->mode == CACHEW_SHARED)
        return has_any_gone_on(watch, cluster, t->job);
    return t->batches != watch->batches[i];
}

void sim_watch_begin(struct sim_watch *watch, const struct sim_cluster *cluster, const char *what,
                     int64_t pause_ns)
{
    watch->what = what;
    if (watch->since_ns < sim_now_ns() + pause_ns) /* two may strike at once */
        watch->since_ns = sim_now_ns() + pause_ns;
    for (size_t i = 0; i < cluster->seats_n; i++)
        watch->batches[i] =
            cluster->seats[i].kind == SIM_TRAINER ? cluster->seats[i].trainer->batches : 0;
}

bool sim_watch_is_over(struct sim_watch *watch, const struct sim_cluster *cluster)
{
    if (watch->since_ns == 0)
        return true;
    if (sim_now_ns() < watch->next_ns)
        return false;
    watch->next_ns = sim_now_ns() + WATCH_NS;
    for (size_t i = 0; i < cluster->seats_n; i++) {
        const struct sim_seat *seat = &cluster->seats[i];
        if (seat->kind != SIM_TRAINER || has_gone_on(watch, cluster, i))
            continue;
        if (sim_now_ns() - watch->since_ns > longest_wait_ns())
            sim_fail("%s has got nothing for %lld s after a %s", sim_name(seat->actor),
                     (long long)(longest_wait_ns() / SIM_S), watch->what);
        return false;
    }
    watch->since_ns = 0;
    return true;
}

/* ---- while one lags ---- */
struct lag {
    struct sim_cluster *cluster;
    struct sim_seat *seat;
    struct sim_actor *actor;
};

static void end(void *arg)
{
    struct lag lag = *(struct lag *)arg;

    sim_world_free(arg);
    sim_log("%s is back", sim_name(lag.actor));
    sim_cont(lag.actor);
    sim_seat_restart(lag.cluster, lag.seat);
}

static void stay_behind(struct sim_cluster *cluster, struct sim_seat *seat, uint64_t how)
{
    /* A consumer of a shared job that is away for so long would lose its place for good. */
    if (how == 1 && seat->trainer->mode == CACHEW_SHARED)
        how = 0;
    static const char *const ways[] = {"stands still", "is stopped", "is dead"};
    struct lag *lag = sim_world_alloc(sizeof(*lag));

    sim_log("%s %s for a while", sim_name(seat->actor), ways[how]);
    *lag = (struct lag){cluster, seat, seat->actor};
    if (how == 0)
        seat->trainer->stands_ns = sim_now_ns() + LAG_NS;
    else if (how == 1)
        sim_stop(seat->actor);
    else
        sim_kill(seat->actor);
    sim_at(NULL, sim_now_ns() + LAG_NS, end, lag);
}

/* Decided by the seed alone, so that the rest of the world is what it would be without. Workers keep
 * what a consumer of a sparse job is to get that is away; with a small budget they have no memory left
 * for the others. */
void sim_lag_begin(struct sim_cluster *cluster)
{
    uint64_t draw = sim_seed() * 0x9e3779b97f4a7c15u >> 32;

    if (draw % LAGS != 0 || sim_is_short_of_memory())
        return;
    for (size_t i = 0; i < cluster->seats_n; i++) {
        struct sim_seat *seat = &cluster->seats[(draw / LAGS + i) % cluster->seats_n];
        if (seat->kind != SIM_TRAINER || seat->trainer->consumers < 2 || seat->is_safe ||
            !sim_seat_is_alive(seat) || sim_seat_is_done(seat))
            continue;
        stay_behind(cluster, seat, draw / LAGS % 3);
        return;
    }
}
