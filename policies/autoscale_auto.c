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

#include "policies/scale_explain.h"
#include "policies/scale_int.h"
#include "policies/scale_level.h"
#include "policies/scale_trial.h"
#include "policies/scale_watch.h"

#define UNBOUNDED ((double)INFINITY)
#define STALL 0.05
#define NEARLY_STALL 0.9 /* a trainer that waits this part of what it may waits, if in doubt */
/* ---- windows and moves ---- */
#define IN_A_ROW 4
#define LARGE 20 /* more workers than this need a rate that was measured better */
#define WINDOWS_LEAST 3
#define WINDOWS_LEAST_LARGE 5
#define WINDOWS_FIRST 2
#define WINDOWS_FIRST_LARGE 4
#define WINDOWS_MOST 12 /* the most windows that are averaged before a move */
#define WINDOWS_WRONG 6 /* the same with a number that is wrong, after the first move */
#define WINDOWS_BEND 8  /* of a few workers that may show how a curve bends */
#define AGE_BEND 29     /* many workers show it until then, since the right number tells little */
#define HOPELESS_S 12.0 /* so long is waited with a number if a smaller one gives much more, */
#define HOPELESS_LESS 3 /* at least so many times as much */
#define WINDOWS_SAVE 6  /* number of windows before one tries to do with fewer */
#define AGE_TRIAL 20    /* no trial begins later, since its end might be missed */
#define MOVES_MOST 4
/* ---- probabilities ---- */
#define SURE 0.98
#define SURE_SAVE 0.99
#define SURE_BEND 0.995 /* where it is to be known how a curve bends */
#define LIKELY 0.5      /* a number that is right with this probability is measured to the end */
#define BETTER_BY 0.01  /* by how much more probable another number must be */
#define FAR_BETTER 0.65 /* the same while it rests */
/* ---- numbers of workers ---- */
#define FEW 12      /* up to this number one worker less is worth a move */
#define QUARTER 4   /* by what the number is divided if it is not known what one worker gives */
#define NEARLY 0.85 /* if nearly all workers are needed, all are tried, which shows more */
#define FURTHER 1.3
#define TOLD_MORE 1.1 /* workers say that they could give so many times what they gave */
#define AS_MUCH 0.952
/* ---- when it rests ---- */
#define LOOK_EVERY 4 /* windows between two looks at whether another number is right */
/* windows without waiting after which one worker less is tried, if no worker reports its rate */
#define PROBE_AFTER 8
#define AGAIN_AFTER 150
#define AGAIN_DOUBLINGS 8
#define WINDOWS_TRIAL 6
#define CONTRADICTION 60      /* misfit of levels that contradict each other */
#define CONTRADICTION_AFTER 8 /* number of windows after which a contradiction counts */

struct look { /* the input and the results of one decision */
    struct cw_scale_state *s;
    const struct cw_scale_options *options;
    /* the slowdown that is allowed, and the part of its time that the trainer may wait for that */
    double slack, stall;
    double most;
    struct cw_scale_level now; /* what was measured with the present number of workers */
    struct cw_scale_view view;
    /* the number that is right with the highest probability, and that of the present number */
    double best, best_right, here_right;
    struct cw_str *reason;
    bool trial;    /* the target is a trial, and not the number that is meant to stay */
    bool hopeless; /* the last window alone shows that the present number is no good */
};

/* ---- choosing the target ---- */

/* Returns the most probable explanation that does not guess what one worker gives. */
static const struct cw_scale_fit *likely(const struct look *l)
{
    size_t i = 0;
    while (i + 1 < l->view.n && l->view.fits[i].guessed)
        i++;
    return &l->view.fits[i];
}

/* Returns the expected rate of so many workers. */
static double gives(const struct look *l, double n)
{
    return cw_scale_fit_gives(likely(l), n);
}

/* Whether too many workers may give less, and the present number is to show how the curve bends.
 * The time that is left belongs to the numbers far above and far below the right one: there it
 * shows. */
static bool shows_bend(const struct look *l)
{
    double windows = l->now.windows, left = AGE_BEND - (l->s->age - windows);
    if (l->s->moves < 1 || l->best_right >= SURE_BEND || cw_scale_bends(&l->view) <= LIKELY)
        return false;
    if (!cw_scale_shows_bend(l->now.workers, l->best, l->most))
        return l->best < FEW && windows < fmin(WINDOWS_BEND, left);
    return windows < (cw_scale_trial_of_bend(l->s, l->best, l->most) > 0 ? left / 2 : left);
}

