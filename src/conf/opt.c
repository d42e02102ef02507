/* SPDX-License-Identifier: Apache-2.0 */
/* Reads options from JSON into a struct, by the rows of a table, and frees what the struct owns. */
#include "conf/opt.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define GIVEN_MAX 60 /* bytes of the given value that a message shows */
#define NAMES_MAX 64

/* A value that is being read: its row, its name in messages ("mean[1]"), and where errors are
 * written. */
struct reading {
    const struct cw_opt *row;
    const char *name;
    struct cw_err *err;
};

const char *cw_opt_type_name(enum cw_opt_type type)
{
    static const char *const names[] = {
        [CW_OPT_BOOL] = "true or false",
        [CW_OPT_I64] = "a whole number",
        [CW_OPT_F64] = "a number",
        [CW_OPT_STR] = "a string",
        [CW_OPT_ENUM] = "one of a few words",
        [CW_OPT_I64_LIST] = "a whole number or a list of them",
        [CW_OPT_F64_LIST] = "a number or a list of them",
        [CW_OPT_STR_LIST] = "a string or a list of them",
        [CW_OPT_BYTES] = "a size (a number, or text like \"64MiB\")",
        [CW_OPT_VALUE] = "any JSON",
    };
    return (size_t)type < CW_ARRAY_LEN(names) ? names[type] : "unknown";
}

/* Returns the given value as a text that is short enough for a message; the caller frees it. */
static char *given(const struct cw_value *value)
{
    struct cw_str out = {0};

    cw_value_print(value, &out);
    if (out.len > GIVEN_MAX) {
        size_t n = GIVEN_MAX - 3;
        while (n > 0 && ((unsigned char)out.s[n] & 0xc0) == 0x80)
            n--;
        memcpy(out.s + n, "...", 4);
    }
    return cw_str_take(&out);
}

static int fail_type(const struct reading *in, const struct cw_value *value, const char *wanted)
{
    cw_autofree char *text = given(value);

    return cw_err_set(in->err, CW_E_INVALID, "option %s: must be %s (given %s)", in->name, wanted,
                      text);
}

static int check_range(const struct reading *in, double v, const struct cw_value *value)
{
    const struct cw_opt *row = in->row;

    if ((row->min == 0 && row->max == 0) || (v >= row->min && v <= row->max))
        return CW_OK;
    cw_autofree char *text = given(value);
    return cw_err_set(in->err, CW_E_INVALID, "option %s: must be at %s %.15g (given %s)", in->name,
                      v < row->min ? "least" : "most", v < row->min ? row->min : row->max, text);
}

static int read_i64(const struct reading *in, const struct cw_value *value, int64_t *ret)
{
    if (value->type != CW_VALUE_I64)
        return fail_type(in, value,
                         value->type == CW_VALUE_F64
                             ? "a whole number, written without a point or an exponent"
                             : "a whole number");
    int rc = check_range(in, (double)value->i, value);
    if (rc == CW_OK)
        *ret = value->i;
    return rc;
}

static int read_f64(const struct reading *in, const struct cw_value *value, double *ret)
{
    if (value->type != CW_VALUE_I64 && value->type != CW_VALUE_F64)
        return fail_type(in, value, "a number");
    double v = value->type == CW_VALUE_I64 ? (double)value->i : value->f;
    int rc = check_range(in, v, value);
    if (rc == CW_OK)
        *ret = v;
    return rc;
}

static int read_bytes(const struct reading *in, const struct cw_value *value, int64_t *ret)
{
    uint64_t bytes = 0;

    if (value->type == CW_VALUE_STR && cw_str_to_bytes(value->s, &bytes) && bytes <= INT64_MAX) {
        int rc = check_range(in, (double)bytes, value);
        if (rc == CW_OK)
            *ret = (int64_t)bytes;
        return rc;
    }
    if (value->type != CW_VALUE_I64 || value->i < 0)
        return fail_type(in, value, cw_opt_type_name(CW_OPT_BYTES));
    return read_i64(in, value, ret);
}

static int read_str(const struct reading *in, const struct cw_value *value, char **ret)
{
    if (value->type != CW_VALUE_STR)
        return fail_type(in, value, "a string");
    *ret = cw_mem_strdup(value->s);
    return CW_OK;
}

/* Returns the one of `names` that other systems call `word`, as dtypes are: "float32" for "f32"; or
 * NULL. */
static const char *same_elsewhere(const char *word, const char *const *names)
{
    static const char *const longer[] = {"float", "uint", "int"}, *const shorter[] = {"f", "u",
                                                                                      "i"};
    char text[16];

    for (size_t k = 0; k < CW_ARRAY_LEN(longer); k++) {
        if (!cw_str_starts(word, longer[k]))
            continue;
        snprintf(text, sizeof(text), "%s%s", shorter[k], word + strlen(longer[k]));
        for (size_t i = 0; names[i]; i++)
            if (strcmp(names[i], text) == 0)
                return names[i];
    }
    return NULL;
}

