/* SPDX-License-Identifier: Apache-2.0 */
/* The autoscale policy `auto`, which is the default. It knows what the published hill climb has to
 * find out: how fast the trainer would take batches if it never waited (its own step), and how fast
 * one worker computes them when nothing holds it up. So it jumps to the number of workers that
 * should be enough, and then lets measurement decide:
 *
 *   rate of n workers   n * r / (1 + a * (n - 1)): r is the rate of one worker, and a what each
 *                       further one costs. a follows from two windows in which the trainer waited,
 *                       so that the workers were the limit.
 *   enough              The trainer waits at most max_stall of its time.
 *   contradiction       The trainer waits although the workers' own rate says that they are enough:
 *                       one more window is measured.
 *   too many            The same demand could be met with fewer, in three windows one after
 *                       another.
 *   not enough          A number at which the trainer waited is not tried again until its demand
 *                       has changed by a tenth.
 *   no help             More workers brought nothing, or less than they cost. They are not tried
 *                       again for that demand, except after 30 windows, then 60, and so on, since
 *                       one bad measurement must not count for ever.
 *   taken               If other jobs have the workers, it wants them as long as its trainer
 * waits. */
#include "policies/scale_int.h"

#include <math.h>

#define STALL 0.05
#define DEMAND_CHANGED 0.1
#define ROUND_DOWN 0.05 /* 2.05 workers count as 2: measurement decides whether they are enough */
/* Without prices, a worker is not worth having if it brings less than this part of what a usual
 * worker brings. */
#define GAIN_LEAST 0.15
#define DOUBTS 3
/* After so many windows without waiting, one worker less is tried if a worker's rate is not
 * known. */
#define PROBE_AFTER 8
#define LOSS_MAX 1.0
#define AGAIN_AFTER 30
#define AGAIN_DOUBLINGS 10

static double model(const struct cw_scale_state *s, double n)
{
    return n * s->worker_rate / (1 + s->loss * (n - 1));
}

/* Returns the number of batches that the workers computed in the window: others that the trainer
 * took were ready before, and say nothing about the workers. */
static double given(const struct cw_scale_window *w)
{
    double t = w->batches / w->seconds;
    return w->rate > 0 ? fmin(t, w->remote * w->rate) : t;
}

/* Returns the rate at which the trainer takes batches when it does not wait; 0: unknown. */
static double demand_of(const struct cw_scale_window *w)
{
    if (w->step_s > 0)
        return 1 / w->step_s;
    double busy = w->seconds * (1 - w->wait_share);
    return busy > 0.02 * w->seconds ? w->batches / busy : 0;
}

static void follow_demand(struct cw_scale_state *s, const struct cw_scale_window *w)
{
    double demand = demand_of(w);
    if (demand <= 0)
        return;
    if (s->demand <= 0 || fabs(demand / s->demand - 1) > DEMAND_CHANGED) {
        s->demand = demand;
        s->floor = 0;
        s->calm = 0;
        s->doubt = 0;
        s->phase_count = 0;
    } else {
        s->demand += (demand - s->demand) / 4;
    }
}

/* Derives the rate of a worker, and the loss with each further one, from two windows with different
 * numbers of workers in which the workers were the limit. */
static void fit(struct cw_scale_state *s, const struct cw_scale_window *w, double stall)
{
    double n = w->remote, t = given(w);
    const struct cw_scale_window *other = NULL;
    for (size_t i = s->history_n; i-- > 0 && !other;)
        if (s->history[i].remote != n && s->history[i].wait_share > stall)
            other = &s->history[i];
    if (!other || n <= 0 || t <= 0) {
        s->worker_rate = n > 0 ? t * (1 + s->loss * (n - 1)) / n : 0;
        return;
    }
    double m = other->remote, u = given(other);
    double below = m * t * (n - 1) - n * u * (m - 1);
    double loss = fabs(below) > 0 ? (n * u - m * t) / below : 0;
    s->loss = isfinite(loss) ? fmin(fmax(loss, 0), LOSS_MAX) : 0;
    s->worker_rate = t * (1 + s->loss * (n - 1)) / n;
}

/* Returns the smallest number of workers that should meet the demand; if more workers bring
 * nothing, the last number that brings something. */
static double enough(const struct cw_scale_state *s, const struct cw_scale_options *o, double from,
                     double most)
{
    double n = from;
    while (n < most && model(s, n + ROUND_DOWN) < s->demand &&
           cw_scale_pays(o, n, model(s, n), n + 1, model(s, n + 1), GAIN_LEAST))
        n++;
    return n;
}

