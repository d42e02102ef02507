/* SPDX-License-Identifier: Apache-2.0 */
/* Creating and changing objects: the rules that real servers have for it. */
#include "kubernetes/fk_int.h"
#include <string.h>
#include "base/mem.h"

/* A definition that was created is a kind from then on. */
static bool define(struct fk_call *call, json_t *object)
{
    struct cw_err err = {0};
    char now[32];
    if (!cw_str_eq(call->kind->plural, "customresourcedefinitions") || fk_is_dry(call))
        return true;
    if (fk_kind_define(call->server, object, &err) < 0)
        return fk_fail(call, 422, "Invalid", json_object(), "%s", err.msg);
    fk_time_text(call->server, 0, now);
    fk_set_condition(object, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now);
    fk_set_condition(object, "Established", "True", "InitialNamesAccepted",
                     "the initial names have been accepted", now);
    return true;
}

bool fk_create(struct fk_call *call, json_t *object, json_t *fields)
{
    json_auto_t *mine = object; /* given up at the end */
    (void)mine;
    if (!fk_admit_new(call, object))
        return false;
    fk_stamp(call->server, call->kind, object);
    fk_put(object, "metadata.managedFields", NULL);
    if (fields)
        fk_managed_apply(call->server, call->kind, object, fields, call->manager, true);
    else
        fk_managed_update(call->server, call->kind, NULL, object, call->manager, NULL);
    if (!define(call, object))
        return false;
    call->server->counts.writes++;
    if (!fk_is_dry(call))
        fk_store_put(call->server, call->kind, json_incref(object));
    fk_answer_object(call, 201, object);
    return true;
}

void fk_handle_create(struct fk_call *call)
{
    json_t *object = fk_body(call);
    if (object)
        fk_create(call, object, NULL);
}

/* ---- changes ---- */
/* Gives the object back what nobody may change. */
static void restore_meta(const json_t *before, json_t *after)
{
    static const char *const KEPT[] = {"uid",
                                       "name",
                                       "namespace",
                                       "creationTimestamp",
                                       "generation",
                                       "deletionTimestamp",
                                       "managedFields",
                                       "deletionGracePeriodSeconds",
                                       "resourceVersion",
                                       "generateName"};
    json_t *metadata = json_object_get(after, "metadata");
    const json_t *old = json_object_get(before, "metadata");
    for (size_t i = 0; i < sizeof(KEPT) / sizeof(*KEPT); i++) {
        json_t *value = json_object_get(old, KEPT[i]);
        if (value)
            json_object_set(metadata, KEPT[i], value);
        else
            json_object_del(metadata, KEPT[i]);
    }
}

static bool check_identity(struct fk_call *call, const json_t *before, const json_t *after)
{
    const char *version = fk_text(after, "metadata.resourceVersion");
    const char *uid = fk_text(after, "metadata.uid");
    const char *name = fk_text(after, "metadata.name");
    if (name && !cw_str_eq(name, call->name))
        return fk_fail(call, 400, "BadRequest", NULL,
                       "the name of the object (%s) does not match the name on the URL (%s)", name,
                       call->name);
    bool is_other = uid && *uid && !cw_str_eq(uid, fk_text(before, "metadata.uid"));
    if (is_other && !cw_str_eq(call->verb, "update")) {
        json_t *causes = json_array();
        for (int i = 0; i < (call->kind->custom ? 1 : 2); i++) /* two places look at it */
            fk_cause(causes, "FieldValueInvalid", "metadata.uid",
                     "Invalid value: \"%s\": field is immutable", uid);
        return fk_fail_invalid(call, call->name, causes);
    }
    if (is_other) {
        struct cw_str CW_CLEANUP(cw_str_fini) kind = {0};
        fk_kind_name(call->kind, &kind);
        return fk_fail_named(
            call, 409, "Conflict", call->name,
            "Operation cannot be fulfilled on %s \"%s\": StorageError: invalid "
            "object, Code: 4, Key: /registry/%s%s%s/%s/%s, ResourceVersion: 0, AdditionalErrorMsg: "
            "Precondition failed: UID in precondition: %s, UID in object meta: %s",
            cw_str_text(&kind), call->name, call->kind->custom ? call->group : "",
            call->kind->custom ? "/" : "", call->resource, call->ns ? call->ns : "", call->name,
            uid, fk_text(before, "metadata.uid"));
    }
    if (version && *version && !cw_str_eq(version, fk_text(before, "metadata.resourceVersion")))
        return fk_fail_conflict(call);
    if ((!version || !*version) && call->kind->needs_version && cw_str_eq(call->verb, "update")) {
        json_t *causes = json_array();
        fk_cause(causes, "FieldValueInvalid", "metadata.resourceVersion",
                 "Invalid value: 0: must be specified for an update");
        return fk_fail_invalid_resource(call, call->name, causes);
    }
    return true;
}

