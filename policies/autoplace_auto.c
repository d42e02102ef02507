/* SPDX-License-Identifier: Apache-2.0 */
/* The default: the lowest cost per epoch at no more than max_stall of slowdown. Where Pecan compares single windows with the one before, this takes the
 * median of three, compares with the best that was seen, and measures what local workers do to their host directly: the trainer's own step, with
 * them and without.
 *
 *   1. remote workers by autoscale `auto`, until it has settled: the best time, and the step without local load
 *   2. local ones: 1, 2, 4, ... while step and batch time stay within max_stall of that; the first failure is halved back
 *   3. remote ones away: as many as the local ones should replace, then one by one while it stays within max_stall
 *   4. stable; begins anew when the trainer's demand or its step changes by a quarter for three windows
 *
 * Without any remote worker there are only local ones, by autoscale `auto`. */
#include "policies/scale_int.h"

#include <math.h>
#include <string.h>

#define STALL 0.05
#define MEDIAN_OF 3
#define REOPEN 0.25

extern const struct cw_scale_policy cw_policy_autoscale_auto;

static double median3(const double v[MEDIAN_OF])
{
    return fmax(fmin(v[0], v[1]), fmin(fmax(v[0], v[1]), v[2]));
}

/* Medians over the last windows of this setting; false: too few. */
static bool settled_window(const struct cw_scale_state *s, struct cw_scale_window *ret)
{
    double batch[MEDIAN_OF], step[MEDIAN_OF];
    if (s->history_n < MEDIAN_OF)
        return false;
    const struct cw_scale_window *last = &s->history[s->history_n - 1];
    for (size_t i = 0; i < MEDIAN_OF; i++) {
        const struct cw_scale_window *w = last - i;
        if (w->remote != last->remote || w->local != last->local)
            return false;
        batch[i] = cw_scale_batch_s(w);
        step[i] = w->step_s;
    }
    *ret = *last;
    ret->seconds = median3(batch);
    ret->batches = 1;
    ret->step_s = median3(step);
    return true;
}

static void go(struct cw_scale_state *s, struct cw_scale_decision *d, enum cw_scale_phase phase, double r, double l)
{
    s->phase = phase;
    cw_scale_target(s, d, r, l);
}

/* converged: step and workers without local load, and the best time seen. phase_count: local workers that were fine; floor: remote (or local) that were not. */
static bool is_fine(const struct cw_scale_state *s, const struct cw_scale_window *w, double stall)
{
    bool step_fine = s->converged.step_s <= 0 || w->step_s <= s->converged.step_s * (1 + stall);
    if (w->seconds < s->converged.seconds * (1 - stall)) /* a longer step is no loss to a trainer that waited, and waits less */
        return true;
    return step_fine && w->seconds <= s->converged.seconds * (1 + stall);
}

static void begin_local(struct cw_scale_state *s, const struct cw_scale_window *w, double local_max, struct cw_scale_decision *d)
{
    s->converged = *w;
    s->phase_count = 0;
    s->floor = local_max + 1;
    if (local_max < 1) {
        go(s, d, CW_SCALE_STABLE, w->remote, 0);
        return;
    }
    if (d->reason.len > 0)
        cw_str_add(&d->reason, "; ");
    cw_str_addf(&d->reason, "no more than %.0f remote workers help; a local one is tried", w->remote);
    go(s, d, CW_SCALE_LOCAL_UP, w->remote, 1);
}

static void begin_down(struct cw_scale_state *s, const struct cw_scale_window *w, double local, struct cw_scale_decision *d)
{
    s->floor = -1;
    if (local < 1 || w->remote < 1) {
        cw_str_addf(&d->reason, local < 1 ? "local workers slow the trainer down: settled without them" : "no remote worker is needed: settled");
        go(s, d, CW_SCALE_STABLE, w->remote, local);
        return;
    }
    double to = fmax(w->remote - local, 0);
    cw_str_addf(&d->reason, "%.0f local workers do not slow the trainer down; %.0f remote ones should be enough", local, to);
    s->phase_count = local;
    go(s, d, CW_SCALE_REMOTE_DOWN, to, local);
}

static void local_up(struct cw_scale_state *s, const struct cw_scale_window *w, double stall, double local_max, struct cw_scale_decision *d)
{
    bool fine = is_fine(s, w, stall);
    if (fine) {
        s->phase_count = w->local;
        s->converged.seconds = fmin(s->converged.seconds, w->seconds);
    } else {
        s->floor = w->local;
    }
    double next = fine ? fmin(2 * w->local, local_max) : floor((s->phase_count + s->floor) / 2);
    if (fine && next >= s->floor)
        next = floor((s->phase_count + s->floor) / 2);
    /* more than can replace all remote ones serve nobody, unless the trainer waits */
    bool all_replaced = fine && w->local >= s->converged.remote && w->wait_share <= stall;
    if (next <= s->phase_count || all_replaced) {
        begin_down(s, w, s->phase_count, d);
        return;
    }
    cw_str_addf(&d->reason, "with %.0f local workers a step takes %.1f %% longer: %.0f are tried", w->local,
                s->converged.step_s > 0 ? fmax(100 * (w->step_s / s->converged.step_s - 1), 0) : 0, next);
    go(s, d, CW_SCALE_LOCAL_UP, w->remote, next);
}

