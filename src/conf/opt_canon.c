/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the options in a struct as canonical text. */
#include "conf/opt.h"

#include <string.h>

static void i64_list(struct cw_value *value, const struct cw_i64_list *list)
{
    struct cw_value *items = cw_value_set_list(value, list->n);

    for (size_t i = 0; i < list->n; i++)
        cw_value_set_i64(&items[i], list->v[i]);
}

static void f64_list(struct cw_value *value, const struct cw_f64_list *list)
{
    struct cw_value *items = cw_value_set_list(value, list->n);

    for (size_t i = 0; i < list->n; i++)
        cw_value_set_f64(&items[i], list->v[i]);
}

static void str_list(struct cw_value *value, const struct cw_str_list *list)
{
    struct cw_value *items = cw_value_set_list(value, list->n);

    for (size_t i = 0; i < list->n; i++)
        cw_value_set_str(&items[i], list->v[i]);
}

static void to_value(const struct cw_opt *row, const void *at, struct cw_value *value)
{
    switch (row->type) {
    case CW_OPT_BOOL:
        cw_value_set_bool(value, *(const bool *)at);
        break;
    case CW_OPT_I64:
    case CW_OPT_BYTES:
        cw_value_set_i64(value, *(const int64_t *)at);
        break;
    case CW_OPT_F64:
        cw_value_set_f64(value, *(const double *)at);
        break;
    case CW_OPT_STR:
        if (*(char *const *)at)
            cw_value_set_str(value, *(char *const *)at);
        break;
    case CW_OPT_ENUM:
        cw_value_set_str(value, row->names[*(const int *)at]);
        break;
    case CW_OPT_I64_LIST:
        i64_list(value, at);
        break;
    case CW_OPT_F64_LIST:
        f64_list(value, at);
        break;
    case CW_OPT_STR_LIST:
        str_list(value, at);
        break;
    case CW_OPT_VALUE:
        cw_value_copy(value, at);
        break;
    default:
        break;
    }
}

/* Whether an option that came later has its default. */
static bool is_left_out(const struct cw_opt *row, const struct cw_value *value)
{
    struct cw_value def = {0};
    CW_STR_AUTO text = {0};
    CW_STR_AUTO def_text = {0};

    if (!(row->flags & CW_OPT_NEWER) ||
        (row->def && cw_value_parse(row->def, strlen(row->def), row->name, &def, NULL) != 0))
        return false;
    cw_value_print(value, &text);
    cw_value_print(&def, &def_text);
    cw_value_fini(&def);
    return strcmp(cw_str_text(&text), cw_str_text(&def_text)) == 0;
}

static void add_row(const struct cw_opt *row, const void *at, struct cw_value *object)
{
    struct cw_value value = {0};

    to_value(row, at, &value);
    if (!is_left_out(row, &value))
        cw_value_copy(cw_value_member(object, row->name), &value);
    cw_value_fini(&value);
}

void cw_opt_canon(const struct cw_opt *table, const void *opts, struct cw_str *out)
{
    struct cw_value object = {0};

    cw_value_set_object(&object);
    for (const struct cw_opt *row = table; row && row->name; row++)
        if (!(row->flags & (CW_OPT_NO_FINGERPRINT | CW_OPT_OWN)))
            add_row(row, (const char *)opts + row->offset, &object);
    cw_value_print(&object, out);
    cw_value_fini(&object);
}
