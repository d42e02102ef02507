/* SPDX-License-Identifier: Apache-2.0 */
/* Parses JSON texts to values. The depth is checked before jansson gets the text, which limits
 * every recursion here and in value.c. */
#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "conf/conf_file.h"
#include "conf/value.h"

static int fail_at(struct cw_err *err, const char *where, int line, int column, const char *what)
{
    if (where)
        return cw_err_set(err, CW_E_INVALID, "%s:%d:%d: %s", where, line, column, what);
    return cw_err_set(err, CW_E_INVALID, "line %d, column %d: %s", line, column, what);
}

static int check_depth(const char *text, size_t n, const char *where, struct cw_err *err)
{
    int depth = 0, line = 1, column = 0;
    bool in_string = false;

    for (size_t i = 0; i < n; i++) {
        char c = text[i];

        column++;
        if (c == '\n') {
            line++;
            column = 0;
        }
        if (in_string) {
            if (c == '\\')
                i++, column++;
            in_string = c != '"';
            continue;
        }
        if (c == '"')
            in_string = true;
        else if (c == '[' || c == '{')
            depth++;
        else if (c == ']' || c == '}')
            depth--;
        if (depth > CW_VALUE_DEPTH_MAX)
            return fail_at(err, where, line, column, "lists and objects nested deeper than 32");
    }
    return CW_OK;
}

static void convert(struct cw_value *value, json_t *json);

static void convert_list(struct cw_value *value, json_t *json)
{
    struct cw_value *items = cw_value_set_list(value, json_array_size(json));

    for (size_t i = 0; i < value->n; i++)
        convert(&items[i], json_array_get(json, i));
}

static void convert_object(struct cw_value *value, json_t *json)
{
    const char *key;
    json_t *item;
    size_t n = json_object_size(json);

    cw_value_set_object(value);
    if (n == 0)
        return;
    value->items = CW_NEW_ARRAY(struct cw_value, n);
    value->keys = CW_NEW_ARRAY(char *, n);
    json_object_foreach(json, key, item)
    {
        value->keys[value->n] = cw_mem_strdup(key);
        convert(&value->items[value->n++], item);
    }
}

static void convert(struct cw_value *value, json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        convert_object(value, json);
        break;
    case JSON_ARRAY:
        convert_list(value, json);
        break;
    case JSON_STRING:
        cw_value_set_str(value, json_string_value(json));
        break;
    case JSON_INTEGER:
        cw_value_set_i64(value, json_integer_value(json));
        break;
    case JSON_REAL:
        cw_value_set_f64(value, json_real_value(json));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        cw_value_set_bool(value, json_is_true(json));
        break;
    case JSON_NULL:
    default:
        *value = (struct cw_value){0};
        break;
    }
}

int cw_value_parse(const char *text, size_t n, const char *where, struct cw_value *ret_value,
                   struct cw_err *err)
{
    json_error_t error;
    int rc = check_depth(text, n, where, err);

    if (rc != CW_OK)
        return rc;
    if (n == 0)
        return fail_at(err, where, 1, 1, "empty where JSON is expected");
    json_t *json = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!json)
        return fail_at(err, where, CW_MAX(error.line, 1), CW_MAX(error.column, 1), error.text);
    convert(ret_value, json);
    json_decref(json);
    return CW_OK;
}

int cw_value_load(const char *path, struct cw_value *ret_value, struct cw_err *err)
{
    CW_STR_AUTO text = {0};
    int rc = cw_conf_file_read(path, &text, err);

    return rc == CW_OK ? cw_value_parse(cw_str_text(&text), text.len, path, ret_value, err) : rc;
}
