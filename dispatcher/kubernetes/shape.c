/* SPDX-License-Identifier: Apache-2.0 */
/* How many pods each Deployment should have, and how many workers are to be had at all. */
#include "dispatcher/kubernetes/cluster.h"

#include <math.h>

/* What is asked for now. A number that is on its way up counts. */
static uint64_t asked_of(const struct cw_pool *pool)
{
    return pool->call && pool->number > pool->replicas ? pool->number : pool->replicas;
}

static void fill(struct cw_pool *pool)
{
    struct cw_deployment *s = &pool->settings;

    s->replicas = asked_of(pool);
    s->waiting = CW_MIN(s->waiting, s->replicas);
    s->held = pool->hold != CW_HOLD_NOT || !pool->seen || pool->seen->error;
}

/* Workers that somebody else has started. */
static size_t others(const struct cw_cluster *cluster)
{
    size_t n = 0;

    for (const struct cw_worker *w = cluster->d->workers; w; w = w->next)
        n += cw_worker_serves_any_job(w) && !cw_cluster_pod_of(cluster, w);
    return n;
}

/* How many workers there could be. Pods that are not to be had do not count, and while there are any,
 * no further ones of their Deployment do. */
static double possible(const struct cw_deployment *list, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        bool full = list[i].held || list[i].waiting > 0;
        double has = (double)(list[i].replicas - list[i].waiting);
        sum += full ? has : list[i].max == UINT64_MAX ? HUGE_VAL : (double)list[i].max;
    }
    return sum;
}

void cw_cluster_shape(struct cw_cluster *cluster, double workers)
{
    const size_t n = cluster->pools_n, other_n = others(cluster);
    struct cw_provision *p = &cluster->d->provision;
    cw_autofree struct cw_deployment *list = CW_NEW_ARRAY(struct cw_deployment, n);
    cw_autofree uint64_t *wanted = CW_NEW_ARRAY(uint64_t, n);

    p->limits = true;
    for (size_t i = 0; i < n; i++) {
        fill(&cluster->pools[i]);
        list[i] = cluster->pools[i].settings;
        p->limits = p->limits && cluster->pools[i].listed;
    }
    cw_deployments_spread(list, n, (uint64_t)fmax(workers - (double)other_n, 0), wanted);
    for (size_t i = 0; i < n; i++)
        cluster->pools[i].wanted = wanted[i];
    p->possible = possible(list, n) + (double)other_n;
    size_t next = cw_deployments_next(list, n);
    if (next < n)
        p->price = list[next].price;
    p->has_price = p->has_price || next < n;
}
