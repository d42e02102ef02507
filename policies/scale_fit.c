/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/scale_fit.h"

#include <math.h>

#include "policies/scale_int.h"

#define UNBOUNDED ((double)INFINITY)
#define ODD 0.15     /* a window that differs from the median by more than this part is left out */
#define STRANGE 0.15 /* part of its time, or of what workers say they can give, that is missing */
#define WINDOWS_STRANGE 4
#define TWO_AGREE 0.2 /* two windows that differ by more than this part are both not trusted */
/* a window with more batches than this ratio to what workers can compute got batches that were
 * ready before */
#define READY_BEFORE 1.15
#define NOISE_USUAL 0.03 /* the noise that is assumed until windows have shown theirs */
#define NOISE_WEIGHT 4
#define WAITS 0.02 /* a trainer that waits this part of its time is limited by its workers */
#define FLAT 0.952
#define AS_MUCH 0.97 /* a rate that is at least this part of another one counts as equal */
#define ALIKE 0.1
#define MANY_MORE 1.3
#define AS_BEFORE 0.06
#define WEIGHT_BEFORE 4
/* a worker that is held up for less than this part of its time counts as not held up */
#define LITTLE 0.1
/* two ways of measuring the same agree within so many standard deviations */
#define AGREE_SIGMAS 3.0
#define AGREE_BIAS 0.01
#define PARAMETER 4.0 /* the reduction of the misfit that a ceiling or a bend must bring */
#define BEND_LEAST 1e-7
#define BEND_MOST 1.0
#define GOLDEN_STEPS 24

/* ---- levels ---- */

static double given_in(const struct cw_scale_window *w)
{
    double t = w->seconds > 0 ? w->batches / w->seconds : 0, n = w->remote;
    return w->rate > 0 && t > READY_BEFORE * n * w->rate ? n * w->rate : t;
}

static double demand_in(const struct cw_scale_window *w)
{
    if (w->step_s > 0)
        return 1 / w->step_s;
    double busy = w->seconds * (1 - w->wait_share);
    return busy > 0.02 * w->seconds ? w->batches / busy : 0;
}

static size_t last_alike(const struct cw_scale_state *s)
{
    size_t n = 0;
    while (n < s->history_n &&
           s->history[s->history_n - 1 - n].remote == s->history[s->history_n - 1].remote)
        n++;
    return n;
}

static void add(struct cw_scale_level *level, const struct cw_scale_window *w)
{
    level->windows++;
    level->given += (given_in(w) - level->given) / level->windows;
    level->demand += (demand_in(w) - level->demand) / level->windows;
    level->wait += (w->wait_share - level->wait) / level->windows;
    level->rate += (w->rate - level->rate) / level->windows;
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
           (l->wait > WAITS && l->given < (1 - STRANGE) * l->rate * l->workers);
}

bool cw_scale_level_now(const struct cw_scale_state *s, struct cw_scale_level *ret)
{
    double given[CW_SCALE_HISTORY], demand[CW_SCALE_HISTORY];
    size_t n = last_alike(s);
    const struct cw_scale_window *w = s->history + s->history_n - n;
    bool last_is_odd = true;
    if (n < 2)
        return false;
    for (size_t i = 0; i < n; i++) {
        given[i] = given_in(&w[i]);
        demand[i] = demand_in(&w[i]);
    }
    double middle = cw_scale_median(given, n), demand_middle = cw_scale_median(demand, n);
    *ret = (struct cw_scale_level){.workers = w->remote};
    for (size_t i = 0; i < n; i++) {
        last_is_odd = !is_near(given[i], middle, n) || !is_near(demand[i], demand_middle, n);
        if (!last_is_odd)
            add(ret, &w[i]);
    }
    return ret->windows >= (is_strange(ret) ? WINDOWS_STRANGE : 2) && !last_is_odd;
}

void cw_scale_level_keep(struct cw_scale_state *s, const struct cw_scale_level *level)
{
    size_t at = 0;
    while (at < s->levels_n && s->levels[at].workers != level->workers)
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
        impossible = impossible || (few->wait > WAITS && s->levels[i].windows > few->windows &&
                                    s->levels[i].given / s->levels[i].workers >
                                        READY_BEFORE * few->given / few->workers);
    if (!impossible)
        return;
    s->levels_n--;
    for (size_t i = fewest; i < s->levels_n; i++)
        s->levels[i] = s->levels[i + 1];
}

