/* SPDX-License-Identifier: Apache-2.0 */
/* Watches, each of one kind, and which CacheBackend a change concerns. */
#include "controller/watches.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#define LABELS CW_BACKEND_LABEL "=true"

static const struct cw_kube_kind backends = {CW_CACHEBACKEND_GROUP, CW_CACHEBACKEND_VERSION,
                                             "cachebackends"};
static const struct cw_kube_kind maps = {"", "v1", "configmaps"};
static const struct cw_kube_kind claims = {"", "v1", "persistentvolumeclaims"};
static const struct cw_kube_kind pods = {"", "v1", "pods"};

/* ---- what is kept ---- */

static void *digest_backend(void *arg, struct cw_value *object)
{
    (void)arg;
    return cw_cachebackend_read(object);
}

static void drop_backend(void *arg, void *kept)
{
    (void)arg;
    cw_cachebackend_unref(kept);
}

static void *digest_map(void *arg, struct cw_value *object)
{
    (void)arg;
    return cw_map_facts_read(object);
}

static void drop_map(void *arg, void *kept)
{
    (void)arg;
    cw_map_facts_free(kept);
}

static void *digest_claim(void *arg, struct cw_value *object)
{
    (void)arg;
    return cw_claim_facts_read(object);
}

static void drop_claim(void *arg, void *kept)
{
    (void)arg;
    cw_claim_facts_free(kept);
}

static void *digest_pod(void *arg, struct cw_value *object)
{
    (void)arg;
    return cw_pod_facts_read(object);
}

static void drop_pod(void *arg, void *kept)
{
    (void)arg;
    cw_pod_facts_free(kept);
}

static void *digest_job(void *arg, struct cw_value *object)
{
    const struct cw_job_watch *watch = arg;
    struct cw_job_facts *job = cw_job_facts_read(watch->kind, object);
    if (job && watch->c->options.job_annotations)
        cw_job_name_spec(job);
    else if (job)
        job->spec[0] = '\0';
    return job;
}

static void drop_job(void *arg, void *kept)
{
    (void)arg;
    cw_job_facts_free(kept);
}

/* ---- what changes ---- */

static void touch_named(struct cw_controller *c, const char *name_space, const char *name)
{
    cw_autofree char *key = cw_mem_printf("%s/%s", name_space, name);
    cw_item_touch(cw_item_find(c, key));
}

static void on_backend(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                       void *before)
{
    struct cw_controller *c = arg;
    (void)before;
    if (change == CW_KUBE_DELETED)
        cw_item_remove(c, object->key);
    else if (object->kept)
        (void)cw_item_put(c, object->kept);
}

static void on_map(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                   void *before)
{
    struct cw_controller *c = arg;
    struct cw_item *item = cw_item_find(c, object->key);
    (void)change;
    (void)before;
    if (item) {
        item->map_taken_ms = 0;
        item->map_settles_ms = 0;
    }
    cw_item_touch(item);
}

static void on_claim(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                     void *before)
{
    struct cw_controller *c = arg;
    struct cw_item *item = cw_item_find(c, object->key);
    (void)change;
    (void)before;
    if (item)
        item->claim_settles_ms = 0;
    cw_item_touch(item);
}

static void on_pod(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                   void *before)
{
    const struct cw_pod_facts *pod = object->kept;
    (void)before;
    if (change != CW_KUBE_DELETED && pod && pod->gated)
        touch_named(arg, pod->name_space, pod->wants);
    /* A claim has the name of its CacheBackend. */
    for (size_t i = 0; pod && i < pod->claims_n; i++)
        touch_named(arg, pod->name_space, pod->claims[i]);
    cw_workloads_touch(arg);
}

