/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/scale_sights.h"

#include <math.h>

#include "policies/scale_level.h"

#define AGREE_SIGMAS 3.0
#define AGREE_BIAS 0.01
#define AS_MUCH 0.97      /* a rate that is at least this part of another one counts as equal */
#define WAITS_ALWAYS 0.9  /* who waits this part of the time shows nothing by it */
#define WEIGHT_MOST 36.0  /* no formula is more exact than so many windows */
#define WINDOWS_ENOUGH 16 /* so many windows say what the demand is */
#define TOLD_RANGE 3.0    /* what workers say may be off by a factor of up to e to this, if it is */
#define FREE 0.9          /* with some number of workers threads were free for this part of it */
#define DOUBT 0.02        /* probability that what threads wait for says nothing */
#define EXACT 0.3         /* no share of the threads' time is more exact than this, of the noise */
#define SQRT_2PI 2.5066

/* Whether it says no more than the least, since the trainer took no more. */
static bool is_least(const struct cw_scale_sights *s, enum cw_scale_sight sight,
                     const struct cw_scale_level *l)
{
    return sight != CW_SCALE_SEES_CURVE && sight != CW_SCALE_SEES_USED && l->wait < s->waits;
}

/* Whether it says no more than the most: nothing came while it was measured. */
static bool is_most(enum cw_scale_sight sight, const struct cw_scale_level *l)
{
    return l->at_most > 0 && (sight == CW_SCALE_SEES_GIVEN || sight == CW_SCALE_SEES_CURVE ||
                              sight == CW_SCALE_SEES_SHARE);
}

static void see(struct cw_scale_sights *s, enum cw_scale_sight sight,
                const struct cw_scale_level *l, double value, double weight)
{
    if (s->n < CW_SCALE_SEEN_MOST && value > 0 && weight > 0)
        s->seen[s->n++] = (struct cw_scale_seen){.sight = sight,
                                                 .workers = l->workers,
                                                 .local = l->local,
                                                 .value = log(value),
                                                 .weight = weight,
                                                 .at_least = is_least(s, sight, l),
                                                 .at_most = is_most(sight, l),
                                                 .before = l->before > 0};
    s->one_sided = s->one_sided || is_most(sight, l);
}

static bool agrees(const struct cw_scale_sights *s, double off, double variance)
{
    return fabs(off) <= AGREE_SIGMAS * s->noise * sqrt(variance) + AGREE_BIAS;
}

/* Returns what the workers say that they could give all together. */
static double told(const struct cw_scale_level *l)
{
    return l->rate * (l->workers + l->local);
}

/* What is seen in addition must be met; otherwise it could be anything up to TOLD_RANGE. */
static double in_addition(const struct cw_scale_sights *s, double weight)
{
    return TOLD_RANGE * sqrt(weight) / (s->noise * SQRT_2PI);
}

/* Near the number at which a ceiling is met threads wait little, so the part of their time that they
 * computed says more exactly than two rates how far it is to there. */
static void see_free(struct cw_scale_sights *s, const struct cw_scale_level *l, bool same,
                     double *prior)
{
    double waited = 1 - l->free, held = 1 - l->yield, less = l->windows / (1 + 2 * waited * waited),
           exact = 1 / fmax(2 * held * held / l->windows, EXACT * EXACT);
    see(s, CW_SCALE_SEES_GIVEN, l, l->given, l->windows);
    see(s, CW_SCALE_SEES_CURVE, l, told(l) / l->free, less);
    see(s, CW_SCALE_SEES_FREE, l, l->yield, exact);
    *prior *= in_addition(s, exact);
    *prior *= same ? 1 : in_addition(s, less);
}

/* Returns true if the trust made a difference. */
static bool see_waiting(struct cw_scale_sights *s, const struct cw_scale_level *l,
                        enum cw_scale_trust trust, double *prior)
{
    double could = told(l), weight = l->windows, off = could > 0 ? log(could / l->given) : 0;
    bool same = could > 0 && agrees(s, off, 2 / weight);
    if (trust == CW_SCALE_TRUST_FREE && could > 0 && l->free > 0) {
        see_free(s, l, same, prior);
        return true;
    }
    see(s, CW_SCALE_SEES_GIVEN, l, same ? sqrt(l->given * could) : l->given,
        same ? 2 * weight : weight);
    if (trust != CW_SCALE_TRUST_RATE || same || off <= 0)
        return false;
    see(s, CW_SCALE_SEES_CURVE, l, could, weight);
    *prior *= in_addition(s, weight);
    return true;
}

