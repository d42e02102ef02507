/* SPDX-License-Identifier: Apache-2.0 */
/* What is seen of pods, and which worker runs in which. A worker says in its hello the uid of its pod;
 * of several that say the same the one counts whose address is the pod's. */
#include "dispatcher/kubernetes/cluster.h"

#include <string.h>

#include "kube/cut_lists.h"
#include "kube/field.h"

/* ---- what the watch keeps ---- */

/* A selector may choose others' pods. A pod of the Deployment has a ReplicaSet as its controller whose
 * name is the Deployment's and the hash of the template. */
static bool is_of(const struct cw_value *object, const char *deployment)
{
    size_t n;
    const struct cw_value *owners = cw_kube_list(object, "metadata.ownerReferences", &n);
    const struct cw_value *labels = cw_kube_field(object, "metadata.labels");
    const char *hash = cw_kube_text(labels, "pod-template-hash");
    size_t name_n = strlen(deployment);

    for (size_t i = 0; hash && i < n; i++) {
        const char *name = cw_kube_text(&owners[i], "name");
        if (name && cw_str_eq(cw_kube_text(&owners[i], "kind"), "ReplicaSet") &&
            strncmp(name, deployment, name_n) == 0 && name[name_n] == '-' &&
            strcmp(&name[name_n + 1], hash) == 0)
            return true;
    }
    return false;
}

static void *digest(void *arg, struct cw_value *object)
{
    const struct cw_pool *pool = arg;
    struct cw_seen_pod *seen = CW_NEW(struct cw_seen_pod);
    struct cw_kube_pod pod;

    cw_kube_pod_read(object, &pod);
    *seen = (struct cw_seen_pod){
        .name = cw_mem_strdup(pod.name),
        .uid = cw_mem_strdup(pod.uid),
        .node = cw_mem_strdup(pod.node),
        .ip = cw_mem_strdup(pod.ip),
        .reason = cw_mem_strdup(pod.reason),
        .message = cw_mem_strdup(pod.message),
        .state = pod.state,
        .is_ours = is_of(object, pool->settings.name),
        .has_cost = cw_str_eq(pod.deletion_cost, CW_POD_COST),
    };
    return seen;
}

static void dispose(void *arg, void *kept)
{
    struct cw_seen_pod *seen = kept;

    (void)arg;
    if (!seen)
        return;
    cw_mem_free(seen->name);
    cw_mem_free(seen->uid);
    cw_mem_free(seen->node);
    cw_mem_free(seen->ip);
    cw_mem_free(seen->reason);
    cw_mem_free(seen->message);
    cw_mem_free(seen);
}

/* ---- workers ---- */

struct cw_pod *cw_cluster_pod_of(const struct cw_cluster *cluster, const struct cw_worker *worker)
{
    const bool says = worker->said_hello && worker->only_job[0] == '\0' &&
                      worker->pod_uid[0] != '\0' &&
                      cw_str_eq(worker->pod_namespace, cw_kube_namespace(cluster->kube));
    struct cw_pod *pod = says ? cw_strmap_get(&cluster->pods, worker->pod_uid) : NULL;

    return pod && cw_str_eq(pod->seen->name, worker->pod_name) ? pod : NULL;
}

/* Whether the worker's address, "10.0.0.7:7071" or "[fd00::7]:7071", is the pod's. */
static bool is_at(const struct cw_worker *worker, const char *ip)
{
    const char *host = worker->address + (worker->address[0] == '[');
    size_t n = strlen(ip);

    return n > 0 && strncmp(host, ip, n) == 0 && (host[n] == ':' || host[n] == ']');
}

bool cw_pod_is_of(const struct cw_pod *pod, const struct cw_worker *worker)
{
    const struct cw_cluster *cluster = pod->pool->cluster;

    if (is_at(worker, pod->seen->ip))
        return true;
    for (const struct cw_worker *w = cluster->d->workers; w; w = w->next)
        if (cw_cluster_pod_of(cluster, w) == pod && is_at(w, pod->seen->ip))
            return false;
    return true;
}

/* The one counts that has the pod's address, else the first one. */
static void claim(struct cw_pod *pod, struct cw_worker *worker)
{
    if (pod->worker && !pod->told_claims)
        cw_log_warn(CW_LOG_MOD, "workers %s and %s both say that they run in pod %s",
                    pod->worker->address, worker->address, pod->seen->name);
    pod->told_claims = pod->told_claims || pod->worker;
    if (!pod->worker || is_at(worker, pod->seen->ip))
        pod->worker = worker;
}

void cw_worker_set_leaving(struct cw_worker *worker, bool leaving)
{
    struct cw_dispatcher *d = worker->d;

    if (worker->leaving == leaving)
        return;
    worker->leaving = leaving;
    cw_worker_recount(worker);
    d->due.assignment = true;
    for (struct cw_job *job = d->jobs; job; job = job->next)
        cw_job_leases_due(job);
}

bool cw_pod_goes(const struct cw_pod *pod)
{
    return pod->seen->state == CW_KUBE_POD_GOES || pod->seen->state == CW_KUBE_POD_ENDED;
}

void cw_pod_has_worker(struct cw_pod *pod, struct cw_worker *worker)
{
    pod->alone_ms = 0;
    worker->has_price = true;
    worker->price = pod->pool->settings.price;
    cw_worker_set_leaving(worker, cw_pod_goes(pod) || pod->victim != CW_VICTIM_NOT);
}

