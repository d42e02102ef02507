/* SPDX-License-Identifier: Apache-2.0 */
/* The ReplicaSet controller: as many pods as are asked for, and which of them
 * go first. */
#include "base/mem.h"
#include "kubernetes/fk_int.h"
#include <stdlib.h>
#include <string.h>

static const char MANAGER[] = "kube-controller-manager";
enum { BURST = 500 }; /* pods that one pass makes or deletes for a set */

static bool is_active(const json_t *pod)
{
    const char *phase = fk_text_or(pod, "status.phase", "Pending");
    return !fk_at(pod, "metadata.deletionTimestamp") && !cw_str_eq(phase, "Succeeded") &&
           !cw_str_eq(phase, "Failed");
}

json_t *fk_pods_by_owner(struct fk_server *server)
{
    const struct fk_kind *pods = fk_kind_find(server, "", "pods");
    json_t *ret = json_object();
    for (size_t i = 0; i < pods->n; i++) {
        const json_t *owners = fk_at(pods->objects[i].json, "metadata.ownerReferences");
        const char *uid = fk_text(json_array_get(owners, 0), "uid");
        if (!uid)
            continue;
        if (!json_object_get(ret, uid))
            json_object_set_new(ret, uid, json_array());
        json_array_append(json_object_get(ret, uid), pods->objects[i].json);
    }
    return ret;
}

/* The active pods of a set; new reference. */
static json_t *active_of(const json_t *by_owner, const json_t *set)
{
    json_t *ret = json_array();
    size_t i;
    json_t *pod;
    json_array_foreach (json_object_get(by_owner, fk_text(set, "metadata.uid")), i, pod)
        if (is_active(pod))
            json_array_append(ret, pod);
    return ret;
}

/* ---- who goes first ---- */
struct victim {
    const json_t *pod;
    int assigned, phase, ready; /* 0 goes first */
    long long cost, on_node, ready_ms, restarts, created_ms;
};

static int phase_rank(const json_t *pod)
{
    const char *phase = fk_text_or(pod, "status.phase", "Pending");
    return cw_str_eq(phase, "Pending") ? 0 : cw_str_eq(phase, "Unknown") ? 1 : 2;
}

static long long count_on_node(const json_t *pods, const char *node)
{
    long long n = 0;
    size_t i;
    json_t *pod;
    json_array_foreach ((json_t *)pods, i, pod)
        n += node && cw_str_eq(fk_text(pod, "spec.nodeName"), node);
    return n;
}

static long long most_restarts(const json_t *pod)
{
    long long most = 0;
    size_t i;
    json_t *status;
    json_array_foreach (fk_at(pod, "status.containerStatuses"), i, status)
        if (fk_int(status, "restartCount", 0) > most)
            most = fk_int(status, "restartCount", 0);
    return most;
}

static struct victim victim_of(const json_t *pods, const json_t *pod)
{
    const char *cost = fk_annotation(pod, "controller.kubernetes.io/pod-deletion-cost");
    const json_t *ready = fk_condition(pod, "Ready");
    bool is_ready = cw_str_eq(fk_text(ready, "status"), "True");
    return (struct victim){
        .pod = pod,
        .assigned = fk_text(pod, "spec.nodeName") != NULL,
        .phase = phase_rank(pod),
        .ready = is_ready,
        .cost = cost ? strtoll(cost, NULL, 10) : 0,
        .on_node = count_on_node(pods, fk_text(pod, "spec.nodeName")),
        .ready_ms = is_ready ? fk_time_parse(fk_text(ready, "lastTransitionTime")) : 0,
        .restarts = most_restarts(pod),
        .created_ms = fk_time_parse(fk_text(pod, "metadata.creationTimestamp")),
    };
}

static int sign(long long difference)
{
    return (difference > 0) - (difference < 0);
}

/* Real servers compare ages on a logarithmic scale (LogarithmicScaleDown):
 * nearly equal ones are equal, and the uid decides. Here the times themselves
 * decide, then the name. */
static int compare(const void *a, const void *b)
{
    const struct victim *x = a, *y = b;
    const long long DIFFERENCES[] = {
        x->assigned - y->assigned, x->phase - y->phase,           x->ready - y->ready,
        x->cost - y->cost,         y->on_node - x->on_node,       y->ready_ms - x->ready_ms,
        y->restarts - x->restarts, y->created_ms - x->created_ms,
    };
    for (size_t i = 0; i < sizeof(DIFFERENCES) / sizeof(*DIFFERENCES); i++)
        if (DIFFERENCES[i])
            return sign(DIFFERENCES[i]);
    return strcmp(fk_text(x->pod, "metadata.name"), fk_text(y->pod, "metadata.name"));
}

static void remove_pods(struct fk_server *server, const json_t *pods, size_t surplus)
{
    size_t n = json_array_size(pods), i;
    json_t *pod;
    cw_autofree struct victim *victims = CW_NEW_ARRAY(struct victim, n + 1);
    json_array_foreach ((json_t *)pods, i, pod)
        victims[i] = victim_of(pods, pod);
    qsort(victims, n, sizeof(*victims), compare);
    for (i = 0; i < surplus && i < n && i < BURST; i++)
        fk_delete(server, fk_kind_find(server, "", "pods"), victims[i].pod, -1, "Background");
}