static void take_part(const struct fk_kind *kind, const json_t *before, json_t *after,
                      const char *sub)
{
    if (cw_str_eq(sub, "status")) {
        json_auto_t *status = json_incref(json_object_get(after, "status"));
        json_object_clear(after);
        json_object_update(after, (json_t *)before);
        json_object_set_new(after, "metadata", json_deep_copy(json_object_get(before, "metadata")));
        if (status)
            json_object_set(after, "status", status);
        else
            json_object_del(after, "status");
    } else if (kind->has_status) {
        json_t *status = json_object_get(before, "status");
        if (status)
            json_object_set(after, "status", status);
        else
            json_object_del(after, "status");
    }
}

static bool check_finalizers(struct fk_call *call, const json_t *before, const json_t *after)
{
    if (!fk_at(before, "metadata.deletionTimestamp"))
        return true;
    size_t i;
    json_t *one, *old;
    json_array_foreach (fk_at(after, "metadata.finalizers"), i, one) {
        size_t j;
        bool known = false;
        json_array_foreach (fk_at(before, "metadata.finalizers"), j, old)
            known = known || json_equal(one, old);
        if (known)
            continue;
        json_t *causes = json_array();
        for (int k = 0; k < (call->kind->custom ? 1 : 2); k++) /* two places look at it */
            fk_cause(causes, "FieldValueForbidden", "metadata.finalizers",
                     "Forbidden: no new finalizers can be added if the object is being deleted, "
                     "found new finalizers []string{\"%s\"}",
                     json_string_value(one));
        return fk_fail_invalid(call, call->name, causes);
    }
    return true;
}

json_t *fk_change_quiet(struct fk_call *call, const json_t *before, json_t *after, const char *sub)
{
    json_auto_t *mine = after; /* given up at the end */
    (void)mine;
    if (!check_identity(call, before, after))
        return NULL;
    take_part(call->kind, before, after, sub);
    restore_meta(before, after);
    if (!fk_admit_fields(call, after))
        return NULL;
    fk_defaults(call->kind, after);
    fk_tidy(call->kind, after);
    if (!fk_admit_values(call, before, after) || !check_finalizers(call, before, after))
        return NULL;
    call->server->counts.writes++;
    if (!cw_str_eq(call->verb, "apply") && fk_is_same(before, after))
        return json_incref((json_t *)before);
    fk_settle(call->server, call->kind, before, after,
              cw_str_eq(call->verb, "apply") ? NULL : call->manager, sub);
    if (!fk_is_dry(call))
        fk_commit(call->server, call->kind, json_incref(after));
    return json_incref(after);
}

bool fk_change(struct fk_call *call, const json_t *before, json_t *after, const char *sub)
{
    json_auto_t *result = fk_change_quiet(call, before, after, sub);
    if (result)
        fk_answer_object(call, 200, result);
    return result;
}

void fk_handle_update(struct fk_call *call)
{
    json_auto_t *held = json_incref(fk_store_get(call->kind, call->ns, call->name));
    if (!held && !call->kind->makes_by_put) {
        fk_fail_not_found(call);
        return;
    }
    json_t *after = fk_body(call);
    if (!after)
        return;
    if (!held)
        fk_create(call, after, NULL);
    else if (fk_admit_kind(call, after) && fk_admit_namespace(call, after))
        fk_change(call, held, after, call->sub);
    else
        json_decref(after);
}

static bool fail_patch_type(struct fk_call *call)
{
    if (!call->kind->custom)
        return fk_fail(call, 415, "UnsupportedMediaType", json_object(),
                       "415: Unsupported Media Type");
    return fk_fail(call, 415, "UnsupportedMediaType", NULL,
                   "the body of the request was in an unknown format - accepted media types "
                   "include: application/json-patch+json, application/merge-patch+json, "
                   "application/apply-patch+yaml");
}

void fk_handle_patch(struct fk_call *call)
{
    const char *type = call->request->content_type ? call->request->content_type : "";
    bool is_json_patch = cw_str_starts(type, "application/json-patch+json");
    if (cw_str_starts(type, "application/apply-patch+yaml")) {
        fk_handle_apply(call);
        return;
    }
    if (!is_json_patch && !cw_str_starts(type, "application/merge-patch+json")) {
        fail_patch_type(call);
        return;
    }
    json_auto_t *held = json_incref(fk_store_get(call->kind, call->ns, call->name));
    json_auto_t *patch = fk_body(call);
    if (!patch)
        return;
    if (!held) {
        fk_fail_not_found(call);
        return;
    }
    json_t *after = json_deep_copy(held);
    const char *wrong = is_json_patch ? fk_json_patch(&after, patch) : NULL;
    if (!is_json_patch) {
        fk_put(after, "metadata.managedFields", NULL);
        fk_merge(after, patch);
        json_object_del(after, "kind");
        json_object_del(after, "apiVersion");
    }
    if (wrong) {
        fk_fail(call, 422, "Invalid", json_object(), "%s", wrong);
        json_decref(after);
        return;
    }
    fk_change(call, held, after, call->sub);
}
