/* SPDX-License-Identifier: Apache-2.0 */
/* Weighted max-min fairness: finds the level at which all shares together use up the fleet. */
#include "policies/max_min_share.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

/* a job or a tenant that gets a share */
struct taker {
    double weight, least, most; /* least <= most */
    double got;
    double at;    /* scratch: the level at which its share reaches the minimum or maximum */
    size_t index; /* index of the job or tenant */
    int priority;
};

static int by_level(const void *a, const void *b)
{
    const struct taker *const *left = a, *const *right = b;
    return ((*left)->at > (*right)->at) - ((*left)->at < (*right)->at);
}

/* Returns the sum of the shares at a level: each is weight times level, within its bounds. */
static double at_level(const struct taker *takers, size_t n, double level)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fmin(fmax(takers[i].weight * level, takers[i].least), takers[i].most);
    return sum;
}

/* Returns the level at which the shares add up to `amount`. The sum grows with the level, linearly
 * between those levels at which some share reaches a bound. */
static double find_level(struct taker *takers, size_t n, double amount)
{
    cw_autofree struct taker *bounds = CW_NEW_ARRAY(struct taker, 2 * n);
    cw_autofree struct taker **order = CW_NEW_ARRAY(struct taker *, 2 * n);
    for (size_t i = 0; i < 2 * n; i++) {
        bounds[i] = takers[i / 2];
        bounds[i].at = (i % 2 ? bounds[i].most : bounds[i].least) / bounds[i].weight;
        order[i] = &bounds[i];
    }
    qsort(order, 2 * n, sizeof(*order), by_level);
    /* the first of these levels at which there is enough is in [lo, hi] */
    size_t lo = 0, hi = 2 * n - 1;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (at_level(takers, n, order[mid]->at) >= amount)
            hi = mid;
        else
            lo = mid + 1;
    }
    double to = order[lo]->at, from = lo > 0 ? order[lo - 1]->at : 0;
    double have_to = at_level(takers, n, to), have_from = at_level(takers, n, from);
    if (have_to <= amount || have_to <= have_from)
        return to;
    return from + (to - from) * (amount - have_from) / (have_to - have_from);
}

/* Divides the amount by weight, within bounds. If it is less than all minimums together, it is
 * divided by weight up to these. Returns what is left. */
static double divide(struct taker *takers, size_t n, double amount)
{
    double least = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        least += takers[i].least;
        most += takers[i].most;
    }
    bool enough = least <= amount;
    for (size_t i = 0; i < n && !enough; i++) {
        takers[i].most = takers[i].least;
        takers[i].least = 0;
    }
    double level = n > 0 ? find_level(takers, n, fmin(amount, most)) : 0;
    for (size_t i = 0; i < n; i++) {
        takers[i].got = fmin(fmax(takers[i].weight * level, takers[i].least), takers[i].most);
        amount -= takers[i].got;
    }
    return fmax(amount, 0);
}

static double wanted(const struct cw_share_job *job)
{
    return fmax(job->want, job->least);
}

static int by_priority(const void *a, const void *b)
{
    const struct taker *left = a, *right = b;
    return (left->priority < right->priority) - (left->priority > right->priority);
}

/* Divides among the jobs of one tenant: all get their minimum; what is above goes to the highest
 * priority first. */
static void divide_tenant(struct taker *jobs, size_t n, double amount)
{
    double least = 0;
    for (size_t i = 0; i < n; i++)
        least += jobs[i].least;
    if (least > amount) {
        (void)divide(jobs, n, amount);
        return;
    }
    double above = amount - least;
    qsort(jobs, n, sizeof(*jobs), by_priority);
    for (size_t i = 0, end; i < n; i = end) {
        double own = 0;
        for (end = i; end < n && jobs[end].priority == jobs[i].priority; end++)
            own += jobs[end].least;
        above = divide(&jobs[i], end - i, own + above);
    }
}

void cw_share_out(double workers, const struct cw_share_tenant *tenants, size_t tenants_n,
                  const struct cw_share_job *jobs, size_t jobs_n, double *ret_workers)
{
    cw_autofree struct taker *of_tenants = CW_NEW_ARRAY(struct taker, tenants_n + 1),
                             *of_jobs = CW_NEW_ARRAY(struct taker, jobs_n + 1);
    for (size_t t = 0; t < tenants_n; t++)
        of_tenants[t] = (struct taker){.weight = tenants[t].weight, .index = t};
    for (size_t j = 0; j < jobs_n; j++) {
        of_tenants[jobs[j].tenant].least += jobs[j].least;
        of_tenants[jobs[j].tenant].most += wanted(&jobs[j]);
    }
    for (size_t t = 0; t < tenants_n; t++) {
        double most = tenants[t].most > 0 ? tenants[t].most : (double)INFINITY;
        of_tenants[t].least = fmin(of_tenants[t].least, most);
        of_tenants[t].most = fmin(of_tenants[t].most, most);
    }
    (void)divide(of_tenants, tenants_n, workers);
    for (size_t t = 0; t < tenants_n; t++) {
        size_t n = 0;
        for (size_t j = 0; j < jobs_n; j++)
            if (jobs[j].tenant == t)
                of_jobs[n++] = (struct taker){.weight = jobs[j].weight,
                                              .least = jobs[j].least,
                                              .most = wanted(&jobs[j]),
                                              .index = j,
                                              .priority = jobs[j].priority};
        divide_tenant(of_jobs, n, of_tenants[t].got);
        for (size_t i = 0; i < n; i++)
            ret_workers[of_jobs[i].index] = of_jobs[i].got;
    }
}
