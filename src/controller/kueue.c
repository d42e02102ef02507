/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at Workloads that wait for the controller's check. One whose job waits for no cache is answered
 * as well: a queue has its checks for all that it admits. */
#include "controller/kueue.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/kueue_facts.h"
#include "controller/watches.h"
#include "kube/field.h"

#define AGAIN_FIRST_MS 1000
#define AGAIN_MAX_MS 60000

static const struct cw_kube_kind checks = {"kueue.x-k8s.io", "v1beta2", "admissionchecks"};
static const struct cw_kube_kind workloads = {"kueue.x-k8s.io", "v1beta2", "workloads"};

/* A request under way. */
struct request {
    struct cw_controller *c;
    char *name_space, *name, *uid; /* of the Workload; NULL: it is about a check */
    struct request *prev, *next;
};
struct cw_kueue {
    struct cw_kube_watch *checks, *workloads;
    struct request *requests;
    unsigned tries;   /* that failed, one after the other */
    int64_t again_ms; /* wall time; 0: nothing has failed */
};

/* ---- requests ---- */

static struct request *begin_request(struct cw_controller *c, const struct cw_workload *workload)
{
    struct request *request = CW_NEW(struct request);
    *request = (struct request){.c = c, .next = c->kueue->requests};
    if (workload) {
        request->name_space = cw_mem_strdup(workload->name_space);
        request->name = cw_mem_strdup(workload->name);
        request->uid = cw_mem_strdup(workload->uid);
    }
    if (c->kueue->requests)
        c->kueue->requests->prev = request;
    c->kueue->requests = request;
    return request;
}

static void free_request(struct request *request)
{
    if (request->prev)
        request->prev->next = request->next;
    else
        request->c->kueue->requests = request->next;
    if (request->next)
        request->next->prev = request->prev;
    cw_mem_free(request->name_space);
    cw_mem_free(request->name);
    cw_mem_free(request->uid);
    cw_mem_free(request);
}

static struct cw_workload *find(const struct request *request)
{
    const struct cw_kube_object *object = cw_kube_objects_find(
        cw_kube_watch_objects(request->c->kueue->workloads), request->name_space, request->name);
    struct cw_workload *workload = object ? object->kept : NULL;
    return workload && strcmp(workload->uid, request->uid) == 0 ? workload : NULL;
}

/* Tried again later, and later each time. After a conflict the watch brings what is newer. */
static void put_off(struct cw_kueue *k, const struct cw_kube_answer *answer)
{
    int64_t wait_ms = CW_MIN(AGAIN_FIRST_MS << CW_MIN(k->tries, 10u), AGAIN_MAX_MS);
    k->tries++;
    k->again_ms = cw_clock_wall_ms() + CW_MAX(wait_ms, answer->status.retry_after_ms);
    if (answer->status.reason != CW_KUBE_Conflict && answer->status.reason != CW_KUBE_NotFound)
        cw_log_warn(CW_CONTROLLER, "kueue: %s", answer->err->msg);
}

static void on_written(void *arg, struct cw_kube_answer *answer)
{
    struct request *request = arg;
    struct cw_kueue *k = request->c->kueue;
    struct cw_workload *workload = request->name ? find(request) : NULL;
    request->c->failed_writes += answer->code != CW_OK;
    if (answer->code == CW_OK)
        k->tries = 0;
    else
        put_off(k, answer);
    if (answer->code != CW_OK && workload)
        workload->answered = false;
    free_request(request);
}

/* A job that has the label is on its way through its watch; one that has not waits for nothing. */
static void on_job(void *arg, struct cw_kube_answer *answer)
{
    struct request *request = arg;
    struct cw_workload *workload = find(request);
    const struct cw_value *labels = cw_kube_field(answer->object, "metadata.labels");
    const struct cw_value *label = labels ? cw_value_get(labels, CW_BACKEND_LABEL) : NULL;
    bool labelled = label && label->type == CW_VALUE_STR && strcmp(label->s, "true") == 0;
    if (answer->code != CW_OK && answer->status.reason != CW_KUBE_NotFound)
        put_off(request->c->kueue, answer);
    if (workload && answer->code == CW_OK)
        workload->waits_for_nothing = !labelled;
    else if (workload)
        workload->asked = false;
    if (answer->code == CW_OK)
        cw_workloads_touch(request->c);
    free_request(request);
}

