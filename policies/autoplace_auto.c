/* SPDX-License-Identifier: Apache-2.0 */
/* The autoplace policy `auto`, which is the default: the lowest cost of an epoch that makes it
 * slower by at most max_stall. Where Pecan compares single windows with the one before, this policy
 * takes the median of three, compares with the best that was seen, and measures directly what local
 * workers do to their host: the trainer's own step with them and without.
 *
 *   1. Remote workers are chosen by autoscale `auto` until that has settled. This gives the best
 *      time, and the step without local load.
 *   2. Local workers are tried: as many as should do all the work. If they make the step longer,
 *      half of them, then the number that follows from two steps. They do no harm to a trainer that
 *      waits anyway as long as its batches come as fast.
 *   3. Remote workers are taken away: as many as the local ones should replace. If the trainer
 *      waits then, one more local worker is tried before remote ones are taken back, since a local
 *      worker costs nothing.
 *   4. Stable. If the trainer waits more than before, it gets more workers, local ones first. If a
 *      remote worker should not be needed, it is tried without. A trial that brought nothing is not
 *      repeated for 60 windows, then 120, and so on. The policy begins anew if the trainer's demand
 *      or its step has changed by a quarter for three windows.
 *
 * If there are no remote workers at all, only local ones are used, by autoscale `auto`. */
#include "policies/scale_int.h"

#include <math.h>
#include <string.h>

#define STALL 0.05
#define REOPEN 0.25
#define ROUND_DOWN 0.05 /* 2.05 workers count as 2: measurement decides whether they are enough */
#define GAIN_LEAST 0.15 /* the same constant as in autoscale `auto` */
#define AGAIN_AFTER 60
#define AGAIN_DOUBLINGS 10
#define BENT 0.02 /* if each gives less than before by this part, more would not help */
#define NOT_KNOWN (-1.0)
/* If the trainer waits so large a part of its time, and did not before, one window is enough to
 * decide. */
#define HOPELESS 0.6

extern const struct cw_scale_policy cw_policy_autoscale_auto;

struct limits { /* limits of one decision */
    const struct cw_scale_options *options;
    double stall, local, remote; /* the largest numbers of workers that are possible now */
};

static void go(struct cw_scale_state *s, struct cw_scale_decision *d, enum cw_scale_phase phase,
               double r, double l)
{
    s->phase = phase;
    cw_scale_target(s, d, r, l);
}

static void settle(struct cw_scale_state *s, struct cw_scale_decision *d, double r, double l)
{
    bool as_before = s->rest.seconds > 0 && s->rest.remote == r && s->rest.local == l;
    s->patience = as_before ? fmin(s->patience + 1, AGAIN_DOUBLINGS) : 0;
    s->rest = (struct cw_scale_window){0};
    s->calm = s->doubt = 0;
    go(s, d, CW_SCALE_STABLE, r, l);
}

/* Returns how many workers in total should be enough, given what one contributes; 0: not known. */
static double needed(const struct cw_scale_window *w)
{
    return w->rate > 0 && w->step_s > 0 ? fmax(ceil(1 / (w->step_s * w->rate) - ROUND_DOWN), 1) : 0;
}

/* Whether the trainer's step is as it was without local load. s->converged has that step, the
 * number of workers then, and the best time seen; s->phase_count is the number of local workers
 * that were fine. */
static bool step_is_fine(const struct cw_scale_state *s, const struct cw_scale_window *w,
                         double stall)
{
    return s->converged.step_s <= 0 || w->step_s <= s->converged.step_s * (1 + stall);
}

static bool is_fine(const struct cw_scale_state *s, const struct cw_scale_window *w, double stall)
{
    /* A longer step is no loss for a trainer that waited before, and waits less now. */
    if (w->seconds < s->converged.seconds * (1 - stall))
        return true;
    /* One that waits anyway, since more workers do not help it, loses nothing by a longer step
     * either, as long as its batches come as fast. */
    if (s->converged.wait_share > 2 * stall && w->wait_share > 0)
        return w->seconds <= s->converged.seconds * (1 + stall);
    return step_is_fine(s, w, stall) &&
           (w->wait_share <= stall || w->seconds <= s->converged.seconds * (1 + stall));
}

