/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/scale_explain.h"

#include <math.h>

#include "policies/scale_sights.h"

#define UNBOUNDED ((double)INFINITY)
#define CONTENTION_SOME 0.0015 /* sizes of contention that are usual, and that happen */
#define CONTENTION_MUCH 0.1
#define CROWDED_BELOW                                                                              \
    0.35 /* local workers that give this part of what others do suggest a crowded host */
#define CROWDED 0.5
#define UNEXPLAINED 30.0 /* a larger misfit is no explanation */
#define IMPROBABLE 1e-3
#define TOO_MANY 1.05
#define FITS_TOP 8        /* number of explanations that are asked which numbers are right */
#define AS_PROBABLE 0.005 /* a difference of probabilities that does not count */
#define FEW 12            /* below this number the fewest of equally probable ones is taken */
#define RIGHT_NOW 0.02    /* worth of being right with the next number, and not only after it */
#define WORTH_LEAST 0.02  /* what a trial must bring */
#define WORTH_MORE 0.002  /* what a trial of more workers must bring more than one of fewer */
#define APART_WINDOWS 20  /* rates that so many windows can tell apart are different */

#define HAS(p) (1u << CW_SCALE_##p)

/* ---- explanations ---- */

struct belief {
    struct cw_scale_view *view;
    const struct cw_scale_sights *sights;
    double prior;
    bool changed, local;
    bool crowded;     /* local workers may be much slower */
    bool last_resort; /* nothing else explains what was seen */
};

/* Keeps the most probable ones in order. */
static void consider_one(const struct belief *b, struct cw_scale_fit fit, double prior)
{
    struct cw_scale_view *v = b->view;
    if (!cw_scale_fit(&fit, b->sights))
        return;
    fit.sights = b->sights;
    fit.likelihood += log(b->prior * prior);
    if (v->n == CW_SCALE_FITS_MOST && v->fits[v->n - 1].likelihood >= fit.likelihood)
        return;
    size_t at = v->n < CW_SCALE_FITS_MOST ? v->n++ : v->n - 1;
    for (; at > 0 && v->fits[at - 1].likelihood < fit.likelihood; at--)
        v->fits[at] = v->fits[at - 1];
    v->fits[at] = fit;
}

/* Local workers are as fast as remote ones, or slower, or much slower. */
static void consider(const struct belief *b, struct cw_scale_fit fit, double prior)
{
    consider_one(b, fit, b->local ? 0.5 * prior : prior);
    if (!b->local)
        return;
    fit.has |= HAS(SPEED);
    consider_one(b, fit, 0.5 * prior);
    fit.crowded = b->crowded;
    if (b->crowded)
        consider_one(b, fit, CROWDED * prior);
    fit.crowded = false;
    fit.shared = true;
    if (b->last_resort)
        consider_one(b, fit, 0.5 * prior);
}

/* Counts the numbers of workers of which something was seen. */
static size_t numbers_seen(const struct cw_scale_sights *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        bool again = s->seen[i].sight == CW_SCALE_SEES_DEMAND;
        for (size_t k = 0; k < i; k++)
            again = again || (s->seen[k].workers == s->seen[i].workers &&
                              s->seen[k].local == s->seen[i].local);
        n += !again;
    }
    return n;
}

/* Whether a ceiling may be met by more workers than those of this sight, and by no fewer. */
static bool is_edge(const struct cw_scale_sights *s, size_t at)
{
    const struct cw_scale_seen *o = &s->seen[at];
    bool again = o->at_least || o->sight == CW_SCALE_SEES_DEMAND;
    for (size_t k = 0; k < at; k++)
        again = again || (s->seen[k].workers == o->workers && s->seen[k].local == o->local &&
                          s->seen[k].before == o->before);
    return !again;
}

/* A ceiling was met before the change by more workers than one of the numbers seen, by all of them,
 * or by none. */
static void consider_before(const struct belief *b, struct cw_scale_fit fit, double prior)
{
    for (size_t i = 0; i < b->sights->n; i++) {
        fit.last_before = b->sights->seen[i].workers;
        fit.last_before_local = b->sights->seen[i].local;
        if (b->sights->seen[i].before && is_edge(b->sights, i))
            consider(b, fit, prior);
    }
    fit.last_before = fit.last_before_local = 0;
    consider(b, fit, prior);
    if (!fit.ceiling_changed)
        return;
    fit.last_before = UNBOUNDED;
    fit.has &= ~HAS(CHANGE);
    consider(b, fit, prior);
}

