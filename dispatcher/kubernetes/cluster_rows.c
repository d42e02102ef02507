/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown of the provisioner: in `cachew workers` and in metrics. */
#include "dispatcher/kubernetes/cluster.h"

static const char *state_of(const struct cw_pool *pool)
{
    if (!pool->seen)
        return pool->listed ? "there is no such Deployment" : "it is not read yet";
    if (pool->seen->error)
        return pool->seen->error;
    switch (pool->hold) {
    case CW_HOLD_ANNOTATION:
        return "held: its annotation " CW_KUBE_HANDS_OFF " says so";
    case CW_HOLD_FLEET:
        return "held: cachew scale --fleet hold";
    case CW_HOLD_OTHERS:
        return "held: somebody else keeps writing its number";
    case CW_HOLD_NOT:
    default:
        break;
    }
    if (pool->trouble)
        return pool->trouble;
    if (cw_cluster_is_away(pool->cluster))
        return "the API server does not answer, so this may be old";
    return pool->seen->d.paused ? "paused" : "";
}

static void count_pods(const struct cw_pool *pool, int64_t now, struct cw_cluster_deployment *row)
{
    struct cw_pod *pod;

    for (size_t i = 0; (pod = cw_cluster_next_pod(pool->cluster, &i));) {
        if (pod->pool != pool)
            continue;
        row->ready += pod->seen->state == CW_KUBE_POD_READY;
        row->workers += pod->alone_ms == 0 && !cw_pod_goes(pod);
        row->waiting += cw_pod_waits_ms(pod, now) > 0;
    }
    row->waiting += cw_pool_unmade(pool);
}

bool cw_cluster_next_deployment(const struct cw_dispatcher *d, size_t *i,
                                struct cw_cluster_deployment *ret_row)
{
    const struct cw_cluster *cluster = cw_cluster_of(d);

    if (!cluster || *i >= cluster->pools_n)
        return false;
    const struct cw_pool *pool = &cluster->pools[(*i)++];
    *ret_row = (struct cw_cluster_deployment){.name = pool->settings.name,
                                              .asked = pool->replicas,
                                              .wanted = pool->wanted,
                                              .not_to_be_had = pool->settings.waiting,
                                              .max = pool->settings.max,
                                              .price = pool->settings.price,
                                              .held = pool->hold != CW_HOLD_NOT,
                                              .state = state_of(pool)};
    count_pods(pool, cw_clock_ms(), ret_row);
    return true;
}

static bool fill_pod(const struct cw_pod *pod, int64_t now, struct cw_cluster_waiting *row)
{
    int64_t ms = cw_pod_waits_ms(pod, now);

    *row = (struct cw_cluster_waiting){.pod = pod->seen->name,
                                       .deployment = pod->pool->settings.name,
                                       .node = pod->seen->node,
                                       .reason = cw_pod_reason(pod),
                                       .message = cw_pod_message(pod),
                                       .waits_ms = ms,
                                       .not_to_be_had = ms >= CW_POD_WAITS_MS};
    return ms > 0;
}

static bool fill_unmade(const struct cw_pool *pool, int64_t now, struct cw_cluster_waiting *row)
{
    if (cw_pool_unmade(pool) == 0)
        return false;
    *row = (struct cw_cluster_waiting){.pod = "",
                                       .deployment = pool->settings.name,
                                       .node = "",
                                       .reason = pool->seen->d.failure_reason,
                                       .message = pool->seen->d.failure_message,
                                       .waits_ms = CW_MAX(now - pool->failure_ms, 1),
                                       .not_to_be_had = now - pool->failure_ms >= CW_POD_WAITS_MS};
    return true;
}

/* First come the pools' pods that cannot be made, then pods. */
bool cw_cluster_next_waiting(const struct cw_dispatcher *d, size_t *i,
                             struct cw_cluster_waiting *ret_row)
{
    const struct cw_cluster *cluster = cw_cluster_of(d);
    const int64_t now = cw_clock_ms();
    const struct cw_pod *pod;

    if (!cluster)
        return false;
    while (*i < cluster->pools_n)
        if (fill_unmade(&cluster->pools[(*i)++], now, ret_row))
            return true;
    size_t at = *i - cluster->pools_n;
    bool found = false;
    while (!found && (pod = cw_cluster_next_pod(cluster, &at)))
        found = fill_pod(pod, now, ret_row);
    *i = at + cluster->pools_n;
    return found;
}

bool cw_cluster_next_requests(const struct cw_dispatcher *d, size_t *i,
                              struct cw_cluster_requests *ret_row)
{
    const struct cw_cluster *cluster = cw_cluster_of(d);

    if (!cluster || *i >= cluster->requests_n)
        return false;
    *ret_row = cluster->requests[(*i)++];
    return true;
}

/* Reasons that the table has no room for are counted with its last one. */
size_t cw_cluster_reasons(const struct cw_dispatcher *d, struct cw_cluster_reason *ret_v,
                          size_t cap)
{
    struct cw_cluster_waiting row;
    size_t n = 0;

    for (size_t i = 0; cw_cluster_next_waiting(d, &i, &row);) {
        size_t at = 0;
        while (at < n && !cw_str_eq(ret_v[at].reason, row.reason))
            at++;
        at = CW_MIN(at, cap - 1);
        if (at == n)
            ret_v[n++] = (struct cw_cluster_reason){.reason = row.reason};
        ret_v[at].n++;
    }
    return n;
}

uint64_t cw_cluster_watches_again(const struct cw_dispatcher *d)
{
    const struct cw_cluster *cluster = cw_cluster_of(d);
    uint64_t n = 0;

    if (!cluster)
        return UINT64_MAX;
    for (size_t i = 0; i < cluster->pools_n; i++) {
        const struct cw_kube_watch *watches[] = {cluster->pools[i].watch,
                                                 cluster->pools[i].pods_watch};
        for (size_t w = 0; w < CW_ARRAY_LEN(watches); w++) {
            uint64_t begun = watches[w] ? cw_kube_watch_counts(watches[w]).watches : 0;
            n += begun - CW_MIN(begun, 1);
        }
    }
    return n;
}
