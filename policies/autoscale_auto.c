/* SPDX-License-Identifier: Apache-2.0 */
/* The autoscale policy `auto`, which is the default. It looks for the knee: the fewest workers with
 * which the trainer is, but for max_stall, as fast as with any number. It knows how fast the
 * trainer would take batches if it never waited (its own step). From what it measured with a few
 * numbers of workers it derives what any number would give (scale_fit.h), so that it jumps instead
 * of climbing:
 *
 *   out       to the number that should be enough for the trainer
 *   back      if something other than the workers is the limit: to about the largest total rate
 *             that was measured, divided by the rate of one worker
 *   again     once or twice more, by what these two numbers showed
 *
 * Then it rests. The number of windows that it averages before a move depends on their noise and on
 * the number of workers; a single odd window is left out. It looks again when the trainer's demand,
 * or what its workers give, has changed. If more workers did not help a trainer that waits, a few
 * more are tried after 60 windows, then 120, and so on, since only a trial shows that a ceiling was
 * lifted. Workers that other jobs have are wanted as long as the trainer waits, and no longer. */
#include <math.h>

#include "policies/scale_fit.h"
#include "policies/scale_int.h"
#include "policies/scale_watch.h"

#define UNBOUNDED ((double)INFINITY)
#define STALL 0.05
#define IN_A_ROW 4
#define WINDOWS_MOST 12 /* the most windows that are averaged before a move */
#define WINDOWS_LEAST 3
#define WINDOWS_LEAST_LARGE 5
#define AGE_TRIAL 20 /* no trial begins later, since its end might be missed */
#define LARGE 20     /* a knee above this number of workers needs a rate that was measured better */
#define WINDOWS_LARGE 4
#define SURE 3 /* number of standard deviations that count as certain */
#define FAR 1.5
#define NEXT_TO 1.15
#define FAR_BELOW 4
#define MOVES_MOST 4
#define MOVES_FREE 3 /* after so many moves only clear errors are corrected */
#define MARGIN 0.025 /* part of the knee that is added to it, for small ones */
#define TOO_MANY 1.05
/* windows without waiting after which one worker less is tried, if no worker reports its rate */
#define PROBE_AFTER 8
#define AGAIN_AFTER 120
#define AGAIN_DOUBLINGS 8
#define AS_BEFORE 0.05
#define WINDOWS_TRIAL 6
#define CONTRADICTION 60      /* misfit of levels that contradict each other */
#define CONTRADICTION_AFTER 8 /* number of windows after which a contradiction counts */
#define FURTHER 1.3
#define NEAR_CEILING 0.7
#define TELLING 0.12

struct look { /* the input and the results of one decision */
    struct cw_scale_state *s;
    const struct cw_scale_options *options;
    /* the slowdown that is allowed, and the part of its time that the trainer may wait for that */
    double slack, stall;
    double most;
    struct cw_scale_level now; /* what was measured with the present number of workers */
    struct cw_scale_fit fit;
    double knee;
    struct cw_str *reason;
    bool trial; /* the target is a trial, and not the number that is meant to stay */
};

/* ---- choosing the target ---- */

/* Adds half of what is allowed above the knee, so that an error to either side does no harm. */
static double rounded(double knee)
{
    double half = fmax(floor(knee * (TOO_MANY - 1)), 1) / 2;
    return ceil(knee + fmin(knee * MARGIN, half) - 1e-9);
}

static double most_right(double knee)
{
    return fmax(TOO_MANY * ceil(knee), ceil(knee) + 1);
}

/* Whether noise cannot be the reason that a wrong number of workers looks right. */
static bool is_sure(const struct look *l, double to)
{
    double error = SURE * l->fit.error;
    return to >= fmin(l->knee * (1 + error), l->most) && to <= most_right(l->knee * (1 - error));
}

/* Whether the present number was measured long enough for a move. A few windows are enough for a
 * trial with more workers. */
static bool is_measured(const struct look *l, double to)
{
    double windows = l->now.windows, most = CW_SCALE_AGE_FREE - 1 - (l->s->age - windows);
    if (l->s->moves < 1)
        return windows >= 2 && (l->knee < LARGE || windows >= WINDOWS_LARGE);
    if (windows < (l->knee < LARGE ? WINDOWS_LEAST : WINDOWS_LEAST_LARGE))
        return false;
    return l->trial || is_sure(l, to) || windows >= fmin(WINDOWS_MOST, most);
}