static void remote_down(struct cw_scale_state *s, const struct cw_scale_window *w, double stall, struct cw_scale_decision *d)
{
    if (!is_fine(s, w, stall)) {
        s->floor = w->remote;
        cw_str_addf(&d->reason, "with %.0f remote workers batches are %.1f %% slower: one more", w->remote,
                    100 * (w->seconds / s->converged.seconds - 1));
        bool back = w->remote + 1 >= s->converged.remote;
        go(s, d, back ? CW_SCALE_STABLE : CW_SCALE_REMOTE_DOWN, fmin(w->remote + 1, s->converged.remote), w->local);
    } else if (w->remote - 1 > s->floor && w->remote > 0) {
        cw_str_addf(&d->reason, "still as fast: one remote worker less");
        go(s, d, CW_SCALE_REMOTE_DOWN, w->remote - 1, w->local);
    } else {
        cw_str_addf(&d->reason, "%.0f remote and %.0f local workers: settled", w->remote, w->local);
        go(s, d, CW_SCALE_STABLE, w->remote, w->local);
    }
    if (s->phase == CW_SCALE_STABLE)
        s->doubt = 0;
}

static bool has_changed(struct cw_scale_state *s, const struct cw_scale_window *w)
{
    double step = s->converged.step_s, batch = cw_scale_batch_s(w);
    bool other = (step > 0 && w->step_s > 0 && fabs(w->step_s / step - 1) > REOPEN) || fabs(batch / s->converged.seconds - 1) > REOPEN;
    s->doubt = other ? s->doubt + 1 : 0;
    return s->doubt >= MEDIAN_OF;
}

static int remote_first(const struct cw_scale_window *window, const struct cw_scale_available *available, const struct cw_scale_options *options,
                        struct cw_scale_state *s, struct cw_scale_decision *d, struct cw_err *err)
{
    int rc = cw_policy_autoscale_auto.decide(window, available, options, NULL, s, d, err);
    struct cw_scale_window w;
    bool settled = rc == 0 && s->phase == CW_SCALE_STABLE && settled_window(s, &w);
    if (rc == 0)
        s->phase = CW_SCALE_REMOTE_UP;
    if (settled)
        begin_local(s, &w, fmin(cw_scale_or(options->max_local, 10), available->local), d);
    return rc;
}

/* No remote worker is to be had: as many local ones as the trainer needs, by what they bring. In the state remote stands for local. */
static int here_only(const struct cw_scale_window *window, double local_max, const struct cw_scale_options *options, struct cw_scale_state *s,
                     struct cw_scale_decision *d, struct cw_err *err)
{
    struct cw_scale_window here = *window;
    struct cw_scale_options o = *options;
    const struct cw_scale_available available = {.remote = local_max};
    here.remote = window->local;
    here.local = o.max_workers = o.min_workers = 0;
    int rc = cw_policy_autoscale_auto.decide(&here, &available, &o, NULL, s, d, err);
    d->local = d->remote;
    d->remote = 0;
    return rc;
}

static int decide(const struct cw_scale_window *window, const struct cw_scale_available *available, const struct cw_scale_options *options,
                  const char *argument, struct cw_scale_state *s, struct cw_scale_decision *d, struct cw_err *err)
{
    (void)argument;
    double here = available->remote < 1 && available->local >= 1;
    if (here != s->here) {
        memset(s, 0, sizeof(*s));
        s->here = here;
        if (here == 0) {
            cw_str_addf(&d->reason, "there are remote workers now: looked for anew");
            go(s, d, CW_SCALE_REMOTE_UP, 1, 0);
            return 0;
        }
    }
    if (here > 0)
        return here_only(window, fmin(cw_scale_or(options->max_local, 10), available->local), options, s, d, err);
    double stall = cw_scale_or(options->max_stall, STALL), local_max = fmin(cw_scale_or(options->max_local, 10), available->local);
    struct cw_scale_window w;
    if (s->phase == CW_SCALE_BEGIN || s->phase == CW_SCALE_REMOTE_UP) {
        int rc = remote_first(window, available, options, s, d, err);
        d->settled = s->phase == CW_SCALE_STABLE;
        return rc;
    }
    bool on_its_way = window->remote != s->remote || window->local != s->local;
    cw_scale_target(s, d, s->remote, s->local);
    if (!on_its_way)
        cw_scale_remember(s, window);
    if (s->phase == CW_SCALE_STABLE && !on_its_way && has_changed(s, window)) {
        cw_str_addf(&d->reason, "the trainer or its host is not what it was when this was settled: looked for anew");
        memset(s, 0, sizeof(*s));
        s->phase = CW_SCALE_REMOTE_UP;
        cw_scale_target(s, d, fmax(window->remote, 1), 0);
    } else if (s->phase != CW_SCALE_STABLE && !on_its_way && settled_window(s, &w)) {
        if (s->phase == CW_SCALE_LOCAL_UP)
            local_up(s, &w, stall, local_max, d);
        else
            remote_down(s, &w, stall, d);
    }
    d->settled = s->phase == CW_SCALE_STABLE;
    return 0;
}

const struct cw_scale_policy cw_policy_autoplace_auto = {
    .name = "auto", .summary = "lowest cost within a slowdown; host contention measured (default)", .places = true, .decide = decide};