/* The same of those now, where there was no change. */
static void consider_ceilings(const struct belief *b, struct cw_scale_fit fit, double prior)
{
    fit.has |= HAS(CEILING);
    for (size_t i = 0; i <= b->sights->n + b->changed; i++) {
        bool all = i == b->sights->n;
        if (i < b->sights->n && (b->sights->seen[i].before || !is_edge(b->sights, i)))
            continue;
        fit.last = i < b->sights->n ? b->sights->seen[i].workers : all ? 0 : UNBOUNDED;
        fit.last_local = i < b->sights->n ? b->sights->seen[i].local : 0;
        if (b->changed)
            consider_before(b, fit, prior);
        else
            consider(b, fit, prior);
    }
}

static void consider_shapes(const struct belief *b, struct cw_scale_fit fit, double prior)
{
    fit.has |= HAS(RATE);
    fit.last = fit.last_before = UNBOUNDED;
    consider(b, fit, 0.2 * prior);
    consider_ceilings(b, fit, 0.5 * prior);
    fit.has |= HAS(PEAK);
    if (numbers_seen(b->sights) > 1)
        consider(b, fit, 0.2 * prior);
}

static void consider_all(const struct belief *b, struct cw_scale_fit fit)
{
    consider_shapes(b, fit, 0.5);
    if (numbers_seen(b->sights) < 2)
        return;
    fit.has |= HAS(CONTENTION);
    fit.usual = CONTENTION_SOME;
    consider_shapes(b, fit, 0.4);
    fit.usual = CONTENTION_MUCH;
    if (!b->changed)
        consider_shapes(b, fit, 0.02);
}

static void consider_changes(const struct belief *b)
{
    bool changed = b->changed;
    struct cw_scale_fit fit = {0};
    for (size_t i = 0; i < b->sights->n; i++)
        if (b->sights->seen[i].sight == CW_SCALE_SEES_DEMAND)
            fit.has |= HAS(DEMAND);
    fit.has |= changed ? HAS(CHANGE) : 0;
    consider_all(b, fit);
    if (!changed)
        return;
    fit.ceiling_changed = true;
    consider_all(b, fit);
}

static void weigh(struct cw_scale_view *v, double slack)
{
    double sum = 0;
    size_t n = 0;
    for (; n < v->n && v->fits[n].likelihood > v->fits[0].likelihood + log(IMPROBABLE); n++) {
        v->fits[n].probability = exp(v->fits[n].likelihood - v->fits[0].likelihood);
        sum += v->fits[n].probability;
    }
    v->n = n;
    for (size_t i = 0; i < n; i++) {
        v->fits[i].probability /= sum;
        cw_scale_fit_find_knee(&v->fits[i], v->fits[i].sights, slack);
    }
}

static bool is_changed(const struct cw_scale_measured *m)
{
    bool before = false;
    for (size_t i = 0; i < m->n; i++)
        before = before || m->levels[i].before > 0;
    return before;
}

static double given_by_one(const struct cw_scale_level *l)
{
    return l->given / fmax(l->workers + l->local, 1);
}

/* Whether with some local workers a worker gave much less than with others. */
static bool seems_crowded(const struct cw_scale_measured *m)
{
    double most = 0, least = UNBOUNDED;
    for (size_t i = 0; i < m->n; i++) {
        most = fmax(most, given_by_one(&m->levels[i]));
        if (m->levels[i].local > 0)
            least = fmin(least, given_by_one(&m->levels[i]));
    }
    return m->local && least < CROWDED_BELOW * most;
}

void cw_scale_explain(struct cw_scale_view *v, const struct cw_scale_measured *m)
{
    v->n = 0;
    v->most = m->most;
    v->demand = UNBOUNDED;
    for (int trust = 0; trust < CW_SCALE_TRUSTS; trust++) {
        struct belief b = {.view = v,
                           .sights = &v->sights[trust],
                           .changed = is_changed(m),
                           .local = m->local,
                           .crowded = seems_crowded(m),
                           .last_resort = trust == CW_SCALE_TRUST_NONE};
        bool done = v->n > 0 && v->fits[0].misfit < UNEXPLAINED;
        if (trust == CW_SCALE_TRUST_NONE && done)
            break;
        if (cw_scale_sights(m, (enum cw_scale_trust)trust, &v->sights[trust], &b.prior))
            consider_changes(&b);
    }
    if (v->n == 0)
        return;
    v->misfit = v->fits[0].misfit;
    v->apart = m->noise / sqrt(APART_WINDOWS);
    if (v->fits[0].has & HAS(DEMAND))
        v->demand = exp(v->fits[0].v[CW_SCALE_DEMAND]);
    weigh(v, m->slack);
}

/* ---- numbers of workers ---- */

static double below(double x, const struct cw_scale_fit *f)
{
    double sigmas = log(x / f->knee) / fmax(f->error, 1e-6);
    if (f->guessed && x >= f->least)
        return 1;
    return x > 0 ? erfc(-sigmas / sqrt(2)) / 2 : 0;
}