/* Returns the number of workers with which a batch costs least, if prices are known. */
static double cheapest(const struct look *l)
{
    double best = 1, least = UNBOUNDED, client = l->options->client_price,
           worker = l->options->worker_price;
    for (double n = 1; n <= l->most; n++) {
        double cost = (client + n * worker) / cw_scale_fit_gives(&l->fit, n);
        if (cost < least)
            least = cost, best = n;
        else if (cost > 2 * least)
            break;
    }
    return best;
}

/* Counts the numbers of workers between `from` and `to` that were tried while the trainer
 * waited. */
static size_t tried(const struct look *l, double from, double to)
{
    size_t n = 0;
    for (size_t i = 0; i < l->s->levels_n; i++)
        n += l->s->levels[i].workers >= from && l->s->levels[i].workers <= to &&
             l->s->levels[i].wait > l->stall;
    return n;
}

/* Whether it is not known what fewer workers give: the fewest that were tried gave as much as the
 * most; or only one number was tried, and it does not give what so many workers gave before. */
static bool is_least_unknown(const struct look *l)
{
    double n = l->now.workers, before = l->s->worker_rate * (1 - AS_BEFORE);
    if (l->fit.least <= 1 || l->now.wait <= l->stall)
        return false;
    if (before > 0 && l->now.workers == l->fit.least && l->now.given / n >= before)
        return false;
    return l->fit.flat || (tried(l, 0, UNBOUNDED) == 1 && fmin(ceil(l->knee), l->most) <= n);
}

static double fewer_to_try(const struct look *l)
{
    double one = l->now.given / l->now.workers, rate = fmax(l->s->worker_rate, l->now.rate);
    double should = floor(sqrt(l->fit.least));
    if (rate * (1 - AS_BEFORE) > one)
        should = rounded(l->now.given / (1 + l->slack) / rate);
    return fmax(fmin(should, l->fit.least - 1), 1);
}

/* What looks like a ceiling may be a loss that grows with each worker, if it lies just below the
 * largest number that was tried; and if it lies far below, so many workers may disturb each other.
 * Returns a number of workers whose trial decides this, or 0. */
static double doubt_of(const struct look *l)
{
    double bend = l->fit.ceiling / l->fit.rate, most = l->fit.most;
    if (l->fit.contention > 0 || l->fit.congestion > 0 || !isfinite(bend) ||
        cw_scale_fit_gives(&l->fit, most) * (1 + l->slack) >= l->fit.demand)
        return 0;
    if (bend >= NEAR_CEILING * most)
        return most * NEXT_TO < l->most && tried(l, 0.98 * bend, UNBOUNDED) < 2
                   ? fmin(ceil(FURTHER * most), l->most)
                   : 0;
    double between = ceil(sqrt(fmax(bend, 1) * most)), back = rounded(l->knee);
    double crowded = (most / bend - 1) / (most * (most - 1));
    double would = back / (1 + crowded * back * (back - 1));
    bool alike = back < 2 || fabs(would / fmin(back, bend) - 1) < TELLING;
    return alike && between > back && between < most && !tried(l, NEXT_TO * back, most / NEXT_TO)
               ? between
               : 0;
}

/* A curve that bends is not believed far below the fewest workers that were tried. */
static double least_believed(const struct look *l)
{
    return l->fit.contention > 0 || l->fit.congestion > 0 ? floor(l->fit.least / FAR_BELOW) : 0;
}

static double target_of(struct look *l)
{
    double n = l->now.workers, doubt;
    bool waits = l->now.wait > l->stall;
    if (!isfinite(l->fit.demand))
        return fmin(2 * n, l->most);
    l->trial = true;
    bool early = l->s->moves < MOVES_MOST - 1 && l->s->age <= AGE_TRIAL;
    if (early && is_least_unknown(l))
        return fewer_to_try(l);
    if (early && (doubt = doubt_of(l)) > 0)
        return doubt;
    bool priced = l->options->client_price > 0 && l->options->worker_price > 0;
    /* at first one too few costs one more move, one too many a worker */
    double should = l->s->moves < 1 && l->knee < LARGE ? ceil(l->knee) : rounded(l->knee);
    double to = fmax(priced ? cheapest(l) : fmin(should, l->most), least_believed(l));
    l->trial = to > FAR * n;
    return waits || priced ? to : fmin(to, n);
}