/* ---- local workers ---- */

/* Returns the shortest time of a batch with any number of remote workers that was measured. */
static double best_batch_s(const struct cw_scale_state *s)
{
    double best = (double)INFINITY;
    for (size_t i = 0; i < s->levels_n; i++)
        if (s->levels[i].before == 0)
            best = fmin(best, 1 / s->levels[i].given);
    return best;
}

/* Returns the most that each of a number of workers gave. */
static double each_gives(const struct cw_scale_state *s)
{
    double most = 0;
    for (size_t i = 0; i < s->levels_n; i++)
        most = fmax(most, s->levels[i].given / s->levels[i].workers);
    return most;
}

static void begin_local(struct cw_scale_state *s, const struct cw_scale_window *w,
                        const struct limits *limits, struct cw_scale_decision *d)
{
    /* What autoscale has settled at is enough, unless there are no more. */
    bool is_short = w->wait_share > limits->stall && w->remote >= limits->remote &&
                    each_gives(s) * w->seconds * w->remote < 1 + BENT;
    double should = is_short ? needed(w) : w->remote;
    s->converged = *w;
    s->converged.seconds = fmin(w->seconds, best_batch_s(s));
    s->phase_count = 0;
    s->needed = should > 0 ? should : w->remote + limits->local;
    s->local_floor = limits->local + 1;
    s->floor = w->remote - 1;
    if (limits->local < 1) {
        settle(s, d, w->remote, 0);
        return;
    }
    if (d->reason.len > 0)
        cw_str_add(&d->reason, "; ");
    cw_str_addf(&d->reason, "no more than %.0f remote workers help; local ones are tried",
                w->remote);
    go(s, d, CW_SCALE_LOCAL_UP, w->remote, fmin(limits->local, fmax(s->needed, 1)));
}

static void begin_down(struct cw_scale_state *s, const struct cw_scale_window *w, double local,
                       struct cw_scale_decision *d)
{
    double to = fmax(s->needed - local, 0);
    s->floor = -1;
    s->enough = w->remote;
    if (local < 1 || to >= w->remote) {
        cw_str_addf(&d->reason, local < 1
                                    ? "local workers slow the trainer down: settled without them"
                                : w->remote < 1 ? "no remote worker is needed: settled"
                                                : "all of these workers are needed: settled");
        settle(s, d, w->remote, local);
        return;
    }
    cw_str_addf(
        &d->reason,
        "%.0f local workers do not slow the trainer down; %.0f remote ones should be enough", local,
        to);
    go(s, d, CW_SCALE_REMOTE_DOWN, to, local);
}

static void local_up(struct cw_scale_state *s, const struct cw_scale_window *w,
                     const struct limits *limits, struct cw_scale_decision *d)
{
    bool fine = is_fine(s, w, limits->stall),
         helps = w->seconds < s->converged.seconds * (1 - limits->stall);
    if (fine) {
        s->phase_count = w->local;
        s->converged.seconds = fmin(s->converged.seconds, w->seconds);
    } else {
        s->local_floor = w->local;
    }
    double between = fmin(floor((s->phase_count + s->local_floor) / 2),
                          cw_scale_local_room(s, w, s->converged.step_s, limits->stall));
    double next =
        fine ? fmin(fmin(2 * w->local, limits->local), fmax(s->needed, w->local + 1)) : between;
    if (fine && next >= s->local_floor)
        next = between;
    bool could_do_all = fine && w->local >= s->needed && (w->wait_share <= limits->stall || !helps);
    if (next <= s->phase_count || could_do_all) {
        begin_down(s, w, s->phase_count, d);
        return;
    }
    cw_str_addf(
        &d->reason, "with %.0f local workers a step takes %.1f %% longer: %.0f are tried", w->local,
        s->converged.step_s > 0 ? fmax(100 * (w->step_s / s->converged.step_s - 1), 0) : 0, next);
    go(s, d, CW_SCALE_LOCAL_UP, w->remote, next);
}

/* ---- fewer remote workers, or more of either kind ---- */

/* Returns the number of local workers with which the trainer should not wait any more; the present
 * number if there can be no more. */
