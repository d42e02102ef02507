/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the options that say which fields a WebDataset gives. */
#include "ops/source/webdataset_columns.h"

#include "base/mem.h"
#include "ops/op_util.h"

#include <ctype.h>
#include <string.h>

/* Extensions of class numbers, as the webdataset library has them. */
static const char *const number_exts[] = {"cls", "cls2", "class", "count", "index", "inx", "id"};

void cw_wds_columns_fini(struct cw_wds_columns *columns)
{
    for (size_t i = 0; i < columns->n; i++)
        cw_mem_free(columns->v[i].exts);
    cw_mem_free(columns->v);
    *columns = (struct cw_wds_columns){0};
}

enum cw_wds_kind cw_wds_kind_of(const char *ext, size_t n)
{
    size_t begin = n;
    while (begin > 0 && ext[begin - 1] != '.')
        begin--;
    const char *last = ext + begin;
    n -= begin;
    if (n == 3 && strncasecmp(last, "npy", n) == 0)
        return CW_WDS_NPY;
    for (size_t i = 0; i < CW_ARRAY_LEN(number_exts); i++)
        if (strlen(number_exts[i]) == n && strncasecmp(last, number_exts[i], n) == 0)
            return CW_WDS_NUMBER;
    return CW_WDS_BYTES;
}

/* Walks over a text of extensions. */
static bool next_ext(const char **p, const char **ret_ext, size_t *ret_n)
{
    if (!*p || **p == '\0')
        return false;
    *ret_ext = *p;
    *ret_n = strcspn(*p, ";");
    *p += *ret_n + ((*p)[*ret_n] == ';');
    return true;
}

static bool has_ext(const char *exts, const char *ext, size_t n)
{
    const char *its;
    for (size_t its_n; next_ext(&exts, &its, &its_n);)
        if (its_n == n && strncasecmp(its, ext, n) == 0)
            return true;
    return false;
}

int cw_wds_column_of(const void *arg, const char *ext, size_t n)
{
    const struct cw_wds_columns *columns = arg;
    for (size_t i = 0; i < columns->n; i++)
        if (has_ext(columns->v[i].exts, ext, n))
            return (int)i;
    return -1;
}

static int bad_type(const char *name, const char *text, struct cw_err *err)
{
    return cw_err_set(err, CW_E_INVALID,
                      "option types: \"%s\": \"%s\" is no type (str, i64, f32, or of an array "
                      "f32[3,-1], with -1 for any size)",
                      name, text);
}

/* Sets dtype and dims of a column by the text of its type. */
static int set_type(struct cw_wds_column *column, const char *text, struct cw_err *err)
{
    struct cw_field *field = &column->field;
    bool is_array = column->kind == CW_WDS_NPY;
    if (cw_op_parse_type(text, field) < 0 || (field->dtype == CW_DTYPE_STR && field->rank > 0))
        return bad_type(field->name, text, err);
    if (field->dtype == CW_DTYPE_STR) {
        column->kind = CW_WDS_BYTES;
        return 0;
    }
    if (is_array)
        return 0;
    column->kind = CW_WDS_NUMBER;
    bool can = field->dtype == CW_DTYPE_I64 || field->dtype == CW_DTYPE_F64 ||
               field->dtype == CW_DTYPE_F32;
    if (field->rank > 0 || !can)
        return cw_err_set(err, CW_E_INVALID,
                          "option types: \"%s\": \"%s\": a text becomes str, i64, f32 or f64; only "
                          "members with the extension npy are arrays",
                          field->name, text);
    return 0;
}

/* Finds the type by the column's name, or by one of its extensions. */
static int find_type(const struct cw_wds_column *column, const struct cw_value *types, bool *used,
                     const char **ret_text, struct cw_err *err)
{
    for (size_t i = 0; types && i < types->n; i++) {
        if (strcmp(types->keys[i], column->field.name) != 0 &&
            !has_ext(column->exts, types->keys[i], strlen(types->keys[i])))
            continue;
        used[i] = true;
        if (types->items[i].type != CW_VALUE_STR)
            return cw_err_set(err, CW_E_INVALID, "option types: \"%s\": must be a string",
                              types->keys[i]);
        *ret_text = types->items[i].s;
    }
    return 0;
}