/* A job concerns the CacheBackend that it names, and others whose jobRef it is, which say so. */
static void on_job(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                   void *before)
{
    const struct cw_job_watch *watch = arg;
    const struct cw_job_facts *job = object->kept;
    const char *key;
    void *value;
    (void)change;
    (void)before;
    cw_workloads_touch(watch->c);
    if (job && job->spec[0] != '\0' && !cw_timer_is_active(watch->c->run))
        cw_timer_start(watch->c->run, 0, 0);
    for (size_t i = 0; job && cw_strmap_next(&watch->c->items, &i, &key, &value);) {
        struct cw_item *item = value;
        if (!cw_str_eq(item->b->job_name, job->name) ||
            strcmp(item->b->name_space, job->name_space) != 0)
            continue;
        item->job_settles_ms = 0;
        cw_item_touch(item);
    }
}

/* ---- lists ---- */

static bool has_listed(const struct cw_kube_watch *watch)
{
    return !watch || !cw_kube_watch_must_list(watch);
}

static void note_listed(struct cw_controller *c)
{
    bool all = c->backends && has_listed(c->backends) && has_listed(c->maps) &&
               has_listed(c->pods) && has_listed(c->claims);
    for (size_t i = 0; i < CW_JOB_KINDS; i++)
        all = all && has_listed(c->jobs[i].watch);
    c->is_fresh = c->is_fresh || all;
    if (all && !c->listed) {
        c->listed = true;
        c->on_listed(c->arg);
    }
    cw_items_touch_all(c);
}

static void on_listed(void *arg)
{
    note_listed(arg);
}

static void on_jobs_listed(void *arg)
{
    note_listed(((struct cw_job_watch *)arg)->c);
}

static void on_failed(void *arg, const struct cw_err *err, int64_t retry_ms)
{
    (void)arg;
    cw_log_warn(CW_CONTROLLER, "%s; again in %lld ms", err->msg, (long long)retry_ms);
}

static struct cw_kube_watch *begin(struct cw_controller *c, const struct cw_kube_kind *kind,
                                   const char *labels, const struct cw_kube_objects_events *objects,
                                   void (*listed)(void *arg))
{
    const struct cw_kube_watch_options options = {
        .target = {kind, c->options.name_space, NULL, NULL},
        .labels = labels,
        .without = cw_kube_without_managers};
    const struct cw_kube_watch_events events = {*objects, listed, on_failed, objects->arg};
    return cw_kube_watch_new(c->kube, &options, &events);
}

static void watch_jobs(struct cw_controller *c, size_t i)
{
    c->jobs[i] = (struct cw_job_watch){c, &cw_job_kinds[i], NULL};
    const struct cw_kube_objects_events events = {digest_job, drop_job, on_job, &c->jobs[i]};
    c->jobs[i].watch = begin(c, &cw_job_kinds[i].kind, LABELS, &events, on_jobs_listed);
}

static bool is_wanted(const struct cw_controller *c, const char *kind)
{
    for (size_t i = 0; i < c->options.job_kinds.n; i++)
        if (strcmp(c->options.job_kinds.v[i], kind) == 0)
            return true;
    return strcmp(kind, "Job") == 0;
}

void cw_watches_start(struct cw_controller *c)
{
    const struct cw_kube_objects_events of_backends = {digest_backend, drop_backend, on_backend, c};
    const struct cw_kube_objects_events of_maps = {digest_map, drop_map, on_map, c};
    const struct cw_kube_objects_events of_claims = {digest_claim, drop_claim, on_claim, c};
    const struct cw_kube_objects_events of_pods = {digest_pod, drop_pod, on_pod, c};
    c->maps = begin(c, &maps, LABELS, &of_maps, on_listed);
    if (c->options.csi_driver)
        c->claims = begin(c, &claims, LABELS, &of_claims, on_listed);
    c->pods = begin(c, &pods, LABELS, &of_pods, on_listed);
    for (size_t i = 0; i < cw_job_kinds_n; i++)
        if (is_wanted(c, cw_job_kinds[i].name))
            watch_jobs(c, i);
    c->backends = begin(c, &backends, NULL, &of_backends, on_listed);
}

void cw_watches_relist(struct cw_controller *c)
{
    struct cw_kube_watch *const watches[] = {c->maps, c->claims, c->pods, c->backends};
    c->is_fresh = false;
    for (size_t i = 0; i < CW_ARRAY_LEN(watches); i++)
        if (watches[i])
            cw_kube_watch_relist(watches[i]);
    for (size_t i = 0; i < CW_JOB_KINDS; i++)
        if (c->jobs[i].watch)
            cw_kube_watch_relist(c->jobs[i].watch);
}

