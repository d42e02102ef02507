/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/scale_level.h"

#include <math.h>

#include "base/mem.h"
#include "policies/scale_int.h"

#define ODD 0.15     /* a window that differs from the median by more than this part is left out */
#define STRANGE 0.15 /* part of its time, or of what workers say they can give, that is missing */
#define LOST 0.2     /* a smaller part of its time is noise */
#define WINDOWS_STRANGE 4
#define WINDOWS_UNFOUNDED 8 /* the same where threads waited for nothing that explains it */
#define HELD 0.05
#define TWO_AGREE 0.2   /* two windows that differ by more than this part are both not trusted */
#define HOPELESS_S 12.0 /* a stumble of the machine is shorter */
#define HOPELESS_WAIT 0.9
/* a window with more batches than this ratio to what workers can compute got batches that were
 * ready before */
#define READY_BEFORE 1.15
#define AGREE_SIGMAS 3.0
#define NOISE_USUAL 0.03 /* the noise that is assumed until windows have shown theirs */
#define NOISE_WEIGHT 4

/* Returns the part of its time in which the trainer neither took a step nor waited: it did something
 * else, if that is much. */
static double lost_in(const struct cw_scale_window *w)
{
    double lost = w->seconds > 0 && w->step_s > 0
                      ? 1 - w->wait_share - w->batches * w->step_s / w->seconds
                      : 0;
    return lost > LOST && lost < 1 ? lost : 0;
}

static double given_in(const struct cw_scale_window *w)
{
    double t = w->seconds > 0 ? w->batches / w->seconds / (1 - lost_in(w)) : 0,
           n = w->remote + w->local;
    return w->rate > 0 && t > READY_BEFORE * n * w->rate ? n * w->rate : t;
}

static double demand_in(const struct cw_scale_window *w)
{
    if (w->step_s > 0)
        return 1 / w->step_s;
    double busy = w->seconds * (1 - w->wait_share);
    return busy > 0.02 * w->seconds ? w->batches / busy : 0;
}

/* Of the time that threads were within an element, the part that they computed. */
static double free_in(const struct cw_scale_window *w)
{
    const struct cw_thread_use *t = &w->threads;
    double within = t->computing + t->cpu + t->limit + t->source + t->store + t->inside;
    return within > 0 ? t->computing / within : 0;
}

/* The part of their time that threads waited for anything but the trainer. */
static double held_in(const struct cw_scale_window *w)
{
    const struct cw_thread_use *t = &w->threads;
    return t->cpu + t->limit + t->source + t->store + t->inside + t->network;
}

/* Of the time that threads computed or were held up, the part that they computed. */
static double yield_in(const struct cw_scale_window *w)
{
    double all = w->threads.computing + held_in(w);
    return all > 0 ? w->threads.computing / all : 0;
}

static double used_in(const struct cw_scale_window *w)
{
    const struct cw_thread_use *t = &w->threads;
    double all = t->computing + held_in(w) + t->trainer + t->lease;
    return all > 0 ? t->computing / all : 0;
}

static size_t last_alike(const struct cw_scale_state *s)
{
    size_t n = 0;
    const struct cw_scale_window *last = s->history + s->history_n - 1;
    while (n < s->history_n && last[-(ptrdiff_t)n].remote == last->remote &&
           last[-(ptrdiff_t)n].local == last->local)
        n++;
    return n;
}

bool cw_scale_level_is_at_most(const struct cw_scale_window *w)
{
    return w->batches > 0 && w->batches <= CW_SCALE_WAITED_FOR;
}

static void add(struct cw_scale_level *level, const struct cw_scale_window *w)
{
    level->windows++;
    level->at_most = fmax(level->at_most, cw_scale_level_is_at_most(w));
    level->given += (given_in(w) - level->given) / level->windows;
    level->demand += (demand_in(w) - level->demand) / level->windows;
    level->wait += (w->wait_share / (1 - lost_in(w)) - level->wait) / level->windows;
    level->rate += (w->rate - level->rate) / level->windows;
    level->free += (free_in(w) - level->free) / level->windows;
    level->yield += (yield_in(w) - level->yield) / level->windows;
    level->used += (used_in(w) - level->used) / level->windows;
    level->held += (held_in(w) - level->held) / level->windows;
}

static bool is_near(double value, double middle, size_t n)
{
    return fabs(value - middle) <= (n == 2 ? TWO_AGREE / 2 : ODD) * middle;
}

/* Whether the level may be a stumble of the machine: the trainer did something else than a step or
 * waiting, or waited although the workers could have given more. */
static bool is_strange(const struct cw_scale_level *l)
{
    double busy = l->demand > 0 ? l->given / l->demand : 1 - l->wait;
    return busy + l->wait < 1 - STRANGE ||
           (l->wait > CW_SCALE_WAITS &&
            l->given < (1 - STRANGE) * l->rate * (l->workers + l->local));
}

