/* SPDX-License-Identifier: Apache-2.0 */
/* Short ways into JSON values. */
#include "kubernetes/jpath.h"
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/str.h"

json_t *fk_at(const json_t *json, const char *path)
{
    for (;;) {
        size_t n = strcspn(path, ".");
        char name[128];
        if (n >= sizeof(name))
            return NULL;
        memcpy(name, path, n);
        name[n] = '\0';
        json = json_object_get(json, name);
        if (!json || !path[n])
            return (json_t *)json;
        path += n + 1;
    }
}

const char *fk_text(const json_t *json, const char *path)
{
    return json_string_value(fk_at(json, path));
}

const char *fk_text_or(const json_t *json, const char *path, const char *otherwise)
{
    const char *text = fk_text(json, path);
    return text ? text : otherwise;
}

json_int_t fk_int(const json_t *json, const char *path, json_int_t otherwise)
{
    const json_t *value = fk_at(json, path);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

bool fk_true(const json_t *json, const char *path)
{
    return json_is_true(fk_at(json, path));
}

size_t fk_len(const json_t *json, const char *path)
{
    return json_array_size(fk_at(json, path));
}

void fk_put(json_t *json, const char *path, json_t *value)
{
    const char *dot = strchr(path, '.');
    if (!dot) {
        if (value)
            json_object_set_new(json, path, value);
        else
            json_object_del(json, path);
        return;
    }
    cw_autofree char *name = cw_mem_strndup(path, (size_t)(dot - path));
    json_t *inner = json_object_get(json, name);
    if (!json_is_object(inner)) {
        if (!value)
            return;
        inner = json_object();
        json_object_set_new(json, name, inner);
    }
    fk_put(inner, dot + 1, value);
}

void fk_put_text(json_t *json, const char *path, const char *text)
{
    fk_put(json, path, text ? json_string(text) : NULL);
}

void fk_put_int(json_t *json, const char *path, json_int_t number)
{
    fk_put(json, path, json_integer(number));
}

const char *fk_label(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(fk_at(object, "metadata.labels"), name));
}

const char *fk_annotation(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(fk_at(object, "metadata.annotations"), name));
}

json_t *fk_condition(const json_t *object, const char *type)
{
    size_t i;
    json_t *condition;
    json_array_foreach (fk_at(object, "status.conditions"), i, condition)
        if (cw_str_eq(fk_text(condition, "type"), type))
            return condition;
    return NULL;
}

bool fk_has_condition(const json_t *object, const char *type, const char *status)
{
    return cw_str_eq(fk_text(fk_condition(object, type), "status"), status);
}

static bool is_condition(const json_t *condition, const char *status, const char *reason,
                         const char *message)
{
    return cw_str_eq(fk_text(condition, "status"), status) &&
           cw_str_eq(fk_text(condition, "reason"), reason) &&
           cw_str_eq(fk_text(condition, "message"), message);
}

bool fk_set_condition(json_t *object, const char *type, const char *status, const char *reason,
                      const char *message, const char *now)
{
    json_t *condition = fk_condition(object, type);
    if (condition && is_condition(condition, status, reason, message))
        return false;
    if (!fk_at(object, "status.conditions"))
        fk_put(object, "status.conditions", json_array());
    if (!condition) {
        condition = json_pack("{s:s}", "type", type);
        json_array_append_new(fk_at(object, "status.conditions"), condition);
    }
    if (!cw_str_eq(fk_text(condition, "status"), status))
        fk_put_text(condition, "lastTransitionTime", now);
    fk_put_text(condition, "status", status);
    fk_put_text(condition, "reason", reason);
    fk_put_text(condition, "message", message);
    return true;
}

char *fk_dump(const json_t *json, bool sorted, size_t *ret_n)
{
    char *text =
        json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY | (sorted ? (size_t)JSON_SORT_KEYS : 0));
    char *ret = cw_mem_strdup(text ? text : "null");
    free(text);
    if (ret_n)
        *ret_n = strlen(ret);
    return ret;
}