static double more_local(const struct cw_scale_state *s, const struct cw_scale_window *w,
                         const struct limits *limits)
{
    double n = w->remote + w->local, lacking = n / fmax(1 - w->wait_share, 0.1) - n;
    double to = w->local + fmax(ceil(lacking - ROUND_DOWN), 1);
    return fmax(fmin(to, fmin(limits->local, s->local_floor - 1)), w->local);
}

/* Adds remote workers after one more was not enough, as long as that pays. */
static void more_remote(struct cw_scale_state *s, const struct cw_scale_window *w,
                        const struct limits *limits, struct cw_scale_decision *d)
{
    const struct cw_scale_window *before = &s->rest;
    bool grown = before->seconds > 0 && w->remote > before->remote;
    if (grown &&
        !cw_scale_pays(limits->options, before->remote + before->local, 1 / before->seconds,
                       w->remote + w->local, 1 / w->seconds, GAIN_LEAST)) {
        cw_str_addf(
            &d->reason,
            "with %.0f remote workers the trainer waits %.0f %% of its time: more do not help",
            w->remote, 100 * w->wait_share);
        settle(s, d, before->remote, s->phase_count);
    } else if (w->remote >= limits->remote) {
        cw_str_addf(&d->reason,
                    "the trainer waits %.0f %% of its time, and there are no more workers: settled",
                    100 * w->wait_share);
        settle(s, d, w->remote, s->phase_count);
    } else {
        cw_str_addf(&d->reason,
                    "with %.0f remote workers the trainer waits %.0f %% of its time: one more",
                    w->remote, 100 * w->wait_share);
        go(s, d, CW_SCALE_REMOTE_DOWN, w->remote + 1, s->phase_count);
    }
}

static void not_enough(struct cw_scale_state *s, const struct cw_scale_window *w,
                       const struct limits *limits, struct cw_scale_decision *d)
{
    bool local_is_fine = w->local <= s->phase_count || step_is_fine(s, w, limits->stall);
    if (local_is_fine)
        s->phase_count = w->local;
    else
        s->local_floor = w->local;
    double local = more_local(s, w, limits);
    if (local_is_fine && w->wait_share > limits->stall && local > w->local) {
        cw_str_addf(&d->reason,
                    "with %.0f remote and %.0f local workers the trainer waits %.0f %% of its "
                    "time: %.0f local ones are tried",
                    w->remote, w->local, 100 * w->wait_share, local);
        go(s, d, CW_SCALE_REMOTE_DOWN, w->remote, local);
        return;
    }
    s->floor = fmax(s->floor, w->remote);
    if (s->enough < 0) {
        more_remote(s, w, limits, d);
        return;
    }
    /* so many lack, if what it has is what holds the trainer up */
    double lacking = s->needed * (1 - s->converged.seconds / w->seconds);
    double to = fmin(fmax(w->remote + ceil(lacking - ROUND_DOWN), s->floor + 1), s->enough);
    cw_str_addf(&d->reason, "with %.0f remote workers batches are %.1f %% slower: %.0f", w->remote,
                100 * (w->seconds / s->converged.seconds - 1), to);
    if (to >= s->enough)
        settle(s, d, s->enough, s->phase_count);
    else
        go(s, d, CW_SCALE_REMOTE_DOWN, to, s->phase_count);
}

/* Whether local workers are much slower than the remote ones that they replaced: then these are
 * taken back at once. */
static bool goes_back(struct cw_scale_state *s, const struct cw_scale_window *w,
                      struct cw_scale_decision *d)
{
    if (s->enough <= w->remote || w->wait_share <= HOPELESS ||
        cw_scale_batch_s(w) <= 2 * s->converged.seconds)
        return false;
    cw_str_addf(
        &d->reason,
        "with %.0f remote workers the trainer waits %.0f %% of its time: back to %.0f, settled",
        w->remote, 100 * w->wait_share, s->enough);
    settle(s, d, s->enough, s->phase_count);
    return true;
}

