/* SPDX-License-Identifier: Apache-2.0 */
/* Writes. Whatever one has changed comes back as an event of a watch, which is what goes on from. */
#include "controller/writes.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#define RETRY_FIRST_MS 500
#define RETRY_MAX_MS 60000
#define TAKEN_MS 30000

static const struct cw_kube_kind backends = {CW_CACHEBACKEND_GROUP, CW_CACHEBACKEND_VERSION,
                                             "cachebackends"};
static const struct cw_kube_kind maps = {"", "v1", "configmaps"};
static const struct cw_kube_kind claims = {"", "v1", "persistentvolumeclaims"};
static const struct cw_kube_kind volumes = {"", "v1", "persistentvolumes"};
static const struct cw_kube_kind pods = {"", "v1", "pods"};

static struct cw_kube_target target_of(const struct cw_kube_kind *kind, const struct cw_item *item,
                                       const char *subresource)
{
    return (struct cw_kube_target){kind, item->b->name_space, item->b->name, subresource};
}

/* A call tells its own end. */
static void begun(const struct cw_kube_call *call)
{
    (void)call;
}

/* A write has failed: what is next waits a while. A conflict means that something newer is on its way. */
static void put_off(struct cw_item *item, const struct cw_kube_answer *answer)
{
    int64_t wait_ms = CW_MIN(RETRY_FIRST_MS << CW_MIN(item->write_tries, 10u), RETRY_MAX_MS);
    wait_ms = CW_MAX(wait_ms, answer->status.retry_after_ms);
    item->write_tries++;
    item->write_after_ms = cw_clock_wall_ms() + wait_ms;
    item->c->failed_writes++;
    if (answer->status.reason != CW_KUBE_Conflict && answer->status.reason != CW_KUBE_NotFound)
        cw_log_warn(CW_CONTROLLER, "cachebackend %s/%s: %s", item->b->name_space, item->b->name,
                    answer->err->msg);
}

struct cw_item *cw_write_finish(struct cw_ref *ref, struct cw_kube_answer *answer)
{
    struct cw_item *item = cw_item_end(ref);
    if (!item)
        return NULL;
    cw_item_touch(item);
    if (answer->code != CW_OK) {
        item->map_settles_ms = item->job_settles_ms = item->claim_settles_ms = 0;
        put_off(item, answer);
        return NULL;
    }
    item->write_tries = 0;
    return item;
}

static void on_written(void *arg, struct cw_kube_answer *answer)
{
    (void)cw_write_finish(arg, answer);
}

/* The object is on its way out, which its watch is to tell before anything else is done. */
static void on_dropped(void *arg, struct cw_kube_answer *answer)
{
    struct cw_item *item = cw_write_finish(arg, answer);
    if (item)
        item->write_after_ms = cw_clock_wall_ms() + CW_SETTLE_MS;
}

/* What was answered is the newest state of the object. */
static void on_object(void *arg, struct cw_kube_answer *answer)
{
    struct cw_item *item = cw_write_finish(arg, answer);
    struct cw_cachebackend *b =
        item && answer->object ? cw_cachebackend_read(answer->object) : NULL;
    if (b && strcmp(b->uid, item->b->uid) == 0)
        (void)cw_item_put(item->c, b);
    cw_cachebackend_unref(b);
}

static void patch(struct cw_item *item, const struct cw_kube_target *target, const char *body,
                  unsigned what, cw_kube_fn *fn)
{
    item->c->other_writes += what != CW_DO_STATUS;
    begun(cw_kube_patch(item->c->kube, target, body, fn, cw_item_begin(item, what)));
}

/* ---- the object itself ---- */

void cw_write_finalizer(struct cw_item *item, bool adds)
{
    const struct cw_cachebackend *b = item->b;
    const struct cw_kube_target target = target_of(&backends, item, NULL);
    CW_STR_AUTO body = {0};
    size_t n = 0;
    cw_str_addf(&body, "{\"metadata\":{\"resourceVersion\":\"%s\",\"finalizers\":[", b->version);
    for (size_t i = 0; i < b->finalizers.n; i++) {
        if (cw_str_eq(b->finalizers.items[i].s, CW_BACKEND_FINALIZER))
            continue;
        cw_str_add(&body, n++ ? "," : "");
        cw_value_print(&b->finalizers.items[i], &body);
    }
    if (adds)
        cw_str_addf(&body, "%s\"" CW_BACKEND_FINALIZER "\"", n ? "," : "");
    cw_str_add(&body, "]}}");
    /* The answer to a removal has the old version (the event has a newer one), so it is not read. */
    patch(item, &target, cw_str_text(&body), adds ? CW_DO_ADD_FINALIZER : CW_DO_DROP_FINALIZER,
          adds ? on_object : on_dropped);
}