/* Returns how many windows must say the same before it is believed. */
static double windows_needed(const struct cw_scale_level *l)
{
    if (!is_strange(l))
        return 2;
    return l->free > 0 && l->held < HELD ? WINDOWS_UNFOUNDED : WINDOWS_STRANGE;
}

bool cw_scale_level_now(const struct cw_scale_state *s, struct cw_scale_level *ret)
{
    return cw_scale_level_last(s, CW_SCALE_HISTORY, ret);
}

bool cw_scale_level_hopeless(const struct cw_scale_state *s, struct cw_scale_level *ret)
{
    const struct cw_scale_window *w = s->history + s->history_n - 1;
    *ret = (struct cw_scale_level){.workers = w->remote, .local = w->local};
    add(ret, w);
    return w->seconds >= HOPELESS_S && w->wait_share >= HOPELESS_WAIT;
}

bool cw_scale_level_last(const struct cw_scale_state *s, size_t most, struct cw_scale_level *ret)
{
    double given[CW_SCALE_HISTORY], demand[CW_SCALE_HISTORY], rate[CW_SCALE_HISTORY];
    size_t n = CW_MIN(last_alike(s), most);
    const struct cw_scale_window *w = s->history + s->history_n - n;
    bool last_is_odd = true;
    if (n < 2)
        return false;
    for (size_t i = 0; i < n; i++) {
        given[i] = given_in(&w[i]);
        demand[i] = demand_in(&w[i]);
        rate[i] = w[i].rate;
    }
    double middle = cw_scale_median(given, n), demand_middle = cw_scale_median(demand, n),
           rate_middle = cw_scale_median(rate, n);
    *ret = (struct cw_scale_level){.workers = w->remote, .local = w->local};
    for (size_t i = 0; i < n; i++) {
        last_is_odd = !is_near(given[i], middle, n) || !is_near(demand[i], demand_middle, n) ||
                      !is_near(rate[i], rate_middle, n);
        if (!last_is_odd)
            add(ret, &w[i]);
    }
    return ret->windows >= windows_needed(ret) && !last_is_odd;
}

double cw_scale_level_demand(const struct cw_scale_level *l, double noise, double *ret_weight)
{
    double took = l->given * (1 + l->slower) / (1 - l->wait);
    *ret_weight = l->demand > 0 ? l->windows : 0;
    if (l->demand <= 0 || l->wait >= CW_SCALE_WAITS ||
        fabs(log(took / l->demand)) > AGREE_SIGMAS * noise * sqrt(2 / l->windows))
        return l->demand;
    *ret_weight *= 2;
    return sqrt(l->demand * took);
}

void cw_scale_level_keep(struct cw_scale_state *s, const struct cw_scale_level *level)
{
    size_t at = 0;
    while (at < s->levels_n &&
           (s->levels[at].workers != level->workers || s->levels[at].local != level->local ||
            s->levels[at].before != level->before))
        at++;
    if (at == s->levels_n && at == CW_SCALE_LEVELS)
        at = 0;
    if (at == s->levels_n)
        s->levels_n++;
    for (; at + 1 < s->levels_n; at++)
        s->levels[at] = s->levels[at + 1];
    s->levels[at] = *level;
}

void cw_scale_level_mend(struct cw_scale_state *s)
{
    size_t fewest = 0;
    bool impossible = false;
    for (size_t i = 1; i < s->levels_n; i++)
        if (s->levels[i].workers < s->levels[fewest].workers)
            fewest = i;
    const struct cw_scale_level *few = &s->levels[fewest];
    for (size_t i = 0; i < s->levels_n; i++)
        impossible =
            impossible ||
            (few->wait > CW_SCALE_WAITS && s->levels[i].windows > few->windows &&
             s->levels[i].before == few->before &&
             s->levels[i].given / s->levels[i].workers > READY_BEFORE * few->given / few->workers);
    if (!impossible)
        return;
    s->levels_n--;
    for (size_t i = fewest; i < s->levels_n; i++)
        s->levels[i] = s->levels[i + 1];
}

/* The differences between neighbours tell it, also while what is measured changes. */
double cw_scale_level_noise(const struct cw_scale_state *s)
{
    double sum = NOISE_WEIGHT * NOISE_USUAL * NOISE_USUAL, weight = NOISE_WEIGHT, before = 0;
    struct cw_scale_level level;
    if (!cw_scale_level_now(s, &level))
        return NOISE_USUAL;
    for (size_t i = s->history_n - last_alike(s); i < s->history_n; i++) {
        double now = given_in(&s->history[i]) / level.given;
        if (fabs(now - 1) > ODD)
            continue;
        if (before > 0) {
            sum += (now - before) * (now - before) / 2;
            weight++;
        }
        before = now;
    }
    return sqrt(sum / weight);
}