/* Columns of several extensions have one kind. */
static int default_kind(struct cw_wds_column *column, struct cw_err *err)
{
    const char *p = column->exts, *ext;
    size_t n, count = 0;
    while (next_ext(&p, &ext, &n)) {
        enum cw_wds_kind kind = cw_wds_kind_of(ext, n);
        if (n == 0 || (count++ > 0 && kind != column->kind))
            return cw_err_set(err, CW_E_INVALID,
                              "option columns: \"%s\": the extensions \"%s\" do not go together",
                              column->field.name, column->exts);
        column->kind = kind;
    }
    return count > 0 ? 0
                     : cw_err_set(err, CW_E_INVALID, "option columns: \"%s\": has no extension",
                                  column->field.name);
}

static int add_column(struct cw_wds_columns *columns, const char *name, const char *exts,
                      const struct cw_value *types, bool *used, struct cw_err *err)
{
    struct cw_wds_column column = {.kind = CW_WDS_BYTES};
    CW_SPEC_AUTO checked = {0};
    const char *text = NULL;
    int rc = cw_spec_add(&checked, name, CW_DTYPE_STR, 0, NULL, err);
    if (rc < 0) {
        (void)cw_err_wrap(err, "option columns (an object names fields: {\"image\": \"jpg;png\"})");
        return rc;
    }
    column.field = checked.fields[0];
    column.exts = cw_mem_strdup(exts);
    for (char *p = column.exts; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    columns->v[columns->n] = column;
    struct cw_wds_column *added = &columns->v[columns->n++];
    rc = default_kind(added, err);
    if (rc == 0)
        rc = find_type(added, types, used, &text, err);
    if (rc == 0 && !text && added->kind == CW_WDS_NPY)
        rc = cw_err_set(err, CW_E_INVALID,
                        "option types: needs the type of the array \"%s\", such as \"f32[3,-1]\"",
                        name);
    if (rc < 0)
        return rc;
    return set_type(added, text ? text : added->kind == CW_WDS_NUMBER ? "i64" : "str", err);
}

static int add_all(struct cw_wds_columns *columns, const struct cw_value *value,
                   const struct cw_value *types, bool *used, struct cw_err *err)
{
    int rc = 0;
    if (value->n > CW_FIELDS_MAX)
        return cw_err_set(err, CW_E_LIMIT, "option columns: more than %d", CW_FIELDS_MAX);
    columns->v = CW_NEW_ARRAY(struct cw_wds_column, value->n);
    for (size_t i = 0; i < value->n && rc == 0; i++) {
        if (value->items[i].type != CW_VALUE_STR)
            return cw_err_set(err, CW_E_INVALID, "option columns: extensions are strings");
        const char *exts = value->items[i].s;
        rc = add_column(columns, value->type == CW_VALUE_OBJECT ? value->keys[i] : exts, exts,
                        types, used, err);
    }
    return rc;
}

/* An extension that two columns have, or a type of nothing, is a mistake. */
static int check_all(const struct cw_wds_columns *columns, const struct cw_value *types,
                     const bool *used, struct cw_err *err)
{
    for (size_t i = 0; i < columns->n; i++) {
        const char *p = columns->v[i].exts, *ext;
        for (size_t n; next_ext(&p, &ext, &n);)
            if (cw_wds_column_of(columns, ext, n) != (int)i)
                return cw_err_set(err, CW_E_INVALID, "option columns: \"%.*s\" is in two of them",
                                  (int)n, ext);
    }
    for (size_t i = 0; types && i < types->n; i++)
        if (!used[i])
            return cw_err_set(err, CW_E_INVALID, "option types: there is no column \"%s\"",
                              types->keys[i]);
    return 0;
}

int cw_wds_columns_parse(const struct cw_value *value, const struct cw_value *types,
                         struct cw_wds_columns *ret_columns, struct cw_err *err)
{
    struct cw_wds_columns columns = {0};
    if (types->type == CW_VALUE_NULL)
        types = NULL;
    if (types && types->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID, "option types: must be an object: {\"cls\": \"i64\"}");
    if (value->type == CW_VALUE_NULL)
        return cw_err_set(err, CW_E_INVALID,
                          "option columns: is needed: the extensions that samples have, "
                          "such as [\"jpg\", \"cls\"]");
    if ((value->type != CW_VALUE_LIST && value->type != CW_VALUE_OBJECT) || value->n == 0)
        return cw_err_set(err, CW_E_INVALID,
                          "option columns: must be a list of extensions, or an object: "
                          "{\"image\": \"jpg;png\"}");
    cw_autofree bool *used = cw_mem_new_array(types ? types->n + 1 : 1, sizeof(*used));
    int rc = add_all(&columns, value, types, used, err);
    if (rc == 0)
        rc = check_all(&columns, types, used, err);
    if (rc < 0)
        cw_wds_columns_fini(&columns);
    else
        *ret_columns = columns;
    return rc;
}
