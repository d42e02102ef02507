/* SPDX-License-Identifier: Apache-2.0 */
/* Subresources of pods: eviction, which disruption budgets may refuse, and binding. */
#include "kubernetes/fk_int.h"
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

static void answer_success(struct fk_call *call)
{
    json_auto_t *status = json_pack("{s:s, s:s, s:{}, s:s, s:i}", "kind", "Status", "apiVersion",
                                    "v1", "metadata", "status", "Success", "code", 201);
    fk_answer_json(call, 201, status);
}

/* ---- eviction ---- */
static bool is_healthy(const json_t *pod)
{
    return fk_has_condition(pod, "Ready", "True") && !fk_at(pod, "metadata.deletionTimestamp");
}

/* "50%" of n, rounded up, or a number. */
static json_int_t share_of(const json_t *value, json_int_t n)
{
    if (json_is_integer(value))
        return json_integer_value(value);
    long percent = strtol(json_string_value(value) ? json_string_value(value) : "0", NULL, 10);
    return (n * percent + 99) / 100;
}

/* How many healthy pods a budget needs, and has. */
static void count_budget(const struct fk_kind *pods, const json_t *budget, json_int_t *ret_needed,
                         json_int_t *ret_healthy)
{
    json_int_t expected = 0, healthy = 0;
    for (size_t i = 0; i < pods->n; i++) {
        const json_t *pod = pods->objects[i].json;
        if (!cw_str_eq(fk_text(pod, "metadata.namespace"), fk_text(budget, "metadata.namespace")) ||
            !fk_labels_match(fk_at(budget, "spec.selector"), pod))
            continue;
        expected++;
        healthy += is_healthy(pod);
    }
    const json_t *min = fk_at(budget, "spec.minAvailable");
    const json_t *max = fk_at(budget, "spec.maxUnavailable");
    *ret_needed = min ? share_of(min, expected) : max ? expected - share_of(max, expected) : 0;
    *ret_healthy = healthy;
}

static bool fail_budget(struct fk_call *call, const json_t *budget, json_int_t needed,
                        json_int_t healthy)
{
    json_t *causes = json_array();
    json_t *cause = json_pack("{s:s}", "reason", "DisruptionBudget");
    cw_autofree char *text =
        cw_mem_printf("The disruption budget %s needs %lld healthy pods and has %lld currently",
                      fk_text(budget, "metadata.name"), (long long)needed, (long long)healthy);
    fk_put_text(cause, "message", text);
    json_array_append_new(causes, cause);
    return fk_fail(call, 429, "TooManyRequests", json_pack("{s:o}", "causes", causes),
                   "Cannot evict pod as it would violate the pod's disruption budget.");
}

/* A pod that is not ready may always go when the budget has enough, or AlwaysAllow says so. */
static bool budgets_allow(struct fk_call *call, const json_t *pod)
{
    const struct fk_kind *budgets = fk_kind_find(call->server, "policy", "poddisruptionbudgets");
    for (size_t i = 0; i < budgets->n; i++) {
        const json_t *budget = budgets->objects[i].json;
        json_int_t needed, healthy;
        if (!cw_str_eq(fk_text(budget, "metadata.namespace"), call->ns) ||
            !fk_labels_match(fk_at(budget, "spec.selector"), pod))
            continue;
        count_budget(call->kind, budget, &needed, &healthy);
        bool always = cw_str_eq(fk_text(budget, "spec.unhealthyPodEvictionPolicy"), "AlwaysAllow");
        if (!is_healthy(pod) && (always || healthy >= needed))
            continue;
        if (healthy - 1 < needed)
            return fail_budget(call, budget, needed, healthy);
    }
    return true;
}

static void evict(struct fk_call *call, const json_t *pod, json_int_t grace_s)
{
    char now[32];
    fk_time_text(call->server, 0, now);
    json_t *after = json_deep_copy(pod);
    fk_set_condition(after, "DisruptionTarget", "True", "EvictionByEvictionAPI",
                     "Eviction API: evicting", now);
    fk_defaults(call->kind, after);
    after = fk_store_put(call->server, call->kind, after);
    fk_delete(call->server, call->kind, after, grace_s, "Background");
}

void fk_handle_eviction(struct fk_call *call)
{
    json_auto_t *pod = json_incref(fk_store_get(call->kind, call->ns, call->name));
    json_auto_t *body = fk_body(call);
    if (!body)
        return;
    if (!pod) {
        fk_fail_not_found(call);
        return;
    }
    const char *phase = fk_text_or(pod, "status.phase", "Pending");
    bool counts = !cw_str_eq(phase, "Pending") && !cw_str_eq(phase, "Succeeded") &&
                  !cw_str_eq(phase, "Failed") && !fk_at(pod, "metadata.deletionTimestamp");
    if (counts && !budgets_allow(call, pod))
        return;
    const char *uid = fk_text(body, "deleteOptions.preconditions.uid");
    if (uid && !cw_str_eq(uid, fk_text(pod, "metadata.uid"))) {
        fk_fail_conflict(call);
        return;
    }
    call->server->counts.writes++;
    if (!fk_is_dry(call) && !fk_len(body, "deleteOptions.dryRun"))
        evict(call, pod, fk_int(body, "deleteOptions.gracePeriodSeconds", -1));
    answer_success(call);
}

/* ---- binding ---- */
void fk_bind(struct fk_server *server, struct fk_kind *pods, const json_t *pod, const char *node)
{
    char now[32];
    fk_time_text(server, 0, now);
    json_t *after = json_deep_copy(pod);
    fk_put_text(after, "spec.nodeName", node);
    fk_set_condition(after, "PodScheduled", "True", NULL, NULL, now);
    fk_defaults(pods, after);
    fk_put(after, "metadata.managedFields", json_deep_copy(fk_at(pod, "metadata.managedFields")));
    fk_commit(server, pods, after); /* binding moves no generation, and leaves no manager */
}

static bool fail_binding(struct fk_call *call, const char *why)
{
    json_t *details = json_pack("{s:s, s:s}", "name", call->name, "kind", "pods/binding");
    return fk_fail(call, 409, "Conflict", details,
                   "Operation cannot be fulfilled on pods/binding \"%s\": pod %s %s", call->name,
                   call->name, why);
}

static void bind_asked(struct fk_call *call, const json_t *pod, const char *node)
{
    cw_autofree char *taken =
        cw_mem_printf("is already assigned to node \"%s\"", fk_text_or(pod, "spec.nodeName", ""));
    if (fk_at(pod, "metadata.deletionTimestamp")) {
        fail_binding(call, "is being deleted, cannot be assigned to a host");
    } else if (fk_text(pod, "spec.nodeName")) {
        fail_binding(call, taken);
    } else if (fk_len(pod, "spec.schedulingGates")) {
        fail_binding(call, "has non-empty .spec.schedulingGates");
    } else {
        call->server->counts.writes++;
        fk_bind(call->server, call->kind, pod, node);
        answer_success(call);
    }
}

void fk_handle_binding(struct fk_call *call)
{
    json_auto_t *pod = json_incref(fk_store_get(call->kind, call->ns, call->name));
    json_auto_t *body = fk_body(call);
    const char *node = fk_text_or(body, "target.name", "");
    if (!body)
        return;
    if (pod)
        bind_asked(call, pod, node);
    else
        fk_fail_not_found(call);
}