void cw_write_status(struct cw_item *item, const char *body, bool only_figures)
{
    const struct cw_kube_target target = target_of(&backends, item, "status");
    *(only_figures ? &item->c->figure_writes : &item->c->status_writes) += 1;
    item->figures_ms = cw_clock_wall_ms();
    patch(item, &target, body, CW_DO_STATUS, on_object);
}

struct removal {
    struct cw_ref *ref;
    void (*failed)(struct cw_item *item);
};

static void on_removed(void *arg, struct cw_kube_answer *answer)
{
    struct removal *removal = arg;
    struct cw_item *item = cw_item_find(removal->ref->c, removal->ref->key);
    bool same = item && strcmp(item->b->uid, removal->ref->uid) == 0;
    if (same && answer->code != CW_OK && removal->failed)
        removal->failed(item);
    on_dropped(removal->ref, answer);
    cw_mem_free(removal);
}

void cw_delete_backend(struct cw_item *item, void (*failed)(struct cw_item *item))
{
    const struct cw_kube_target target = target_of(&backends, item, NULL);
    struct removal *removal = CW_NEW(struct removal);
    item->c->other_writes++;
    removal->failed = failed;
    removal->ref = cw_item_begin(item, CW_DO_DELETE);
    begun(cw_kube_delete(item->c->kube, &target, item->b->uid, item->b->version, "Background",
                         on_removed, removal));
}

/* ---- ConfigMaps ---- */

static void add_text(struct cw_str *json, const char *key, const char *text, bool last)
{
    cw_str_addf(json, "\"%s\":", key);
    cw_str_add_json(json, text, strlen(text));
    cw_str_add(json, last ? "" : ",");
}

void cw_write_owner(struct cw_str *json, const struct cw_cachebackend *b)
{
    cw_str_addf(json,
                "\"ownerReferences\":[{\"apiVersion\":\"" CW_CACHEBACKEND_GROUP
                "/" CW_CACHEBACKEND_VERSION "\",\"kind\":\"CacheBackend\",\"name\":\"%s\","
                "\"uid\":\"%s\",\"controller\":true,\"blockOwnerDeletion\":true}]",
                b->name, b->uid);
}

static void on_map(void *arg, struct cw_kube_answer *answer)
{
    struct cw_ref *ref = arg;
    struct cw_item *item = cw_item_find(ref->c, ref->key);
    /* The watch sees what has the label; what is there and not seen is somebody else's. */
    if (item && answer->status.reason == CW_KUBE_AlreadyExists)
        item->map_taken_ms = cw_clock_wall_ms() + TAKEN_MS;
    (void)cw_write_finish(ref, answer);
}

void cw_write_map(struct cw_item *item, const struct cw_map_facts *before)
{
    const struct cw_kube_target all = {&maps, item->b->name_space, NULL, NULL};
    const struct cw_kube_target one = target_of(&maps, item, NULL);
    cw_autofree char *cache = cw_map_cache_of(item);
    CW_STR_AUTO body = {0};
    cw_str_add(&body, "{\"metadata\":{");
    add_text(&body, "name", item->b->name, false);
    if (before)
        add_text(&body, "resourceVersion", before->version, false);
    cw_str_add(&body, "\"labels\":{\"" CW_BACKEND_LABEL "\":\"true\","
                      "\"app.kubernetes.io/managed-by\":\"cachew-controller\"},");
    cw_write_owner(&body, item->b);
    cw_str_add(&body, "},\"data\":{");
    add_text(&body, "CACHEW_DISPATCHER", item->c->options.client_dispatcher, false);
    add_text(&body, "CACHEW_TENANT", item->b->name_space, false);
    add_text(&body, "CACHEW_CACHE", cache, !item->b->mount_path);
    if (item->b->mount_path)
        add_text(&body, "CACHEW_CLAIM", item->b->name, true);
    cw_str_add(&body, "}}");
    item->map_settles_ms = cw_clock_wall_ms() + CW_SETTLE_MS;
    if (before) {
        patch(item, &one, cw_str_text(&body), CW_DO_WRITE_MAP, on_map);
        return;
    }
    item->c->other_writes++;
    begun(cw_kube_create(item->c->kube, &all, cw_str_text(&body), on_map,
                         cw_item_begin(item, CW_DO_WRITE_MAP)));
}

