/* SPDX-License-Identifier: Apache-2.0 */
/* Creating and changing objects: the rules that real servers have for it. */
#include "kubernetes/fk_int.h"
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

bool fk_is_dry(const struct fk_call *call)
{
    return cw_str_eq(fk_text(call->query, "dryRun"), "All");
}

static bool fail_unreadable(struct fk_call *call)
{
    return fk_fail(call, 400, "BadRequest", NULL,
                   "the object provided is unrecognized (must be of type %s): couldn't get "
                   "version/kind; json parse error: unexpected end of JSON input (%.*s)",
                   call->kind->kind, (int)call->request->body_n,
                   call->request->body ? call->request->body : "");
}

json_t *fk_body(struct fk_call *call)
{
    const struct fk_request *request = call->request;
    const char *type = request->content_type ? request->content_type : "application/json";
    if (cw_str_starts(type, "application/yaml") ||
        cw_str_starts(type, "application/apply-patch+yaml")) {
        json_t *document = fk_yaml_document(request->body, request->body_n, 0, NULL);
        return document ? document : (fail_unreadable(call), NULL);
    }
    json_t *body = json_loadb(request->body ? request->body : "", request->body_n, 0, NULL);
    return body ? body : (fail_unreadable(call), NULL);
}

/* Whether the object says that it is of the kind that the path says; takes both words away. */
static bool check_kind(struct fk_call *call, json_t *object)
{
    cw_autofree char *wanted = fk_kind_api_version(call->kind);
    const char *kind = fk_text(object, "kind"), *version = fk_text(object, "apiVersion");
    if (!json_is_object(object) || (!kind && call->kind->custom))
        return fk_fail(call, 400, "BadRequest", NULL, "Object 'Kind' is missing in '%.*s'",
                       (int)call->request->body_n, call->request->body);
    if (version && !cw_str_eq(version, wanted))
        return fk_fail(call, 400, "BadRequest", NULL,
                       "the API version in the data (%s) does not match the expected API version "
                       "(%s)",
                       version, wanted);
    if (kind && !cw_str_eq(kind, call->kind->kind))
        return fk_fail(call, 400, "BadRequest", NULL,
                       "%s in version \"%s\" cannot be handled as a %s: no kind \"%s\" is "
                       "registered for version \"%s\"",
                       kind, call->kind->version, call->kind->kind, kind, wanted);
    json_object_del(object, "kind");
    json_object_del(object, "apiVersion");
    if (!json_is_object(json_object_get(object, "metadata")))
        json_object_set_new(object, "metadata", json_object());
    return true;
}

static bool check_namespace(struct fk_call *call, json_t *object)
{
    const char *ns = fk_text(object, "metadata.namespace");
    if (!call->kind->namespaced) {
        fk_put(object, "metadata.namespace", NULL);
        return true;
    }
    if (ns && *ns && !cw_str_eq(ns, call->ns))
        return fk_fail(call, 400, "BadRequest", NULL,
                       "the namespace of the provided object does not match the namespace sent on "
                       "the request");
    fk_put_text(object, "metadata.namespace", call->ns);
    return true;
}

static bool fail_namespace(struct fk_call *call)
{
    return fk_fail(call, 404, "NotFound",
                   json_pack("{s:s, s:s}", "name", call->ns, "kind", "namespaces"),
                   "namespaces \"%s\" not found", call->ns);
}

