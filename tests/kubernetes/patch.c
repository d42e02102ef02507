/* SPDX-License-Identifier: Apache-2.0 */
/* Merge patches (RFC 7386) and JSON patches (RFC 6902: add, remove, replace, test). */
#include "kubernetes/fk_int.h"
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* The depth of patches is bounded by the body's own limit (json_loadb's). */
void fk_merge(json_t *target, const json_t *patch)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)patch, key, value) {
        if (json_is_null(value)) {
            json_object_del(target, key);
        } else if (!json_is_object(value)) {
            json_object_set_new(target, key, json_deep_copy(value));
        } else {
            json_t *inner = json_object_get(target, key);
            if (!json_is_object(inner)) {
                inner = json_object();
                json_object_set_new(target, key, inner);
            }
            fk_merge(inner, value);
        }
    }
}

/* The next token of a JSON pointer, unescaped; *pointer moves behind it. */
static char *next_token(const char **pointer)
{
    struct cw_str str = {0};
    const char *s = *pointer + 1;
    for (; *s && *s != '/'; s++) {
        bool is_escape = *s == '~' && (s[1] == '0' || s[1] == '1');
        cw_str_add_char(&str, is_escape ? (s[1] == '0' ? '~' : '/') : *s);
        s += is_escape;
    }
    *pointer = s;
    return cw_str_take(&str);
}

/* The index that a token names in an array of n; n itself for "-"; SIZE_MAX: none. */
static size_t index_of(const char *token, size_t n)
{
    if (cw_str_eq(token, "-"))
        return n;
    int64_t number;
    return cw_str_to_i64(token, &number) && number >= 0 && (uint64_t)number <= n ? (size_t)number
                                                                                 : SIZE_MAX;
}

static json_t *child_of(const json_t *json, const char *token)
{
    return json_is_array(json) ? json_array_get(json, index_of(token, json_array_size(json)))
                               : json_object_get(json, token);
}

/* The parent of what a pointer names, and the last token (cw_mem). NULL: not there. */
static json_t *parent_of(json_t *json, const char *pointer, char **ret_last)
{
    while (json && *pointer == '/') {
        cw_autofree char *token = next_token(&pointer);
        if (!*pointer) {
            *ret_last = cw_steal(&token);
            return json;
        }
        json = child_of(json, token);
    }
    return NULL;
}

static bool set_child(json_t *parent, const char *last, const json_t *value, bool is_new)
{
    if (json_is_object(parent))
        return (is_new || json_object_get(parent, last)) &&
               json_object_set_new(parent, last, json_deep_copy(value)) == 0;
    size_t n = json_array_size(parent), at = index_of(last, n);
    if (!json_is_array(parent) || at > n)
        return false;
    return (is_new ? json_array_insert_new(parent, at, json_deep_copy(value))
                   : json_array_set_new(parent, at, json_deep_copy(value))) == 0;
}

static bool remove_child(json_t *parent, const char *last)
{
    return json_is_array(parent)
               ? json_array_remove(parent, index_of(last, json_array_size(parent))) == 0
               : json_object_del(parent, last) == 0;
}

static const char REFUSED[] = "the server rejected our request due to an error in our request";

static const char *apply_one(json_t *target, const json_t *one)
{
    const char *op = fk_text_or(one, "op", ""), *pointer = fk_text_or(one, "path", "");
    const json_t *value = json_object_get(one, "value");
    cw_autofree char *last = NULL;
    json_t *parent = parent_of(target, pointer, &last);
    bool ok = false;
    if (!parent)
        return REFUSED;
    if (cw_str_eq(op, "test"))
        ok = value && json_equal(child_of(parent, last), value);
    else if (cw_str_eq(op, "remove"))
        ok = remove_child(parent, last);
    else if (cw_str_eq(op, "add") || cw_str_eq(op, "replace"))
        ok = value && set_child(parent, last, value, cw_str_eq(op, "add"));
    return ok ? NULL : REFUSED;
}

const char *fk_json_patch(json_t **target, const json_t *patch)
{
    size_t i;
    json_t *one;
    json_array_foreach ((json_t *)patch, i, one) {
        const char *wrong = apply_one(*target, one);
        if (wrong)
            return wrong;
    }
    return NULL;
}