/* ---- making pods ---- */
/* Whether a ResourceQuota forbids another pod; its text is the cluster's. */
static char *quota_against(struct fk_server *server, const char *ns)
{
    const struct fk_kind *quotas = fk_kind_find(server, "", "resourcequotas");
    const struct fk_kind *pods = fk_kind_find(server, "", "pods");
    for (size_t i = 0; i < quotas->n; i++) {
        const json_t *quota = quotas->objects[i].json;
        const json_t *hard = fk_at(quota, "spec.hard.pods");
        long long max = json_is_integer(hard) ? json_integer_value(hard)
                        : hard                ? strtoll(json_string_value(hard), NULL, 10)
                                              : INT64_MAX;
        long long used = 0;
        for (size_t j = 0; j < pods->n; j++)
            used += cw_str_eq(fk_text(pods->objects[j].json, "metadata.namespace"), ns);
        if (cw_str_eq(fk_text(quota, "metadata.namespace"), ns) && used >= max)
            return cw_mem_printf("exceeded quota: %s, requested: pods=1, used: pods=%lld, limited: "
                                 "pods=%lld",
                                 fk_text(quota, "metadata.name"), used, max);
    }
    return NULL;
}

json_t *fk_pod_from(const struct fk_kind *kind, const json_t *owner)
{
    const json_t *template = fk_at(owner, "spec.template");
    cw_autofree char *prefix = cw_mem_printf("%s-", fk_text(owner, "metadata.name"));
    json_t *pod =
        json_pack("{s:{s:s, s:O, s:[o]}, s:o}", "metadata", "generateName", prefix, "namespace",
                  fk_at(owner, "metadata.namespace"), "ownerReferences",
                  fk_owner_reference(kind, owner), "spec", json_deep_copy(fk_at(template, "spec")));
    const json_t *labels = fk_at(template, "metadata.labels");
    const json_t *annotations = fk_at(template, "metadata.annotations");
    if (labels)
        fk_put(pod, "metadata.labels", json_deep_copy(labels));
    if (annotations)
        fk_put(pod, "metadata.annotations", json_deep_copy(annotations));
    return pod;
}

/* Returns why no more could be made (cw_mem), or NULL. */
static char *make_pods(struct fk_server *server, struct fk_kind *kind, const json_t *set,
                       size_t missing)
{
    for (size_t i = 0; i < missing && i < BURST; i++) {
        char *refusal = quota_against(server, fk_text(set, "metadata.namespace"));
        if (refusal)
            return refusal;
        fk_make(server, fk_kind_find(server, "", "pods"), fk_pod_from(kind, set), MANAGER);
    }
    return NULL;
}

/* ---- status ---- */
static json_int_t count_ready(const json_t *pods)
{
    json_int_t n = 0;
    size_t i;
    json_t *pod;
    json_array_foreach ((json_t *)pods, i, pod)
        n += fk_has_condition(pod, "Ready", "True");
    return n;
}

static void write_status(struct fk_server *server, struct fk_kind *kind, const json_t *set,
                         const json_t *pods, const char *refusal)
{
    json_t *after = json_deep_copy(set);
    json_t *status = json_pack("{s:I}", "replicas", (json_int_t)json_array_size(pods));
    json_int_t ready = count_ready(pods);
    if (json_array_size(pods))
        fk_put_int(status, "fullyLabeledReplicas", (json_int_t)json_array_size(pods));
    if (ready) {
        fk_put_int(status, "readyReplicas", ready);
        fk_put_int(status, "availableReplicas", ready);
    }
    fk_put_int(status, "observedGeneration", fk_int(set, "metadata.generation", 0));
    json_t *old = refusal ? fk_at(set, "status.conditions") : NULL;
    if (old)
        json_object_set_new(status, "conditions", json_deep_copy(old));
    json_object_set_new(after, "status", status);
    if (refusal) {
        char now[32];
        fk_time_text(server, 0, now);
        cw_autofree char *text =
            cw_mem_printf("pods \"%s-\" is forbidden: %s", fk_text(set, "metadata.name"), refusal);
        fk_set_condition(after, "ReplicaFailure", "True", "FailedCreate", text, now);
    }
    fk_write(server, kind, set, after, MANAGER, "status");
}

/* Makes or removes pods; returns why it could not (cw_mem), or NULL. */
static char *steer(struct fk_server *server, struct fk_kind *kind, const json_t *set,
                   const json_t *pods)
{
    json_int_t have = (json_int_t)json_array_size(pods), want = fk_int(set, "spec.replicas", 1);
    if (fk_at(set, "metadata.deletionTimestamp"))
        return NULL;
    if (have > want)
        remove_pods(server, pods, (size_t)(have - want));
    return have < want ? make_pods(server, kind, set, (size_t)(want - have)) : NULL;
}

void fk_replicasets_run(struct fk_server *server)
{
    struct fk_kind *kind = fk_kind_find(server, "apps", "replicasets");
    json_auto_t *all = fk_store_at(kind, server->version);
    json_auto_t *before = fk_pods_by_owner(server);
    cw_autofree char **refusals = CW_NEW_ARRAY(char *, json_array_size(all) + 1);
    size_t i;
    json_t *set;
    json_array_foreach (all, i, set) {
        json_auto_t *pods = active_of(before, set);
        refusals[i] = steer(server, kind, set, pods);
    }
    json_auto_t *after = fk_pods_by_owner(server);
    json_array_foreach (all, i, set) {
        json_auto_t *pods = active_of(after, set);
        write_status(server, kind, set, pods, refusals[i]);
        cw_mem_free(refusals[i]);
    }
}
