/* SPDX-License-Identifier: Apache-2.0 */
/* The autoscale policy `auto`, which is the default. It looks for the knee: the fewest workers with
 * which the trainer is, but for max_stall, as fast as with any number. It estimates: from what it
 * measured with a few numbers of workers it derives all explanations, how probable each is, and
 * with which probability a number of workers is the right one (scale_explain.h). So it jumps
 * instead of climbing:
 *
 *   out       to the number that should be enough for the trainer; if the job begins with many
 *             workers and its trainer waits, first to a quarter of them, which shows what one gives
 *   back      to the number whose trial decides best between the explanations that remain
 *   again     until one number is right in all likelihood, four moves at most
 *
 * Then it rests. How many windows it averages before a move depends on whether they could change
 * the decision; an odd window is left out. It looks again when the trainer's demand or what its
 * workers give has changed (scale_watch.h), and moves when what it measures while it rests leaves no
 * doubt. If more workers did not help a trainer that waits, a few more are tried after 150 windows,
 * then 300, and so on, since only a trial shows that a ceiling was lifted. Workers that other jobs
 * have are wanted as long as the trainer waits, and no longer. */
#include <math.h>
#include <string.h>

#include "policies/scale_int.h"
#include "policies/scale_level.h"
#include "policies/scale_target.h"
#include "policies/scale_watch.h"

#define UNBOUNDED ((double)INFINITY)
#define STALL 0.05
#define FURTHER 1.3
#define FAR_BETTER 0.65 /* by how much more probable another number must be while it rests */
#define LOOK_EVERY 4    /* windows between two looks at whether another number is right */
/* windows without waiting after which one worker less is tried, if no worker reports its rate */
#define PROBE_AFTER 8
#define AGAIN_AFTER 150
#define AGAIN_DOUBLINGS 8
#define WINDOWS_TRIAL 6
#define CONTRADICTION 60      /* misfit of levels that contradict each other */
#define CONTRADICTION_AFTER 8 /* number of windows after which a contradiction counts */

/* The last move is later where it is in doubt how the curve bends, since nothing follows. */
static bool may_move(const struct cw_scale_look *l)
{
    bool late = l->s->age <= CW_SCALE_AGE_BEND + 1 && cw_scale_bends(&l->view) > CW_SCALE_LIKELY;
    return l->s->moves < CW_SCALE_MOVES_MOST && (l->s->age <= CW_SCALE_AGE_FREE || late);
}

static double rest_at(const struct cw_scale_look *l)
{
    struct cw_scale_state *s = l->s;
    if (s->phase != CW_SCALE_STABLE || s->converged.remote != l->now.workers)
        s->calm = 0;
    s->phase = CW_SCALE_STABLE;
    s->converged = (struct cw_scale_window){.seconds = l->now.windows,
                                            .batches = l->now.windows * l->now.given,
                                            .wait_share = l->now.wait,
                                            .rate = l->now.rate,
                                            .step_s = l->now.demand > 0 ? 1 / l->now.demand : 0,
                                            .remote = l->now.workers};
    return l->now.workers;
}

static double go_to(const struct cw_scale_look *l, double to)
{
    cw_scale_look_reason(l, to);
    l->s->moves++;
    l->s->phase = CW_SCALE_REMOTE_UP;
    return to;
}

/* Tries one worker less now and then, if no worker reports its rate and the trainer does not
 * wait. */
static double probe_less(const struct cw_scale_look *l)
{
    struct cw_scale_state *s = l->s;
    if (l->now.wait > l->stall || ++s->calm < PROBE_AFTER || l->now.workers <= 1)
        return l->now.workers;
    s->calm = 0;
    return go_to(l, l->now.workers - 1);
}

/* Tries a few more workers, at growing intervals, since a ceiling may have been lifted. doubt: the
 * number of workers to begin with. */
static double try_again(const struct cw_scale_look *l)
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

static double end_trial(const struct cw_scale_look *l)
{
    struct cw_scale_state *s = l->s;
    if (l->now.workers == s->doubt || l->now.windows < WINDOWS_TRIAL)
        return s->remote;
    double before = s->doubt;
    if (l->now.given > s->converged.batches / s->converged.seconds * (1 + l->slack)) {
        s->levels_n = 0;
        cw_scale_level_keep(s, &l->now);
        cw_scale_look_anew(s);
        return s->remote;
    }
    s->doubt = 0;
    s->age = CW_SCALE_AGE_FREE + 1; /* so that the new number is kept */
    s->moves = CW_SCALE_MOVES_MOST;
    cw_str_addf(l->reason, "%.0f workers still give no more than %.0f", l->now.workers, before);
    return before;
}

static void look_at(struct cw_scale_look *l)
{
    struct cw_scale_measured m = {.n = l->s->levels_n,
                                  .noise = cw_scale_level_noise(l->s),
                                  .most = l->most,
                                  .slack = l->slack};
    memcpy(m.levels, l->s->levels, sizeof(m.levels));
    cw_scale_explain(&l->view, &m);
    l->best = cw_scale_rightest(&l->view, &l->best_right);
    l->here_right = cw_scale_is_right(&l->view, l->now.workers);
}

/* Forgets the other levels, because something changed while they were measured: they cannot all be
 * true. */
