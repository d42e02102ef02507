/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Deployments and Scales. */
#include "kube/deployment.h"

#include <inttypes.h>
#include <string.h>

#include "kube/field.h"

/* Reads a number that may be left out. */
static int read_count(const struct cw_value *object, const char *path, int64_t left_out,
                      int64_t *ret, struct cw_err *err)
{
    const struct cw_value *value = cw_kube_field(object, path);

    *ret = left_out;
    if (!value || value->type == CW_VALUE_NULL)
        return CW_OK;
    if (value->type != CW_VALUE_I64 || value->i < 0 || value->i > INT32_MAX)
        return cw_err_set(err, CW_E_CORRUPT, "%s is not a number from 0 to 2147483647", path);
    *ret = value->i;
    return CW_OK;
}

static void read_failure(const struct cw_value *object, struct cw_kube_deployment *d)
{
    size_t n;
    const struct cw_value *conditions = cw_kube_list(object, "status.conditions", &n);

    for (size_t i = 0; i < n; i++) {
        const char *reason = cw_kube_text(&conditions[i], "reason");
        const char *message = cw_kube_text(&conditions[i], "message");

        if (!cw_str_eq(cw_kube_text(&conditions[i], "type"), "ReplicaFailure") ||
            !cw_str_eq(cw_kube_text(&conditions[i], "status"), "True"))
            continue;
        d->failure_reason = reason ? reason : "ReplicaFailure";
        d->failure_message = message ? message : "";
    }
}

int cw_kube_deployment_read(const struct cw_value *object,
                            struct cw_kube_deployment *ret_deployment, struct cw_err *err)
{
    const struct cw_value *paused = cw_kube_field(object, "spec.paused");
    const struct cw_value *hands_off =
        cw_value_get(cw_kube_field(object, "metadata.annotations"), CW_KUBE_HANDS_OFF);
    const char *version = cw_kube_text(object, "metadata.resourceVersion");
    const char *uid = cw_kube_text(object, "metadata.uid");
    struct cw_kube_deployment d = {
        .paused = paused && paused->type == CW_VALUE_BOOL && paused->b,
        .hands_off =
            hands_off && hands_off->type == CW_VALUE_STR && cw_str_eq(hands_off->s, "true"),
        .failure_reason = "",
        .failure_message = "",
        .version = version ? version : "",
        .uid = uid ? uid : "",
    };
    int rc = read_count(object, "spec.replicas", 1, &d.replicas, err);

    if (rc == CW_OK)
        rc = read_count(object, "status.replicas", 0, &d.pods, err);
    if (rc == CW_OK)
        rc = read_count(object, "status.updatedReplicas", 0, &d.updated, err);
    if (rc == CW_OK)
        rc = read_count(object, "status.readyReplicas", 0, &d.ready, err);
    if (rc != CW_OK)
        return rc;
    read_failure(object, &d);
    *ret_deployment = d;
    return CW_OK;
}

/* ---- selectors ---- */

static void add_comma(struct cw_str *out, size_t begin)
{
    if (out->len > begin)
        cw_str_add_char(out, ',');
}

static int add_labels(const struct cw_value *labels, struct cw_str *out, size_t begin,
                      struct cw_err *err)
{
    for (size_t i = 0; labels && labels->type == CW_VALUE_OBJECT && i < labels->n; i++) {
        if (labels->items[i].type != CW_VALUE_STR)
            return cw_err_set(err, CW_E_INVALID, "the selector's label %.100s is no text",
                              labels->keys[i]);
        add_comma(out, begin);
        cw_str_addf(out, "%s=%s", labels->keys[i], labels->items[i].s);
    }
    return CW_OK;
}

static void add_values(const struct cw_value *expression, struct cw_str *out)
{
    size_t n;
    const struct cw_value *values = cw_kube_list(expression, "values", &n);

    for (size_t i = 0; i < n; i++)
        if (values[i].type == CW_VALUE_STR)
            cw_str_addf(out, "%s%s", i ? "," : "", values[i].s);
}

static int add_expression(const struct cw_value *expression, struct cw_str *out, size_t begin,
                          struct cw_err *err)
{
    const char *key = cw_kube_text(expression, "key");
    const char *op = cw_kube_text(expression, "operator");
    bool is_in = cw_str_eq(op, "In"), is_not_in = cw_str_eq(op, "NotIn");
    bool exists = cw_str_eq(op, "Exists");

    if (!key || (!is_in && !is_not_in && !exists && !cw_str_eq(op, "DoesNotExist")))
        return cw_err_set(err, CW_E_UNSUPPORTED, "the selector has an operator \"%.40s\"",
                          op ? op : "");
    add_comma(out, begin);
    if (!is_in && !is_not_in) {
        cw_str_addf(out, "%s%s", exists ? "" : "!", key);
        return CW_OK;
    }
    cw_str_addf(out, "%s %s (", key, is_in ? "in" : "notin");
    add_values(expression, out);
    cw_str_add_char(out, ')');
    return CW_OK;
}

int cw_kube_deployment_selector(const struct cw_value *object, struct cw_str *out,
                                struct cw_err *err)
{
    size_t n, begin = out->len;
    const struct cw_value *expressions = cw_kube_list(object, "spec.selector.matchExpressions", &n);
    int rc = add_labels(cw_kube_field(object, "spec.selector.matchLabels"), out, begin, err);

    for (size_t i = 0; rc == CW_OK && i < n; i++)
        rc = add_expression(&expressions[i], out, begin, err);
    if (rc == CW_OK && out->len == begin)
        rc = cw_err_set(err, CW_E_INVALID, "it has no selector");
    return rc;
}

/* ---- scale ---- */

int cw_kube_scale_read(const struct cw_value *object, int64_t *ret_replicas,
                       const char **ret_version, struct cw_err *err)
{
    const char *version = cw_kube_text(object, "metadata.resourceVersion");
    int rc;

    if (!cw_str_eq(cw_kube_text(object, "kind"), "Scale") || !version || !*version)
        return cw_err_set(err, CW_E_CORRUPT, "it is no Scale with a resourceVersion");
    rc = read_count(object, "spec.replicas", 0, ret_replicas, err);
    if (rc == CW_OK)
        *ret_version = version;
    return rc;
}

void cw_kube_scale_patch(int64_t replicas, const char *version, struct cw_str *out)
{
    cw_str_add(out, "{\"metadata\":{\"resourceVersion\":");
    cw_str_add_json(out, version, strlen(version));
    cw_str_addf(out, "},\"spec\":{\"replicas\":%" PRId64 "}}", replicas);
}