/* ---- answers ---- */

static void answer(struct cw_controller *c, struct cw_workload *workload, const char *check,
                   const char *message)
{
    const struct cw_kube_target target = {&workloads, workload->name_space, workload->name,
                                          "status"};
    CW_STR_AUTO body = {0};
    workload->answered = true;
    c->other_writes++;
    cw_workload_answer(workload, check, message, cw_clock_wall_ms() * 1000, &body);
    cw_log_info(CW_CONTROLLER, "workload %s/%s: %s", workload->name_space, workload->name, message);
    struct cw_kube_call *call =
        cw_kube_patch(c->kube, &target, cw_str_text(&body), on_written, begin_request(c, workload));
    (void)call;
}

/* Asks for a job that is not seen. Returns whether it was asked for before. */
static void ask_for_job(struct cw_controller *c, struct cw_workload *workload,
                        const struct cw_job_kind *kind)
{
    const struct cw_kube_target target = {&kind->kind, workload->name_space, workload->owner, NULL};
    if (workload->asked)
        return;
    workload->asked = true;
    struct cw_kube_call *call = cw_kube_get(c->kube, &target, on_job, begin_request(c, workload));
    (void)call;
}

/* Returns which CacheBackend a Workload waits for; "": none; NULL: it is not known yet. */
static const char *wanted(struct cw_controller *c, struct cw_workload *workload)
{
    const struct cw_job_kind *kind = cw_job_kind_find(workload->kind);
    const struct cw_pod_facts *pod =
        strcmp(workload->kind, "Pod") == 0
            ? cw_watches_pod_named(c, workload->name_space, workload->owner)
            : NULL;
    const struct cw_job_facts *job =
        kind ? cw_watches_job_named(c, kind, workload->name_space, workload->owner) : NULL;
    if (pod && strcmp(pod->uid, workload->owner_uid) == 0)
        return pod->wants;
    if (job && strcmp(job->uid, workload->owner_uid) == 0)
        return job->wants;
    if (!kind || !cw_watches_kind(c, kind) || workload->waits_for_nothing)
        return "";
    ask_for_job(c, workload, kind);
    return NULL;
}

static void look(struct cw_controller *c, struct cw_workload *workload, const char *check)
{
    if (workload->answered || !cw_workload_waits(workload, check))
        return;
    const char *name = wanted(c, workload);
    if (!name)
        return;
    if (*name == '\0') {
        answer(c, workload, check, "it waits for no cache");
        return;
    }
    cw_autofree char *key = cw_mem_printf("%s/%s", workload->name_space, name);
    const struct cw_item *item = cw_item_find(c, key);
    cw_autofree char *message = cw_mem_printf("the CacheBackend %s is ready", name);
    if (item && item->ready)
        answer(c, workload, check, message);
}

static void look_at_all(struct cw_controller *c, const char *check)
{
    const struct cw_kube_objects *objects = cw_kube_watch_objects(c->kueue->workloads);
    const struct cw_kube_object *object;
    for (size_t i = 0; (object = cw_kube_objects_next(objects, &i)) != NULL;)
        if (object->kept)
            look(c, object->kept, check);
}

static void activate(struct cw_controller *c, const struct cw_admission_check *check)
{
    const struct cw_kube_target target = {&checks, NULL, check->name, "status"};
    CW_STR_AUTO body = {0};
    c->other_writes++;
    cw_admission_check_activate(check, cw_clock_wall_ms() * 1000, &body);
    struct cw_kube_call *call =
        cw_kube_patch(c->kube, &target, cw_str_text(&body), on_written, begin_request(c, NULL));
    (void)call;
}