static void forget_others(struct cw_scale_look *l)
{
    struct cw_scale_state *s = l->s;
    double again = s->phase_count, moves = s->moves;
    if (s->age < CONTRADICTION_AFTER * exp2(again) || l->now.windows < CW_SCALE_IN_A_ROW)
        return;
    s->levels_n = 0;
    cw_scale_level_keep(s, &l->now);
    cw_scale_look_anew(s);
    s->moves = fmin(moves, CW_SCALE_MOVES_MOST / 2);
    s->phase_count = fmin(again + 1, AGAIN_DOUBLINGS);
    look_at(l);
}

/* Whether what was measured while it rested leaves hardly a doubt that another number is right. If
 * there was no doubt when it settled, something has changed a little since, and what is measured
 * now does not fit what was measured then. The level of the present number stays what it was when
 * it settled: should something have changed already, that is what it was before. */
static bool is_clearly_wrong(struct cw_scale_look *l)
{
    const struct cw_scale_state before = *l->s;
    if (fmod(l->s->age, LOOK_EVERY) != 0 || cw_scale_look_is_priced(l))
        return false;
    look_at(l);
    if (l->here_right >= CW_SCALE_SURE)
        return false;
    cw_scale_level_keep(l->s, &l->now);
    look_at(l);
    *l->s = before;
    return l->view.n > 0 && l->view.misfit < CONTRADICTION &&
           l->best_right - l->here_right > FAR_BETTER &&
           (l->best < l->now.workers || l->now.wait > CW_SCALE_NEARLY_STALL * l->stall);
}

/* Whether the windows could decide something: not the first ones after a move, and then only each
 * second one, or each fourth of a number that may stay. */
static bool is_time_to_look(const struct cw_scale_look *l)
{
    double windows = l->now.windows, every = l->s->phase == CW_SCALE_STABLE ? LOOK_EVERY : 2;
    if (windows <= CW_SCALE_WINDOWS_LEAST_LARGE)
        return l->s->moves < 1 || l->hopeless || windows >= CW_SCALE_WINDOWS_LEAST;
    return fmod(windows, every) == 0 || l->s->age >= CW_SCALE_AGE_BEND;
}

static double decide_target(struct cw_scale_look *l)
{
    struct cw_scale_state *s = l->s;
    double n = l->now.workers;
    if (s->doubt > 0)
        return end_trial(l);
    if (s->phase == CW_SCALE_STABLE && s->age > CW_SCALE_AGE_FREE &&
        l->now.windows > CW_SCALE_WINDOWS_DRIFT)
        return is_clearly_wrong(l) ? go_to(l, l->best) : try_again(l);
    cw_scale_level_keep(s, &l->now);
    if (s->phase == CW_SCALE_STABLE && s->age > CW_SCALE_AGE_FREE)
        return rest_at(l);
    cw_scale_level_mend(s);
    if (!is_time_to_look(l))
        return n;
    look_at(l);
    if (l->view.misfit > CONTRADICTION)
        forget_others(l);
    if (l->view.n == 0)
        return probe_less(l);
    double to = cw_scale_look_target(l);
    if (!cw_scale_look_is_measured(l, to))
        return n;
    if (to != n && may_move(l))
        return go_to(l, to);
    rest_at(l);
    return try_again(l);
}

/* For a job that waits because other jobs have the workers that it lacks: it wants no more than
 * what helps, if its measurements show that already. */
static double ask_for_less(struct cw_scale_look *l)
{
    struct cw_scale_state *s = l->s;
    cw_scale_level_keep(s, &l->now);
    look_at(l);
    if (l->now.windows < CW_SCALE_WINDOWS_MOST || l->view.n == 0 || s->levels_n < 2 ||
        l->best >= floor(l->now.workers))
        return s->remote;
    return go_to(l, l->best);
}

static bool still_wants(struct cw_scale_state *s, const struct cw_scale_window *w, double stall)
{
    s->calm = w->wait_share > stall ? 0 : s->calm + 1;
    return s->calm < CW_SCALE_IN_A_ROW;
}

static void begin(struct cw_scale_state *s, const struct cw_scale_window *window)
{
    if (s->phase != CW_SCALE_BEGIN)
        return;
    s->phase = CW_SCALE_REMOTE_UP;
    s->remote = cw_scale_or(s->remote, window->remote);
}

/* Whether it is known what the present number gives. */
static bool is_known(struct cw_scale_look *l)
{
    struct cw_scale_level alone;
    l->hopeless = cw_scale_level_hopeless(l->s, &alone);
    if (cw_scale_level_now(l->s, &l->now))
        return true;
    l->now = l->hopeless ? alone : l->now;
    return l->hopeless;
}

static int decide(const struct cw_scale_window *window, const struct cw_scale_available *available,
                  const struct cw_scale_options *options, const char *argument,
                  struct cw_scale_state *s, struct cw_policy_decision *decision, struct cw_err *err)
{
    (void)argument, (void)err;
    double slack = cw_scale_or(options->max_stall, STALL);
    struct cw_scale_look look = {.s = s,
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
        double fewer = cw_scale_level_now(s, &look.now) ? ask_for_less(&look) : s->remote;
        cw_scale_target(s, decision, cw_scale_clamp(fewer, available, options), 0);
        return 0;
    }
    double target = is_short ? window->remote : s->remote;
    if (is_known(&look))
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
