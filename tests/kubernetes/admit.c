/* SPDX-License-Identifier: Apache-2.0 */
/* What an object must be before it is stored: its kind, its namespace, its name, its fields. */
#include "kubernetes/fk_int.h"
#include <regex.h>
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

/* Labels and annotations are texts. */
static bool check_labels(struct fk_call *call, const json_t *object, const char *what)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_object_get(json_object_get(object, "metadata"), what), name, value)
        if (!json_is_string(value))
            return fk_fail(call, 400, "BadRequest", NULL,
                           "%s in version \"%s\" cannot be handled "
                           "as a %s: json: cannot "
                           "unmarshal number into Go struct field "
                           "ObjectMeta.%s of type string",
                           call->kind->kind, call->kind->version, call->kind->kind, what);
    return true;
}

/* Whether the object says that it is of the kind that the path says; takes both words away. */
bool fk_admit_kind(struct fk_call *call, json_t *object)
{
    cw_autofree char *wanted = fk_kind_api_version(call->kind);
    const char *kind = fk_text(object, "kind"), *version = fk_text(object, "apiVersion");
    if (!json_is_object(object) || (!kind && call->kind->custom))
        return fk_fail(call, 400, "BadRequest", NULL,
                       "the object provided is unrecognized (must be of type %s): Object 'Kind' is "
                       "missing in '%.*s' (%.*s)",
                       call->kind->kind, (int)call->request->body_n, call->request->body,
                       (int)call->request->body_n, call->request->body);
    if (version && !cw_str_eq(version, wanted))
        return fk_fail(call, 400, "BadRequest", NULL,
                       "%s in version \"%s\" cannot be handled as a %s: no kind \"%s\" is "
                       "registered for version \"%s\" in scheme \"pkg/runtime/scheme.go:110\"",
                       kind, version, call->kind->kind, kind, version);
    if (kind && !cw_str_eq(kind, call->kind->kind))
        return fk_fail(call, 400, "BadRequest", NULL,
                       "%s in version \"%s\" cannot be handled as a %s: converting (%s.%s) to "
                       "(%s.%s): unknown conversion",
                       kind, call->kind->version, call->kind->kind, call->kind->version, kind,
                       *call->group ? call->group : "core", call->kind->kind);
    if (fk_text(object, "metadata.resourceVersion") && cw_str_eq(call->verb, "create"))
        return fk_fail(call, 500, NULL, NULL,
                       "resourceVersion should not be set on objects to be created");
    if (!check_labels(call, object, "labels") || !check_labels(call, object, "annotations"))
        return false;
    json_object_del(object, "kind");
    json_object_del(object, "apiVersion");
    if (!json_is_object(json_object_get(object, "metadata")))
        json_object_set_new(object, "metadata", json_object());
    return true;
}

bool fk_admit_namespace(struct fk_call *call, json_t *object)
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
bool fk_admit_fields(struct fk_call *call, json_t *object)
{
    json_auto_t *unknown = fk_schema_prune(call->kind, object);
    const char *how = fk_text_or(call->query, "fieldValidation", "Warn");
    struct cw_str CW_CLEANUP(cw_str_fini) text = {0};
    size_t i;
    json_t *field;
    json_array_foreach (unknown, i, field)
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

bool fk_admit_values(struct fk_call *call, const json_t *before, const json_t *object)
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

bool fk_admit_new(struct fk_call *call, json_t *object)
{
    if (!fk_admit_kind(call, object) || !fk_admit_namespace(call, object) ||
        !check_name(call, object) || !check_lives(call, object) || !fk_admit_fields(call, object))
        return false;
    if (call->kind->has_status)
        json_object_del(object, "status");
    fk_defaults(call->kind, object);
    fk_tidy(call->kind, object);
    if (!fk_admit_values(call, NULL, object))
        return false;
    const char *name = fk_text(object, "metadata.name");
    return !fk_store_get(call->kind, call->ns, name) || fail_exists(call, name);
}
