/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Pods. */
#include "kube/pod.h"

#include "kube/field.h"

static const char *text_or_empty(const struct cw_value *object, const char *path)
{
    const char *text = cw_kube_text(object, path);

    return text ? text : "";
}

static const struct cw_value *condition(const struct cw_value *object, const char *type)
{
    size_t n;
    const struct cw_value *conditions = cw_kube_list(object, "status.conditions", &n);

    for (size_t i = 0; i < n; i++)
        if (cw_str_eq(cw_kube_text(&conditions[i], "type"), type))
            return &conditions[i];
    return NULL;
}

static bool condition_is(const struct cw_value *object, const char *type, const char *status)
{
    return cw_str_eq(cw_kube_text(condition(object, type), "status"), status);
}

static void set(struct cw_kube_pod *pod, enum cw_kube_pod_state state,
                const struct cw_value *what_says_so)
{
    pod->state = state;
    pod->reason = text_or_empty(what_says_so, "reason");
    pod->message = text_or_empty(what_says_so, "message");
}

/* A container that waits for nothing but its start. */
static bool is_usual(const char *reason)
{
    return cw_str_eq(reason, "") || cw_str_eq(reason, "ContainerCreating") ||
           cw_str_eq(reason, "PodInitializing");
}

/* Looks at one list of containers: what the first one waits for, and restarts. */
static void read_containers(const struct cw_value *object, const char *path,
                            struct cw_kube_pod *pod)
{
    size_t n;
    const struct cw_value *containers = cw_kube_list(object, path, &n);

    for (size_t i = 0; i < n; i++) {
        const struct cw_value *waiting = cw_kube_field(&containers[i], "state.waiting");
        int64_t restarts = 0;

        if (cw_kube_i64(&containers[i], "restartCount", &restarts) && restarts > 0)
            pod->restarts += CW_MIN(restarts, (int64_t)INT32_MAX);
        if (pod->state == CW_KUBE_POD_STARTS && !is_usual(text_or_empty(waiting, "reason")))
            set(pod, CW_KUBE_POD_WAITS, waiting);
    }
}

static void read_state(const struct cw_value *object, struct cw_kube_pod *pod)
{
    const char *phase = text_or_empty(object, "status.phase");

    read_containers(object, "status.initContainerStatuses", pod);
    read_containers(object, "status.containerStatuses", pod);
    if (cw_kube_text(object, "metadata.deletionTimestamp"))
        set(pod, CW_KUBE_POD_GOES, NULL);
    else if (cw_str_eq(phase, "Succeeded") || cw_str_eq(phase, "Failed"))
        set(pod, CW_KUBE_POD_ENDED, cw_kube_field(object, "status"));
    else if (condition_is(object, "DisruptionTarget", "True"))
        set(pod, CW_KUBE_POD_GOES, condition(object, "DisruptionTarget"));
    else if (condition_is(object, "PodScheduled", "False"))
        set(pod, CW_KUBE_POD_WAITS, condition(object, "PodScheduled"));
    else if (condition_is(object, "Ready", "True"))
        set(pod, CW_KUBE_POD_READY, NULL);
    else if (pod->state == CW_KUBE_POD_STARTS && cw_str_eq(phase, "Running"))
        set(pod, CW_KUBE_POD_RUNS, NULL);
}

void cw_kube_pod_read(const struct cw_value *object, struct cw_kube_pod *ret_pod)
{
    const struct cw_value *cost =
        cw_value_get(cw_kube_field(object, "metadata.annotations"), CW_KUBE_DELETION_COST);

    *ret_pod = (struct cw_kube_pod){
        .state = CW_KUBE_POD_STARTS,
        .reason = "",
        .message = "",
        .name = text_or_empty(object, "metadata.name"),
        .uid = text_or_empty(object, "metadata.uid"),
        .node = text_or_empty(object, "spec.nodeName"),
        .ip = text_or_empty(object, "status.podIP"),
        .deletion_cost = cost && cost->type == CW_VALUE_STR ? cost->s : NULL,
    };
    read_state(object, ret_pod);
}
