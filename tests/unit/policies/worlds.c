/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds.h"

#include <math.h>

#include "base/hash.h"
#include "support/cm.h"

#define NOISE 0.05
#define SLACK 1.05
#define ROUNDING 1e-9

static double drawn(uint64_t *draw, double from, double to)
{
    *draw = cw_mix64(*draw + 0x9e3779b97f4a7c15u);
    return from + (to - from) * ((double)(*draw >> 11) * 0x1p-53);
}

static double drawn_log(uint64_t *draw, double from, double to)
{
    return exp(drawn(draw, log(from), log(to)));
}

/* Of the second half. What was a limit may be none then, and the reverse. */
static void change(struct world *w, uint64_t *draw)
{
    w->step_s[1] = w->step_s[0];
    w->worker_s[1] = w->worker_s[0];
    w->ceiling[1] = w->ceiling[0];
    w->change = (enum world_change)drawn(draw, 0, WORLD_LOWER + 1);
    if (w->change == WORLD_OTHER_TRAINER)
        w->step_s[1] *= drawn_log(draw, 0.3, 3);
    else if (w->change == WORLD_OTHER_WORKERS)
        w->worker_s[1] *= drawn_log(draw, w->ceiling[0] > 0 ? 1 : 0.5, 2);
    else if (w->change == WORLD_LOWER && w->ceiling[0] > 0)
        w->ceiling[1] *= drawn_log(draw, 0.3, 0.8);
    else
        w->change = WORLD_SAME;
}

void world_draw(struct world *w, uint64_t number)
{
    static const double at_s[2] = {0, WORLD_CHANGE_S};
    uint64_t draw = cw_mix64(number + 1);
    *w = (struct world){.at_s = {at_s[0], at_s[1]}, .seed = number};
    w->cause = (enum world_cause)drawn(&draw, 0, WORLD_CAUSES);
    w->workers = floor(drawn(&draw, 1, 101));
    w->worker_s[0] = drawn_log(&draw, 0.01, 1);
    double enough = drawn(&draw, 0.5, 1.2 * w->workers), limit = enough / w->worker_s[0];
    double trainer = drawn_log(&draw, 0.1, 10);
    w->step_s[0] = w->cause == WORLD_TRAINER ? 1 / limit : 1 / (limit * trainer);
    w->ceiling[0] = w->cause < WORLD_TRAINER ? limit : 0;
    w->job = (struct cw_sim_job_spec){
        .name = "world",
        .batches = 1e9,
        .step_s = {w->at_s, w->step_s, 2},
        .worker_s = {w->at_s, w->worker_s, 2},
        .ceiling = {w->at_s, w->ceiling, 2},
        .cause = w->cause < WORLD_TRAINER ? (enum cw_sim_cause)w->cause : CW_SIM_SOURCE,
        .slower = w->cause == WORLD_SLOWER ? 1 / (enough * enough) : 0,
        .loss = drawn(&draw, 0, 1) < 0.5 ? drawn(&draw, 0, 0.003) : 0,
        .odd_every = drawn(&draw, 0, 1) < 0.5 ? 20 : 0,
        .odd_s = drawn(&draw, 1, 6),
        .odd_waits = drawn(&draw, 0, 1) < 0.5,
        .weight = 1,
        .least = 1,
        .remote = drawn(&draw, 0, 1) < 0.8 ? 1 : floor(drawn(&draw, 1, w->workers + 1))};
    change(w, &draw);
}

double world_knee(const struct world *w, double t_s, double *ret_best)
{
    struct cw_sim_now now = {.spec = &w->job, .t_s = t_s};
    double best = 0, n = 1;
    for (now.remote = 1; now.remote <= w->workers; now.remote++)
        best = fmax(best, cw_sim_rate(&now));
    for (now.remote = 1; cw_sim_rate(&now) * SLACK < best; now.remote++)
        n = now.remote + 1;
    *ret_best = best;
    return n;
}

static struct cw_sim_job run(const struct world *w, const char *policy, bool place)
{
    static const struct cw_share_tenant tenant = {1, 0};
    struct cw_sim_scenario s = {.jobs = &w->job,
                                .jobs_n = 1,
                                .tenants = &tenant,
                                .tenants_n = 1,
                                .workers = w->workers,
                                .local = place ? w->local : 0,
                                .start_s = 1,
                                .window_batches = 1,
                                .window_least_s = 2,
                                .noise = NOISE,
                                .seed = w->seed,
                                .mark_s = WORLD_CHANGE_S - 1,
                                .until_s =
                                    w->change == WORLD_SAME ? WORLD_CHANGE_S - 1 : WORLD_END_S};
    struct cw_sim_result result;
    struct cw_err err = {0};
    int rc = place ? cw_autoplace_find(policy, &s.policy, &s.argument, &err)
                   : cw_autoscale_find(policy, &s.policy, &s.argument, &err);
    assert_int_equal(rc, 0);
    assert_int_equal(cw_simulate(&s, &result, &err), 0);
    struct cw_sim_job job = result.jobs[0];
    cw_sim_result_fini(&result);
    if (w->change == WORLD_SAME)
        job.mark = (struct cw_sim_mark){.windows = job.windows,
                                        .settled_window = job.settled_window,
                                        .remote = job.remote,
                                        .local = job.local,
                                        .decisions = job.decisions};
    return job;
}

