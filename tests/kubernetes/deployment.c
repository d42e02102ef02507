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

static const char REVISION[] = "deployment.kubernetes.io/revision";

static void annotate(json_t *object, const char *name, json_int_t number)
{
    char text[32];
    snprintf(text, sizeof(text), "%lld", (long long)number);
    if (!fk_at(object, "metadata.annotations"))
        fk_put(object, "metadata.annotations", json_object());
    json_object_set_new(fk_at(object, "metadata.annotations"), name, json_string(text));
}

static json_int_t part_of(const json_t *value, json_int_t n, bool up);
static json_int_t sum_of(const json_t *sets, const char *path);

/* What the set says of its Deployment's size. */
static void annotate_size(json_t *set, const json_t *deployment)
{
    json_int_t wanted = fk_int(deployment, "spec.replicas", 1);
    const json_t *surge = fk_at(deployment, "spec.strategy.rollingUpdate.maxSurge");
    annotate(set, "deployment.kubernetes.io/desired-replicas", wanted);
    annotate(set, "deployment.kubernetes.io/max-replicas",
             wanted + (surge ? part_of(surge, wanted, true) : 0));
}

/* The size that a new set begins with: what is wanted, as far as maxSurge lets it beside the others. */
static json_int_t first_size(const json_t *sets, const json_t *deployment)
{
    json_int_t wanted = fk_int(deployment, "spec.replicas", 1);
    const json_t *surge = fk_at(deployment, "spec.strategy.rollingUpdate.maxSurge");
    json_int_t room =
        wanted + (surge ? part_of(surge, wanted, true) : 0) - sum_of(sets, "spec.replicas");
    room = room > 0 ? room : 0;
    return room < wanted ? room : wanted;
}

static json_t *new_set(struct fk_server *server, const json_t *sets, const json_t *deployment,
                       const char *hash)
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
    json_t *set = json_pack("{s:{s:s, s:O, s:O, s:[o]}, s:{s:I, s:o, s:o}, s:{s:i}}", "metadata",
                            "name", name, "namespace", fk_at(deployment, "metadata.namespace"),
                            "labels", fk_at(template, "metadata.labels"), "ownerReferences",
                            owner_reference("apps/v1", "Deployment", deployment), "spec",
                            "replicas", first_size(sets, deployment), "selector", selector,
                            "template", template, "status", "replicas", 0);
    annotate(set, REVISION, (json_int_t)json_array_size(sets) + 1);
    annotate_size(set, deployment);
    return fk_make(server, kind, set, MANAGER);
}

static json_t *current_set(struct fk_server *server, const json_t *sets, const json_t *deployment)
{
    char hash[16];
    template_hash(deployment, hash);
    size_t i;
    json_t *set;
    json_array_foreach ((json_t *)sets, i, set)
        if (cw_str_eq(fk_label(set, "pod-template-hash"), hash))
            return set;
    return new_set(server, sets, deployment, hash);
}

static void resize(struct fk_server *server, const json_t *deployment, const json_t *set,
                   json_int_t replicas)
{
    struct fk_kind *kind = fk_kind_find(server, "apps", "replicasets");
    const json_t *now =
        fk_store_get(kind, fk_text(set, "metadata.namespace"), fk_text(set, "metadata.name"));
    if (!now)
        return;
    json_auto_t *held = json_incref((json_t *)now);
    json_t *after = json_deep_copy(now);
    fk_put_int(after, "spec.replicas", replicas);
    annotate_size(after, deployment);
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
    json_array_foreach ((json_t *)sets, i, set)
        sum += fk_int(set, path, 0);
    return sum;
}

/* Takes pods from old sets, those that are not available first, as far as enough stay available. */
static void shrink_old(struct fk_server *server, const json_t *deployment, const json_t *sets,
                       const json_t *current, json_int_t min_available)
{
    json_int_t spare = sum_of(sets, "status.availableReplicas") - min_available;
    size_t i;
    json_t *set;
    json_array_foreach ((json_t *)sets, i, set) {
        json_int_t replicas = fk_int(set, "spec.replicas", 0);
        json_int_t broken = replicas - fk_int(set, "status.availableReplicas", 0);
        if (json_equal(fk_at(set, "metadata.uid"), fk_at(current, "metadata.uid")) || !replicas)
            continue;
        broken = broken > 0 ? broken : 0;
        json_int_t gone = broken + (spare > 0 ? spare : 0);
        gone = gone < replicas ? gone : replicas;
        spare -= gone > broken ? gone - broken : 0;
        resize(server, deployment, set, replicas - gone);
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
        resize(server, deployment, current, wanted);
        if (old == 0)
            return;
    }
    json_int_t room = wanted + surge - (mine + old);
    if (recreate ? old == 0 : room > 0 && mine < wanted)
        resize(server, deployment, current, mine + (room < wanted - mine ? room : wanted - mine));
    shrink_old(server, deployment, sets, current, wanted - unavailable);
}