static const char *meant_word(const char *word, const char *const *names)
{
    const char *same = same_elsewhere(word, names);

    return same ? same : cw_str_nearest(word, names);
}

static int read_enum(const struct reading *in, const struct cw_value *value, int *ret)
{
    CW_STR_AUTO words = {0};
    const char *const *names = in->row->names;

    for (int i = 0; names[i]; i++) {
        if (value->type == CW_VALUE_STR && strcmp(names[i], value->s) == 0) {
            *ret = i;
            return CW_OK;
        }
        cw_str_addf(&words, "%s\"%s\"", i ? ", " : "one of ", names[i]);
    }
    const char *near = value->type == CW_VALUE_STR ? meant_word(value->s, names) : NULL;
    if (near)
        cw_str_addf(&words, "; did you mean \"%s\"?", near);
    return fail_type(in, value, cw_str_text(&words));
}

static int check_length(const struct reading *in, size_t n)
{
    const struct cw_opt *row = in->row;

    if ((row->len_min == 0 && row->len_max == 0) || (n >= row->len_min && n <= row->len_max))
        return CW_OK;
    if (row->len_min == row->len_max)
        return cw_err_set(in->err, CW_E_INVALID, "option %s: must have %zu items (given %zu)",
                          in->name, row->len_min, n);
    return cw_err_set(in->err, CW_E_INVALID, "option %s: must have %zu to %zu items (given %zu)",
                      in->name, row->len_min, row->len_max, n);
}

static int read_item(const struct reading *in, const struct cw_value *value, void *items, size_t i)
{
    switch ((int)in->row->type) {
    case CW_OPT_I64_LIST:
        return read_i64(in, value, &((int64_t *)items)[i]);
    case CW_OPT_F64_LIST:
        return read_f64(in, value, &((double *)items)[i]);
    default:
        return read_str(in, value, &((char **)items)[i]);
    }
}

static enum cw_value_type item_type(enum cw_opt_type type)
{
    return type == CW_OPT_STR_LIST   ? CW_VALUE_STR
           : type == CW_OPT_F64_LIST ? CW_VALUE_F64
                                     : CW_VALUE_I64;
}

/* The members that the three list structs have in common. They are different types, so they are
 * copied by memcpy. */
struct any_list {
    void *v;
    size_t n;
};

static void free_items(const struct cw_opt *row, struct any_list *list)
{
    for (size_t i = 0; row->type == CW_OPT_STR_LIST && i < list->n; i++)
        cw_mem_free(((char **)list->v)[i]);
    cw_mem_free(list->v);
}

static int read_items(const struct reading *in, const struct cw_value *items, size_t n,
                      bool is_list, struct any_list *list)
{
    for (size_t i = 0; i < n; i++) {
        cw_autofree char *name =
            is_list ? cw_mem_printf("%s[%zu]", in->name, i) : cw_mem_strdup(in->name);
        struct reading item = {in->row, name, in->err};
        int rc = read_item(&item, &items[i], list->v, i);
        if (rc != CW_OK)
            return rc;
        list->n = i + 1;
    }
    return CW_OK;
}

static int read_list(const struct reading *in, const struct cw_value *value, void *target)
{
    struct any_list list = {0};
    bool is_list = value->type == CW_VALUE_LIST;
    bool is_one = value->type == item_type(in->row->type) ||
                  (value->type == CW_VALUE_I64 && in->row->type == CW_OPT_F64_LIST);
    size_t n = is_list ? value->n : 1;

    if (!is_list && !is_one)
        return fail_type(in, value, cw_opt_type_name(in->row->type));
    int rc = check_length(in, n);
    if (rc != CW_OK || n == 0)
        return rc;
    list.v = cw_mem_new_array(n, 8); /* an item has 8 bytes in each of these types */
    rc = read_items(in, is_list ? value->items : value, n, is_list, &list);
    if (rc == CW_OK)
        memcpy(target, &list, sizeof(list));
    else
        free_items(in->row, &list);
    return rc;
}

static int read_value(const struct reading *in, const struct cw_value *value, struct cw_value *ret)
{
    const bool is_list = value->type == CW_VALUE_LIST;
    int rc = check_length(in, is_list ? value->n : 1);
    if (rc != CW_OK)
        return rc;
    if (is_list || in->row->len_max == 0) {
        cw_value_copy(ret, value);
    } else {
        cw_value_copy(cw_value_set_list(ret, 1), value);
    }
    return CW_OK;
}

static int read_option(const struct cw_opt *row, const struct cw_value *value, void *target,
                       struct cw_err *err)
{
    struct reading in = {row, row->name, err};

