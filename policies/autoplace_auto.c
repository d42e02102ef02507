/* SPDX-License-Identifier: Apache-2.0 */
/* The autoplace policy `auto`, which is the default: the remote and local workers with which a batch
 * costs least, of all numbers that are, but for max_stall, as fast as any. A local worker costs
 * nothing, but it may be slower than a remote one, and it may make the trainer's step longer.
 *
 * It estimates, as autoscale `auto` does: from what it measured with a few numbers of workers it
 * draws worlds that explain it (place_worlds.h). As many of them as call some numbers right, so
 * probable is it that they are.
 *
 *   try       the numbers whose trial tells most worlds apart
 *   go        to the numbers that are right in almost all, or in most when there is no time left
 *   rest      until the trainer, its host or the workers have changed (scale_watch.h), or what it
 *             measures leaves no doubt that other numbers are right
 *
 * Six moves at most. If a trainer waits because more workers do not help, it forgets after 150
 * windows that they did not, then after 300, and so on. Without prices it takes those that Pecan
 * was published with. */
#include "policies/scale_int.h"

#include <math.h>
#include <string.h>

#include "policies/place_tried.h"
#include "policies/place_worlds.h"
#include "policies/scale_level.h"
#include "policies/scale_watch.h"

#define STALL 0.05
#define CLIENT_PRICE 4.96
#define WORKER_PRICE 0.427319
#define LOCAL_MOST 10
#define COST_SLACK 0.05 /* numbers that cost so much more are not right */
/* ---- windows and moves ---- */
#define MOVES_MOST 6
#define WINDOWS_FIRST 4
#define WINDOWS_LEAST 5
#define WINDOWS_SAVE 6  /* number of windows before one tries to do with fewer */
#define WINDOWS_MOST 14 /* the most windows that are averaged before a move */
#define AGE_TRIAL 22    /* no trial begins later, since its end might be missed */
#define AGE_LAST 26     /* what is to be done is done now */
#define LOOK_EVERY 4
#define AGAIN_AFTER 150
#define AGAIN_LESS 20
#define AGAIN_DOUBLINGS 8
#define CONTRADICTION 60 /* misfit of levels that contradict each other */
/* ---- probabilities ---- */
#define SURE 0.98
#define LIKELY 0.5
#define UNSURE 0.94 /* what is less probable needs another trial */
#define STEP_CHANGED 0.05
#define HOPELESS 0.6 /* the trainer waits this part of its time */
#define UNBOUNDED ((double)INFINITY)
#define BETTER_BY 0.05 /* by how much more probable other numbers must be */

struct look { /* the input and the results of one decision */
    struct cw_scale_state *s;
    struct cw_place_limits limits;
    double stall; /* part of its time that the trainer may wait */
    struct cw_scale_level now;
    struct cw_place_numbers here;
    double here_right;
    struct cw_place_view view;
    struct cw_str *reason;
};

static bool is_same(struct cw_place_numbers a, struct cw_place_numbers b)
{
    return a.remote == b.remote && a.local == b.local;
}

static void look_at(struct look *l)
{
    cw_place_imagine(&l->view, l->s, &l->limits);
    l->here_right = l->view.known ? cw_place_is_right(&l->view, l->here) : 0;
}

static const struct cw_place_choice *best_of(const struct look *l)
{
    return &l->view.choices[0];
}

static void explain(const struct look *l, struct cw_place_numbers to)
{
    cw_str_addf(l->reason,
                "with %.0f remote and %.0f local workers the trainer gets %.1f batches/s and waits "
                "%.0f %% of its time; %.0f and %.0f should give %.1f",
                l->now.workers, l->now.local, l->now.given, 100 * l->now.wait, to.remote, to.local,
                cw_place_gives(&l->view, to));
    double slower = cw_place_slower(&l->view, to);
    if (slower > 0.01)
        cw_str_addf(l->reason, ", with steps that are %.0f %% longer", 100 * slower);
    cw_str_addf(l->reason,
                ": they are the cheapest that are fast enough with a probability of "
                "%.0f %%",
                100 * cw_place_is_right(&l->view, to));
}

static struct cw_place_numbers go_to(const struct look *l, struct cw_place_numbers to)
{
    explain(l, to);
    l->s->moves++;
    l->s->phase = CW_SCALE_REMOTE_UP;
    return to;
}

static struct cw_place_numbers rest_at(const struct look *l)
{
    struct cw_scale_state *s = l->s;
    if (s->phase != CW_SCALE_STABLE)
        s->calm = 0;
    s->phase = CW_SCALE_STABLE;
    s->converged = (struct cw_scale_window){.seconds = l->now.windows,
                                            .batches = l->now.windows * l->now.given,
                                            .wait_share = l->now.wait,
                                            .rate = l->now.rate,
                                            .step_s = l->now.demand > 0 ? 1 / l->now.demand : 0,
                                            .remote = l->now.workers,
                                            .local = l->now.local};
    return l->here;
}

