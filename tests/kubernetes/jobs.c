/* SPDX-License-Identifier: Apache-2.0 */
/* The Job controller, as far as waiting jobs need it, and a scheduler: it binds
 * pods to nodes that are ready and have room (status.allocatable.pods), and
 * says of the others that there is none. */
#include "base/mem.h"
#include "kubernetes/fk_int.h"
#include <stdlib.h>
#include <string.h>

static const char MANAGER[] = "kube-controller-manager";

/* ---- jobs ---- */
struct tally {
    json_int_t active, succeeded, failed;
    json_t *pods; /* the active ones */
};

static struct tally tally_of(const json_t *by_owner, const json_t *job)
{
    struct tally tally = {.pods = json_array()};
    size_t i;
    json_t *pod;
    json_array_foreach (json_object_get(by_owner, fk_text(job, "metadata.uid")), i, pod) {
        const char *phase = fk_text_or(pod, "status.phase", "Pending");
        if (cw_str_eq(phase, "Succeeded"))
            tally.succeeded++;
        else if (cw_str_eq(phase, "Failed"))
            tally.failed++;
        else if (!fk_at(pod, "metadata.deletionTimestamp"))
            json_array_append(tally.pods, pod);
    }
    tally.active = (json_int_t)json_array_size(tally.pods);
    return tally;
}

static void steer_pods(struct fk_server *server, struct fk_kind *kind, const json_t *job,
                       const struct tally *tally, bool suspended)
{
    struct fk_kind *pods = fk_kind_find(server, "", "pods");
    json_int_t left = fk_int(job, "spec.completions", 1) - tally->succeeded;
    json_int_t want = suspended ? 0 : fk_int(job, "spec.parallelism", 1);
    want = want < left ? want : left;
    for (json_int_t i = tally->active; i < want; i++)
        fk_make(server, pods, fk_pod_from(kind, job), MANAGER);
    for (json_int_t i = want; i < tally->active; i++)
        fk_delete(server, pods, json_array_get(tally->pods, (size_t)i), -1, "Background");
}

static bool is_finished(const json_t *job)
{
    return fk_has_condition(job, "Complete", "True") || fk_has_condition(job, "Failed", "True");
}

static void write_job_status(struct fk_server *server, struct fk_kind *kind, const json_t *job,
                             const struct tally *tally, bool suspended)
{
    json_t *after = json_deep_copy(job);
    char now[32];
    fk_time_text(server, 0, now);
    json_int_t active = suspended ? 0 : tally->active;
    fk_put(after, "status.active", active ? json_integer(active) : NULL);
    fk_put(after, "status.succeeded", tally->succeeded ? json_integer(tally->succeeded) : NULL);
    fk_put(after, "status.failed", tally->failed ? json_integer(tally->failed) : NULL);
    if (!fk_at(after, "status"))
        fk_put(after, "status", json_object());
    if (suspended) {
        fk_set_condition(after, "Suspended", "True", "JobSuspended", "Job suspended", now);
        fk_put(after, "status.startTime", NULL);
    } else {
        if (fk_condition(job, "Suspended"))
            fk_set_condition(after, "Suspended", "False", "JobResumed", "Job resumed", now);
        if (!fk_at(after, "status.startTime"))
            fk_put_text(after, "status.startTime", now);
    }
    if (tally->succeeded >= fk_int(job, "spec.completions", 1)) {
        fk_set_condition(after, "Complete", "True", "CompletionsReached",
                         "Reached expected number of succeeded pods", now);
        fk_put_text(after, "status.completionTime", now);
    } else if (tally->failed > fk_int(job, "spec.backoffLimit", 6)) {
        fk_set_condition(after, "Failed", "True", "BackoffLimitExceeded",
                         "Job has reached the specified backoff limit", now);
    }
    fk_write(server, kind, job, after, MANAGER, "status");
}

/* Whether a pass has nothing to do for a job. */
static bool is_done_with(const json_t *job, const struct tally *tally)
{
    bool rests = fk_true(job, "spec.suspend") && fk_has_condition(job, "Suspended", "True") &&
                 tally->active + tally->succeeded + tally->failed == 0;
    return rests || is_finished(job) || fk_at(job, "metadata.deletionTimestamp");
}

