/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults of built-in kinds, and what may be changed in them. Only what cachew's objects have is here:
 * values that a real server fills in and that somebody may look at. */
#include "kubernetes/fk_int.h"
#include <string.h>
#include "base/mem.h"

static void set_text(json_t *object, const char *path, const char *text)
{
    if (!fk_at(object, path))
        fk_put_text(object, path, text);
}

static void set_int(json_t *object, const char *path, json_int_t number)
{
    if (!fk_at(object, path))
        fk_put_int(object, path, number);
}

static void set_object(json_t *object, const char *path)
{
    if (!fk_at(object, path))
        fk_put(object, path, json_object());
}

static void default_container(json_t *container)
{
    const char *image = fk_text_or(container, "image", "");
    const char *tag = strrchr(image, ':');
    set_object(container, "resources");
    set_text(container, "terminationMessagePath", "/dev/termination-log");
    set_text(container, "terminationMessagePolicy", "File");
    set_text(container, "imagePullPolicy",
             tag && !strchr(tag, '/') && !cw_str_eq(tag, ":latest") ? "IfNotPresent" : "Always");
}

static void default_pod_spec(json_t *spec)
{
    size_t i;
    json_t *container;
    if (!spec)
        return;
    json_array_foreach (json_object_get(spec, "containers"), i, container)
        default_container(container);
    set_text(spec, "restartPolicy", "Always");
    set_int(spec, "terminationGracePeriodSeconds", 30);
    set_text(spec, "dnsPolicy", "ClusterFirst");
    set_object(spec, "securityContext");
    set_text(spec, "schedulerName", "default-scheduler");
}

static json_t *toleration(const char *key)
{
    return json_pack("{s:s, s:s, s:s, s:i}", "key", key, "operator", "Exists", "effect",
                     "NoExecute", "tolerationSeconds", 300);
}

static void default_conditions(json_t *pod)
{
    size_t i;
    json_t *condition;
    json_array_foreach (fk_at(pod, "status.conditions"), i, condition) {
        if (!fk_at(condition, "lastProbeTime"))
            fk_put(condition, "lastProbeTime", json_null());
        if (!fk_at(condition, "lastTransitionTime"))
            fk_put(condition, "lastTransitionTime", json_null());
    }
    if (fk_text(pod, "status.podIP"))
        fk_put(pod, "status.podIPs", json_pack("[{s:O}]", "ip", fk_at(pod, "status.podIP")));
}

/* A pod with gates says from the beginning what it waits for. */
static void default_gates(json_t *pod)
{
    if (!fk_len(pod, "spec.schedulingGates") || fk_condition(pod, "PodScheduled") ||
        fk_at(pod, "metadata.uid"))
        return;
    fk_put(pod, "status.conditions",
           json_pack("[{s:s, s:s, s:n, s:n, s:s, s:s}]", "type", "PodScheduled", "status", "False",
                     "lastProbeTime", "lastTransitionTime", "reason", "SchedulingGated", "message",
                     "Scheduling is blocked due to non-empty scheduling gates"));
}

static void default_pod(json_t *pod)
{
    json_t *spec = fk_at(pod, "spec");
    default_pod_spec(spec);
    if (!spec)
        return;
    if (!fk_at(spec, "tolerations"))
        fk_put(spec, "tolerations",
               json_pack("[o,o]", toleration("node.kubernetes.io/not-ready"),
                         toleration("node.kubernetes.io/unreachable")));
    set_int(spec, "priority", 0);
    if (!fk_at(spec, "enableServiceLinks"))
        fk_put(spec, "enableServiceLinks", json_true());
    set_text(spec, "preemptionPolicy", "PreemptLowerPriority");
    set_text(pod, "status.phase", "Pending");
    set_text(pod, "status.qosClass", "BestEffort");
    default_gates(pod);
    default_conditions(pod);
}

static void default_deployment(json_t *object)
{
    if (!fk_at(object, "spec"))
        return;
    set_int(object, "spec.replicas", 1);
    set_text(object, "spec.strategy.type", "RollingUpdate");
    if (cw_str_eq(fk_text(object, "spec.strategy.type"), "RollingUpdate")) {
        set_text(object, "spec.strategy.rollingUpdate.maxUnavailable", "25%");
        set_text(object, "spec.strategy.rollingUpdate.maxSurge", "25%");
    }
    set_int(object, "spec.revisionHistoryLimit", 10);
    set_int(object, "spec.progressDeadlineSeconds", 600);
    default_pod_spec(fk_at(object, "spec.template.spec"));
}

static void default_job(json_t *object)
{
    if (!fk_at(object, "spec"))
        return;
    set_int(object, "spec.parallelism", 1);
    set_int(object, "spec.completions", 1);
    set_int(object, "spec.backoffLimit", 6);
    set_text(object, "spec.completionMode", "NonIndexed");
    set_text(object, "spec.podReplacementPolicy", "TerminatingOrFailed");
    if (!fk_at(object, "spec.manualSelector"))
        fk_put(object, "spec.manualSelector", json_false());
    set_object(object, "status");
    if (!fk_at(object, "spec.suspend"))
        fk_put(object, "spec.suspend", json_false());
    default_pod_spec(fk_at(object, "spec.template.spec"));
}

