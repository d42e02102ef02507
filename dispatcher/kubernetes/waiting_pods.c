/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that do not come: they cannot be scheduled, their image cannot be pulled, they crash, a quota
 * forbids that they are made, or their worker never attaches. After a minute they count as not to be
 * had: their number goes to the next Deployment, and policies stop counting on them. They stay asked
 * for, so they are workers as soon as they come. */
#include "dispatcher/kubernetes/cluster.h"

#include <inttypes.h>

/* A pod that runs is usual until its worker should long have come. */
int64_t cw_pod_waits_ms(const struct cw_pod *pod, int64_t now)
{
    int64_t ms = pod->alone_ms > 0 ? CW_MAX(now - pod->alone_ms, 1) : 0;

    switch (pod->seen->state) {
    case CW_KUBE_POD_WAITS:
        return ms;
    case CW_KUBE_POD_RUNS:
    case CW_KUBE_POD_READY:
        return ms >= CW_POD_WAITS_MS ? ms : 0;
    case CW_KUBE_POD_STARTS:
    case CW_KUBE_POD_GOES:
    case CW_KUBE_POD_ENDED:
    default:
        return 0;
    }
}

const char *cw_pod_reason(const struct cw_pod *pod)
{
    if (pod->seen->state != CW_KUBE_POD_WAITS)
        return "NotAttached";
    return pod->seen->reason[0] != '\0' ? pod->seen->reason : "Waiting";
}

const char *cw_pod_message(const struct cw_pod *pod)
{
    if (pod->seen->state != CW_KUBE_POD_WAITS)
        return "it runs, and its worker has not come to this dispatcher (kubectl logs says why)";
    return pod->seen->message;
}

uint64_t cw_pool_unmade(const struct cw_pool *pool)
{
    if (pool->failure_ms == 0 || !pool->seen)
        return 0;
    return pool->replicas - CW_MIN(pool->replicas, (uint64_t)pool->seen->d.pods);
}

struct late { /* pods that are not to be had, and why the first of them is not */
    uint64_t n;
    const char *reason, *message;
};

static struct late find_late(const struct cw_pool *pool, int64_t now)
{
    struct late late = {0};
    struct cw_pod *pod;

    for (size_t i = 0; (pod = cw_cluster_next_pod(pool->cluster, &i));) {
        if (pod->pool != pool || cw_pod_waits_ms(pod, now) < CW_POD_WAITS_MS)
            continue;
        if (late.n++ > 0)
            continue;
        late.reason = cw_pod_reason(pod);
        late.message = cw_pod_message(pod);
    }
    uint64_t unmade = cw_pool_unmade(pool);
    if (unmade > 0 && now - pool->failure_ms >= CW_POD_WAITS_MS) {
        late.reason = late.n > 0 ? late.reason : pool->seen->d.failure_reason;
        late.message = late.n > 0 ? late.message : pool->seen->d.failure_message;
        late.n += unmade;
    }
    return late;
}

void cw_pool_count_waiting(struct cw_pool *pool, int64_t now)
{
    struct late late = find_late(pool, now);
    bool is_news = (late.n > 0) != (pool->told_waiting > 0) ||
                   (late.n > 0 && !cw_str_eq(late.reason, pool->told_reason));

    pool->settings.waiting = late.n;
    pool->told_waiting = late.n;
    if (!is_news)
        return;
    cw_mem_free(pool->told_reason);
    pool->told_reason = late.n > 0 ? cw_mem_strdup(late.reason) : NULL;
    if (late.n == 0) {
        cw_pool_tell(pool, false, "PodsCame", "counts on its pods again",
                     "No pod waits for more than a minute any more.");
        return;
    }
    cw_autofree char *choice =
        cw_mem_printf("%s: %" PRIu64 " pods are not to be had", pool->settings.name, late.n);
    cw_autofree char *text =
        cw_mem_printf("%.100s, for more than a minute: %.600s", late.reason, late.message);
    cw_pool_tell(pool, true, "PodsWait", choice, text);
}