/* Of the second half. */
static struct cw_sim_mark after(const struct cw_sim_job *job)
{
    return (struct cw_sim_mark){.windows = job->windows - job->mark.windows,
                                .settled_window = fmax(job->settled_window - job->mark.windows, 0),
                                .remote = job->remote,
                                .local = job->local,
                                .decisions = job->decisions - job->mark.decisions};
}

/* ---- placement ---- */

#define CLIENT_PRICE 4.96
#define WORKER_PRICE 0.427319

/* As fast as a remote one, slower, or, on a host with next to nothing to spare, up to a hundred times
 * slower. */
static double local_speed(uint64_t *draw)
{
    if (drawn(draw, 0, 1) < 0.5)
        return 1;
    double speed = drawn(draw, 0.1, 1);
    return speed < 0.9 ? speed : pow(10, -1 - 10 * (speed - 0.9));
}

void world_add_host(struct world *w)
{
    uint64_t draw = cw_mix64(w->seed + 77);
    w->local = floor(drawn(&draw, 0, 11));
    w->job.room = floor(drawn(&draw, 0, w->local + 1));
    w->job.slow = drawn(&draw, 0.02, 0.3);
    w->job.local_speed = local_speed(&draw);
    w->job.remote = 1;
    if (drawn(&draw, 0, 1) < 0.6)
        return;
    bool room = drawn(&draw, 0, 1) < 0.5;
    w->change = room ? WORLD_OTHER_ROOM : WORLD_OTHER_FLEET;
    w->step_s[1] = w->step_s[0], w->worker_s[1] = w->worker_s[0], w->ceiling[1] = w->ceiling[0];
    w->now[0] = room ? w->job.room : w->workers;
    w->now[1] = floor(drawn(&draw, !room, w->now[0] + 1));
    *(room ? &w->job.rooms : &w->job.mosts) = (struct cw_sim_series){w->at_s, w->now, 2};
}

static double cost(const struct cw_sim_now *now)
{
    return (CLIENT_PRICE + now->remote * WORKER_PRICE) / cw_sim_rate(now);
}

/* Of all numbers that are fast enough. */
static double least_cost(const struct world *w, double t_s, double *ret_best)
{
    struct cw_sim_now now = {.spec = &w->job, .t_s = t_s};
    double best = 0, least = (double)INFINITY,
           remote = fmin(w->workers, cw_sim_series_at(&w->job.mosts, t_s, w->workers));
    for (int pass = 0; pass < 2; pass++)
        for (now.remote = 0; now.remote <= remote; now.remote++)
            for (now.local = now.remote > 0 ? 0 : 1; now.local <= w->local; now.local++) {
                double rate = cw_sim_rate(&now);
                best = fmax(best, rate);
                if (pass == 1 && rate * SLACK >= best)
                    least = fmin(least, cost(&now));
            }
    *ret_best = best;
    return least;
}

static struct world_result place_of(const struct world *w, const struct cw_sim_mark *m, double t_s)
{
    const struct cw_sim_now now = {
        .spec = &w->job, .t_s = t_s, .remote = m->remote, .local = m->local};
    double best, least = least_cost(w, t_s, &best), over = cost(&now) / least;
    return (struct world_result){.knee = over,
                                 .workers = m->remote + m->local,
                                 .decisions = m->decisions,
                                 .settled = m->settled_window,
                                 .slower = best / cw_sim_rate(&now) - 1,
                                 .right = over <= SLACK + ROUNDING &&
                                          cw_sim_rate(&now) * (SLACK + ROUNDING) >= best};
}

void world_place(const struct world *w, const char *policy, struct world_result ret[2])
{
    const struct cw_sim_job job = run(w, policy, true);
    const struct cw_sim_mark second = after(&job);
    ret[1] = ret[0] = place_of(w, &job.mark, 0);
    if (w->change != WORLD_SAME)
        ret[1] = place_of(w, &second, WORLD_END_S);
}

static struct world_result knee_of(const struct world *w, const struct cw_sim_mark *m, double t_s)
{
    double best, knee = world_knee(w, t_s, &best);
    const struct cw_sim_now now = {.spec = &w->job, .t_s = t_s, .remote = m->remote};
    return (struct world_result){
        .knee = knee,
        .workers = m->remote,
        .decisions = m->decisions,
        .settled = m->settled_window,
        .slower = best / cw_sim_rate(&now) - 1,
        .right = m->remote >= knee && m->remote <= fmax(knee + 1, floor(SLACK * knee + ROUNDING))};
}

void world_run(const struct world *w, const char *policy, struct world_result ret[2])
{
    const struct cw_sim_job job = run(w, policy, false);
    const struct cw_sim_mark second = after(&job);
    ret[1] = ret[0] = knee_of(w, &job.mark, 0);
    if (w->change != WORLD_SAME)
        ret[1] = knee_of(w, &second, WORLD_END_S);
}
