/* SPDX-License-Identifier: Apache-2.0 */
/* The Deployment controller: one ReplicaSet for each pod template, sizes moved from old to new within
 * maxSurge and maxUnavailable, and the numbers of the status. */
#include "kubernetes/fk_int.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/mem.h"

static const char MANAGER[] = "kube-controller-manager";

/* ---- the ReplicaSets of a Deployment ---- */
static bool is_owned_by(const json_t *object, const json_t *owner)
{
    return cw_str_eq(fk_text(json_array_get(fk_at(object, "metadata.ownerReferences"), 0), "uid"),
                     fk_text(owner, "metadata.uid"));
}

static json_t *sets_of(struct fk_server *server, const json_t *deployment)
{
    const struct fk_kind *kind = fk_kind_find(server, "apps", "replicasets");
    json_t *sets = json_array();
    for (size_t i = 0; i < kind->n; i++)
        if (is_owned_by(kind->objects[i].json, deployment) &&
            !fk_at(kind->objects[i].json, "metadata.deletionTimestamp"))
            json_array_append(sets, kind->objects[i].json);
    return sets;
}

/* Ten letters that follow from the template. */
static void template_hash(const json_t *deployment, char ret[16])
{
    cw_autofree char *text = fk_dump(fk_at(deployment, "spec.template"), true, NULL);
    static const char LETTERS[] = "bcdfghjklmnpqrstvwxz2456789";
    uint64_t hash = 1469598103934665603ULL;
    for (const char *s = text; *s; s++)
        hash = (hash ^ (unsigned char)*s) * 1099511628211ULL;
    for (size_t i = 0; i < 10; i++, hash /= 27)
        ret[i] = LETTERS[hash % 27];
    ret[10] = '\0';
}

static json_t *owner_reference(const char *api_version, const char *kind, const json_t *owner)
{
    return json_pack("{s:s, s:s, s:O, s:O, s:b, s:b}", "apiVersion", api_version, "kind", kind,
                     "name", fk_at(owner, "metadata.name"), "uid", fk_at(owner, "metadata.uid"),
                     "controller", 1, "blockOwnerDeletion", 1);
}

json_t *fk_owner_reference(const struct fk_kind *kind, const json_t *owner)
{
    cw_autofree char *api_version = fk_kind_api_version(kind);
    return owner_reference(api_version, kind->kind, owner);
}

static json_t *new_set(struct fk_server *server, const json_t *deployment, const char *hash)
{
    struct fk_kind *kind = fk_kind_find(server, "apps", "replicasets");
    json_t *template = json_deep_copy(fk_at(deployment, "spec.template"));
    if (!fk_at(template, "metadata.labels"))
        fk_put(template, "metadata.labels", json_object());
    json_object_set_new(fk_at(template, "metadata.labels"), "pod-template-hash", json_string(hash));
    json_t *selector = json_deep_copy(fk_at(deployment, "spec.selector"));
    if (!fk_at(selector, "matchLabels"))
        fk_put(selector, "matchLabels", json_object());
    json_object_set_new(fk_at(selector, "matchLabels"), "pod-template-hash", json_string(hash));
    cw_autofree char *name = cw_mem_printf("%s-%s", fk_text(deployment, "metadata.name"), hash);
    json_t *set =
        json_pack("{s:{s:s, s:O, s:O, s:[o]}, s:{s:i, s:o, s:o}, s:{s:i}}", "metadata", "name",
                  name, "namespace", fk_at(deployment, "metadata.namespace"), "labels",
                  fk_at(template, "metadata.labels"), "ownerReferences",
                  owner_reference("apps/v1", "Deployment", deployment), "spec", "replicas", 0,
                  "selector", selector, "template", template, "status", "replicas", 0);
    return fk_make(server, kind, set, MANAGER);
}

static json_t *current_set(struct fk_server *server, const json_t *sets, const json_t *deployment)
{
    char hash[16];
    template_hash(deployment, hash);
    size_t i;
    json_t *set;
    json_array_foreach((json_t *)sets, i,
                       set) if (cw_str_eq(fk_label(set, "pod-template-hash"), hash)) return set;
    return new_set(server, deployment, hash);
}

static void resize(struct fk_server *server, const json_t *set, json_int_t replicas)
{
    struct fk_kind *kind = fk_kind_find(server, "apps", "replicasets");
    const json_t *now =
        fk_store_get(kind, fk_text(set, "metadata.namespace"), fk_text(set, "metadata.name"));
    if (!now || fk_int(now, "spec.replicas", 0) == replicas)
        return;
    json_auto_t *held = json_incref((json_t *)now);
    json_t *after = json_deep_copy(now);
    fk_put_int(after, "spec.replicas", replicas);
    fk_write(server, kind, held, after, MANAGER, NULL);
}

/* ---- how many where ---- */
/* "25%" of n, or a number. */
static json_int_t part_of(const json_t *value, json_int_t n, bool up)
{
    if (json_is_integer(value))
        return json_integer_value(value);
    long percent = strtol(json_string_value(value) ? json_string_value(value) : "25", NULL, 10);
    return (n * percent + (up ? 99 : 0)) / 100;
}

static json_int_t sum_of(const json_t *sets, const char *path)
{
    json_int_t sum = 0;
    size_t i;
    json_t *set;
    json_array_foreach((json_t *)sets, i, set) sum += fk_int(set, path, 0);
    return sum;
}