/* ---- status ---- */
static void set_number(json_t *status, const char *name, json_int_t number)
{
    if (number)
        fk_put_int(status, name, number);
}

/* Conditions of Deployments say when they were looked at last as well. */
static void set_condition(json_t *after, const char *type, const char *status, const char *reason,
                          const char *message, const char *now)
{
    if (fk_set_condition(after, type, status, reason, message, now))
        fk_put_text(fk_condition(after, type), "lastUpdateTime", now);
}

static void set_progress(const json_t *deployment, const json_t *current, const char *now,
                         json_t *after)
{
    json_int_t wanted = fk_int(deployment, "spec.replicas", 1);
    bool done = fk_int(after, "status.updatedReplicas", 0) == wanted &&
                fk_int(after, "status.replicas", 0) == wanted &&
                fk_int(after, "status.availableReplicas", 0) == wanted;
    cw_autofree char *text =
        cw_mem_printf("ReplicaSet \"%s\" %s", fk_text_or(current, "metadata.name", ""),
                      done ? "has successfully progressed." : "is progressing.");
    if (current)
        set_condition(after, "Progressing", "True",
                      done ? "NewReplicaSetAvailable" : "ReplicaSetUpdated", text, now);
}

static void set_failure(const json_t *sets, const char *now, json_t *after)
{
    const json_t *failure = NULL;
    size_t i;
    json_t *set;
    json_array_foreach ((json_t *)sets, i, set)
        if (fk_has_condition(set, "ReplicaFailure", "True"))
            failure = fk_condition(set, "ReplicaFailure");
    json_t *conditions = fk_at(after, "status.conditions");
    if (failure)
        set_condition(after, "ReplicaFailure", "True", fk_text(failure, "reason"),
                      fk_text(failure, "message"), now);
    for (size_t j = json_array_size(conditions); !failure && j-- > 0;)
        if (cw_str_eq(fk_text(json_array_get(conditions, j), "type"), "ReplicaFailure"))
            json_array_remove(conditions, j);
}

static void set_conditions(struct fk_server *server, const json_t *deployment, const json_t *sets,
                           const json_t *current, json_t *after)
{
    char now[32];
    fk_time_text(server, 0, now);
    json_int_t wanted = fk_int(deployment, "spec.replicas", 1);
    json_int_t unavailable =
        part_of(fk_at(deployment, "spec.strategy.rollingUpdate.maxUnavailable"), wanted, false);
    bool enough = fk_int(after, "status.availableReplicas", 0) >= wanted - unavailable;
    set_condition(after, "Available", enough ? "True" : "False",
                  enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                  enough ? "Deployment has minimum availability."
                         : "Deployment does not have minimum availability.",
                  now);
    set_progress(deployment, current, now, after);
    set_failure(sets, now, after);
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
    set_conditions(server, deployment, sets, current, after);
    fk_write(server, kind, deployment, after, MANAGER, "status");
}

static void write_revision(struct fk_server *server, struct fk_kind *kind, const json_t *deployment,
                           const json_t *current)
{
    const char *revision = fk_annotation(current, REVISION);
    if (!revision || cw_str_eq(revision, fk_annotation(deployment, REVISION)))
        return;
    json_t *after = json_deep_copy(deployment);
    annotate(after, REVISION, strtoll(revision, NULL, 10));
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
    write_revision(server, kind, deployment, current);
    json_auto_t *now = json_incref(fk_store_get(kind, fk_text(deployment, "metadata.namespace"),
                                                fk_text(deployment, "metadata.name")));
    write_status(server, kind, now, sets, current);
}

void fk_deployments_run(struct fk_server *server)
{
    struct fk_kind *kind = fk_kind_find(server, "apps", "deployments");
    json_auto_t *all = fk_store_at(kind, server->version);
    size_t i;
    json_t *deployment;
    json_array_foreach (all, i, deployment)
        run_one(server, kind, deployment);
}