void fk_jobs_run(struct fk_server *server)
{
    struct fk_kind *kind = fk_kind_find(server, "batch", "jobs");
    json_auto_t *all = fk_store_at(kind, server->version);
    json_auto_t *before = fk_pods_by_owner(server);
    size_t i;
    json_t *job;
    json_array_foreach (all, i, job) {
        struct tally tally = tally_of(before, job);
        if (!is_done_with(job, &tally))
            steer_pods(server, kind, job, &tally, fk_true(job, "spec.suspend"));
        json_decref(tally.pods);
    }
    json_auto_t *after = fk_pods_by_owner(server);
    json_array_foreach (all, i, job) {
        struct tally tally = tally_of(after, job);
        if (!is_done_with(job, &tally))
            write_job_status(server, kind, job, &tally, fk_true(job, "spec.suspend"));
        json_decref(tally.pods);
    }
}

/* ---- the scheduler ---- */
static long long number_of(const json_t *value, long long otherwise)
{
    return json_is_integer(value)  ? json_integer_value(value)
           : json_is_string(value) ? strtoll(json_string_value(value), NULL, 10)
                                   : otherwise;
}

static long long pods_on(struct fk_server *server, const char *node)
{
    const struct fk_kind *pods = fk_kind_find(server, "", "pods");
    long long n = 0;
    for (size_t i = 0; i < pods->n; i++) {
        const char *phase = fk_text_or(pods->objects[i].json, "status.phase", "Pending");
        n += cw_str_eq(fk_text(pods->objects[i].json, "spec.nodeName"), node) &&
             !cw_str_eq(phase, "Succeeded") && !cw_str_eq(phase, "Failed");
    }
    return n;
}

static bool labels_fit(const json_t *pod, const json_t *node)
{
    const char *key;
    json_t *value;
    json_object_foreach (fk_at(pod, "spec.nodeSelector"), key, value)
        if (!json_equal(value, json_object_get(fk_at(node, "metadata.labels"), key)))
            return false;
    return true;
}

/* The node with the fewest pods that takes this one; NULL: none. */
static const char *node_for(struct fk_server *server, const json_t *pod)
{
    const struct fk_kind *nodes = fk_kind_find(server, "", "nodes");
    const char *best = NULL;
    long long fewest = INT64_MAX;
    for (size_t i = 0; i < nodes->n; i++) {
        const json_t *node = nodes->objects[i].json;
        const char *name = fk_text(node, "metadata.name");
        long long used = pods_on(server, name);
        bool fits = !fk_true(node, "spec.unschedulable") &&
                    fk_has_condition(node, "Ready", "True") && labels_fit(pod, node) &&
                    used < number_of(fk_at(node, "status.allocatable.pods"), 110);
        if (fits && used < fewest) {
            fewest = used;
            best = name;
        }
    }
    return best;
}

static void tell_waiting(struct fk_server *server, struct fk_kind *pods, const json_t *pod,
                         const char *reason, const char *message)
{
    char now[32];
    fk_time_text(server, 0, now);
    json_t *after = json_deep_copy(pod);
    fk_set_condition(after, "PodScheduled", "False", reason, message, now);
    fk_write(server, pods, pod, after, "kube-scheduler", "status");
}

static void schedule_one(struct fk_server *server, struct fk_kind *pods, const json_t *pod)
{
    if (fk_len(pod, "spec.schedulingGates")) {
        tell_waiting(server, pods, pod, "SchedulingGated",
                     "Scheduling is blocked due to non-empty scheduling gates");
        return;
    }
    const char *node = node_for(server, pod);
    if (node) {
        fk_bind(server, pods, pod, node);
        return;
    }
    cw_autofree char *text =
        cw_mem_printf("0/%zu nodes are available: no node has room for this pod.",
                      fk_kind_find(server, "", "nodes")->n);
    tell_waiting(server, pods, pod, "Unschedulable", text);
}

void fk_schedule_run(struct fk_server *server)
{
    struct fk_kind *pods = fk_kind_find(server, "", "pods");
    if (!fk_kind_find(server, "", "nodes")->n) /* no nodes at all: nobody schedules */
        return;
    json_auto_t *all = fk_store_at(pods, server->version);
    size_t i;
    json_t *pod;
    json_array_foreach (all, i, pod)
        if (!fk_text(pod, "spec.nodeName") && !fk_at(pod, "metadata.deletionTimestamp") &&
            cw_str_eq(fk_text_or(pod, "status.phase", "Pending"), "Pending"))
            schedule_one(server, pods, pod);
}