/* Forgets the other levels: something changed while they were measured, or may have. */
static void forget_others(struct look *l)
{
    l->s->levels_n = 0;
    cw_scale_level_keep(l->s, &l->now);
    look_at(l);
}

/* Returns the numbers with the fewest workers of those that are as surely right as the present. */
static struct cw_place_numbers fewest_of_equals(const struct look *l)
{
    struct cw_place_numbers fewest = l->here;
    for (size_t i = 0; i < l->view.choices_n && l->here_right >= SURE; i++) {
        const struct cw_place_choice *c = &l->view.choices[i];
        if (c->right >= l->here_right && c->n.remote <= fewest.remote && c->n.local <= fewest.local)
            fewest = c->n;
    }
    return fewest;
}

/* Whether it is known what the trainer does without local workers, or cannot be. */
static bool is_alone_known(const struct look *l)
{
    bool known = l->limits.remote < 1;
    for (size_t i = 0; i < l->s->levels_n; i++)
        known = known || (l->s->levels[i].local < 1 && l->s->levels[i].demand > 0);
    return known;
}

/* Whether the present numbers tell nothing more, and something else must. */
static bool is_told_enough(const struct look *l)
{
    return l->s->moves >= 1 && l->now.used > 0 && best_of(l)->right < UNSURE;
}

/* Returns the most probable numbers that are not thought to be slower than those that were tried and gave
 * most: these, if there are no others. */
static struct cw_place_numbers best_not_slower(const struct look *l, double *ret_right)
{
    const struct cw_scale_level *most = cw_place_gave_most(l->s, &l->limits);
    const struct cw_place_numbers tried =
        most ? (struct cw_place_numbers){most->workers, most->local} : l->here;
    const double gives = most ? cw_place_gives(&l->view, tried) : 0;
    for (size_t i = 0; i < l->view.choices_n; i++) {
        const struct cw_place_choice *c = &l->view.choices[i];
        *ret_right = c->right;
        if (cw_place_gives(&l->view, c->n) * (1 + l->limits.slack) >= gives)
            return c->n;
    }
    *ret_right = 1;
    return tried;
}

/* Returns the next numbers, and whether that is a trial. */
static struct cw_place_numbers next_of(const struct look *l, bool *ret_trial)
{
    bool early = l->s->moves < MOVES_MOST - 1 && l->s->age <= AGE_TRIAL;
    const struct cw_place_choice *best = best_of(l);
    *ret_trial = false;
    if (early && l->s->doubt > 0 && !is_alone_known(l)) {
        *ret_trial = true;
        return (struct cw_place_numbers){fmin(l->here.remote + l->here.local, l->limits.remote), 0};
    }
    if (best->right < SURE && early) {
        struct cw_place_numbers to = cw_place_most_telling(&l->view, l->here, is_told_enough(l));
        *ret_trial = !is_same(to, l->here);
        if (*ret_trial)
            return to;
    }
    if (early && l->s->moves >= 1 && is_same(best->n, l->here) && l->now.wait > l->stall &&
        l->here.local < l->limits.local && cw_place_is_most(l->s, l->here)) {
        *ret_trial = true;
        return (struct cw_place_numbers){l->here.remote, l->here.local + 1};
    }
    double right;
    const struct cw_place_numbers last = best_not_slower(l, &right);
    if (right > l->here_right + BETTER_BY) {
        *ret_trial = l->s->moves < 1; /* nothing is known yet that more windows could improve */
        return last;
    }
    return early && l->now.windows >= WINDOWS_SAVE ? fewest_of_equals(l) : l->here;
}

/* Whether fewer workers might do as well. */
static bool has_fewer(const struct look *l)
{
    return !is_same(fewest_of_equals(l), l->here);
}

static bool is_measured(const struct look *l, bool trial)
{
    double windows = l->now.windows;
    if (windows < (l->s->moves < 1 ? WINDOWS_FIRST : WINDOWS_LEAST))
        return false;
    return trial || windows >= WINDOWS_MOST || l->s->age >= AGE_LAST ||
           (best_of(l)->right >= SURE && (windows >= WINDOWS_SAVE || !has_fewer(l)));
}

static bool is_time_to_look(const struct look *l)
{
    double windows = l->now.windows, every = l->s->phase == CW_SCALE_STABLE ? LOOK_EVERY : 2;
    if (windows <= WINDOWS_LEAST + 1 || l->s->age >= AGE_LAST)
        return l->s->moves < 1 || windows >= WINDOWS_LEAST;
    return fmod(windows, every) == 0;
}

/* Whether workers say that so many remote ones are too many, although they were needed once, that
 * this is no longer as cheap. */