void cw_watches_stop(struct cw_controller *c)
{
    cw_kube_watch_free(c->backends);
    cw_kube_watch_free(c->maps);
    cw_kube_watch_free(c->claims);
    cw_kube_watch_free(c->pods);
    for (size_t i = 0; i < CW_JOB_KINDS; i++)
        cw_kube_watch_free(c->jobs[i].watch);
}

/* ---- questions ---- */

const struct cw_map_facts *cw_watches_map(const struct cw_item *item)
{
    const struct cw_kube_object *object = cw_kube_objects_find(cw_kube_watch_objects(item->c->maps),
                                                               item->b->name_space, item->b->name);
    return object ? object->kept : NULL;
}

const struct cw_claim_facts *cw_watches_claim(const struct cw_item *item)
{
    const struct cw_kube_object *object =
        item->c->claims ? cw_kube_objects_find(cw_kube_watch_objects(item->c->claims),
                                               item->b->name_space, item->b->name)
                        : NULL;
    return object ? object->kept : NULL;
}

static const struct cw_kube_watch *watch_of(const struct cw_controller *c,
                                            const struct cw_job_kind *kind)
{
    for (size_t i = 0; i < cw_job_kinds_n; i++)
        if (c->jobs[i].kind == kind)
            return c->jobs[i].watch;
    return NULL;
}

bool cw_watches_kind(const struct cw_controller *c, const struct cw_job_kind *kind)
{
    return watch_of(c, kind) != NULL;
}

struct cw_job_facts *cw_watches_job_named(const struct cw_controller *c,
                                          const struct cw_job_kind *kind, const char *name_space,
                                          const char *name)
{
    const struct cw_kube_watch *watch = watch_of(c, kind);
    const struct cw_kube_object *object =
        watch ? cw_kube_objects_find(cw_kube_watch_objects(watch), name_space, name) : NULL;
    return object ? object->kept : NULL;
}

const struct cw_job_facts *cw_watches_job(const struct cw_item *item)
{
    const struct cw_job_kind *kind = cw_job_kind_find(item->b->job_kind);
    return item->b->job_name && kind
               ? cw_watches_job_named(item->c, kind, item->b->name_space, item->b->job_name)
               : NULL;
}

const struct cw_pod_facts *cw_watches_pod_named(const struct cw_controller *c,
                                                const char *name_space, const char *name)
{
    const struct cw_kube_object *object =
        cw_kube_objects_find(cw_kube_watch_objects(c->pods), name_space, name);
    return object ? object->kept : NULL;
}

size_t cw_watches_pod_users(const struct cw_item *item, const char **names, size_t cap)
{
    const struct cw_kube_objects *objects = cw_kube_watch_objects(item->c->pods);
    const struct cw_kube_object *object;
    size_t n = 0;
    for (size_t i = 0; (object = cw_kube_objects_next(objects, &i)) != NULL;) {
        const struct cw_pod_facts *pod = object->kept;
        if (!pod || strcmp(pod->name_space, item->b->name_space) != 0 ||
            !cw_pod_uses(pod, item->b->name))
            continue;
        if (n < cap)
            names[n] = pod->name;
        n++;
    }
    return n;
}

struct cw_pod_facts *cw_watches_pod(const struct cw_item *item, bool asked, size_t *i)
{
    const struct cw_kube_objects *objects = cw_kube_watch_objects(item->c->pods);
    const struct cw_kube_object *object;
    while ((object = cw_kube_objects_next(objects, i)) != NULL) {
        struct cw_pod_facts *pod = object->kept;
        if (pod && pod->gated && pod->asked == asked && !pod->is_queued &&
            strcmp(pod->wants, item->b->name) == 0 &&
            strcmp(pod->name_space, item->b->name_space) == 0)
            return pod;
    }
    return NULL;
}