void cw_delete_map(struct cw_item *item)
{
    const struct cw_kube_target one = target_of(&maps, item, NULL);
    item->c->other_writes++;
    item->map_settles_ms = cw_clock_wall_ms() + CW_SETTLE_MS;
    begun(cw_kube_delete(item->c->kube, &one, NULL, NULL, NULL, on_written,
                         cw_item_begin(item, CW_DO_DELETE_MAP)));
}

/* ---- volumes ---- */

/* The volume is there, now or from a try before: the claim follows. */
static void on_volume(void *arg, struct cw_kube_answer *answer)
{
    struct cw_ref *ref = arg;
    bool there = answer->code == CW_OK || answer->status.reason == CW_KUBE_AlreadyExists;
    struct cw_item *item = there ? cw_item_end(ref) : NULL;
    CW_STR_AUTO body = {0};
    if (!there)
        (void)cw_write_finish(ref, answer);
    if (!item)
        return;
    const struct cw_kube_target all = {&claims, item->b->name_space, NULL, NULL};
    cw_claim_print(item, &body);
    item->c->other_writes++;
    begun(cw_kube_create(item->c->kube, &all, cw_str_text(&body), on_written,
                         cw_item_begin(item, CW_DO_MAKE_CLAIM)));
}

void cw_make_claim(struct cw_item *item)
{
    const struct cw_kube_target all = {&volumes, NULL, NULL, NULL};
    CW_STR_AUTO body = {0};
    cw_claim_print_volume(item, &body);
    item->c->other_writes++;
    item->claim_settles_ms = cw_clock_wall_ms() + CW_SETTLE_MS;
    begun(cw_kube_create(item->c->kube, &all, cw_str_text(&body), on_volume,
                         cw_item_begin(item, CW_DO_MAKE_CLAIM)));
}

/* The volume goes with its claim; one that is not there has gone. */
static void on_claim_deleted(void *arg, struct cw_kube_answer *answer)
{
    struct cw_ref *ref = arg;
    bool gone = answer->code == CW_OK || answer->status.reason == CW_KUBE_NotFound;
    struct cw_item *item = gone ? cw_item_end(ref) : NULL;
    if (!gone)
        (void)cw_write_finish(ref, answer);
    if (!item)
        return;
    cw_autofree char *name = cw_claim_volume_name(item);
    const struct cw_kube_target one = {&volumes, NULL, name, NULL};
    item->c->other_writes++;
    begun(cw_kube_delete(item->c->kube, &one, NULL, NULL, NULL, on_written,
                         cw_item_begin(item, CW_DO_DELETE_CLAIM)));
}

void cw_delete_claim(struct cw_item *item)
{
    const struct cw_kube_target one = target_of(&claims, item, NULL);
    item->c->other_writes++;
    item->claim_settles_ms = cw_clock_wall_ms() + CW_SETTLE_MS;
    begun(cw_kube_delete(item->c->kube, &one, NULL, NULL, NULL, on_claim_deleted,
                         cw_item_begin(item, CW_DO_DELETE_CLAIM)));
}

/* ---- jobs and pods ---- */

void cw_release_job(struct cw_item *item, const struct cw_job_facts *job)
{
    const struct cw_job_kind *kind = cw_job_kind_find(job->kind);
    const struct cw_kube_target target = {&kind->kind, job->name_space, job->name, NULL};
    cw_autofree char *body =
        cw_mem_printf("{\"metadata\":{\"resourceVersion\":\"%s\",\"uid\":\"%s\"},"
                      "\"spec\":{\"suspend\":false}}",
                      job->version, job->uid);
    item->job_settles_ms = cw_clock_wall_ms() + CW_SETTLE_MS;
    cw_log_info(CW_CONTROLLER, "cachebackend %s/%s: %s %s may begin", item->b->name_space,
                item->b->name, job->kind, job->name);
    patch(item, &target, body, CW_DO_RELEASE_JOB, on_written);
}

static void on_pod(void *arg, struct cw_kube_answer *answer)
{
    struct cw_ref *ref = arg;
    struct cw_item *item = cw_item_find(ref->c, ref->key);
    if (item && answer->code != CW_OK)
        item->pods_failed = true;
    (void)cw_write_finish(ref, answer);
}

void cw_release_pod(struct cw_item *item, const struct cw_pod_facts *pod)
{
    const struct cw_kube_target target = {&pods, pod->name_space, pod->name, NULL};
    cw_autofree char *body =
        cw_mem_printf("{\"metadata\":{\"resourceVersion\":\"%s\",\"uid\":\"%s\"},"
                      "\"spec\":{\"schedulingGates\":%s}}",
                      pod->version, pod->uid, pod->other_gates);
    patch(item, &target, body, CW_DO_RELEASE_POD, on_pod);
}