static void remote_down(struct cw_scale_state *s, const struct cw_scale_window *w,
                        const struct limits *limits, struct cw_scale_decision *d)
{
    /* Fewer remote workers do not make the step longer: if there are no more local workers than
     * were fine before, the reason is another one. */
    bool as_fast = w->local <= s->phase_count && w->wait_share <= limits->stall;
    if (!as_fast && !is_fine(s, w, limits->stall)) {
        not_enough(s, w, limits, d);
        return;
    }
    s->enough = w->remote;
    s->phase_count = w->local;
    s->converged.seconds = fmin(s->converged.seconds, w->seconds);
    bool further = w->remote + w->local > s->needed || s->floor >= 0;
    if (w->remote - 1 > s->floor && further) {
        cw_str_addf(&d->reason, "still as fast: one remote worker less");
        go(s, d, CW_SCALE_REMOTE_DOWN, w->remote - 1, w->local);
    } else {
        cw_str_addf(&d->reason, "%.0f remote and %.0f local workers: settled", w->remote, w->local);
        settle(s, d, w->remote, w->local);
    }
}

/* ---- stable ---- */

static bool has_changed(struct cw_scale_state *s, const struct cw_scale_window *w)
{
    double step = s->rest.step_s, batch = cw_scale_batch_s(w);
    bool other = (step > 0 && w->step_s > 0 && fabs(w->step_s / step - 1) > REOPEN) ||
                 fabs(batch / s->rest.seconds - 1) > REOPEN;
    s->doubt = other ? s->doubt + 1 : 0;
    return s->doubt >= CW_SCALE_MEDIAN_OF;
}

static void begin_anew(struct cw_scale_state *s, const struct cw_scale_window *w,
                       struct cw_scale_decision *d)
{
    cw_str_addf(
        &d->reason,
        "the trainer or its host is not what it was when this was settled: looked for anew");
    memset(s, 0, sizeof(*s));
    s->phase = CW_SCALE_REMOTE_UP;
    cw_scale_target(s, d, fmax(w->remote, 1), 0);
}

/* Reacts when the trainer waits in the stable state. */
static void mend(struct cw_scale_state *s, const struct cw_scale_window *w,
                 const struct limits *limits, struct cw_scale_decision *d)
{
    double local = more_local(s, w, limits);
    s->rest = *w;
    s->phase_count = w->local;
    s->enough = NOT_KNOWN;
    if (local > w->local) {
        s->floor = fmax(s->floor - (local - w->local), -1);
        cw_str_addf(&d->reason,
                    "the trainer waits %.0f %% of its time: %.0f local workers are tried",
                    100 * w->wait_share, local);
        go(s, d, CW_SCALE_REMOTE_DOWN, w->remote, local);
    } else if (w->remote < limits->remote) {
        s->floor = w->remote;
        cw_str_addf(&d->reason,
                    "the trainer waits %.0f %% of its time: one remote worker more is tried",
                    100 * w->wait_share);
        go(s, d, CW_SCALE_REMOTE_DOWN, w->remote + 1, w->local);
    } else {
        settle(s, d, w->remote, w->local);
    }
}

/* It waits, and that is not what more workers did not help against. */
static bool waits_anew(const struct cw_scale_state *s, const struct cw_scale_window *w,
                       double stall)
{
    return w->wait_share > stall && (w->seconds > s->converged.seconds * (1 + 2 * stall) ||
                                     w->wait_share > s->rest.wait_share + stall);
}

static void stable(struct cw_scale_state *s, const struct cw_scale_window *window,
                   const struct limits *limits, struct cw_scale_decision *d)
{
    struct cw_scale_window w;
    if (!cw_scale_medians(s, &w))
        return;
    if (s->rest.seconds <= 0)
        s->rest = w;
    if (s->converged.seconds <= 0)
        s->converged = w;
    s->calm++;
    double again = AGAIN_AFTER * exp2(s->patience);
    double all = needed(&w), n = w.remote + w.local;
    if (has_changed(s, window)) {
        begin_anew(s, window, d);
    } else if (waits_anew(s, &w, limits->stall) &&
               s->calm >= (s->patience > 0 ? again / 2 : CW_SCALE_MEDIAN_OF)) {
        mend(s, &w, limits, d);
    } else if (w.wait_share <= limits->stall && w.remote >= 1 && all > 0 && all < n &&
               s->calm >= again) {
        s->rest = w;
        s->floor = w.remote - 2;
        s->enough = w.remote;
        s->phase_count = w.local;
        cw_str_addf(&d->reason, "%.0f workers should be enough: one remote worker less is tried",
                    all);
        go(s, d, CW_SCALE_REMOTE_DOWN, w.remote - 1, w.local);
    }
}