void cw_kueue_turn(struct cw_controller *c)
{
    const struct cw_kube_object *object;
    if (!c->kueue || !c->workloads_due)
        return;
    c->workloads_due = false;
    const struct cw_kube_objects *objects = cw_kube_watch_objects(c->kueue->checks);
    for (size_t i = 0; (object = cw_kube_objects_next(objects, &i)) != NULL;) {
        const struct cw_admission_check *check = object->kept;
        if (!check->is_ours)
            continue;
        if (!check->is_active && !c->kueue->requests)
            activate(c, check);
        look_at_all(c, check->name);
    }
}

void cw_kueue_tick(struct cw_controller *c)
{
    if (!c->kueue || c->kueue->again_ms == 0 || c->kueue->again_ms > cw_clock_wall_ms())
        return;
    c->kueue->again_ms = 0;
    cw_workloads_touch(c);
}

/* ---- watches ---- */

static void *digest_check(void *arg, struct cw_value *object)
{
    (void)arg;
    return cw_admission_check_read(object);
}

static void drop_check(void *arg, void *kept)
{
    (void)arg;
    cw_admission_check_free(kept);
}

static void *digest_workload(void *arg, struct cw_value *object)
{
    (void)arg;
    return cw_workload_read(object);
}

static void drop_workload(void *arg, void *kept)
{
    (void)arg;
    cw_workload_free(kept);
}

static void on_change(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                      void *before)
{
    (void)change;
    (void)object;
    (void)before;
    cw_workloads_touch(arg);
}

static void on_listed(void *arg)
{
    cw_workloads_touch(arg);
}

static void on_failed(void *arg, const struct cw_err *err, int64_t retry_ms)
{
    (void)arg;
    cw_log_warn(CW_CONTROLLER, "kueue: %s; again in %lld ms", err->msg, (long long)retry_ms);
}

void cw_kueue_start(struct cw_controller *c)
{
    const struct cw_kube_watch_options of_checks = {.target = {&checks, NULL, NULL, NULL},
                                                    .without = cw_kube_without_managers};
    const struct cw_kube_watch_options of_workloads = {
        .target = {&workloads, c->options.name_space, NULL, NULL},
        .without = cw_kube_without_managers};
    const struct cw_kube_watch_events for_checks = {
        {digest_check, drop_check, on_change, c}, on_listed, on_failed, c};
    const struct cw_kube_watch_events for_workloads = {
        {digest_workload, drop_workload, on_change, c}, on_listed, on_failed, c};
    c->kueue = CW_NEW(struct cw_kueue);
    c->kueue->checks = cw_kube_watch_new(c->kube, &of_checks, &for_checks);
    c->kueue->workloads = cw_kube_watch_new(c->kube, &of_workloads, &for_workloads);
}

void cw_kueue_relist(struct cw_kueue *kueue)
{
    cw_kube_watch_relist(kueue->checks);
    cw_kube_watch_relist(kueue->workloads);
}

void cw_kueue_stop(struct cw_controller *c)
{
    if (!c->kueue)
        return;
    cw_kube_watch_free(c->kueue->checks);
    cw_kube_watch_free(c->kueue->workloads);
    while (c->kueue->requests)
        free_request(c->kueue->requests);
    cw_mem_free(c->kueue);
    c->kueue = NULL;
}

void cw_kueue_counts(const struct cw_controller *c, struct cw_kube_watch_counts *sum)
{
    if (!c->kueue)
        return;
    const struct cw_kube_watch *const watches[] = {c->kueue->checks, c->kueue->workloads};
    for (size_t i = 0; i < CW_ARRAY_LEN(watches); i++) {
        const struct cw_kube_watch_counts one = cw_kube_watch_counts(watches[i]);
        sum->lists += one.lists;
        sum->watches += one.watches;
        sum->failures += one.failures;
        sum->events += one.events;
    }
}