struct cw_pod *cw_cluster_next_pod(const struct cw_cluster *cluster, size_t *i)
{
    const char *uid;
    void *pod;

    return cw_strmap_next(&cluster->pods, i, &uid, &pod) ? pod : NULL;
}

void cw_cluster_find_workers(struct cw_cluster *cluster, int64_t now)
{
    struct cw_pod *pod;

    for (size_t i = 0; (pod = cw_cluster_next_pod(cluster, &i));)
        pod->worker = NULL;
    for (struct cw_worker *w = cluster->d->workers; w; w = w->next) {
        pod = cw_cluster_pod_of(cluster, w);
        if (pod)
            claim(pod, w);
    }
    for (size_t i = 0; (pod = cw_cluster_next_pod(cluster, &i));) {
        if (pod->worker)
            cw_pod_has_worker(pod, pod->worker);
        else if (pod->alone_ms == 0)
            pod->alone_ms = now;
    }
}

uint64_t cw_pool_workers(const struct cw_pool *pool)
{
    struct cw_pod *pod;
    uint64_t n = 0;

    for (size_t i = 0; (pod = cw_cluster_next_pod(pool->cluster, &i));)
        n += pod->pool == pool && pod->alone_ms == 0 && !cw_pod_goes(pod);
    return n;
}

/* A pod that has begun to go: its worker gets no more leases from now on. */
static void tell_worker(struct cw_pod *pod)
{
    for (struct cw_worker *w = pod->pool->cluster->d->workers; w; w = w->next)
        if (cw_cluster_pod_of(pod->pool->cluster, w) == pod)
            cw_pod_has_worker(pod, w);
}

/* ---- events of the watch ---- */

/* Its worker stays as it is: it is leaving if the pod was going, as pods do that are deleted in order.
 * Of others the process lives on until somebody ends it. */
static void remove_pod(struct cw_pod *pod)
{
    (void)cw_strmap_remove(&pod->pool->cluster->pods, pod->seen->uid);
    cw_kube_call_cancel(pod->call);
    cw_mem_free(pod);
}

static struct cw_pod *add_pod(struct cw_pool *pool, const struct cw_seen_pod *seen)
{
    struct cw_pod *pod = CW_NEW(struct cw_pod);

    *pod = (struct cw_pod){.pool = pool, .seen = seen, .alone_ms = cw_clock_ms()};
    cw_strmap_set(&pool->cluster->pods, seen->uid, pod);
    return pod;
}

static void on_changed(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                       void *before)
{
    struct cw_pool *pool = arg;
    const struct cw_seen_pod *seen = object->kept;
    struct cw_pod *pod = cw_strmap_get(&pool->cluster->pods, seen->uid);

    (void)before;
    if (pod && pod->pool != pool)
        return; /* Another Deployment has it. */
    if (change == CW_KUBE_DELETED || !seen->is_ours) {
        if (pod)
            remove_pod(pod);
        return;
    }
    if (!pod)
        pod = add_pod(pool, seen);
    pod->seen = seen;
    if (cw_pod_goes(pod))
        tell_worker(pod);
}

static void on_listed(void *arg)
{
    struct cw_pool *pool = arg;

    pool->pods_listed = true;
}

static void on_failed(void *arg, const struct cw_err *err, int64_t retry_ms)
{
    struct cw_pool *pool = arg;

    cw_log_debug(CW_LOG_MOD, "watching pods of %s fails, tried again in %lld ms: %s",
                 pool->settings.name, (long long)retry_ms, err->msg);
}

void cw_pool_unwatch_pods(struct cw_pool *pool)
{
    struct cw_pod *pod;

    for (size_t i = 0; (pod = cw_cluster_next_pod(pool->cluster, &i));) {
        if (pod->pool != pool)
            continue;
        remove_pod(pod);
        i = 0; /* The map may have moved. */
    }
    cw_kube_watch_free(cw_steal(&pool->pods_watch));
    cw_mem_free(cw_steal(&pool->selector));
    pool->pods_listed = false;
}

/* What cw_kube_pod_read and is_of do not read of a pod: most of its bytes. */
static const char *const unread[] = {CW_KUBE_LIST("managedFields"),  CW_KUBE_LIST("containers"),
                                     CW_KUBE_LIST("initContainers"), CW_KUBE_LIST("volumes"),
                                     CW_KUBE_LIST("tolerations"),    NULL};

/* A selector never changes, but a Deployment may be deleted and made anew. */
void cw_pool_watch_pods(struct cw_pool *pool)
{
    if (!pool->seen->selector || cw_str_eq(pool->selector, pool->seen->selector))
        return;
    cw_pool_unwatch_pods(pool);
    pool->selector = cw_mem_strdup(pool->seen->selector);
    const struct cw_kube_watch_events events = {
        .objects = {.digest = digest, .dispose = dispose, .changed = on_changed, .arg = pool},
        .listed = on_listed,
        .failed = on_failed,
        .arg = pool};
    const struct cw_kube_watch_options options = {
        .target = {.kind = &cw_kind_pods, .name_space = cw_kube_namespace(pool->cluster->kube)},
        .labels = pool->selector,
        .without = unread};
    pool->pods_watch = cw_kube_watch_new(pool->cluster->kube, &options, &events);
}