/* Whether the trainer has waited for so long with the present number, and fewer workers should give
 * so much more, that nothing is gained by staying. Where too many workers give nearly nothing, a
 * window takes minutes. */
static bool is_hopeless(const struct look *l, double to)
{
    double seconds = l->now.windows * l->s->history[l->s->history_n - 1].seconds;
    return to < l->now.workers && seconds >= HOPELESS_S &&
           ((l->hopeless && l->trial) || gives(l, to) > HOPELESS_LESS * l->now.given);
}

/* Whether the present number was measured long enough for a move. A few windows are enough for a
 * trial, and where more could not change the decision. */
static bool is_measured(const struct look *l, double to)
{
    double windows = l->now.windows, left = CW_SCALE_AGE_FREE - 1 - (l->s->age - windows);
    bool large = l->best >= LARGE, wrong = l->s->moves > 1 && l->here_right < 1 - SURE;
    if (is_hopeless(l, to))
        return true;
    if (to == l->now.workers && l->here_right >= SURE)
        return windows >= (to > 1 && to <= FEW ? WINDOWS_SAVE : WINDOWS_LEAST);
    if (l->s->moves < 1 && to >= l->now.workers)
        return windows >= (large ? WINDOWS_FIRST_LARGE : WINDOWS_FIRST);
    if (windows < (large ? WINDOWS_LEAST_LARGE : to > l->now.workers ? IN_A_ROW : WINDOWS_LEAST))
        return false;
    if (to < l->now.workers && l->now.wait <= l->stall && windows < WINDOWS_SAVE)
        return false; /* nobody waits for it */
    if (shows_bend(l))
        return false;
    if (l->trial || windows >= fmin(wrong ? WINDOWS_WRONG : WINDOWS_MOST, left))
        return true;
    return l->here_right < LIKELY ? cw_scale_sharpness(&l->view, to) >= SURE
                                  : cw_scale_is_right(&l->view, to) >= SURE_SAVE;
}

static bool is_priced(const struct look *l)
{
    return l->options->client_price > 0 && l->options->worker_price > 0;
}

/* Returns the number of workers with which a batch costs least. */
static double cheapest(const struct look *l)
{
    double best = 1, least = UNBOUNDED, client = l->options->client_price,
           worker = l->options->worker_price;
    for (double n = 1; n <= l->most; n++) {
        double cost = (client + n * worker) / gives(l, n);
        if (cost < least)
            least = cost, best = n;
        else if (cost > 2 * least)
            break;
    }
    return best;
}

/* Whether it is not known what one worker gives: only one number was measured, or the fewest of
 * several gave as much as the most. */
static bool is_one_unknown(const struct look *l, const struct cw_scale_tried *t)
{
    bool waits = l->now.wait > l->stall;
    if (t->n < 1 || t->least <= 1 || l->now.wait < CW_SCALE_WAITS || t->before)
        return false;
    if (l->s->levels_n == 1)
        return l->now.rate * l->now.workers < TOLD_MORE * l->now.given;
    return t->most > t->least && t->least_gave >= AS_MUCH * t->most_given && waits &&
           l->view.fits[0].guessed;
}

/* Returns the number that should be enough, by the only number that was measured. */
static double first_target(const struct look *l)
{
    double to = fmax(ceil(likely(l)->knee), 1);
    bool all = to >= NEARLY * l->most && gives(l, l->most) < l->view.demand;
    return all ? l->most : fmin(to, l->most);
}

/* Returns one worker less, if that is right for certain. */
static double fewer_do(const struct look *l)
{
    double n = l->now.workers;
    return n <= FEW && cw_scale_is_right(&l->view, n - 1) > SURE ? n - 1 : n;
}

/* Returns the next number: early, one whose trial tells most; late, the most probable one. */
static double next_target(struct look *l, bool early)
{
    bool bends = l->best_right < SURE_BEND && cw_scale_bends(&l->view) > LIKELY;
    double n = l->now.workers,
           bend = early && bends ? cw_scale_trial_of_bend(l->s, l->best, l->most) : 0;
    if (bend > 0) {
        l->trial = true;
        return bend;
    }
    double to = early ? cw_scale_most_telling(&l->view, n) : n;
    if (to == n && l->best_right > l->here_right + BETTER_BY)
        to = l->best;
    if (to == n && early && l->now.windows >= WINDOWS_SAVE)
        to = fewer_do(l);
    return l->now.wait > NEARLY_STALL * l->stall ? to : fmin(to, n);
}