/* Nothing is created in a namespace that is not there, or that is going. */
static bool check_lives(struct fk_call *call, const json_t *object)
{
    if (!call->kind->namespaced)
        return true;
    const json_t *ns = fk_store_get(fk_kind_find(call->server, "", "namespaces"), NULL, call->ns);
    if (!ns)
        return fail_namespace(call);
    if (!fk_at(ns, "metadata.deletionTimestamp"))
        return true;
    struct cw_str CW_CLEANUP(cw_str_fini) kind = {0};
    fk_kind_name(call->kind, &kind);
    const char *name = fk_text_or(object, "metadata.name", "");
    json_t *details = json_pack("{s:s, s:s}", "name", name, "kind", call->resource);
    if (*call->group)
        fk_put_text(details, "group", call->group);
    json_t *causes = json_array();
    fk_cause(causes, "NamespaceTerminating", "metadata.namespace",
             "namespace %s is being terminated", call->ns);
    json_object_set_new(details, "causes", causes);
    return fk_fail(call, 403, "Forbidden", details,
                   "%s \"%s\" is forbidden: unable to create new content in namespace %s because "
                   "it is being terminated",
                   cw_str_text(&kind), name, call->ns);
}

static bool is_subdomain(const char *name)
{
    regex_t regex;
    if (regcomp(&regex, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
                REG_EXTENDED | REG_NOSUB) != 0)
        abort();
    bool is = regexec(&regex, name, 0, NULL, 0) == 0;
    regfree(&regex);
    return is;
}

