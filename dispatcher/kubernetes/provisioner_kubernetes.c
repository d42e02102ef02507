/* SPDX-License-Identifier: Apache-2.0 */
/* The provisioner `kubernetes`. Watches bring what has changed; the dispatcher's tick looks at what
 * takes time, and aims at the number of workers that jobs could use. */
#include "dispatcher/kubernetes/cluster.h"

#include <stdlib.h>
#include <unistd.h>

#include "dispatcher/state/state.h"

/* ---- opening ---- */

static void on_event_failed(void *arg, const struct cw_err *err)
{
    (void)arg;
    cw_log_warn(CW_LOG_MOD, "Events cannot be written: %s", err->msg);
}

static void open_events(struct cw_cluster *cluster)
{
    const char *pod = getenv("CACHEW_POD_NAME");
    char host[256] = "cachew-dispatcher";

    (void)gethostname(host, sizeof(host) - 1);
    cluster->events =
        cw_kube_events_new(cluster->kube, pod && *pod ? pod : host, on_event_failed, cluster);
}

static int open_kube(struct cw_cluster *cluster, struct cw_err *err)
{
    const struct cw_options *o = &cluster->d->options;
    const struct cw_kube_options options = {.program = "dispatcher",
                                            .warned = cw_cluster_warned,
                                            .answered = cw_cluster_answered,
                                            .arg = cluster};
    struct cw_kube_config config = {0};
    int rc = cw_kube_config_find(o->kubeconfig, &config, err);

    if (rc == CW_OK && o->kube_namespace) {
        cw_mem_free(config.name_space);
        config.name_space = cw_mem_strdup(o->kube_namespace);
    }
    if (rc == CW_OK)
        rc = cw_kube_new(cluster->d->loop, &config, &options, &cluster->kube, err);
    if (rc == CW_OK)
        cw_log_info(CW_LOG_MOD, "Deployments in namespace %s of %s (%s) are the fleet",
                    config.name_space, config.server, config.origin);
    cw_kube_config_fini(&config);
    return rc;
}

static int open_pools(struct cw_cluster *cluster, struct cw_err *err)
{
    struct cw_deployment *v;
    int rc = cw_cluster_read_deployments(&cluster->d->options, &v, &cluster->pools_n, err);

    if (rc != CW_OK)
        return rc;
    cluster->pools = CW_NEW_ARRAY(struct cw_pool, cluster->pools_n);
    for (size_t i = 0; i < cluster->pools_n; i++) {
        cluster->pools[i] = (struct cw_pool){.cluster = cluster, .settings = v[i]};
        cw_pool_open(&cluster->pools[i]);
    }
    cw_mem_free(v);
    return CW_OK;
}

static void kubernetes_close(void *state)
{
    struct cw_cluster *cluster = state;

    if (!cluster)
        return;
    cw_evictions_end(cluster, "the dispatcher has ended");
    for (size_t i = 0; i < cluster->pools_n; i++)
        cw_pool_close(&cluster->pools[i]);
    cw_kube_events_free(cluster->events);
    cw_kube_free(cluster->kube);
    cw_strmap_fini(&cluster->pods);
    cw_mem_free(cluster->pools);
    cw_mem_free(cluster);
}

static int kubernetes_open(struct cw_dispatcher *d, void **ret_state, struct cw_err *err)
{
    struct cw_cluster *cluster = CW_NEW(struct cw_cluster);

    cluster->d = d;
    cluster->held = d->state && cw_state_fleet_is_held(d->state);
    int rc = open_kube(cluster, err);
    if (rc == CW_OK) {
        open_events(cluster);
        rc = open_pools(cluster, err);
    }
    if (rc != CW_OK)
        kubernetes_close(cluster);
    else
        *ret_state = cluster;
    return rc;
}

/* ---- at each tick ---- */

static void kubernetes_tick(void *state, int64_t now)
{
    struct cw_cluster *cluster = state;

    cw_cluster_find_workers(cluster, now);
    for (size_t i = 0; i < cluster->pools_n; i++) {
        struct cw_pool *pool = &cluster->pools[i];
        cw_pool_look_at_hold(pool, now);
        cw_pool_count_waiting(pool, now);
        cw_victims_settle(pool, now);
    }
}

static void kubernetes_aim(void *state, double wanted, int64_t now)
{
    struct cw_cluster *cluster = state;

    cluster->wanted = wanted;
    cw_cluster_shape(cluster, wanted);
    for (size_t i = 0; i < cluster->pools_n; i++)
        cw_pool_aim(&cluster->pools[i], now);
}

static void kubernetes_attached(void *state, struct cw_worker *worker)
{
    struct cw_pod *pod = cw_cluster_pod_of(state, worker);

    if (pod)
        cw_pod_has_worker(pod, worker);
}

static size_t kubernetes_starting(void *state)
{
    const struct cw_cluster *cluster = state;
    size_t n = 0;

    for (size_t i = 0; i < cluster->pools_n; i++) {
        const struct cw_pool *pool = &cluster->pools[i];
        uint64_t come = cw_pool_workers(pool) + pool->settings.waiting;
        n += (size_t)(pool->replicas - CW_MIN(pool->replicas, come));
    }
    return n;
}

/* ---- by request ---- */

int cw_cluster_hold(struct cw_dispatcher *d, bool hold, struct cw_err *err)
{
    struct cw_cluster *cluster = cw_cluster_of(d);

    if (!cluster)
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "the provisioner is \"%s\": only that of Kubernetes can be held",
                          d->provision.kind ? d->provision.kind->name : "none");
    cluster->held = hold;
    if (d->state) /* There is none where a test uses parts of a dispatcher. */
        cw_state_put_fleet_held(d->state, hold);
    for (size_t i = 0; i < cluster->pools_n; i++)
        cw_pool_look_at_hold(&cluster->pools[i], cw_clock_ms());
    return CW_OK;
}

const struct cw_provisioner cw_provision_kubernetes = {.name = CW_CLUSTER_NAME,
                                                       .summary =
                                                           "pods of Deployments of Kubernetes",
                                                       .open = kubernetes_open,
                                                       .close = kubernetes_close,
                                                       .starting = kubernetes_starting,
                                                       .tick = kubernetes_tick,
                                                       .aim = kubernetes_aim,
                                                       .attached = kubernetes_attached};
