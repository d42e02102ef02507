/* SPDX-License-Identifier: Apache-2.0 */
/* JSON values in memory: copies, comparison, canonical text, builders. The parser limits their
 * depth (32), and so does the code that builds values, so recursion is safe. */
#include "conf/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void cw_value_fini(struct cw_value *value)
{
    if (!value)
        return;
    for (size_t i = 0; i < value->n; i++) {
        cw_value_fini(&value->items[i]);
        if (value->keys)
            cw_mem_free(value->keys[i]);
    }
    cw_mem_free(value->items);
    cw_mem_free(value->keys);
    cw_mem_free(value->s);
    *value = (struct cw_value){0};
}

void cw_value_copy(struct cw_value *value, const struct cw_value *other)
{
    *value = *other;
    value->s = cw_mem_strdup(other->s);
    value->items = other->n ? CW_NEW_ARRAY(struct cw_value, other->n) : NULL;
    value->keys = other->n && other->keys ? CW_NEW_ARRAY(char *, other->n) : NULL;
    for (size_t i = 0; i < other->n; i++) {
        cw_value_copy(&value->items[i], &other->items[i]);
        if (value->keys)
            value->keys[i] = cw_mem_strdup(other->keys[i]);
    }
}

const struct cw_value *cw_value_get(const struct cw_value *object, const char *key)
{
    if (!object || object->type != CW_VALUE_OBJECT)
        return NULL;
    for (size_t i = 0; i < object->n; i++)
        if (strcmp(object->keys[i], key) == 0)
            return &object->items[i];
    return NULL;
}

static bool list_eq(const struct cw_value *a, const struct cw_value *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!cw_value_eq(&a->items[i], &b->items[i]))
            return false;
    return true;
}

static bool object_eq(const struct cw_value *a, const struct cw_value *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const struct cw_value *other = cw_value_get(b, a->keys[i]);
        if (!other || !cw_value_eq(&a->items[i], other))
            return false;
    }
    return true;
}

bool cw_value_eq(const struct cw_value *a, const struct cw_value *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case CW_VALUE_NULL:
        return true;
    case CW_VALUE_BOOL:
        return a->b == b->b;
    case CW_VALUE_I64:
        return a->i == b->i;
    case CW_VALUE_F64:
        /* -0.0 and 0.0 are different, as their texts are */
        return memcmp(&a->f, &b->f, sizeof(a->f)) == 0;
    case CW_VALUE_STR:
        return strcmp(a->s, b->s) == 0;
    case CW_VALUE_LIST:
        return list_eq(a, b);
    case CW_VALUE_OBJECT:
        return object_eq(a, b);
    default:
        return false;
    }
}

static void print_list(const struct cw_value *value, struct cw_str *out)
{
    cw_str_add_char(out, '[');
    for (size_t i = 0; i < value->n; i++) {
        if (i)
            cw_str_add_char(out, ',');
        cw_value_print(&value->items[i], out);
    }
    cw_str_add_char(out, ']');
}

struct member {
    const char *key;
    const struct cw_value *value;
};

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct member *)a)->key, ((const struct member *)b)->key);
}

static void print_object(const struct cw_value *value, struct cw_str *out)
{
    cw_autofree struct member *members = CW_NEW_ARRAY(struct member, value->n);

    for (size_t i = 0; i < value->n; i++)
        members[i] = (struct member){value->keys[i], &value->items[i]};
    if (value->n)
        qsort(members, value->n, sizeof(*members), by_key);
    cw_str_add_char(out, '{');
    for (size_t i = 0; i < value->n; i++) {
        if (i)
            cw_str_add_char(out, ',');
        cw_str_add_json(out, members[i].key, strlen(members[i].key));
        cw_str_add_char(out, ':');
        cw_value_print(members[i].value, out);
    }
    cw_str_add_char(out, '}');
}

void cw_value_print(const struct cw_value *value, struct cw_str *out)
{
    switch (value->type) {
    case CW_VALUE_BOOL:
        cw_str_add(out, value->b ? "true" : "false");
        break;
    case CW_VALUE_I64:
        cw_str_addf(out, "%" PRId64, value->i);
        break;
    case CW_VALUE_F64:
        if (isfinite(value->f))
            cw_str_add_f64(out, value->f);
        else
            cw_str_add(out, "null"); /* JSON has no word for infinity and NaN */
        break;
    case CW_VALUE_STR:
        cw_str_add_json(out, value->s, strlen(value->s));
        break;
    case CW_VALUE_LIST:
        print_list(value, out);
        break;
    case CW_VALUE_OBJECT:
        print_object(value, out);
        break;
    case CW_VALUE_NULL:
    default:
        cw_str_add(out, "null");
        break;
    }
}

const char *cw_value_type_name(enum cw_value_type type)
{
    static const char *const names[] = {
        [CW_VALUE_NULL] = "null",          [CW_VALUE_BOOL] = "true or false",
        [CW_VALUE_I64] = "a whole number", [CW_VALUE_F64] = "a number",
        [CW_VALUE_STR] = "a string",       [CW_VALUE_LIST] = "a list",
        [CW_VALUE_OBJECT] = "an object"};

    return (size_t)type < CW_ARRAY_LEN(names) ? names[type] : "unknown";
}

void cw_value_set_str(struct cw_value *value, const char *s)
{
    *value = (struct cw_value){.type = CW_VALUE_STR, .s = cw_mem_strdup(s ? s : "")};
}

void cw_value_set_i64(struct cw_value *value, int64_t i)
{
    *value = (struct cw_value){.type = CW_VALUE_I64, .i = i};
}

void cw_value_set_f64(struct cw_value *value, double f)
{
    *value = (struct cw_value){.type = CW_VALUE_F64, .f = f};
}

void cw_value_set_bool(struct cw_value *value, bool b)
{
    *value = (struct cw_value){.type = CW_VALUE_BOOL, .b = b};
}

struct cw_value *cw_value_set_list(struct cw_value *value, size_t n)
{
    *value = (struct cw_value){
        .type = CW_VALUE_LIST, .n = n, .items = n ? CW_NEW_ARRAY(struct cw_value, n) : NULL};
    return value->items;
}

void cw_value_set_object(struct cw_value *value)
{
    *value = (struct cw_value){.type = CW_VALUE_OBJECT};
}

struct cw_value *cw_value_member(struct cw_value *object, const char *key)
{
    CW_ASSERT(object->type == CW_VALUE_OBJECT);
    for (size_t i = 0; i < object->n; i++) {
        if (strcmp(object->keys[i], key) == 0) {
            cw_value_fini(&object->items[i]);
            return &object->items[i];
        }
    }
    return cw_value_append(object, key);
}

struct cw_value *cw_value_append(struct cw_value *object, const char *key)
{
    CW_ASSERT(object->type == CW_VALUE_OBJECT);
    size_t n = object->n++;
    object->items = cw_mem_grow(object->items, object->n, sizeof(*object->items));
    object->keys = cw_mem_grow(object->keys, object->n, sizeof(*object->keys));
    object->keys[n] = cw_mem_strdup(key);
    object->items[n] = (struct cw_value){0};
    return &object->items[n];
}