static bool seems_too_many(const struct look *l)
{
    double client = l->limits.client_price, worker = l->limits.worker_price, n = l->now.workers,
           spare = ceil(COST_SLACK * (client + n * worker) / worker),
           others = n + l->now.local - spare;
    return n >= spare && l->now.rate * others > (1 + l->limits.slack) * l->now.given;
}

/* A ceiling that was lifted does not show with just enough workers below it, nor that a bad time is
 * over with too many. */
static void try_again(struct look *l)
{
    struct cw_scale_state *s = l->s;
    bool waits = l->now.wait > l->stall;
    if ((!waits && !seems_too_many(l)) ||
        ++s->calm < (waits ? AGAIN_AFTER : AGAIN_LESS) * exp2(s->phase_count))
        return;
    look_at(l);
    if (!waits && l->here_right > LIKELY &&
        l->now.used > 0) { /* what else was measured explains it */
        s->calm = 0;
        return;
    }
    double again = fmin(s->phase_count + 1, AGAIN_DOUBLINGS);
    forget_others(l);
    cw_scale_look_anew(s);
    s->phase_count = again;
}

/* Whether what was measured while it rested leaves no doubt that other numbers are right. The level
 * of the present ones stays what it was when it settled. */
static bool is_clearly_wrong(struct look *l)
{
    const struct cw_scale_state before = *l->s;
    if (fmod(l->s->age, LOOK_EVERY) != 0)
        return false;
    cw_scale_level_keep(l->s, &l->now);
    look_at(l);
    *l->s = before;
    return l->view.known && l->view.misfit < CONTRADICTION && best_of(l)->right > LIKELY &&
           l->here_right < 1 - SURE;
}

/* Forgets what is of no use after a change. If the step is not what it was, it is not known what
 * became of the trainer and its host, and the trainer must be seen alone. If nothing says what the
 * workers' threads do, a lower ceiling cannot be told from a bad time of the workers. */
static void forget(struct cw_scale_state *s, double step_s)
{
    double step = 0, computing = 0;
    for (size_t i = 0; i < s->history_n; i++) {
        step += s->history[i].step_s / (double)s->history_n;
        computing += s->history[i].threads.computing;
    }
    s->doubt = step_s > 0 && step > 0 && fabs(step / step_s - 1) > STEP_CHANGED;
    if (s->doubt > 0 || computing <= 0)
        s->levels_n = 0;
}

/* Goes back to numbers that gave more; NULL: there are none. */
static struct cw_place_numbers go_back(const struct look *l, const struct cw_scale_level *best)
{
    if (!best)
        return (struct cw_place_numbers){l->now.workers, l->now.local};
    cw_str_addf(l->reason,
                "with %.0f remote and %.0f local workers the trainer waits %.0f %% of its time: "
                "back to %.0f and %.0f",
                l->now.workers, l->now.local, 100 * l->now.wait, best->workers, best->local);
    l->s->moves++;
    return (struct cw_place_numbers){best->workers, best->local};
}

/* What was measured in the long run: the trainer waits, and other numbers that cost no more gave more. */
static const struct cw_scale_level *better_one(const struct look *l)
{
    const bool may = l->now.wait > l->stall && l->s->moves < MOVES_MOST;
    return may ? cw_place_was_better(l->s, &l->limits, &l->now) : NULL;
}

static struct cw_place_numbers decide_numbers(struct look *l)
{
    struct cw_scale_state *s = l->s;
    bool trial;
    bool rests = s->phase == CW_SCALE_STABLE && s->age > CW_SCALE_AGE_FREE;
    if (rests && l->now.windows > CW_SCALE_WINDOWS_DRIFT) {
        const double step_s = s->converged.step_s;
        if (is_clearly_wrong(l)) {
            if (!cw_scale_watch_doubted(s, l->stall))
                return go_to(l, best_of(l)->n);
            forget(s, step_s);
            return l->here;
        }
        const struct cw_scale_level *better = better_one(l);
        if (better) {
            s->phase = CW_SCALE_REMOTE_UP;
            return go_back(l, better);
        }
        try_again(l);
        return l->here;
    }
    cw_scale_level_keep(s, &l->now);
    if (rests)
        return rest_at(l);
    if (!is_time_to_look(l))
        return l->here;
    look_at(l);
    if (l->view.misfit > CONTRADICTION && l->now.windows >= WINDOWS_LEAST && s->age <= AGE_TRIAL)
        forget_others(l); /* while there is time for a trial */
    if (!l->view.known)
        return rest_at(l);
    struct cw_place_numbers to = next_of(l, &trial);
    if (!is_measured(l, trial))
        return l->here;
    bool may_move = s->moves < MOVES_MOST && s->age <= CW_SCALE_AGE_FREE;
    return is_same(to, l->here) || !may_move ? rest_at(l) : go_to(l, to);
}

