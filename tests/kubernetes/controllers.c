/* SPDX-License-Identifier: Apache-2.0 */
/* What runs beside an API server: in one pass each part looks at the objects as they are and does what
 * is due. Whatever it writes asks for another pass. */
#include "kubernetes/fk_int.h"
#include <string.h>
#include "base/mem.h"

void fk_controllers_run(struct fk_server *server)
{
    fk_garbage_run(server);
    fk_namespaces_run(server);
    if (server->options.no_controllers)
        return;
    fk_deployments_run(server);
    fk_replicasets_run(server);
    fk_jobs_run(server);
    fk_schedule_run(server);
}

/* ---- owners ---- */
static bool uid_exists(const struct fk_server *server, const json_t *owner)
{
    const struct fk_kind *kind =
        fk_kind_of_object((struct fk_server *)server, fk_text_or(owner, "apiVersion", ""),
                          fk_text_or(owner, "kind", ""));
    if (!kind) /* a kind that is not known here is taken as being there */
        return true;
    for (size_t i = 0; i < kind->n; i++)
        if (cw_str_eq(fk_text(kind->objects[i].json, "metadata.uid"), fk_text(owner, "uid")))
            return true;
    return false;
}

static bool is_orphaned(const struct fk_server *server, const json_t *object)
{
    size_t i;
    json_t *owner;
    json_array_foreach (fk_at(object, "metadata.ownerReferences"), i, owner)
        if (uid_exists(server, owner))
            return false;
    return fk_len(object, "metadata.ownerReferences") > 0;
}

static const json_t *owner_of(const json_t *object, const char *uid)
{
    size_t i;
    json_t *owner;
    json_array_foreach (fk_at(object, "metadata.ownerReferences"), i, owner)
        if (cw_str_eq(fk_text(owner, "uid"), uid))
            return owner;
    return NULL;
}

static bool has_finalizer(const json_t *object, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach (fk_at(object, "metadata.finalizers"), i, one)
        if (cw_str_eq(json_string_value(one), name))
            return true;
    return false;
}

static void remove_named(json_t *array, const char *name)
{
    for (size_t i = json_array_size(array); i-- > 0;)
        if (cw_str_eq(json_string_value(json_array_get(array, i)), name))
            json_array_remove(array, i);
}

static void drop_finalizer(struct fk_server *server, struct fk_kind *kind, const json_t *object,
                           const char *name)
{
    json_auto_t *held = json_incref((json_t *)object);
    json_t *after = json_deep_copy(object);
    remove_named(fk_at(after, "metadata.finalizers"), name);
    if (!fk_len(after, "metadata.finalizers"))
        fk_put(after, "metadata.finalizers", NULL);
    fk_write(server, kind, held, after, "kube-controller-manager", NULL);
}

static void disown(struct fk_server *server, struct fk_kind *kind, const json_t *object,
                   const char *uid)
{
    json_t *after = json_deep_copy(object);
    json_t *owners = fk_at(after, "metadata.ownerReferences");
    for (size_t i = json_array_size(owners); i-- > 0;)
        if (cw_str_eq(fk_text(json_array_get(owners, i), "uid"), uid))
            json_array_remove(owners, i);
    if (!json_array_size(owners))
        fk_put(after, "metadata.ownerReferences", NULL);
    fk_write(server, kind, object, after, "kube-controller-manager", NULL);
}

/* Deletes, or lets go, the dependents of an owner that waits for them. Returns how many hold it. */
static size_t see_to_dependents(struct fk_server *server, const char *uid, bool orphan)
{
    size_t holding = 0;
    for (size_t k = 0; k < server->kinds_n; k++) {
        struct fk_kind *kind = server->kinds[k];
        json_auto_t *all = fk_store_at(kind, server->version);
        size_t i;
        json_t *object;
        json_array_foreach (all, i, object) {
            const json_t *owner = owner_of(object, uid);
            if (!owner)
                continue;
            if (orphan)
                disown(server, kind, object, uid);
            else if (!fk_at(object, "metadata.deletionTimestamp"))
                fk_delete(server, kind, object, -1, "Background");
            holding += !orphan && fk_true(owner, "blockOwnerDeletion") &&
                       fk_store_get(kind, fk_text(object, "metadata.namespace"),
                                    fk_text(object, "metadata.name"));
        }
    }
    return holding;
}

static void collect_one(struct fk_server *server, struct fk_kind *kind, const json_t *object)
{
    const char *uid = fk_text(object, "metadata.uid");
    bool is_going = fk_at(object, "metadata.deletionTimestamp");
    if (is_going && has_finalizer(object, "orphan")) {
        see_to_dependents(server, uid, true);
        drop_finalizer(server, kind, object, "orphan");
    } else if (is_going && has_finalizer(object, "foregroundDeletion")) {
        if (see_to_dependents(server, uid, false) == 0)
            drop_finalizer(server, kind, object, "foregroundDeletion");
    } else if (!is_going && is_orphaned(server, object)) {
        fk_delete(server, kind, object, -1, "Background");
    }
}

void fk_garbage_run(struct fk_server *server)
{
    for (size_t k = 0; k < server->kinds_n; k++) {
        json_auto_t *all = fk_store_at(server->kinds[k], server->version);
        size_t i;
        json_t *object;
        json_array_foreach (all, i, object)
            if (fk_len(object, "metadata.ownerReferences") || fk_len(object, "metadata.finalizers"))
                collect_one(server, server->kinds[k], object);
    }
}

/* ---- namespaces that go ---- */
static size_t empty_namespace(struct fk_server *server, const char *ns)
{
    size_t left = 0;
    for (size_t k = 0; k < server->kinds_n; k++) {
        struct fk_kind *kind = server->kinds[k];
        if (!kind->namespaced)
            continue;
        json_auto_t *all = fk_store_at(kind, server->version);
        size_t i;
        json_t *object;
        json_array_foreach (all, i, object) {
            if (!cw_str_eq(fk_text(object, "metadata.namespace"), ns))
                continue;
            if (!fk_at(object, "metadata.deletionTimestamp"))
                fk_delete(server, kind, object, -1, "Background");
            left += fk_store_get(kind, ns, fk_text(object, "metadata.name")) != NULL;
        }
    }
    return left;
}

void fk_namespaces_run(struct fk_server *server)
{
    struct fk_kind *kind = fk_kind_find(server, "", "namespaces");
    json_auto_t *all = fk_store_at(kind, server->version);
    size_t i;
    json_t *ns;
    json_array_foreach (all, i, ns)
        if (fk_at(ns, "metadata.deletionTimestamp") &&
            empty_namespace(server, fk_text(ns, "metadata.name")) == 0)
            fk_store_remove(server, kind, NULL, fk_text(ns, "metadata.name"));
}
