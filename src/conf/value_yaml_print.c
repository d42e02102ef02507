/* SPDX-License-Identifier: Apache-2.0 */
/* YAML for people: objects as blocks, one member a line; everything that has no objects in it as JSON,
 * which is YAML too. */
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "conf/value_yaml.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

/* What is no word is quoted, and so are words that some readers of YAML take for something else. */
static bool is_plain(const char *key)
{
    static const char *const OTHERS[] = {"null", "true", "false", "yes", "no",
                                         "on",   "off",  "y",     "n",   "nan"};

    if (strspn(key, LETTERS) == 0 || key[strspn(key, LETTERS "0123456789")] != '\0')
        return false;
    for (size_t i = 0; i < CW_ARRAY_LEN(OTHERS); i++)
        if (strcasecmp(key, OTHERS[i]) == 0)
            return false;
    return true;
}

static bool is_block(const struct cw_value *value)
{
    return value->type == CW_VALUE_OBJECT && value->n > 0;
}

static void print_key(const char *key, int depth, struct cw_str *out)
{
    for (int i = 0; i < depth; i++)
        cw_str_add(out, "  ");
    if (is_plain(key))
        cw_str_add(out, key);
    else
        cw_str_add_json(out, key, strlen(key));
    cw_str_add_char(out, ':');
}

/* Values are at most CW_VALUE_DEPTH_MAX deep. */
static void print_block(const struct cw_value *object, int depth, struct cw_str *out)
{
    for (size_t i = 0; i < object->n; i++) {
        print_key(object->keys[i], depth, out);
        cw_str_add_char(out, is_block(&object->items[i]) ? '\n' : ' ');
        if (is_block(&object->items[i])) {
            print_block(&object->items[i], depth + 1, out);
        } else {
            cw_value_print(&object->items[i], out);
            cw_str_add_char(out, '\n');
        }
    }
}

void cw_value_print_yaml(const struct cw_value *value, struct cw_str *out)
{
    if (is_block(value)) {
        print_block(value, 0, out);
        return;
    }
    cw_value_print(value, out);
    cw_str_add_char(out, '\n');
}
