/* SPDX-License-Identifier: Apache-2.0 */
/* The subresource scale: an object of its own, autoscaling/v1 Scale, made from its parent. */
#include "kubernetes/fk_int.h"
#include <string.h>
#include "base/mem.h"

static const char *path_of(const struct fk_kind *kind, const char *which, const char *otherwise)
{
    const json_t *scale = fk_at(kind->definition, "subresources.scale");
    const char *path = fk_text(scale, which);
    return path && *path == '.' ? path + 1 : otherwise;
}

/* matchLabels as "a=b,c=d". */
static char *selector_text(const json_t *object)
{
    struct cw_str str = {0};
    const char *key;
    json_t *value;
    json_object_foreach (fk_at(object, "spec.selector.matchLabels"), key, value)
        cw_str_addf(&str, "%s%s=%s", str.len ? "," : "", key, json_string_value(value));
    return cw_str_take(&str);
}

static json_t *scale_of(const struct fk_kind *kind, const json_t *object)
{
    const json_t *metadata = json_object_get(object, "metadata");
    json_t *scale = json_pack(
        "{s:s, s:s, s:{s:O, s:O?, s:O, s:O, s:O}, s:{}, s:{s:I}}", "kind", "Scale", "apiVersion",
        "autoscaling/v1", "metadata", "name", json_object_get(metadata, "name"), "namespace",
        json_object_get(metadata, "namespace"), "uid", json_object_get(metadata, "uid"),
        "resourceVersion", json_object_get(metadata, "resourceVersion"), "creationTimestamp",
        json_object_get(metadata, "creationTimestamp"), "spec", "status", "replicas",
        fk_int(object, path_of(kind, "statusReplicasPath", "status.replicas"), 0));
    json_t *wanted = fk_at(object, path_of(kind, "specReplicasPath", "spec.replicas"));
    if (wanted && (kind->custom || json_integer_value(wanted)))
        fk_put(scale, "spec.replicas", json_incref(wanted));
    cw_autofree char *selector = selector_text(object);
    if (*selector)
        fk_put_text(scale, "status.selector", selector);
    return scale;
}

static bool fail_no_replicas(struct fk_call *call, const char *path)
{
    cw_autofree char *text = cw_mem_printf("the spec replicas field \".%s\" does not exist", path);
    return fk_fail(call, 500, "InternalError", json_pack("{s:[{s:s}]}", "causes", "message", text),
                   "Internal error occurred: %s", text);
}

static void answer_scale(struct fk_call *call, int status, const json_t *object)
{
    json_auto_t *scale = scale_of(call->kind, object);
    fk_answer_json(call, status, scale);
}

static bool fail_replicas(struct fk_call *call, json_int_t replicas)
{
    json_t *causes = json_array();
    fk_cause(causes, "FieldValueInvalid", "spec.replicas",
             "Invalid value: %lld: must be greater than or equal to 0", (long long)replicas);
    json_t *details = json_pack("{s:s, s:s, s:s, s:O}", "name", call->name, "group", "autoscaling",
                                "kind", "Scale", "causes", causes);
    json_auto_t *mine = causes;
    return fk_fail(call, 422, "Invalid", details,
                   "Scale.autoscaling \"%s\" is invalid: spec.replicas: %s", call->name,
                   fk_text(json_array_get(mine, 0), "message"));
}

/* The parent with the number that the scale asks for; NULL: the call has failed. */
static json_t *with_scale(struct fk_call *call, const json_t *object, const json_t *scale)
{
    json_int_t replicas = fk_int(scale, "spec.replicas", 0);
    const char *version = fk_text(scale, "metadata.resourceVersion");
    if (fk_at(scale, "spec.replicas") && !json_is_integer(fk_at(scale, "spec.replicas"))) {
        fk_fail(call, 422, "Invalid", json_object(),
                " \"\" is invalid: patch: json: cannot unmarshal string into Go struct field "
                "ScaleSpec.spec.replicas of type int32");
        return NULL;
    }
    if (replicas < 0) {
        fail_replicas(call, replicas);
        return NULL;
    }
    if (version && *version && !cw_str_eq(version, fk_text(object, "metadata.resourceVersion"))) {
        fk_fail_conflict(call);
        return NULL;
    }
    json_t *after = json_deep_copy(object);
    fk_put_int(after, path_of(call->kind, "specReplicasPath", "spec.replicas"), replicas);
    return after;
}

/* The Scale that a PUT or PATCH means; new reference; NULL: failed. */
static json_t *wanted_scale(struct fk_call *call, const json_t *object)
{
    json_auto_t *body = fk_body(call);
    const char *type = call->request->content_type ? call->request->content_type : "";
    if (!body)
        return NULL;
    if (cw_str_eq(call->verb, "update"))
        return json_incref(body);
    json_t *scale = scale_of(call->kind, object);
    const char *wrong = NULL;
    if (cw_str_starts(type, "application/json-patch+json"))
        wrong = fk_json_patch(&scale, body);
    else
        fk_merge(scale, body);
    if (!wrong)
        return scale;
    json_decref(scale);
    fk_fail(call, 422, "Invalid", json_object(), "%s", wrong);
    return NULL;
}

static void change_scale(struct fk_call *call, const json_t *object)
{
    json_auto_t *scale = wanted_scale(call, object);
    json_t *after = scale ? with_scale(call, object, scale) : NULL;
    if (!after)
        return;
    json_auto_t *result = fk_change_quiet(call, object, after, "scale");
    if (result)
        answer_scale(call, 200, result);
}

void fk_handle_scale(struct fk_call *call)
{
    json_auto_t *object = json_incref(fk_store_get(call->kind, call->ns, call->name));
    const char *path = path_of(call->kind, "specReplicasPath", "spec.replicas");
    if (!object)
        fk_fail_not_found(call);
    else if (call->kind->custom && !fk_at(object, path))
        fail_no_replicas(call, path);
    else if (cw_str_eq(call->verb, "get"))
        answer_scale(call, 200, object);
    else if (cw_str_eq(call->verb, "patch") || cw_str_eq(call->verb, "update"))
        change_scale(call, object);
    else
        fk_fail(call, 405, "MethodNotAllowed", json_object(),
                "the server does not allow this method on the requested resource");
}