static double target_of(struct look *l)
{
    bool early = l->s->moves < MOVES_MOST - 1 && l->s->age <= AGE_TRIAL;
    const struct cw_scale_tried t = cw_scale_tried_by(l->s);
    if (!isfinite(l->view.demand))
        return fmin(2 * l->now.workers, l->most);
    l->trial = true;
    if (early && is_one_unknown(l, &t))
        return fmax(floor(t.least / QUARTER), 1);
    if (is_priced(l))
        return cheapest(l);
    if (l->s->levels_n == 1)
        return first_target(l);
    l->trial = false;
    return next_target(l, early);
}

/* The last move is later where it is in doubt how the curve bends, since nothing follows. */
static bool may_move(const struct look *l)
{
    bool late = l->s->age <= AGE_BEND + 1 && cw_scale_bends(&l->view) > LIKELY;
    return l->s->moves < MOVES_MOST && (l->s->age <= CW_SCALE_AGE_FREE || late);
}

static void explain(const struct look *l, double to)
{
    double n = l->now.workers, t = l->now.given;
    if (to > n)
        cw_str_addf(l->reason,
                    "the trainer waits %.0f %% of its time and would take %.1f batches/s; %.0f "
                    "workers give %.1f, %.0f should give %.1f",
                    100 * l->now.wait, l->view.demand, n, t, to, gives(l, to));
    else if (l->now.wait > l->stall)
        cw_str_addf(l->reason,
                    "%.0f workers give %.1f batches/s, and %.0f should give as much: more workers "
                    "do not help",
                    n, t, to);
    else
        cw_str_addf(l->reason,
                    "the trainer takes %.1f batches/s and hardly waits; %.0f workers should be "
                    "enough",
                    l->view.demand, to);
}

static double rest_at(const struct look *l)
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
    if (l->now.given > s->converged.batches / s->converged.seconds * (1 + l->slack)) {
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

static void look_at(struct look *l)
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
static void forget_others(struct look *l)
{
    struct cw_scale_state *s = l->s;
    double again = s->phase_count, moves = s->moves;
    if (s->age < CONTRADICTION_AFTER * exp2(again) || l->now.windows < IN_A_ROW)
        return;
    s->levels_n = 0;
    cw_scale_level_keep(s, &l->now);
    cw_scale_look_anew(s);
    s->moves = fmin(moves, MOVES_MOST / 2);
    s->phase_count = fmin(again + 1, AGAIN_DOUBLINGS);
    look_at(l);
}

/* Whether what was measured while it rested leaves hardly a doubt that another number is right. If
 * there was no doubt when it settled, something has changed a little since, and what is measured
 * now does not fit what was measured then. The level of the present number stays what it was when
 * it settled: should something have changed already, that is what it was before. */
static bool is_clearly_wrong(struct look *l)
{
    const struct cw_scale_state before = *l->s;
    if (fmod(l->s->age, LOOK_EVERY) != 0 || is_priced(l))
        return false;
    look_at(l);
    if (l->here_right >= SURE)
        return false;
    cw_scale_level_keep(l->s, &l->now);
    look_at(l);
    *l->s = before;
    return l->view.n > 0 && l->view.misfit < CONTRADICTION &&
           l->best_right - l->here_right > FAR_BETTER &&
           (l->best < l->now.workers || l->now.wait > NEARLY_STALL * l->stall);
}

/* Whether the windows could decide something: not the first ones after a move, and then only each
 * second one, or each fourth of a number that may stay. */
static bool is_time_to_look(const struct look *l)
{
    double windows = l->now.windows, every = l->s->phase == CW_SCALE_STABLE ? LOOK_EVERY : 2;
    if (windows <= WINDOWS_LEAST_LARGE)
        return l->s->moves < 1 || l->hopeless || windows >= WINDOWS_LEAST;
    return fmod(windows, every) == 0 || l->s->age >= AGE_BEND;
}

static double decide_target(struct look *l)
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
    double to = target_of(l);
    if (!is_measured(l, to))
        return n;
    if (to != n && may_move(l))
        return go_to(l, to);
    rest_at(l);
    return try_again(l);
}

/* For a job that waits because other jobs have the workers that it lacks: it wants no more than
 * what helps, if its measurements show that already. */
static double ask_for_less(struct look *l)
{
    struct cw_scale_state *s = l->s;
    cw_scale_level_keep(s, &l->now);
    look_at(l);
    if (l->now.windows < WINDOWS_MOST || l->view.n == 0 || s->levels_n < 2 ||
        l->best >= floor(l->now.workers))
        return s->remote;
    return go_to(l, l->best);
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

/* Whether it is known what the present number gives. */
static bool is_known(struct look *l)
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