/* Whether the first two windows with other numbers gave so little that no more are needed. */
static bool is_hopeless(struct look *l)
{
    struct cw_scale_state *s = l->s;
    const struct cw_scale_window *w = &s->history[s->history_n - 1];
    double gave = 0;
    if (!cw_place_gave_most(l->s, &l->limits) || cw_place_was_tried(s, w) ||
        s->phase == CW_SCALE_STABLE || s->history_n < 3 || w[-1].remote != w->remote ||
        w[-1].local != w->local || (w[-2].remote == w->remote && w[-2].local == w->local))
        return false;
    for (int i = -1; i <= 0; i++)
        gave = fmax(gave, w[i].wait_share < HOPELESS ? UNBOUNDED : w[i].batches / w[i].seconds);
    if (gave > cw_place_gave_most(l->s, &l->limits)->given / 2)
        return false;
    l->now = (struct cw_scale_level){.workers = w->remote,
                                     .local = w->local,
                                     .windows = 1,
                                     .given = gave,
                                     .demand = w->step_s > 0 ? 1 / w->step_s : 0,
                                     .wait = w->wait_share,
                                     .rate = w->rate,
                                     .at_most = cw_scale_level_is_at_most(w) &&
                                                cw_scale_level_is_at_most(w - 1)};
    cw_scale_level_keep(s, &l->now);
    return true;
}

/* Whether the job gets fewer workers than it wants, because other jobs have the rest of the fleet,
 * or the client can start no more. */
static bool is_cut(const struct cw_place_limits *limits, struct cw_scale_state *s,
                   struct cw_policy_decision *d)
{
    if (s->remote <= limits->remote && s->local <= limits->local)
        return false;
    cw_str_addf(&d->reason, "no more than %.0f remote and %.0f local workers are to be had",
                limits->remote, limits->local);
    double local = fmin(s->local, limits->local), remote = fmin(s->remote, limits->remote);
    if (remote + local < 1)
        remote = limits->remote >= 1, local = 1 - remote;
    cw_scale_look_anew(s);
    s->moves = 1;
    cw_scale_target(s, d, remote, local);
    return true;
}

/* Begins, or begins anew when there are remote workers for the first time or no more. */
static void begin(struct cw_scale_state *s, const struct cw_scale_window *w, bool here,
                  struct cw_policy_decision *d)
{
    if (s->phase == CW_SCALE_BEGIN && s->remote + s->local < 1)
        s->remote = w->remote, s->local = w->local;
    if (s->phase == CW_SCALE_BEGIN)
        s->phase = CW_SCALE_REMOTE_UP;
    else if (s->here != here)
        cw_scale_look_anew(s);
    s->here = here;
    cw_scale_target(s, d, s->remote, s->local);
}

static int decide(const struct cw_scale_window *window, const struct cw_scale_available *available,
                  const struct cw_scale_options *options, const char *argument,
                  struct cw_scale_state *s, struct cw_policy_decision *d, struct cw_err *err)
{
    (void)argument, (void)err;
    double slack = cw_scale_or(options->max_stall, STALL);
    bool here = available->remote < 1 && available->local >= 1,
         priced = options->client_price > 0 && options->worker_price > 0;
    struct look l = {
        .s = s,
        .stall = slack / (1 + slack),
        .limits = {.remote = here ? 0 : cw_scale_clamp_now(UNBOUNDED, available, options),
                   .local = fmin(cw_scale_or(options->max_local, LOCAL_MOST), available->local),
                   .slack = slack,
                   .client_price = priced ? options->client_price : CLIENT_PRICE,
                   .worker_price = priced ? options->worker_price : WORKER_PRICE},
        .here = {window->remote, window->local},
        .reason = &d->reason};
    begin(s, window, here, d);
    /* the workers of the last decision have not all arrived yet */
    if (is_cut(&l.limits, s, d) || window->remote != s->remote || window->local != s->local)
        return 0;
    cw_scale_remember(s, window);
    s->age++;
    double step_s = s->converged.step_s;
    if (cw_scale_watch_rest(s, l.stall))
        forget(s, step_s);
    if (is_hopeless(&l)) {
        const struct cw_place_numbers back = go_back(&l, cw_place_gave_most(s, &l.limits));
        cw_scale_target(s, d, back.remote, back.local);
    } else if (cw_scale_level_now(s, &l.now)) {
        struct cw_place_numbers to = decide_numbers(&l);
        cw_scale_target(s, d, to.remote, to.local);
    }
    d->settled = s->phase == CW_SCALE_STABLE;
    return 0;
}

const struct cw_scale_policy cw_policy_autoplace_auto = {
    .name = "auto",
    .summary = "lowest cost within a slowdown; host contention measured (default)",
    .places = true,
    .decide = decide};