/* Threads that wait for the trainer say by how much the workers could give more. */
static void see_used(struct cw_scale_sights *s, const struct cw_scale_level *l, double *prior)
{
    double idle = 1 - l->used,
           exact = 1 / (fmax(2 * idle * idle / l->windows, EXACT * EXACT) + l->slower_variance);
    if (l->used <= 0 || l->demand <= 0 || l->before > 0)
        return;
    see(s, CW_SCALE_SEES_USED, l, l->used * (1 + l->slower), exact);
    *prior *= in_addition(s, exact);
}

static void see_enough(struct cw_scale_sights *s, const struct cw_scale_level *l,
                       enum cw_scale_trust trust, double *prior)
{
    /* Who hardly waits may be held up by a ceiling all the same, just below what it would take. */
    double could = trust == CW_SCALE_TRUST_FREE && l->free > 0 ? told(l) / l->free : told(l);
    if (trust == CW_SCALE_TRUST_FREE)
        see_used(s, l, prior);
    if (could >= AS_MUCH * l->given)
        see(s, CW_SCALE_SEES_CURVE, l, could, l->windows);
    if (l->demand <= 0 || l->slower_variance > 0)
        see(s, CW_SCALE_SEES_GIVEN, l, l->given, l->windows);
}

static void see_untold(struct cw_scale_sights *s, const struct cw_scale_level *l, double *prior)
{
    see(s, CW_SCALE_SEES_GIVEN, l, l->given, l->windows);
    *prior /= l->rate > 0 ? in_addition(s, l->windows) : 1;
}

/* What the trainer's waiting says, if that agrees with the number of its batches. */
static void see_share(struct cw_scale_sights *s, const struct cw_scale_level *l, double demand)
{
    double busy = 1 - l->wait, of_wait = l->wait / busy, variance = of_wait * of_wait / l->windows,
           own = l->demand / (1 + l->slower);
    if (l->demand <= 0 || l->wait >= WAITS_ALWAYS ||
        !agrees(s, log(l->demand / demand), 2 / l->windows) ||
        (l->wait >= s->waits && !agrees(s, log(l->given / own / busy), variance + 2 / l->windows)))
        return;
    see(s, CW_SCALE_SEES_SHARE, l, busy / (1 + l->slower),
        fmin(1 / (variance + l->slower_variance), WEIGHT_MOST));
}

/* Returns the trainer's demand by all levels, or by the last one if that was measured for long; 0:
 * unknown. */
static double demand_of(const struct cw_scale_measured *m, double *ret_weight)
{
    double demand = 0, weight = 0, windows = 0;
    for (size_t i = m->n; i-- > 0 && windows < WINDOWS_ENOUGH;) {
        const struct cw_scale_level *l = &m->levels[i];
        double as_sure, one = cw_scale_level_demand(l, m->noise, &as_sure);
        demand += one * as_sure;
        weight += as_sure;
        windows += l->demand > 0 ? l->windows : 0;
    }
    *ret_weight = weight;
    return weight > 0 ? demand / weight : 0;
}

/* Whether the threads hardly waited with one of the numbers: then they wait with others because of
 * those. */
static bool is_free_known(const struct cw_scale_measured *m)
{
    double most = 0;
    for (size_t i = 0; i < m->n; i++)
        most = fmax(most, m->levels[i].free);
    return most >= FREE;
}

static double prior_of(enum cw_scale_trust trust, bool known)
{
    if (trust == CW_SCALE_TRUST_NONE)
        return DOUBT * DOUBT;
    return known == (trust == CW_SCALE_TRUST_FREE) ? 1 : DOUBT;
}

bool cw_scale_sights(const struct cw_scale_measured *m, enum cw_scale_trust trust,
                     struct cw_scale_sights *ret, double *ret_prior)
{
    struct cw_scale_sights *s = ret;
    double weight, demand = demand_of(m, &weight);
    bool differs = trust == CW_SCALE_TRUST_GIVEN || trust == CW_SCALE_TRUST_NONE;
    *s = (struct cw_scale_sights){
        .noise = m->noise, .most = m->most, .waits = fmin(CW_SCALE_WAITS, m->slack / 2)};
    bool known = is_free_known(m);
    *ret_prior = prior_of(trust, known);
    if (known && trust == CW_SCALE_TRUST_RATE)
        return false;
    for (size_t i = 0; i < m->n; i++) {
        const struct cw_scale_level *l = &m->levels[i];
        if (trust == CW_SCALE_TRUST_NONE)
            see_untold(s, l, ret_prior);
        else if (l->wait >= s->waits)
            differs = see_waiting(s, l, trust, ret_prior) || differs;
        else
            see_enough(s, l, trust, ret_prior);
        see_share(s, l, demand);
    }
    see(s, CW_SCALE_SEES_DEMAND, &(struct cw_scale_level){.wait = 1}, demand, weight);
    return differs;
}
