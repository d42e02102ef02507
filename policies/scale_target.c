/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/scale_target.h"

#include <math.h>

#include "policies/scale_trial.h"
#include "policies/scale_watch.h"

#define UNBOUNDED ((double)INFINITY)
/* ---- windows ---- */
#define LARGE 20 /* more workers than this need a rate that was measured better */
#define WINDOWS_FIRST 2
#define WINDOWS_FIRST_LARGE 4
#define WINDOWS_WRONG 6 /* the most that are averaged with a number that is wrong, after one move */
#define WINDOWS_BEND 8  /* of a few workers that may show how a curve bends */
#define HOPELESS_S 12.0 /* so long is waited with a number if a smaller one gives much more, */
#define HOPELESS_LESS 3 /* at least so many times as much */
#define WINDOWS_SAVE 6  /* number of windows before one tries to do with fewer */
#define AGE_TRIAL 20    /* no trial begins later, since its end might be missed */
/* ---- probabilities ---- */
#define SURE_SAVE 0.99
#define SURE_BEND 0.995 /* where it is to be known how a curve bends */
#define BETTER_BY 0.01  /* by how much more probable another number must be */
/* ---- numbers of workers ---- */
#define FEW 12        /* up to this number one worker less is worth a move */
#define QUARTER 4     /* by what the number is divided if it is not known what one worker gives */
#define NEARLY 0.85   /* if nearly all workers are needed, all are tried, which shows more */
#define TOLD_MORE 1.1 /* workers say that they could give so many times what they gave */
#define AS_MUCH 0.952

/* Returns the most probable explanation that does not guess what one worker gives. */
static const struct cw_scale_fit *likely(const struct cw_scale_look *l)
{
    size_t i = 0;
    while (i + 1 < l->view.n && l->view.fits[i].guessed)
        i++;
    return &l->view.fits[i];
}

/* Returns the expected rate of so many workers. */
static double gives(const struct cw_scale_look *l, double n)
{
    return cw_scale_fit_gives(likely(l), n);
}

/* Whether too many workers may give less, and the present number is to show how the curve bends.
 * The time that is left belongs to the numbers far above and far below the right one: there it
 * shows. */
static bool shows_bend(const struct cw_scale_look *l)
{
    double windows = l->now.windows, left = CW_SCALE_AGE_BEND - (l->s->age - windows);
    if (l->s->moves < 1 || l->best_right >= SURE_BEND ||
        cw_scale_bends(&l->view) <= CW_SCALE_LIKELY)
        return false;
    if (!cw_scale_shows_bend(l->now.workers, l->best, l->most))
        return l->best < FEW && windows < fmin(WINDOWS_BEND, left);
    return windows < (cw_scale_trial_of_bend(l->s, l->best, l->most) > 0 ? left / 2 : left);
}

/* Whether the trainer has waited for so long with the present number, and fewer workers should give
 * so much more, that nothing is gained by staying. Where too many workers give nearly nothing, a
 * window takes minutes. */
static bool is_hopeless(const struct cw_scale_look *l, double to)
{
    double seconds = l->now.windows * l->s->history[l->s->history_n - 1].seconds;
    return to < l->now.workers && seconds >= HOPELESS_S &&
           ((l->hopeless && l->trial) || gives(l, to) > HOPELESS_LESS * l->now.given);
}

bool cw_scale_look_is_measured(const struct cw_scale_look *l, double to)
{
    double windows = l->now.windows, left = CW_SCALE_AGE_FREE - 1 - (l->s->age - windows);
    bool large = l->best >= LARGE, wrong = l->s->moves > 1 && l->here_right < 1 - CW_SCALE_SURE;
    if (is_hopeless(l, to))
        return true;
    if (to == l->now.workers && l->here_right >= CW_SCALE_SURE)
        return windows >= (to > 1 && to <= FEW ? WINDOWS_SAVE : CW_SCALE_WINDOWS_LEAST);
    if (l->s->moves < 1 && to >= l->now.workers)
        return windows >= (large ? WINDOWS_FIRST_LARGE : WINDOWS_FIRST);
    if (windows < (large                 ? CW_SCALE_WINDOWS_LEAST_LARGE
                   : to > l->now.workers ? CW_SCALE_IN_A_ROW
                                         : CW_SCALE_WINDOWS_LEAST))
        return false;
    if (to < l->now.workers && l->now.wait <= l->stall && windows < WINDOWS_SAVE)
        return false; /* nobody waits for it */
    if (shows_bend(l))
        return false;
    if (l->trial || windows >= fmin(wrong ? WINDOWS_WRONG : CW_SCALE_WINDOWS_MOST, left))
        return true;
    return l->here_right < CW_SCALE_LIKELY ? cw_scale_sharpness(&l->view, to) >= CW_SCALE_SURE
                                           : cw_scale_is_right(&l->view, to) >= SURE_SAVE;
}