/* Returns by how many standard deviations of the error a move is justified. */
static double sigmas_off(const struct look *l)
{
    double n = l->now.workers, most = most_right(l->knee);
    double off = n < l->knee ? log(l->knee / n) : n > most ? log(n / most) : 0;
    return off / l->fit.error;
}

/* Whether the policy may move. Moves are limited: after the first ones, and later on, only clear
 * errors are corrected. */
static bool may_move(const struct look *l)
{
    if (l->s->moves >= MOVES_MOST)
        return false;
    if (l->s->age > CW_SCALE_AGE_FREE)
        return false;
    return l->s->moves < MOVES_FREE || sigmas_off(l) > 0;
}

static void explain(const struct look *l, double to)
{
    double n = l->now.workers, t = l->now.given;
    if (to > n)
        cw_str_addf(l->reason,
                    "the trainer waits %.0f %% of its time and would take %.1f batches/s; %.0f "
                    "workers give %.1f, %.0f should give %.1f",
                    100 * l->now.wait, l->fit.demand, n, t, to, cw_scale_fit_gives(&l->fit, to));
    else if (l->now.wait > l->stall)
        cw_str_addf(l->reason,
                    "%.0f workers give %.1f batches/s, and %.0f should give as much: more workers "
                    "do not help",
                    n, t, to);
    else
        cw_str_addf(l->reason,
                    "the trainer takes %.1f batches/s and hardly waits; %.0f workers should be "
                    "enough",
                    l->fit.demand, to);
}

static double rest_at(const struct look *l)
{
    struct cw_scale_state *s = l->s;
    if (s->phase != CW_SCALE_STABLE || s->converged.remote != l->now.workers)
        s->calm = 0;
    s->phase = CW_SCALE_STABLE;
    s->converged = (struct cw_scale_window){.seconds = 1,
                                            .batches = l->now.given,
                                            .wait_share = l->now.wait,
                                            .rate = l->now.rate,
                                            .step_s = l->now.demand > 0 ? 1 / l->now.demand : 0,
                                            .remote = l->now.workers};
    return l->now.workers;
}

static double go_to(const struct look *l, double to)
{
    explain(l, to);
    l->s->moves++;
    l->s->phase = CW_SCALE_REMOTE_UP;
    return to;
}

/* Tries one worker less now and then, if no worker reports its rate and the trainer does not
 * wait. */
static double probe_less(const struct look *l)
{
    struct cw_scale_state *s = l->s;
    if (l->now.wait > l->stall || ++s->calm < PROBE_AFTER || l->now.workers <= 1)
        return l->now.workers;
    s->calm = 0;
    return go_to(l, l->now.workers - 1);
}

/* Tries a few more workers, at growing intervals, since a ceiling may have been lifted. doubt: the
 * number of workers to begin with. */
static double try_again(const struct look *l)
{
    struct cw_scale_state *s = l->s;
    double n = l->now.workers;
    if (s->phase != CW_SCALE_STABLE || l->now.wait <= l->stall || n >= l->most ||
        ++s->calm < AGAIN_AFTER * exp2(s->phase_count))
        return n;
    s->phase_count = fmin(s->phase_count + 1, AGAIN_DOUBLINGS);
    s->doubt = n;
    s->phase = CW_SCALE_REMOTE_UP;
    double to = fmin(ceil(FURTHER * n), l->most);
    cw_str_addf(l->reason,
                "the trainer waits %.0f %% of its time, although more than %.0f workers did not "
                "help: %.0f are tried again",
                100 * l->now.wait, n, to);
    return to;
}

static double end_trial(const struct look *l)
{
    struct cw_scale_state *s = l->s;
    if (l->now.workers == s->doubt || l->now.windows < WINDOWS_TRIAL)
        return s->remote;
    double before = s->doubt;
    if (l->now.given > s->converged.batches * (1 + l->slack)) {
        s->levels_n = 0;
        cw_scale_level_keep(s, &l->now);
        cw_scale_look_anew(s);
        return s->remote;
    }
    s->doubt = 0;
    s->age = CW_SCALE_AGE_FREE + 1; /* so that the new number is kept */
    s->moves = MOVES_MOST;
    cw_str_addf(l->reason, "%.0f workers still give no more than %.0f", l->now.workers, before);
    return before;
}

/* Forgets the other levels, because something changed while they were measured: they cannot all be
 * true. */
