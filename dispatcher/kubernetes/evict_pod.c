/* SPDX-License-Identifier: Apache-2.0 */
/* `cachew drain` of a worker in a pod: the pod is evicted, so that disruption budgets are asked, and
 * the SIGTERM of its deletion drains the worker. The Deployment makes another pod in its place. */
#include "dispatcher/kubernetes/cluster.h"

struct cw_eviction {
    struct cw_eviction *next, *prev;
    struct cw_cluster *cluster;
    struct cw_kube_call *call;
    cw_evicted_fn *fn;
    void *arg;
};

static void unlink_eviction(struct cw_eviction *eviction)
{
    *(eviction->prev ? &eviction->prev->next : &eviction->cluster->evictions) = eviction->next;
    if (eviction->next)
        eviction->next->prev = eviction->prev;
}

static void on_answer(void *arg, struct cw_kube_answer *answer)
{
    struct cw_eviction *eviction = arg;

    unlink_eviction(eviction);
    eviction->fn(eviction->arg, answer->code, answer->code == CW_OK ? "" : answer->err->msg);
    cw_mem_free(eviction);
}

bool cw_cluster_evict(const struct cw_worker *worker, cw_evicted_fn *fn, void *arg)
{
    struct cw_cluster *cluster = cw_cluster_of(worker->d);
    const struct cw_pod *pod = cluster ? cw_cluster_pod_of(cluster, worker) : NULL;

    if (!pod || !cw_pod_is_of(pod, worker))
        return false;
    struct cw_eviction *eviction = CW_NEW(struct cw_eviction);
    const struct cw_kube_target target = {.kind = &cw_kind_pods,
                                          .name_space = cw_kube_namespace(cluster->kube),
                                          .name = pod->seen->name,
                                          .subresource = "eviction"};
    cw_autofree char *body = cw_mem_printf(
        "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"%s\","
        "\"namespace\":\"%s\"},\"deleteOptions\":{\"preconditions\":{\"uid\":\"%s\"}}}",
        pod->seen->name, target.name_space, pod->seen->uid);
    *eviction =
        (struct cw_eviction){.next = cluster->evictions, .cluster = cluster, .fn = fn, .arg = arg};
    if (cluster->evictions)
        cluster->evictions->prev = eviction;
    cluster->evictions = eviction;
    eviction->call = cw_kube_create(cluster->kube, &target, body, on_answer, eviction);
    return true;
}

void cw_evictions_end(struct cw_cluster *cluster, const char *msg)
{
    while (cluster->evictions) {
        struct cw_eviction *eviction = cluster->evictions;
        unlink_eviction(eviction);
        cw_kube_call_cancel(eviction->call);
        eviction->fn(eviction->arg, CW_E_UNAVAILABLE, msg);
        cw_mem_free(eviction);
    }
}

void cw_cluster_stop(struct cw_dispatcher *d)
{
    struct cw_cluster *cluster = cw_cluster_of(d);

    if (cluster)
        cw_evictions_end(cluster, "the dispatcher is stopping; whether the pod is evicted is not "
                                  "known");
}