/* ---- what n workers can give, and how certain that is ---- */

struct point {
    double n, capacity, weight; /* weight: a number of windows */
    bool at_least;              /* the workers may be able to give more: the trainer took no more */
};
struct points {
    struct point p[CW_SCALE_LEVELS + 2];
    size_t n;
    double noise, demand_weight;
};

/* Returns the relative noise of one window; a small one is assumed until there are enough
 * windows. */
static double noise_of(const struct cw_scale_state *s)
{
    double sum = NOISE_WEIGHT * NOISE_USUAL * NOISE_USUAL, weight = NOISE_WEIGHT;
    struct cw_scale_level level;
    if (!cw_scale_level_now(s, &level))
        return NOISE_USUAL;
    size_t n = last_alike(s);
    for (size_t i = s->history_n - n; i < s->history_n; i++) {
        double off = given_in(&s->history[i]) / level.given - 1;
        if (fabs(off) > ODD)
            continue;
        sum += off * off;
        weight++;
    }
    return sqrt(sum / (weight - 1));
}

static void mix(double *value, double *weight, double more, double of_weight, double noise)
{
    double differs = fabs(log(more / *value));
    if (differs > AGREE_SIGMAS * noise * sqrt(1 / *weight + 1 / of_weight) + AGREE_BIAS)
        return;
    *value = exp((log(*value) * *weight + log(more) * of_weight) / (*weight + of_weight));
    *weight += of_weight;
}

/* Makes the point of one level. For a trainer that waits there are three ways to measure the same:
 * what it took, the rates that its workers report, and its demand less the part of its time that it
 * waited. */
static struct point point_of(const struct cw_scale_level *l, double demand, double demand_weight,
                             double noise)
{
    struct point p = {l->workers, l->given, l->windows, l->wait < WAITS};
    if (p.at_least)
        return p;
    if (demand > 0 && l->wait < 0.9) {
        double of_wait = l->wait / (1 - l->wait);
        double variance = of_wait * of_wait / l->windows + 1 / demand_weight;
        mix(&p.capacity, &p.weight, demand * (1 - l->wait), 1 / variance, noise);
    }
    if (l->rate > 0)
        mix(&p.capacity, &p.weight, l->rate * l->workers, l->windows, noise);
    return p;
}

/* ---- fitting ---- */

static double shape_at(const struct cw_scale_fit *fit, double n)
{
    return n / (1 + (fit->contention + fit->congestion * n) * fmax(n - 1, 0));
}

static bool is_linear(const struct cw_scale_fit *fit)
{
    return fit->contention <= 0 && fit->congestion <= 0;
}

/* Fits rate and ceiling for this shape and these bends, if more workers than `last` are limited by
 * a ceiling. Returns false if there is no point on one of the sides. */
static bool fit_split(struct cw_scale_fit *fit, const struct points *points, double last)
{
    double rate = 0, rate_weight = 0, flat = 0, flat_weight = 0, misfit = 0;
    for (size_t i = 0; i < points->n; i++) {
        const struct point *p = &points->p[i];
        if (p->at_least)
            continue;
        if (p->n <= last) {
            rate += p->weight * log(p->capacity / shape_at(fit, p->n));
            rate_weight += p->weight;
        } else {
            flat += p->weight * log(p->capacity);
            flat_weight += p->weight;
        }
    }
    if (rate_weight <= 0 || (flat_weight <= 0 && isfinite(last)))
        return false;
    fit->rate = exp(rate / rate_weight);
    fit->ceiling = flat_weight > 0 ? exp(flat / flat_weight) : UNBOUNDED;
    fit->error = points->noise * sqrt(1 / rate_weight +
                                      1 / (flat_weight > 0 ? flat_weight : points->demand_weight));
    for (size_t i = 0; i < points->n; i++) {
        const struct point *p = &points->p[i];
        double off = log(p->capacity / fmin(fit->rate * shape_at(fit, p->n), fit->ceiling));
        if (!p->at_least || off > 0)
            misfit += p->weight * off * off;
    }
    fit->misfit = misfit / (points->noise * points->noise) +
                  PARAMETER * ((fit->contention > 0) * (1 + (flat_weight > 0)) +
                               (fit->congestion > 0) + (flat_weight > 0));
    return true;
}