    switch (row->type) {
    case CW_OPT_BOOL:
        if (value->type != CW_VALUE_BOOL)
            return fail_type(&in, value, "true or false");
        *(bool *)target = value->b;
        return CW_OK;
    case CW_OPT_I64:
        return read_i64(&in, value, target);
    case CW_OPT_F64:
        return read_f64(&in, value, target);
    case CW_OPT_BYTES:
        return read_bytes(&in, value, target);
    case CW_OPT_STR:
        return read_str(&in, value, target);
    case CW_OPT_ENUM:
        return read_enum(&in, value, target);
    case CW_OPT_I64_LIST:
    case CW_OPT_F64_LIST:
    case CW_OPT_STR_LIST:
        return read_list(&in, value, target);
    case CW_OPT_VALUE:
        return read_value(&in, value, target);
    default:
        return cw_err_set(err, CW_E_INTERNAL, "option %s: the table has an unknown type",
                          row->name);
    }
}

static int read_default(const struct cw_opt *row, void *target, struct cw_err *err)
{
    struct cw_value value = {0};

    if (!row->def)
        return CW_OK;
    int rc = cw_value_parse(row->def, strlen(row->def), row->name, &value, err);
    if (rc == CW_OK)
        rc = read_option(row, &value, target, err);
    cw_value_fini(&value);
    return rc == CW_OK ? rc : cw_err_wrap(err, "default of %s", row->name);
}

/* Returns the option that is one of the words of an unknown one, as "size" is of "batch_size"; or
 * NULL. */
static const char *word_of(const char *key, const char *const *names)
{
    for (const char *word = key; word; word = strchr(word, '_')) {
        word += *word == '_';
        size_t n = strcspn(word, "_");
        for (size_t i = 0; names[i]; i++)
            if (strlen(names[i]) == n && strncmp(names[i], word, n) == 0)
                return names[i];
    }
    return NULL;
}

static const char *meant_option(const char *key, const char *const *names)
{
    const char *near = cw_str_nearest(key, names);

    return near ? near : word_of(key, names);
}

static int check_names(const struct cw_opt *table, const struct cw_value *object,
                       struct cw_err *err)
{
    const char *names[NAMES_MAX + 1] = {NULL};

    for (size_t i = 0, n = 0; table && table[i].name && n < NAMES_MAX; i++)
        if (!(table[i].flags & CW_OPT_OWN))
            names[n++] = table[i].name;
    for (size_t k = 0; k < object->n; k++) {
        const struct cw_opt *row = table;

        while (row && row->name &&
               ((row->flags & CW_OPT_OWN) || strcmp(row->name, object->keys[k]) != 0))
            row++;
        if (row && row->name)
            continue;
        const char *near = meant_option(object->keys[k], names);
        if (near)
            return cw_err_set(err, CW_E_INVALID, "unknown option \"%s\" (did you mean \"%s\"?)",
                              object->keys[k], near);
        CW_STR_AUTO known = {0};
        for (size_t i = 0; names[i]; i++)
            cw_str_addf(&known, "%s%s", i ? ", " : "; there are: ", names[i]);
        return cw_err_set(err, CW_E_INVALID, "unknown option \"%s\"%s", object->keys[k],
                          cw_str_text(&known));
    }
    return CW_OK;
}

static int read_rows(const struct cw_opt *table, const struct cw_value *object, void *ret_opts,
                     struct cw_err *err)
{
    for (const struct cw_opt *row = table; row && row->name; row++) {
        const bool is_given = object && !(row->flags & CW_OPT_OWN);
        const struct cw_value *value = is_given ? cw_value_get(object, row->name) : NULL;
        void *target = (char *)ret_opts + row->offset;
        int rc;

        if (value)
            rc = read_option(row, value, target, err);
        else if (row->flags & CW_OPT_REQUIRED)
            rc = cw_err_set(err, CW_E_INVALID, "option %s: is required (%s)", row->name,
                            cw_opt_type_name(row->type));
        else
            rc = read_default(row, target, err);
        if (rc != CW_OK)
            return rc;
    }
    return CW_OK;
}

int cw_opt_parse(const struct cw_opt *table, const struct cw_value *object, void *ret_opts,
                 struct cw_err *err)
{
    if (object && object->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID, "options must be an object (given %s)",
                          cw_value_type_name(object->type));
    int rc = object ? check_names(table, object, err) : CW_OK;
    if (rc == CW_OK)
        rc = read_rows(table, object, ret_opts, err);
    if (rc != CW_OK)
        cw_opt_fini(table, ret_opts);
    return rc;
}

void cw_opt_fini(const struct cw_opt *table, void *opts)
{
    if (!opts)
        return;
    for (const struct cw_opt *row = table; row && row->name; row++) {
        void *at = (char *)opts + row->offset;

        if (row->type == CW_OPT_STR) {
            cw_mem_free(cw_steal(at));
        } else if (row->type == CW_OPT_VALUE) {
            cw_value_fini(at);
        } else if (row->type == CW_OPT_I64_LIST || row->type == CW_OPT_F64_LIST ||
                   row->type == CW_OPT_STR_LIST) {
            struct any_list list;
            memcpy(&list, at, sizeof(list));
            free_items(row, &list);
            memset(at, 0, sizeof(list));
        }
    }
}
