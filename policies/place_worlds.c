/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/place_worlds.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "policies/place_host.h"
#include "policies/scale_explain.h"
#include "policies/scale_level.h"

#define COST_SLACK 0.05
#define APART_WINDOWS 4  /* rates that so many windows can tell apart are different */
#define RIGHT_NOW 0.02   /* worth of being right with the next numbers, and not only after them */
#define WORTH_LEAST 0.02 /* what a trial must bring */
#define TELL_EVERY 4     /* one world in so many is asked what a trial would tell */
#define TELL_MOST 12     /* so many of the most probable numbers are tried and chosen from */
#define LOGISTIC 1.702   /* the logistic distribution is like a normal one, but for this factor */
#define DRAW_ROOT 1.0666 /* whose powers spread points evenly in so many dimensions */
#define DRAW_FIT 0
#define DRAW_HOST 1
#define DRAW_SLOW 2
#define DRAW_PARAMETERS 3

/* ---- one world ---- */

static double can_give(const struct cw_place_world *w, struct cw_place_numbers n)
{
    double m = n.remote + w->speed * (w->shared ? fmin(n.local, 1) : n.local),
           divisor = 1 + (w->contention + w->congestion * m) * fmax(m - 1, 0);
    return w->rate * m / divisor;
}

static double slower_by(const struct cw_place_world *w, double local)
{
    return w->slow * fmax(local - w->room, 0);
}

static double rate_in(const struct cw_place_world *w, struct cw_place_numbers n)
{
    return fmin(fmin(can_give(w, n), w->ceiling), w->demand / (1 + slower_by(w, n.local)));
}

static double cost_in(const struct cw_place_world *w, const struct cw_place_limits *limits,
                      struct cw_place_numbers n)
{
    return (limits->client_price + n.remote * limits->worker_price) / rate_in(w, n);
}

static bool is_right_in(const struct cw_place_world *w, const struct cw_place_limits *limits,
                        struct cw_place_numbers n)
{
    double rate = rate_in(w, n);
    return rate * (1 + limits->slack) >= w->best &&
           limits->client_price + n.remote * limits->worker_price <=
               (1 + COST_SLACK) * w->least * rate;
}

/* Returns the largest useful number of remote workers beside so many local ones. */
static double most_remote(const struct cw_place_world *w, const struct cw_place_limits *limits,
                          double local)
{
    double peak =
        w->congestion > 0 ? sqrt(fmax(1 - w->contention, 0) / w->congestion) : (double)INFINITY;
    return fmin(fmax(round(peak - w->speed * local), local < 1), limits->remote);
}