static void check_name_text(json_t *causes, const char *name)
{
    if (strlen(name) > 253)
        fk_cause(causes, "FieldValueInvalid", "metadata.name",
                 "Invalid value: \"%s\": must be no more than 253 characters", name);
    if (!is_subdomain(name))
        fk_cause(causes, "FieldValueInvalid", "metadata.name",
                 "Invalid value: \"%s\": a lowercase RFC 1123 subdomain must consist of lower case "
                 "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
                 "character (e.g. 'example.com', regex used for validation is "
                 "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                 name);
}

static bool has_free_names(const struct fk_kind *kind)
{
    return cw_str_eq(kind->group, "rbac.authorization.k8s.io");
}

static bool check_name(struct fk_call *call, json_t *object)
{
    const char *name = fk_text_or(object, "metadata.name", "");
    const char *prefix = fk_text(object, "metadata.generateName");
    json_t *causes = json_array();
    char suffix[8];
    if (!*name && prefix) {
        fk_suffix(call->server, suffix, 5);
        cw_autofree char *made = cw_mem_printf("%s%s", prefix, suffix);
        fk_put_text(object, "metadata.name", made);
    } else if (!*name) {
        fk_cause(causes, "FieldValueRequired", "metadata.name",
                 "Required value: name or generateName is required");
    }
    name = fk_text_or(object, "metadata.name", "");
    if (*name && !has_free_names(call->kind))
        check_name_text(causes, name);
    if (json_array_size(causes))
        return fk_fail_invalid(call, name, causes);
    json_decref(causes);
    return true;
}

/* Unknown fields of a custom kind: refused, warned of or dropped, as fieldValidation says. */
static bool prune(struct fk_call *call, json_t *object)
{
    json_auto_t *unknown = fk_schema_prune(call->kind, object);
    const char *how = fk_text_or(call->query, "fieldValidation", "Warn");
    struct cw_str CW_CLEANUP(cw_str_fini) text = {0};
    size_t i;
    json_t *field;
    json_array_foreach(unknown, i, field)
        cw_str_addf(&text, "%sunknown field \"%s\"", i ? ", " : "", json_string_value(field));
    if (!text.len || cw_str_eq(how, "Ignore"))
        return true;
    if (cw_str_eq(how, "Strict"))
        return fk_fail(call, 400, "BadRequest", NULL,
                       "%s in version \"%s\" cannot be handled as a %s: strict decoding error: %s",
                       call->kind->kind, call->kind->version, call->kind->kind, cw_str_text(&text));
    call->answer->warning = cw_str_take(&text);
    return true;
}

static bool check_values(struct fk_call *call, const json_t *before, const json_t *object)
{
    json_t *causes = fk_schema_check(call->kind, before, object);
    if (before)
        fk_check_change(call->kind, before, object, causes);
    if (json_array_size(causes))
        return fk_fail_invalid(call, fk_text(object, "metadata.name"), causes);
    json_decref(causes);
    return true;
}

static bool fail_exists(struct fk_call *call, const char *name)
{
    struct cw_str CW_CLEANUP(cw_str_fini) kind = {0};
    fk_kind_name(call->kind, &kind);
    return fk_fail_named(call, 409, "AlreadyExists", name, "%s \"%s\" already exists",
                         cw_str_text(&kind), name);
}

static bool may_create(struct fk_call *call, json_t *object)
{
    if (!check_kind(call, object) || !check_namespace(call, object) || !check_name(call, object) ||
        !check_lives(call, object) || !prune(call, object))
        return false;
    if (call->kind->has_status)
        json_object_del(object, "status");
    fk_defaults(call->kind, object);
    if (!check_values(call, NULL, object))
        return false;
    const char *name = fk_text(object, "metadata.name");
    return !fk_store_get(call->kind, call->ns, name) || fail_exists(call, name);
}

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
    json_auto_t *mine = object;
    if (!may_create(call, object))
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
    if (uid && *uid && !cw_str_eq(uid, fk_text(before, "metadata.uid"))) {
        struct cw_str CW_CLEANUP(cw_str_fini) kind = {0};
        fk_kind_name(call->kind, &kind);
        return fk_fail_named(call, 409, "Conflict", call->name,
                             "Operation cannot be fulfilled on %s \"%s\": StorageError: invalid "
                             "object, Code: 4, Key: , ResourceVersion: 0, AdditionalErrorMsg: "
                             "Precondition failed: UID in precondition: %s, UID in object meta: %s",
                             cw_str_text(&kind), call->name, uid, fk_text(before, "metadata.uid"));
    }
    if (version && *version && !cw_str_eq(version, fk_text(before, "metadata.resourceVersion")))
        return fk_fail_conflict(call);
    if ((!version || !*version) && call->kind->needs_version && cw_str_eq(call->verb, "update")) {
        json_t *causes = json_array();
        fk_cause(causes, "FieldValueInvalid", "metadata.resourceVersion",
                 "Invalid value: 0: must be specified for an update");
        return fk_fail_invalid(call, call->name, causes);
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
    json_array_foreach(fk_at(after, "metadata.finalizers"), i, one)
    {
        size_t j;
        bool known = false;
        json_array_foreach(fk_at(before, "metadata.finalizers"), j, old) known =
            known || json_equal(one, old);
        if (known)
            continue;
        json_t *causes = json_array();
        fk_cause(causes, "FieldValueForbidden", "metadata.finalizers",
                 "Forbidden: no new finalizers can be added if the object is being deleted, found "
                 "new finalizers []string{\"%s\"}",
                 json_string_value(one));
        return fk_fail_invalid(call, call->name, causes);
    }
    return true;
}

json_t *fk_change_quiet(struct fk_call *call, const json_t *before, json_t *after, const char *sub)
{
    json_auto_t *mine = after;
    if (!check_identity(call, before, after))
        return NULL;
    take_part(call->kind, before, after, sub);
    restore_meta(before, after);
    if (!prune(call, after))
        return NULL;
    fk_defaults(call->kind, after);
    if (!check_values(call, before, after) || !check_finalizers(call, before, after))
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
    if (!held) {
        fk_fail_not_found(call);
        return;
    }
    json_t *after = fk_body(call);
    if (!after)
        return;
    if (check_kind(call, after) && check_namespace(call, after))
        fk_change(call, held, after, call->sub);
    else
        json_decref(after);
}

static bool fail_patch_type(struct fk_call *call)
{
    return fk_fail(call, 415, "UnsupportedMediaType", NULL,
                   "the body of the request was in an unknown format - accepted media types "
                   "include: application/json-patch+json, application/merge-patch+json, %s"
                   "application/apply-patch+yaml",
                   call->kind->custom ? "" : "application/strategic-merge-patch+json, ");
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