bool cw_scale_look_is_priced(const struct cw_scale_look *l)
{
    return l->options->client_price > 0 && l->options->worker_price > 0;
}

/* Returns the number of workers with which a batch costs least. */
static double cheapest(const struct cw_scale_look *l)
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
static bool is_one_unknown(const struct cw_scale_look *l, const struct cw_scale_tried *t)
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
static double first_target(const struct cw_scale_look *l)
{
    double to = fmax(ceil(likely(l)->knee), 1);
    bool all = to >= NEARLY * l->most && gives(l, l->most) < l->view.demand;
    return all ? l->most : fmin(to, l->most);
}

/* Returns one worker less, if that is right for certain. */
static double fewer_do(const struct cw_scale_look *l)
{
    double n = l->now.workers;
    return n <= FEW && cw_scale_is_right(&l->view, n - 1) > CW_SCALE_SURE ? n - 1 : n;
}

/* Returns the next number: early, one whose trial tells most; late, the most probable one. */
static double next_target(struct cw_scale_look *l, bool early)
{
    bool bends = l->best_right < SURE_BEND && cw_scale_bends(&l->view) > CW_SCALE_LIKELY;
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
    return l->now.wait > CW_SCALE_NEARLY_STALL * l->stall ? to : fmin(to, n);
}

double cw_scale_look_target(struct cw_scale_look *l)
{
    bool early = l->s->moves < CW_SCALE_MOVES_MOST - 1 && l->s->age <= AGE_TRIAL;
    const struct cw_scale_tried t = cw_scale_tried_by(l->s);
    if (!isfinite(l->view.demand))
        return fmin(2 * l->now.workers, l->most);
    l->trial = true;
    if (early && is_one_unknown(l, &t))
        return fmax(floor(t.least / QUARTER), 1);
    if (cw_scale_look_is_priced(l))
        return cheapest(l);
    if (l->s->levels_n == 1)
        return first_target(l);
    l->trial = false;
    return next_target(l, early);
}

/* Says why a trainer that waits gets fewer workers. */
static void explain_fewer(const struct cw_scale_look *l, double to)
{
    double n = l->now.workers, now = l->now.given, then = gives(l, to);
    if (then * AS_MUCH > now)
        cw_str_addf(l->reason,
                    "%.0f workers give %.1f batches/s, and %.0f should give %.1f: fewer give more",
                    n, now, to, then);
    else if (cw_scale_look_is_priced(l))
        cw_str_addf(l->reason,
                    "%.0f workers give %.1f batches/s; with %.0f, which should give %.1f, a batch "
                    "costs less",
                    n, now, to, then);
    else if (then > AS_MUCH * now)
        cw_str_addf(l->reason,
                    "%.0f workers give %.1f batches/s, and %.0f should give as much: more workers "
                    "do not help",
                    n, now, to);
    else
        cw_str_addf(l->reason,
                    "%.0f workers give %.1f batches/s: %.0f %s tried, which shows what fewer give",
                    n, now, to, to == 1 ? "is" : "are");
}

void cw_scale_look_reason(const struct cw_scale_look *l, double to)
{
    double n = l->now.workers;
    if (to > n)
        cw_str_addf(l->reason,
                    "the trainer waits %.0f %% of its time and would take %.1f batches/s; %.0f %s "
                    "%.1f, %.0f should give %.1f",
                    100 * l->now.wait, l->view.demand, n, n == 1 ? "worker gives" : "workers give",
                    l->now.given, to, gives(l, to));
    else if (l->now.wait > l->stall)
        explain_fewer(l, to);
    else
        cw_str_addf(l->reason,
                    "the trainer takes %.1f batches/s and hardly waits; %.0f worker%s should be "
                    "enough",
                    l->view.demand, to, to == 1 ? "" : "s");
}