/* Returns the fewest remote workers that give this rate. */
static double fewest_for(const struct cw_place_world *w, double most, double local, double rate)
{
    double low = local < 1 ? 1 : 0, high = fmax(most, low);
    while (low < high) {
        double middle = floor((low + high) / 2);
        if (rate_in(w, (struct cw_place_numbers){middle, local}) >= rate)
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

static void find_best(struct cw_place_world *w, const struct cw_place_limits *limits)
{
    w->best = 0;
    for (double local = limits->remote < 1; local <= limits->local; local++) {
        double most = most_remote(w, limits, local);
        w->best = fmax(w->best, rate_in(w, (struct cw_place_numbers){most, local}));
    }
}

struct cheapest {
    struct cw_place_numbers n;
    double fewest; /* remote workers that are fast enough beside as many local ones */
};

static struct cheapest find_cheapest(struct cw_place_world *w, const struct cw_place_limits *limits)
{
    struct cheapest best = {0};
    w->least = (double)INFINITY;
    for (double local = limits->remote < 1; local <= limits->local; local++) {
        double most = most_remote(w, limits, local), least = w->best / (1 + limits->slack),
               top = rate_in(w, (struct cw_place_numbers){most, local});
        if (top < least)
            continue;
        double fewest = fewest_for(w, most, local, least),
               full = fewest_for(w, most, local, top * (1 - 1e-9)),
               tries[] = {fewest, fmax(full - 1, fewest), full};
        for (size_t i = 0; i < CW_ARRAY_LEN(tries); i++) {
            const struct cw_place_numbers n = {tries[i], local};
            double cost = cost_in(w, limits, n);
            if (cost < w->least * (1 - 1e-9))
                w->least = cost, best = (struct cheapest){n, fewest};
        }
    }
    return best;
}

/* ---- drawing worlds ---- */

/* Returns the coordinate of a point, 0 to 1; the points are spread evenly. */
static double point(size_t i, int dimension)
{
    double x = 0.5 + (double)(i + 1) * pow(DRAW_ROOT, -(dimension + 1));
    return x - floor(x);
}

static double deviation(size_t i, int dimension)
{
    double u = fmin(fmax(point(i, dimension), 0.002), 0.998);
    return log(u / (1 - u)) / LOGISTIC;
}

static const struct cw_scale_fit *drawn_fit(const struct cw_scale_view *v, double u)
{
    size_t i = 0;
    while (i + 1 < v->n && (u -= v->fits[i].probability) > 0)
        i++;
    return &v->fits[i];
}

static const struct cw_place_host *drawn_host(const struct cw_place_hosts *hosts, double u)
{
    size_t i = 0;
    while (i + 1 < hosts->n && (u -= hosts->v[i].probability) > 0)
        i++;
    return &hosts->v[i];
}

static struct cw_place_world draw(const struct cw_scale_view *v, const struct cw_place_hosts *hosts,
                                  size_t i)
{
    double sigmas[CW_SCALE_PARAMETERS];
    struct cw_scale_fit fit = *drawn_fit(v, ((double)i + 0.5) / CW_PLACE_WORLDS);
    const struct cw_place_host *host = drawn_host(hosts, point(i, DRAW_HOST));
    for (int p = 0; p < CW_SCALE_PARAMETERS; p++)
        sigmas[p] = deviation(i, DRAW_PARAMETERS + p);
    cw_scale_fit_vary(&fit, sigmas);
    bool ceiling = fit.has & 1u << CW_SCALE_CEILING, demand = fit.has & 1u << CW_SCALE_DEMAND;
    return (struct cw_place_world){
        .rate = exp(fit.v[CW_SCALE_RATE]),
        .contention = fit.has & 1u << CW_SCALE_CONTENTION ? fit.v[CW_SCALE_CONTENTION] : 0,
        .congestion = fit.has & 1u << CW_SCALE_PEAK ? exp(-2 * fit.v[CW_SCALE_PEAK]) : 0,
        .ceiling = ceiling ? exp(fit.v[CW_SCALE_CEILING]) : (double)INFINITY,
        .speed = cw_scale_fit_count(&fit, 0, 1),
        .shared = fit.shared,
        .demand = demand ? exp(fit.v[CW_SCALE_DEMAND]) : (double)INFINITY,
        .room = host->room,
        .slow = exp(host->slow + host->error * deviation(i, DRAW_SLOW))};
}

/* ---- choices ---- */

static void vote(struct cw_place_view *v, double remote, double local)
{
    size_t i = 0;
    if (remote > v->limits.remote)
        return;
    while (i < v->choices_n && (v->choices[i].n.remote != remote || v->choices[i].n.local != local))
        i++;
    if (i == CW_PLACE_CHOICES_MOST)
        return;
    if (i == v->choices_n)
        v->choices[v->choices_n++] = (struct cw_place_choice){.n = {remote, local}};
    v->choices[i].votes++;
}

double cw_place_is_right(const struct cw_place_view *v, struct cw_place_numbers n)
{
    unsigned right = 0;
    for (size_t i = 0; i < CW_PLACE_WORLDS; i++)
        right += is_right_in(&v->v[i], &v->limits, n);
    return (double)right / CW_PLACE_WORLDS;
}

/* The most probable first; of equals the cheaper. */
static bool is_before(const struct cw_place_choice *a, const struct cw_place_choice *b)
{
    if (a->right != b->right)
        return a->right > b->right;
    return a->n.remote != b->n.remote ? a->n.remote < b->n.remote : a->n.local < b->n.local;
}

static void sort_choices(struct cw_place_view *v)
{
    for (size_t i = 0; i < v->choices_n; i++) {
        struct cw_place_choice c = v->choices[i];
        size_t at = i;
        c.right = cw_place_is_right(v, c.n);
        for (; at > 0 && is_before(&c, &v->choices[at - 1]); at--)
            v->choices[at] = v->choices[at - 1];
        v->choices[at] = c;
    }
}

static struct cw_scale_measured measured_of(const struct cw_scale_state *s,
                                            const struct cw_place_limits *limits,
                                            const struct cw_place_hosts *hosts, double noise)
{
    struct cw_scale_measured m = {.n = s->levels_n,
                                  .noise = noise,
                                  .most = limits->remote + limits->local,
                                  .slack = limits->slack,
                                  .local = limits->local >= 1};
    for (size_t i = 0; i < m.n; i++) {
        m.levels[i] = s->levels[i];
        cw_place_hosts_correct(hosts, noise, &m.levels[i]);
    }
    return m;
}

void cw_place_imagine(struct cw_place_view *ret, const struct cw_scale_state *s,
                      const struct cw_place_limits *limits)
{
    struct cw_place_hosts hosts;
    struct cw_scale_view view;
    *ret = (struct cw_place_view){.limits = *limits, .noise = cw_scale_level_noise(s)};
    cw_place_hosts_explain(&hosts, s->levels, s->levels_n, ret->noise, limits->local);
    const struct cw_scale_measured m = measured_of(s, limits, &hosts, ret->noise);
    cw_scale_explain(&view, &m);
    ret->known = view.n > 0;
    ret->misfit = view.misfit;
    for (size_t i = 0; i < CW_PLACE_WORLDS && ret->known; i++) {
        struct cw_place_world *w = &ret->v[i];
        *w = draw(&view, &hosts, i);
        find_best(w, limits);
        const struct cheapest c = find_cheapest(w, limits);
        vote(ret, c.n.remote, c.n.local);
        vote(ret, c.n.remote + 1, c.n.local);
        vote(ret, c.fewest, c.n.local);
        vote(ret, ceil((c.fewest + c.n.remote) / 2), c.n.local);
    }
    sort_choices(ret);
}

/* ---- what a trial would tell ---- */

/* What one world says: logarithms of what is measured with some numbers, and which choices are
 * right, a bit for each. */
struct foretold {
    double can, gives, step;
    unsigned right;
};

static struct foretold foretell(const struct cw_place_view *v, const struct cw_place_world *w,
                                struct cw_place_numbers n)
{
    struct foretold f = {.can = log(can_give(w, n)),
                         .gives = log(rate_in(w, n)),
                         .step = log((1 + slower_by(w, n.local)) / w->demand)};
    for (size_t c = 0; c < v->choices_n && c < TELL_MOST; c++)
        f.right |= (unsigned)is_right_in(w, &v->limits, v->choices[c].n) << c;
    return f;
}

/* Returns how much alike two worlds look: the overlap of two normal distributions in each thing
 * that is measured. */
static double alike(const struct foretold *a, const struct foretold *b, double apart)
{
    double can = a->can - b->can, gives = a->gives - b->gives, step = a->step - b->step;
    return exp(-(can * can + gives * gives + step * step) / (8 * apart * apart));
}

/* Returns the choice that is right in most worlds which look like this one. */
static size_t best_after(const struct foretold *f, size_t worlds, const struct foretold *like,
                         double apart)
{
    double right[TELL_MOST] = {0};
    size_t best = 0;
    for (size_t k = 0; k < worlds; k++) {
        double same = alike(&f[k], like, apart);
        for (size_t c = 0; c < TELL_MOST && same > 0.01; c++)
            right[c] += f[k].right >> c & 1 ? same : 0;
    }
    for (size_t c = 1; c < TELL_MOST; c++)
        best = right[c] > right[best] ? c : best;
    return best;
}

/* Returns the probability of ending right after these numbers were measured: worlds that look alike
 * with them stay undecided. */
static double worth(const struct cw_place_view *v, struct cw_place_numbers n)
{
    struct foretold f[CW_PLACE_WORLDS / TELL_EVERY];
    size_t worlds = CW_ARRAY_LEN(f);
    double sum = 0, apart = v->noise / sqrt(APART_WINDOWS);
    for (size_t i = 0; i < worlds; i++)
        f[i] = foretell(v, &v->v[TELL_EVERY * i], n);
    for (size_t i = 0; i < worlds; i++)
        sum += f[i].right >> best_after(f, worlds, &f[i], apart) & 1;
    return sum / (double)worlds;
}

struct cw_place_numbers cw_place_most_telling(const struct cw_place_view *v,
                                              struct cw_place_numbers here, bool measured)
{
    struct cw_place_numbers best = here;
    double most = (measured ? v->choices[0].right : worth(v, here)) +
                  RIGHT_NOW * cw_place_is_right(v, here) + WORTH_LEAST;
    for (size_t i = 0; i < CW_MIN(v->choices_n, (size_t)TELL_MOST); i++) {
        if (measured && v->choices[i].n.remote == here.remote &&
            v->choices[i].n.local == here.local)
            continue;
        double value = worth(v, v->choices[i].n) + RIGHT_NOW * v->choices[i].right;
        if (value > most)
            most = value, best = v->choices[i].n;
    }
    return best;
}

double cw_place_gives(const struct cw_place_view *v, struct cw_place_numbers n)
{
    double sum = 0;
    for (size_t i = 0; i < CW_PLACE_WORLDS; i++)
        sum += rate_in(&v->v[i], n);
    return sum / CW_PLACE_WORLDS;
}

double cw_place_slower(const struct cw_place_view *v, struct cw_place_numbers n)
{
    double sum = 0;
    for (size_t i = 0; i < CW_PLACE_WORLDS; i++)
        sum += slower_by(&v->v[i], n.local);
    return sum / CW_PLACE_WORLDS;
}