static int remote_first(const struct cw_scale_window *window, const struct limits *limits,
                        struct cw_scale_state *s, struct cw_scale_decision *d, struct cw_err *err)
{
    const struct cw_scale_available available = {.remote = limits->remote};
    struct cw_scale_window w;
    int rc = cw_policy_autoscale_auto.decide(window, &available, limits->options, NULL, s, d, err);
    bool settled = rc == 0 && s->phase == CW_SCALE_STABLE && cw_scale_medians(s, &w);
    if (rc == 0)
        s->phase = CW_SCALE_REMOTE_UP;
    if (settled)
        begin_local(s, &w, limits, d);
    return rc;
}

static void go_on(const struct cw_scale_window *window, const struct limits *limits,
                  struct cw_scale_state *s, struct cw_scale_decision *d)
{
    struct cw_scale_window w;
    cw_scale_target(s, d, s->remote, s->local);
    /* the workers of the last decision have not all arrived yet */
    if (window->remote != s->remote || window->local != s->local)
        return;
    cw_scale_remember(s, window);
    if (s->phase == CW_SCALE_STABLE)
        stable(s, window, limits, d);
    else if ((s->phase == CW_SCALE_REMOTE_DOWN && goes_back(s, window, d)) ||
             !cw_scale_medians(s, &w))
        return;
    else if (s->phase == CW_SCALE_REMOTE_DOWN)
        remote_down(s, &w, limits, d);
    else if (s->local >= 1)
        local_up(s, &w, limits, d);
    else
        begin_local(s, &w, limits, d); /* other jobs have the remote workers that it wanted */
}

/* Whether the job gets fewer workers than it wants, because other jobs have the rest of the fleet,
 * or the client can start no more. */
static bool is_cut(const struct limits *limits, struct cw_scale_state *s,
                   struct cw_scale_decision *d)
{
    if (s->remote <= limits->remote && s->local <= limits->local)
        return false;
    cw_str_addf(&d->reason, "no more than %.0f remote and %.0f local workers are to be had",
                limits->remote, limits->local);
    s->rest = (struct cw_scale_window){0};
    double local = fmin(s->local, limits->local);
    go(s, d, s->phase == CW_SCALE_REMOTE_UP ? CW_SCALE_LOCAL_UP : s->phase,
       fmax(fmin(s->remote, limits->remote), local < 1 ? 1 : 0), local);
    return true;
}

static int decide(const struct cw_scale_window *window, const struct cw_scale_available *available,
                  const struct cw_scale_options *options, const char *argument,
                  struct cw_scale_state *s, struct cw_scale_decision *d, struct cw_err *err)
{
    (void)argument;
    const struct limits limits = {
        .options = options,
        .stall = cw_scale_or(options->max_stall, STALL),
        .local = fmin(cw_scale_or(options->max_local, 10), available->local),
        .remote = cw_scale_clamp_now((double)INFINITY, available, options)};
    double here = available->remote < 1 && available->local >= 1;
    int rc = 0;
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
        return cw_autoplace_here(window, limits.local, options, s, d, err);
    if (is_cut(&limits, s, d))
        return 0;
    if (s->phase == CW_SCALE_BEGIN && s->local > 0) { /* it continues with the number that it had */
        s->local_floor = limits.local + 1;
        s->phase = CW_SCALE_STABLE;
    }
    if (s->phase == CW_SCALE_BEGIN || s->phase == CW_SCALE_REMOTE_UP)
        rc = remote_first(window, &limits, s, d, err);
    else
        go_on(window, &limits, s, d);
    d->settled = s->phase == CW_SCALE_STABLE;
    return rc;
}

const struct cw_scale_policy cw_policy_autoplace_auto = {
    .name = "auto",
    .summary = "lowest cost within a slowdown; host contention measured (default)",
    .places = true,
    .decide = decide};