static double is_right(const struct cw_scale_view *v, const struct cw_scale_fit *f, double n)
{
    double least = fmin(n - 1, ceil(n / TOO_MANY - 1e-9)), enough = n >= v->most ? 1 : below(n, f);
    return n > 0 ? enough - below(least - 1, f) : 0;
}

double cw_scale_is_right(const struct cw_scale_view *v, double n)
{
    double sum = 0;
    for (size_t i = 0; i < v->n; i++)
        sum += v->fits[i].probability * is_right(v, &v->fits[i], n);
    return sum;
}

/* Numbers of workers that one of the first explanations calls right, and the largest one. */
struct choices {
    double n[3 * FITS_TOP + 1], right[3 * FITS_TOP + 1][FITS_TOP];
    size_t choices, fits;
};

/* Returns the least number that is right for this knee, one in the middle, or the largest one. */
static double right_number(double knee, size_t which)
{
    double least = fmax(ceil(knee), 1), most = fmax(floor(TOO_MANY * least + 1e-9), least + 1);
    return which == 0 ? least : which == 1 ? ceil((least + most) / 2) : most;
}

static struct choices choices_of(const struct cw_scale_view *v)
{
    struct choices c = {.fits = v->n < FITS_TOP ? v->n : FITS_TOP};
    for (size_t i = 0; i <= 3 * c.fits; i++) {
        double n = v->most;
        if (i < 3 * c.fits)
            n = fmin(right_number(v->fits[i / 3].knee, i % 3), v->most);
        bool again = false;
        for (size_t k = 0; k < c.choices; k++)
            again = again || c.n[k] == n;
        if (again)
            continue;
        for (size_t k = 0; k < c.fits; k++)
            c.right[c.choices][k] = v->fits[k].probability * is_right(v, &v->fits[k], n);
        c.n[c.choices++] = n;
    }
    return c;
}

double cw_scale_rightest(const struct cw_scale_view *v, double *ret)
{
    const struct choices c = choices_of(v);
    double best = 1, most = 0, all[3 * FITS_TOP + 1];
    *ret = 0;
    for (size_t i = 0; i < c.choices; i++) {
        double sum = 0;
        for (size_t k = 0; k < c.fits; k++)
            sum += c.right[i][k];
        all[i] = sum;
        most = fmax(most, sum);
    }
    for (size_t i = 0; i < c.choices; i++)
        if (all[i] >= most - (c.n[i] < FEW ? AS_PROBABLE : 0) && (*ret <= 0 || c.n[i] < best))
            *ret = all[i], best = c.n[i];
    return best;
}

/* Returns how much two normal distributions overlap whose means differ by so many standard
 * deviations. */
static double overlap(double sigmas)
{
    return exp(-sigmas * sigmas / 8);
}

/* Returns the probability of ending right after so many workers were measured: explanations that
 * expect the same of them stay undecided. */
static double worth(const struct cw_scale_view *v, const struct choices *c, double n)
{
    double gives[FITS_TOP], sum = 0;
    for (size_t k = 0; k < c->fits; k++)
        gives[k] = log(cw_scale_fit_gives(&v->fits[k], n));
    for (size_t i = 0; i < c->fits; i++) {
        double best = 0, right = 0;
        for (size_t to = 0; to < c->choices; to++) {
            double alike = 0;
            for (size_t k = 0; k < c->fits; k++)
                alike += overlap((gives[k] - gives[i]) / v->apart) * c->right[to][k];
            if (alike > best)
                best = alike, right = c->right[to][i];
        }
        sum += right;
    }
    return sum;
}

double cw_scale_most_telling(const struct cw_scale_view *v, double here)
{
    const struct choices c = choices_of(v);
    double best = here, most = worth(v, &c, here) + RIGHT_NOW * cw_scale_is_right(v, here);
    for (size_t i = 0; i <= c.choices; i++) {
        double n = i < c.choices ? c.n[i] : ceil(here / 2); /* half may show how the curve bends */
        double value = worth(v, &c, n) + RIGHT_NOW * cw_scale_is_right(v, n);
        double more = n < here || best < here ? 0 : n > best ? WORTH_MORE : -WORTH_MORE;
        double by = best == here ? WORTH_LEAST : more;
        if (value > most + by)
            most = fmax(value, most), best = n;
    }
    return best;
}

double cw_scale_sharpness(const struct cw_scale_view *v, double n)
{
    double sharp = 0;
    for (size_t i = 0; i < v->n; i++)
        if (v->fits[i].probability > v->fits[0].probability / 5)
            sharp = fmax(sharp, is_right(v, &v->fits[i], n));
    return sharp;
}

double cw_scale_bends(const struct cw_scale_view *v)
{
    double sum = 0;
    for (size_t i = 0; i < v->n; i++)
        sum += v->fits[i].has & HAS(PEAK) ? v->fits[i].probability : 0;
    return sum;
}