enum bends { CONTENTION = 1, CONGESTION = 2 };

struct search { /* the parameters of a search with one split */
    const struct points *points;
    double last;
    unsigned bends;
    struct cw_scale_fit best;
};

static double misfit_at(struct search *search, double log_a, double log_b)
{
    struct cw_scale_fit fit = {.contention = search->bends & CONTENTION ? exp(log_a) : 0,
                               .congestion = search->bends & CONGESTION ? exp(log_b) : 0};
    if (!fit_split(&fit, search->points, search->last))
        return UNBOUNDED;
    if (fit.misfit < search->best.misfit)
        search->best = fit;
    return fit.misfit;
}

/* Finds the least misfit along one bend, and along the other one for each value of it if `other` is
 * given. */
static double golden(struct search *search, unsigned along, unsigned other, double fixed)
{
    const double part = 0.6180339887;
    double low = log(BEND_LEAST), high = log(BEND_MOST),
           at[2] = {high - part * (high - low), low + part * (high - low)};
    double misfit[2] = {UNBOUNDED, UNBOUNDED};
    for (int i = -2; i < GOLDEN_STEPS; i++) {
        int side = i < 0 ? i + 2 : misfit[0] < misfit[1] ? 0 : 1;
        if (i >= 0) { /* the interval shrinks, and its better end stays */
            *(side == 0 ? &high : &low) = at[!side];
            at[!side] = at[side];
            misfit[!side] = misfit[side];
            at[side] = side == 0 ? high - part * (high - low) : low + part * (high - low);
        }
        misfit[side] = other                 ? golden(search, other, 0, at[side])
                       : along == CONTENTION ? misfit_at(search, at[side], fixed)
                                             : misfit_at(search, fixed, at[side]);
    }
    return fmin(misfit[0], misfit[1]);
}

static void try_split(struct cw_scale_fit *best, unsigned bends, const struct points *points,
                      double last)
{
    struct search search = {
        .points = points, .last = last, .bends = bends, .best = {.misfit = UNBOUNDED}};
    if (bends == 0)
        misfit_at(&search, 0, 0);
    else if (bends == (CONTENTION | CONGESTION))
        golden(&search, CONTENTION, CONGESTION, 0);
    else
        golden(&search, bends, 0, 0);
    if (search.best.misfit < best->misfit)
        *best = search.best;
}

/* Tries fits without a ceiling, and with a ceiling above each number of workers. */
static void try_bends(struct cw_scale_fit *best, unsigned bends, const struct points *points)
{
    try_split(best, bends, points, UNBOUNDED);
    for (size_t i = 0; i < points->n; i++)
        if (!points->p[i].at_least)
            try_split(best, bends, points, points->p[i].n);
}

static struct points points_of(const struct cw_scale_state *s, double *ret_demand)
{
    struct points points = {.noise = noise_of(s)};
    double demand = 0, weight = 0;
    for (size_t i = 0; i < s->levels_n; i++) {
        demand += s->levels[i].demand * s->levels[i].windows;
        weight += s->levels[i].demand > 0 ? s->levels[i].windows : 0;
    }
    demand = weight > 0 ? demand / weight : 0;
    for (size_t i = 0; i < s->levels_n; i++)
        points.p[points.n++] = point_of(&s->levels[i], demand, fmax(weight, 1), points.noise);
    points.demand_weight = fmax(weight, 1);
    *ret_demand = demand;
    return points;
}

/* If the trainer does not wait, only the workers' own rates show what they could give. */
static void believe_workers(struct points *points, const struct cw_scale_state *s)
{
    for (size_t i = 0; i < points->n; i++) {
        const struct cw_scale_level *l = &s->levels[i];
        if (points->p[i].at_least && l->rate * l->workers >= AS_MUCH * l->given)
            points->p[i] = (struct point){l->workers, l->rate * l->workers, l->windows, false};
    }
}

static bool is_like(double a, double b)
{
    return a > 0 && b > 0 && fabs(log(a / b)) < ALIKE;
}

/* Adds the rate that workers report as a point, if two numbers of workers gave the same although
 * each worker could have given as much: what limits them does not show in their own rate, so that
 * is the rate of one worker. */