/* Takes pods from old sets, those that are not available first, as far as enough stay available. */
static void shrink_old(struct fk_server *server, const json_t *sets, const json_t *current,
                       json_int_t min_available)
{
    json_int_t spare = sum_of(sets, "status.availableReplicas") - min_available;
    size_t i;
    json_t *set;
    json_array_foreach((json_t *)sets, i, set)
    {
        json_int_t replicas = fk_int(set, "spec.replicas", 0);
        json_int_t broken = replicas - fk_int(set, "status.availableReplicas", 0);
        if (json_equal(fk_at(set, "metadata.uid"), fk_at(current, "metadata.uid")) || !replicas)
            continue;
        broken = broken > 0 ? broken : 0;
        json_int_t gone = broken + (spare > 0 ? spare : 0);
        gone = gone < replicas ? gone : replicas;
        spare -= gone > broken ? gone - broken : 0;
        resize(server, set, replicas - gone);
    }
}

static void roll(struct fk_server *server, const json_t *deployment, const json_t *sets,
                 const json_t *current)
{
    json_int_t wanted = fk_int(deployment, "spec.replicas", 1);
    const json_t *rolling = fk_at(deployment, "spec.strategy.rollingUpdate");
    bool recreate = cw_str_eq(fk_text(deployment, "spec.strategy.type"), "Recreate");
    json_int_t surge = recreate ? 0 : part_of(fk_at(rolling, "maxSurge"), wanted, true);
    json_int_t unavailable =
        recreate ? wanted : part_of(fk_at(rolling, "maxUnavailable"), wanted, false);
    if (surge == 0 && unavailable == 0)
        unavailable = 1;
    json_int_t mine = fk_int(current, "spec.replicas", 0);
    json_int_t old = sum_of(sets, "spec.replicas") - mine;
    if (old == 0 || mine > wanted) {
        resize(server, current, wanted);
        if (old == 0)
            return;
    }
    json_int_t room = wanted + surge - (mine + old);
    if (recreate ? old == 0 : room > 0 && mine < wanted)
        resize(server, current, mine + (room < wanted - mine ? room : wanted - mine));
    shrink_old(server, sets, current, wanted - unavailable);
}

/* ---- status ---- */
static void set_number(json_t *status, const char *name, json_int_t number)
{
    if (number)
        fk_put_int(status, name, number);
}

static void set_conditions(struct fk_server *server, const json_t *deployment, const json_t *sets,
                           json_int_t available, json_t *after)
{
    char now[32];
    fk_time_text(server, 0, now);
    json_int_t wanted = fk_int(deployment, "spec.replicas", 1);
    json_int_t unavailable =
        part_of(fk_at(deployment, "spec.strategy.rollingUpdate.maxUnavailable"), wanted, false);
    bool enough = available >= wanted - unavailable;
    fk_set_condition(after, "Available", enough ? "True" : "False",
                     enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                     enough ? "Deployment has minimum availability."
                            : "Deployment does not have minimum availability.",
                     now);
    const json_t *failure = NULL;
    size_t i;
    json_t *set;
    json_array_foreach((json_t *)sets, i, set) failure =
        fk_has_condition(set, "ReplicaFailure", "True") ? fk_condition(set, "ReplicaFailure")
                                                        : failure;
    json_t *conditions = fk_at(after, "status.conditions");
    if (failure)
        fk_set_condition(after, "ReplicaFailure", "True", fk_text(failure, "reason"),
                         fk_text(failure, "message"), now);
    for (size_t j = json_array_size(conditions); !failure && j-- > 0;)
        if (cw_str_eq(fk_text(json_array_get(conditions, j), "type"), "ReplicaFailure"))
            json_array_remove(conditions, j);
}

static void write_status(struct fk_server *server, struct fk_kind *kind, const json_t *deployment,
                         const json_t *sets, const json_t *current)
{
    json_t *after = json_deep_copy(deployment);
    json_t *status = json_object();
    json_int_t all = sum_of(sets, "status.replicas");
    json_int_t available = sum_of(sets, "status.availableReplicas");
    json_int_t wanted = fk_int(deployment, "spec.replicas", 1);
    fk_put_int(status, "observedGeneration", fk_int(deployment, "metadata.generation", 0));
    set_number(status, "replicas", all);
    set_number(status, "updatedReplicas", fk_int(current, "status.replicas", 0));
    set_number(status, "readyReplicas", sum_of(sets, "status.readyReplicas"));
    set_number(status, "availableReplicas", available);
    json_int_t total = wanted > all ? wanted : all;
    set_number(status, "unavailableReplicas", total - available);
    json_t *conditions = fk_at(deployment, "status.conditions");
    json_object_set_new(status, "conditions",
                        conditions ? json_deep_copy(conditions) : json_array());
    json_object_set_new(after, "status", status);
    set_conditions(server, deployment, sets, available, after);
    fk_write(server, kind, deployment, after, MANAGER, "status");
}

static void run_one(struct fk_server *server, struct fk_kind *kind, const json_t *deployment)
{
    json_auto_t *before = sets_of(server, deployment);
    if (fk_at(deployment, "metadata.deletionTimestamp"))
        return;
    if (!fk_true(deployment, "spec.paused") || json_array_size(before)) {
        const json_t *current = current_set(server, before, deployment);
        json_auto_t *sets = sets_of(server, deployment);
        if (!fk_true(deployment, "spec.paused"))
            roll(server, deployment, sets, current);
    }
    json_auto_t *sets = sets_of(server, deployment);
    const json_t *current = json_array_size(sets) ? current_set(server, sets, deployment) : NULL;
    write_status(server, kind, deployment, sets, current);
}

void fk_deployments_run(struct fk_server *server)
{
    struct fk_kind *kind = fk_kind_find(server, "apps", "deployments");
    json_auto_t *all = fk_store_at(kind, server->version);
    size_t i;
    json_t *deployment;
    json_array_foreach(all, i, deployment) run_one(server, kind, deployment);
}
