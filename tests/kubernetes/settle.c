/* SPDX-License-Identifier: Apache-2.0 */
/* What every change of an object has to go through, whoever makes it: generation, managedFields, the
 * end of an object that nothing holds any more. */
#include "kubernetes/fk_int.h"
#include <string.h>
#include "base/mem.h"

/* The object without metadata and status (of kinds that have the subresource): what the generation
 * is about. */
static json_t *wish_of(const struct fk_kind *kind, const json_t *object)
{
    json_t *ret = json_copy((json_t *)object);
    json_object_del(ret, "metadata");
    if (kind->has_status)
        json_object_del(ret, "status");
    return ret;
}

static bool is_same_wish(const struct fk_kind *kind, const json_t *a, const json_t *b)
{
    json_auto_t *of_a = wish_of(kind, a);
    json_auto_t *of_b = wish_of(kind, b);
    return json_equal(of_a, of_b);
}

static json_t *without_version(const json_t *object)
{
    json_t *ret = json_copy((json_t *)object);
    json_t *metadata = json_copy(json_object_get(object, "metadata"));
    json_object_del(metadata, "resourceVersion");
    json_object_del(metadata, "managedFields");
    json_object_set_new(ret, "metadata", metadata);
    return ret;
}

bool fk_is_same(const json_t *a, const json_t *b)
{
    json_auto_t *of_a = without_version(a);
    json_auto_t *of_b = without_version(b);
    return json_equal(of_a, of_b);
}

bool fk_is_released(const struct fk_kind *kind, const json_t *object)
{
    return fk_at(object, "metadata.deletionTimestamp") &&
           fk_int(object, "metadata.deletionGracePeriodSeconds", 0) == 0 && kind &&
           fk_len(object, "metadata.finalizers") == 0;
}

void fk_settle(const struct fk_server *server, const struct fk_kind *kind, const json_t *before,
               json_t *after, const char *manager, const char *sub)
{
    if (kind->has_generation && !is_same_wish(kind, before, after))
        fk_put_int(after, "metadata.generation", fk_int(before, "metadata.generation", 0) + 1);
    if (manager)
        fk_managed_update(server, kind, before, after, manager, sub);
}

json_t *fk_commit(struct fk_server *server, struct fk_kind *kind, json_t *after)
{
    if (!fk_is_released(kind, after))
        return fk_store_put(server, kind, after);
    fk_store_remove(server, kind, fk_text(after, "metadata.namespace"),
                    fk_text(after, "metadata.name"));
    json_decref(after);
    return NULL;
}

json_t *fk_write(struct fk_server *server, struct fk_kind *kind, const json_t *before,
                 json_t *after, const char *manager, const char *sub)
{
    if (fk_is_same(before, after)) {
        json_decref(after);
        return (json_t *)before;
    }
    fk_settle(server, kind, before, after, manager, sub);
    return fk_commit(server, kind, after);
}

/* A Job knows its pods by its own uid. */
static void stamp_job(json_t *job, const char *uid)
{
    const char *name = fk_text(job, "metadata.name");
    json_t *labels = fk_at(job, "spec.template.metadata.labels");
    json_t *all = labels ? json_copy(labels) : json_object();
    json_object_set_new(all, "batch.kubernetes.io/controller-uid", json_string(uid));
    json_object_set_new(all, "batch.kubernetes.io/job-name", json_string(name));
    json_object_set_new(all, "controller-uid", json_string(uid));
    json_object_set_new(all, "job-name", json_string(name));
    fk_put(job, "spec.template.metadata.labels", all);
    fk_put(job, "spec.selector",
           json_pack("{s:{s:s}}", "matchLabels", "batch.kubernetes.io/controller-uid", uid));
}

void fk_stamp(struct fk_server *server, const struct fk_kind *kind, json_t *object)
{
    char uid[40], now[32];
    fk_uid(server, uid);
    fk_time_text(server, 0, now);
    fk_put_text(object, "metadata.uid", uid);
    fk_put_text(object, "metadata.creationTimestamp", now);
    fk_put(object, "metadata.resourceVersion", NULL);
    fk_put(object, "metadata.deletionTimestamp", NULL);
    fk_put(object, "metadata.deletionGracePeriodSeconds", NULL);
    fk_put(object, "metadata.generation", kind->has_generation ? json_integer(1) : NULL);
    if (cw_str_eq(fk_text(fk_condition(object, "PodScheduled"), "reason"), "SchedulingGated"))
        fk_put_text(fk_condition(object, "PodScheduled"), "lastTransitionTime", now);
    if (cw_str_eq(kind->plural, "jobs") && !kind->custom)
        stamp_job(object, uid);
}

json_t *fk_make(struct fk_server *server, struct fk_kind *kind, json_t *object, const char *manager)
{
    char suffix[8];
    const char *prefix = fk_text(object, "metadata.generateName");
    if (prefix && !fk_text(object, "metadata.name")) {
        fk_suffix(server, suffix, 5);
        cw_autofree char *name = cw_mem_printf("%s%s", prefix, suffix);
        fk_put_text(object, "metadata.name", name);
    }
    fk_defaults(kind, object);
    fk_stamp(server, kind, object);
    fk_managed_update(server, kind, NULL, object, manager, NULL);
    return fk_store_put(server, kind, object);
}