static void add_told_rate(struct points *points, const struct cw_scale_state *s)
{
    for (size_t i = 0; i < s->levels_n; i++)
        for (size_t k = 0; k < s->levels_n; k++) {
            const struct cw_scale_level *few = &s->levels[i], *many = &s->levels[k];
            if (few->wait < WAITS || many->wait < WAITS ||
                many->workers < MANY_MORE * few->workers || !is_like(few->given, many->given) ||
                !is_like(few->rate, many->rate))
                continue;
            points->p[points->n++] = (struct point){LITTLE, LITTLE * (few->rate + many->rate) / 2,
                                                    few->windows + many->windows, false};
            return;
        }
}

/* Adds the rate of one worker from before as a point: it is still valid if the fewest workers give
 * that many times as much. */
static void add_rate_before(struct points *points, const struct cw_scale_state *s)
{
    const struct point *fewest = NULL;
    for (size_t i = 0; i < points->n; i++)
        if (!points->p[i].at_least && (!fewest || points->p[i].n < fewest->n))
            fewest = &points->p[i];
    if (fewest && fewest->n > 1 && s->worker_rate > 0 &&
        fabs(log(fewest->capacity / fewest->n / s->worker_rate)) < AS_BEFORE)
        points->p[points->n++] =
            (struct point){LITTLE, LITTLE * s->worker_rate, WEIGHT_BEFORE, false};
}

static void note_flat(struct cw_scale_fit *fit, const struct points *points)
{
    double least = 0, most = 0, at_least = 0, best = 0;
    for (size_t i = 0; i < points->n; i++) {
        const struct point *p = &points->p[i];
        if (p->at_least || p->n < 1)
            continue;
        if (least <= 0 || p->n < least)
            least = p->n, at_least = p->capacity;
        most = fmax(most, p->n);
        best = fmax(best, p->capacity);
    }
    fit->least = least;
    fit->most = most;
    fit->flat = most > least && at_least >= FLAT * best;
}

/* Whether more workers gave less, which a ceiling does not cause. */
static bool is_falling(const struct points *points)
{
    for (size_t i = 0; i < points->n; i++)
        for (size_t k = 0; k < points->n; k++) {
            const struct point *few = &points->p[i], *many = &points->p[k];
            double sigmas = AGREE_SIGMAS * points->noise * sqrt(1 / few->weight + 1 / many->weight);
            if (!many->at_least && few->n < many->n &&
                log(few->capacity / many->capacity) > sigmas + AGREE_BIAS)
                return true;
        }
    return false;
}

struct cw_scale_fit cw_scale_fit_levels(const struct cw_scale_state *s)
{
    double demand;
    struct points points = points_of(s, &demand);
    struct cw_scale_fit fit = {.misfit = UNBOUNDED, .ceiling = UNBOUNDED};
    believe_workers(&points, s);
    add_told_rate(&points, s);
    add_rate_before(&points, s);
    try_bends(&fit, 0, &points);
    if (points.n >= 3)
        try_bends(&fit, CONTENTION, &points);
    if (points.n >= 3 || is_falling(&points))
        try_bends(&fit, CONGESTION, &points);
    if (points.n >= 4 && !is_linear(&fit))
        try_bends(&fit, CONTENTION | CONGESTION, &points);
    note_flat(&fit, &points);
    fit.demand = demand > 0 ? demand : UNBOUNDED;
    fit.noise = points.noise;
    return fit;
}

double cw_scale_fit_gives(const struct cw_scale_fit *fit, double n)
{
    return fmin(fmin(fit->rate * shape_at(fit, n), fit->ceiling), fit->demand);
}

/* Returns the number of workers up to which more workers give more. */
static double peak_of(const struct cw_scale_fit *fit, double most)
{
    return fit->congestion > 0 ? fmin(sqrt(fmax(1 - fit->contention, 0) / fit->congestion), most)
                               : most;
}

double cw_scale_fit_knee(const struct cw_scale_fit *fit, double most, double slack)
{
    double low = 0, high = fmax(peak_of(fit, most), 1), best = cw_scale_fit_gives(fit, high);
    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;
        *(cw_scale_fit_gives(fit, middle) * (1 + slack) < best ? &low : &high) = middle;
    }
    return high;
}