static double grow(struct cw_scale_state *s, const struct cw_scale_window *w,
                   const struct cw_scale_options *o, double most, struct cw_str *reason)
{
    double n = w->remote, stall = cw_scale_or(o->max_stall, STALL);
    s->floor = fmax(s->floor, n);
    s->doubt = s->calm = 0;
    fit(s, w, stall);
    double to = s->demand > 0 && s->worker_rate > 0 ? enough(s, o, n + 1, most) : fmin(2 * n, most);
    const struct cw_scale_window *prev = cw_scale_other(s, false);
    double t = given(w);
    if (n >= most) {
        cw_str_addf(
            reason,
            "the trainer waits %.0f %% of its time, and there are no more than %.0f workers",
            100 * w->wait_share, most);
        return most;
    }
    if (prev && prev->remote < n && prev->wait_share > stall &&
        !cw_scale_pays(o, prev->remote, given(prev), n, t, GAIN_LEAST)) {
        cw_str_addf(reason,
                    "%.0f workers give %.1f batches/s, %.0f gave %.1f: more workers do not help", n,
                    t, prev->remote, given(prev));
        return prev->remote;
    }
    if (s->demand > 0)
        cw_str_addf(reason,
                    "the trainer waits %.0f %% of its time and would take %.1f batches/s; %.0f "
                    "workers give %.1f, %.0f should give %.1f",
                    100 * w->wait_share, s->demand, n, t, to, model(s, to));
    else
        cw_str_addf(reason,
                    "the trainer waits %.0f %% of its time with %.0f workers: twice as many",
                    100 * w->wait_share, n);
    return to;
}

/* Returns a smaller number of workers that should be enough, or the present number. */
static double shrink(struct cw_scale_state *s, const struct cw_scale_window *w,
                     struct cw_str *reason)
{
    double n = w->remote, to = n;
    s->calm++;
    if (w->rate > 0 && s->demand > 0)
        to = fmax(ceil(s->demand / w->rate - ROUND_DOWN), 1);
    else if (s->calm > PROBE_AFTER)
        to = n - 1;
    to = fmax(to, s->floor + 1);
    s->doubt = to < n ? fmax(s->doubt, 0) + 1 : 0;
    if (to >= n || s->doubt < DOUBTS)
        return n;
    s->doubt = s->calm = 0;
    cw_str_addf(reason,
                "the trainer takes %.1f batches/s and hardly waits; %.0f workers should be enough",
                s->demand, to);
    return to;
}

/* Whether the window should be ignored once: a short disturbance of the machine, or workers that
 * have only just begun, look like this for one window. */
static bool is_unlikely(const struct cw_scale_state *s, const struct cw_scale_window *w)
{
    return w->rate > 0 && s->demand > 0 && w->remote * w->rate > s->demand * (1 + ROUND_DOWN);
}

static bool still_wants(struct cw_scale_state *s, const struct cw_scale_window *w, double stall)
{
    s->calm = w->wait_share > stall ? 0 : s->calm + 1;
    return s->calm < DOUBTS;
}

static int decide(const struct cw_scale_window *window, const struct cw_scale_available *available,
                  const struct cw_scale_options *options, const char *argument,
                  struct cw_scale_state *state, struct cw_scale_decision *decision,
                  struct cw_err *err)
{
    (void)argument, (void)err;
    double stall = cw_scale_or(options->max_stall, STALL), target = window->remote;
    double most = cw_scale_clamp((double)INFINITY, available, options);
    if (state->phase == CW_SCALE_BEGIN) {
        state->phase = CW_SCALE_REMOTE_UP;
        state->remote = cw_scale_or(state->remote, window->remote);
    }
    bool is_short = window->remote < cw_scale_clamp(state->remote, available, options);
    if (is_short && window->remote < cw_scale_clamp_now(state->remote, available, options)) {
        /* the workers of the last decision have not all arrived yet */
        cw_scale_target(state, decision, state->remote, 0);
        return 0;
    }
    follow_demand(state, window);
    cw_scale_remember(state, window);
    if (is_short && still_wants(state, window, stall)) { /* other jobs have the workers */
        cw_scale_target(state, decision, state->remote, 0);
        return 0;
    }
    bool no_help = state->phase == CW_SCALE_STABLE && state->converged.remote == window->remote &&
                   state->demand <= state->converged.rate;
    if (window->wait_share > stall && no_help &&
        ++state->calm >= AGAIN_AFTER * exp2(state->phase_count)) {
        state->phase_count = fmin(state->phase_count + 1, AGAIN_DOUBLINGS);
        no_help = false;
    }
    if (window->wait_share > stall && !no_help && is_unlikely(state, window) && state->doubt >= 0) {
        state->doubt = -1;
        cw_scale_target(state, decision, window->remote, 0);
        return 0;
    }
    if (window->wait_share > stall && !no_help)
        target = grow(state, window, options, most, &decision->reason);
    else if (window->wait_share <= stall)
        target = shrink(state, window, &decision->reason);
    if (is_short && decision->reason.len == 0)
        cw_str_addf(&decision->reason,
                    "the trainer hardly waits with the %.0f workers that others leave it",
                    window->remote);
    target = cw_scale_clamp(target, available, options);
    state->phase = target == window->remote ? CW_SCALE_STABLE : CW_SCALE_REMOTE_UP;
    /* Nothing helps for this demand, which is remembered in converged.rate. */
    if (window->wait_share > stall && target <= window->remote) {
        state->converged = *window;
        state->converged.remote = target;
        state->converged.rate = state->demand * (1 + DEMAND_CHANGED);
        state->phase = CW_SCALE_STABLE;
    }
    cw_scale_target(state, decision, target, 0);
    decision->settled = state->phase == CW_SCALE_STABLE;
    return 0;
}

const struct cw_scale_policy cw_policy_autoscale_auto = {
    .name = "auto",
    .summary = "the trainer's demand over a worker's rate, confirmed by measurement (default)",
    .decide = decide};