static void forget_others(struct look *l)
{
    struct cw_scale_state *s = l->s;
    double again = s->phase_count;
    if (s->age < CONTRADICTION_AFTER * exp2(again) || l->now.windows < IN_A_ROW)
        return;
    s->levels_n = 0;
    cw_scale_level_keep(s, &l->now);
    cw_scale_look_anew(s);
    s->phase_count = fmin(again + 1, AGAIN_DOUBLINGS);
    l->fit = cw_scale_fit_levels(s);
}

static double decide_target(struct look *l)
{
    struct cw_scale_state *s = l->s;
    double n = l->now.workers;
    if (s->doubt > 0)
        return end_trial(l);
    cw_scale_level_keep(s, &l->now);
    if (s->phase == CW_SCALE_STABLE && s->age > CW_SCALE_AGE_FREE)
        return l->now.windows <= CW_SCALE_WINDOWS_DRIFT ? rest_at(l) : try_again(l);
    cw_scale_level_mend(s);
    l->fit = cw_scale_fit_levels(s);
    if (l->fit.misfit > CONTRADICTION)
        forget_others(l);
    if (l->fit.rate <= 0)
        return probe_less(l);
    l->knee = cw_scale_fit_knee(&l->fit, l->most, l->slack);
    double to = target_of(l);
    if (!is_measured(l, to))
        return n;
    if (!l->fit.flat && tried(l, 0, UNBOUNDED) != 1)
        s->worker_rate = l->fit.rate;
    if (to != n && may_move(l))
        return go_to(l, to);
    rest_at(l);
    return try_again(l);
}

/* For a job that waits because other jobs have the workers that it lacks: it wants no more than
 * what helps, if its measurements show that already. */
static double fewer_do(struct look *l)
{
    struct cw_scale_state *s = l->s;
    cw_scale_level_keep(s, &l->now);
    l->fit = cw_scale_fit_levels(s);
    l->knee = cw_scale_fit_knee(&l->fit, l->most, l->slack);
    if (l->now.windows < WINDOWS_MOST || l->fit.rate <= 0 || s->levels_n < 2 ||
        rounded(l->knee) >= floor(l->now.workers))
        return s->remote;
    return go_to(l, rounded(l->knee));
}

static bool still_wants(struct cw_scale_state *s, const struct cw_scale_window *w, double stall)
{
    s->calm = w->wait_share > stall ? 0 : s->calm + 1;
    return s->calm < IN_A_ROW;
}

static void begin(struct cw_scale_state *s, const struct cw_scale_window *window)
{
    if (s->phase != CW_SCALE_BEGIN)
        return;
    s->phase = CW_SCALE_REMOTE_UP;
    s->remote = cw_scale_or(s->remote, window->remote);
}

static int decide(const struct cw_scale_window *window, const struct cw_scale_available *available,
                  const struct cw_scale_options *options, const char *argument,
                  struct cw_scale_state *s, struct cw_scale_decision *decision, struct cw_err *err)
{
    (void)argument, (void)err;
    double slack = cw_scale_or(options->max_stall, STALL);
    struct look look = {.s = s,
                        .options = options,
                        .slack = slack,
                        .stall = slack / (1 + slack),
                        .most = cw_scale_clamp(UNBOUNDED, available, options),
                        .reason = &decision->reason};
    begin(s, window);
    bool is_short = window->remote < cw_scale_clamp(s->remote, available, options);
    if (is_short && window->remote < cw_scale_clamp_now(s->remote, available, options)) {
        /* the workers of the last decision have not all arrived yet */
        cw_scale_target(s, decision, s->remote, 0);
        return 0;
    }
    cw_scale_remember(s, window);
    s->age++;
    cw_scale_watch(s, look.stall);
    if (is_short && still_wants(s, window, look.stall)) { /* other jobs have the workers */
        double fewer = cw_scale_level_now(s, &look.now) ? fewer_do(&look) : s->remote;
        cw_scale_target(s, decision, cw_scale_clamp(fewer, available, options), 0);
        return 0;
    }
    double target = is_short ? window->remote : s->remote;
    if (cw_scale_level_now(s, &look.now))
        target = decide_target(&look);
    if (is_short && decision->reason.len == 0)
        cw_str_addf(&decision->reason,
                    "the trainer hardly waits with the %.0f workers that others leave it",
                    window->remote);
    cw_scale_target(s, decision, cw_scale_clamp(target, available, options), 0);
    decision->settled = s->phase == CW_SCALE_STABLE;
    return 0;
}

const struct cw_scale_policy cw_policy_autoscale_auto = {
    .name = "auto",
    .summary = "the fewest workers that give as much as any number would (default)",
    .decide = decide};