static void default_claim(json_t *object)
{
    set_text(object, "status.phase", "Pending");
    set_text(object, "spec.volumeMode", "Filesystem");
}

static void default_event(json_t *object)
{
    static const char *const TIMES[] = {"deprecatedFirstTimestamp", "deprecatedLastTimestamp"};
    set_object(object, "deprecatedSource");
    for (size_t i = 0; i < 2; i++)
        if (!fk_at(object, TIMES[i]))
            fk_put(object, TIMES[i], json_null());
}

void fk_defaults(const struct fk_kind *kind, json_t *object)
{
    static const struct {
        const char *plural;
        void (*fill)(json_t *object);
    } FILLERS[] = {
        {"pods", default_pod},
        {"deployments", default_deployment},
        {"jobs", default_job},
        {"persistentvolumeclaims", default_claim},
    };
    for (size_t i = 0; !kind->custom && i < sizeof(FILLERS) / sizeof(*FILLERS); i++)
        if (cw_str_eq(FILLERS[i].plural, kind->plural))
            FILLERS[i].fill(object);
    if (cw_str_eq(kind->group, "events.k8s.io"))
        default_event(object);
    if (!kind->custom && kind->has_status)
        set_object(object, "status");
    if (!kind->custom && cw_str_eq(kind->plural, "replicasets") && fk_at(object, "spec"))
        set_int(object, "spec.replicas", 1);
}

/* Drops empty maps and lists that are optional. */
void fk_tidy(const struct fk_kind *kind, json_t *object)
{
    static const char *const PATHS[] = {"metadata.labels",
                                        "metadata.annotations",
                                        "metadata.finalizers",
                                        "metadata.ownerReferences",
                                        "data",
                                        "spec.schedulingGates"};
    for (size_t i = 0; i < sizeof(PATHS) / sizeof(*PATHS); i++) {
        const json_t *value = fk_at(object, PATHS[i]);
        bool is_empty = (json_is_object(value) && !json_object_size(value)) ||
                        (json_is_array(value) && !json_array_size(value)) || json_is_null(value);
        if (is_empty && (!kind->custom || i < 4))
            fk_put(object, PATHS[i], NULL);
    }
}

/* ---- changes ---- */
/* The pod's spec without what may be changed in it. */
static json_t *fixed_part(const json_t *pod)
{
    json_t *spec = json_deep_copy(fk_at(pod, "spec"));
    size_t i;
    json_t *container;
    json_array_foreach (json_object_get(spec, "containers"), i, container)
        json_object_del(container, "image");
    json_object_del(spec, "schedulingGates");
    json_object_del(spec, "tolerations");
    json_object_del(spec, "activeDeadlineSeconds");
    return spec;
}

static void check_gates(const json_t *before, const json_t *after, json_t *causes)
{
    size_t i, j;
    json_t *gate, *old;
    json_array_foreach (fk_at(after, "spec.schedulingGates"), i, gate) {
        bool known = false;
        json_array_foreach (fk_at(before, "spec.schedulingGates"), j, old)
            known = known || json_equal(gate, old);
        if (known)
            continue;
        cw_autofree char *where = cw_mem_printf("spec.schedulingGates[%zu].name", i);
        fk_cause(causes, "FieldValueForbidden", where,
                 "Forbidden: only deletion is allowed, but found new scheduling gate '%s'",
                 fk_text_or(gate, "name", ""));
    }
}

static void check_pod(const json_t *before, const json_t *after, json_t *causes)
{
    json_auto_t *old = fixed_part(before);
    json_auto_t *new = fixed_part(after);
    check_gates(before, after, causes);
    if (!json_equal(old, new))
        fk_cause(causes, "FieldValueForbidden", "spec",
                 "Forbidden: pod updates may not change fields other than "
                 "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                 "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
                 "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
                 "was previously negative)");
}

static void check_fixed(const json_t *before, const json_t *after, const char *path, json_t *causes)
{
    const json_t *old = fk_at(before, path), *new = fk_at(after, path);
    if (!old || json_equal(old, new))
        return;
    cw_autofree char *text = fk_dump(new, true, NULL);
    fk_cause(causes, "FieldValueInvalid", path, "Invalid value: %s: field is immutable", text);
}

void fk_check_change(const struct fk_kind *kind, const json_t *before, const json_t *after,
                     json_t *causes)
{
    if (kind->custom)
        return;
    if (cw_str_eq(kind->plural, "pods"))
        check_pod(before, after, causes);
    if (cw_str_eq(kind->plural, "deployments") || cw_str_eq(kind->plural, "replicasets"))
        check_fixed(before, after, "spec.selector", causes);
    if (cw_str_eq(kind->plural, "deployments") && fk_int(after, "spec.replicas", 0) < 0)
        fk_cause(causes, "FieldValueInvalid", "spec.replicas",
                 "Invalid value: %lld: must be greater than or equal to 0",
                 (long long)fk_int(after, "spec.replicas", 0));
    if (cw_str_eq(kind->plural, "jobs") && !fk_true(before, "spec.suspend"))
        check_fixed(before, after, "spec.template", causes);
}
