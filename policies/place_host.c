/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/place_host.h"

#include <math.h>

#include "policies/scale_level.h"

#define AGREE_SIGMAS 3.0
#define STEPS 6 /* of Gauss and Newton */
#define STEP_MOST 1.0
#define SLOW_MIDDLE (-2.5) /* a further worker makes the step longer by 8 %, or by a part of that */
#define SLOW_USUAL 1.0

struct data {
    const struct cw_scale_level *levels;
    size_t n;
    double noise;
};
struct sums { /* of the normal equations for the logarithms of the demand and of `slow` */
    double dd, ds, ss, d, s, misfit;
};

double cw_place_host_slower(const struct cw_place_host *host, double local)
{
    return exp(host->slow) * fmax(local - host->room, 0);
}

/* Returns the batches per second that the trainer takes here, and as how many windows that is: as its
 * step and what it got say (cw_scale_level_demand), and what threads computed meanwhile. */
static double taken(const struct data *data, const struct cw_scale_level *l, double *ret_weight)
{
    double weight, own = cw_scale_level_demand(l, data->noise, &weight), idle = 1 - l->used,
                   can = l->rate * (l->workers + l->local) / (l->free > 0 ? l->free : 1),
                   computed = l->used * can, as_sure = l->windows / (1 + 2 * idle * idle);
    *ret_weight = weight;
    if (own <= 0 || l->wait >= CW_SCALE_WAITS || computed <= 0 ||
        fabs(log(computed / own)) > AGREE_SIGMAS * data->noise * sqrt(1 / as_sure + 1 / weight))
        return own;
    *ret_weight = weight + as_sure;
    return exp((weight * log(own) + as_sure * log(computed)) / (weight + as_sure));
}

static struct sums sums_of(const struct data *data, const struct cw_place_host *host, double demand)
{
    double off = SLOW_MIDDLE - host->slow, known = 1 / (SLOW_USUAL * SLOW_USUAL);
    struct sums sums = {.ss = known, .s = known * off, .misfit = known * off * off};
    for (size_t i = 0; i < data->n; i++) {
        const struct cw_scale_level *l = &data->levels[i];
        if (l->demand <= 0)
            continue;
        double x = cw_place_host_slower(host, l->local), slope = -x / (1 + x), weight,
               here = taken(data, l, &weight);
        weight /= data->noise * data->noise;
        off = log(here) - demand + log(1 + x);
        sums.dd += weight;
        sums.ds += weight * slope;
        sums.ss += weight * slope * slope;
        sums.d += weight * off;
        sums.s += weight * slope * off;
        sums.misfit += weight * off * off;
    }
    return sums;
}

static double mean_demand(const struct data *data)
{
    double sum = 0, weight = 0;
    for (size_t i = 0; i < data->n; i++)
        if (data->levels[i].demand > 0) {
            double as_sure, here = taken(data, &data->levels[i], &as_sure);
            sum += as_sure * log(here);
            weight += as_sure;
        }
    return weight > 0 ? sum / weight : 0;
}

/* Returns the logarithm of how likely the explanation makes what was measured. */
static double fit(const struct data *data, struct cw_place_host *host)
{
    double demand = mean_demand(data);
    struct sums m = sums_of(data, host, demand);
    for (int i = 0; i < STEPS && m.dd > 0; i++) {
        double det = m.dd * m.ss - m.ds * m.ds, slow = (m.dd * m.s - m.ds * m.d) / det;
        slow = fmax(fmin(slow, STEP_MOST), -STEP_MOST);
        demand += (m.d - m.ds * slow) / m.dd;
        host->slow += slow;
        m = sums_of(data, host, demand);
    }
    if (m.dd <= 0) {
        host->error = SLOW_USUAL;
        return 0;
    }
    double det = m.dd * m.ss - m.ds * m.ds;
    host->error = sqrt(m.dd / det);
    return -m.misfit / 2 - log(det * SLOW_USUAL * SLOW_USUAL) / 2;
}

void cw_place_hosts_explain(struct cw_place_hosts *ret, const struct cw_scale_level *levels,
                            size_t n, double noise, double local)
{
    const struct data data = {levels, n, noise};
    double likelihood[CW_PLACE_HOSTS_MOST], most = -(double)INFINITY, sum = 0;
    double every = fmax(ceil((local + 1) / CW_PLACE_HOSTS_MOST), 1);
    ret->n = 0;
    for (double room = 0; room <= local; room += every) {
        struct cw_place_host *host = &ret->v[ret->n];
        *host = (struct cw_place_host){.room = room, .slow = SLOW_MIDDLE};
        likelihood[ret->n] = fit(&data, host);
        most = fmax(most, likelihood[ret->n++]);
    }
    for (size_t i = 0; i < ret->n; i++)
        sum += ret->v[i].probability = exp(likelihood[i] - most);
    for (size_t i = 0; i < ret->n; i++)
        ret->v[i].probability /= sum;
}

void cw_place_hosts_correct(const struct cw_place_hosts *hosts, double noise,
                            struct cw_scale_level *l)
{
    double mean = 0, square = 0;
    for (size_t i = 0; i < hosts->n; i++) {
        const struct cw_place_host *host = &hosts->v[i];
        double x = cw_place_host_slower(host, l->local), error = x / (1 + x) * host->error;
        mean += host->probability * log(1 + x);
        square += host->probability * (log(1 + x) * log(1 + x) + error * error);
    }
    l->slower = exp(mean) - 1;
    l->slower_variance = fmax(square - mean * mean, 0) / (noise * noise);
    l->demand *= 1 + l->slower;
}
