/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the rows of schemas. */
#include "format/text_schema.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

static int bad_type(const char *row, const char *why, struct cw_err *err)
{
    return cw_err_set(err, CW_E_INVALID,
                      "option schema: \"%s\": %s; a row is \"name: type\" or \"name = key: type\", "
                      "with i64, f32, bool, str and the like, json, f32[3] or f32[?]",
                      row, why);
}

/* Parses "[3,?]" behind a dtype. */
static int parse_dims(const char *row, const char *p, struct cw_field *field, struct cw_err *err)
{
    while (*p++ != ']') {
        int64_t dim = 0;
        p += strspn(p, " ");
        if (field->rank == CW_RANK_MAX)
            return bad_type(row, "too many dimensions", err);
        if (*p == '?') {
            dim = -1;
            p++;
        } else {
            if (!isdigit((unsigned char)*p))
                return bad_type(row, "a dimension is a number or ?", err);
            for (; isdigit((unsigned char)*p); p++) {
                if (dim > INT32_MAX)
                    return bad_type(row, "a dimension is too large", err);
                dim = dim * 10 + (*p - '0');
            }
        }
        field->dims[field->rank++] = dim;
        p += strspn(p, " ");
        if (*p != ',' && *p != ']')
            return bad_type(row, "dimensions end with ]", err);
    }
    return *p ? bad_type(row, "there is something behind the dimensions", err) : 0;
}

/* Strings are in lists, not in lists of lists. */
static int parse_list(const char *row, const char *p, struct cw_text_field *field,
                      struct cw_err *err)
{
    int rc = parse_dims(row, p, &field->field, err);
    return rc == 0 && field->field.rank > 1
               ? bad_type(row, "lists of lists of strings are not supported; json gives their text",
                          err)
               : rc;
}

static int parse_type(const char *row, const char *type, struct cw_text_field *field,
                      struct cw_err *err)
{
    const size_t n = strcspn(type, "[");
    cw_autofree char *word = cw_mem_strndup(type, n);
    field->is_json = strcmp(word, "json") == 0;
    field->field.dtype = CW_DTYPE_STR;
    if (!field->is_json && cw_dtype_parse(word, &field->field.dtype) < 0)
        return bad_type(row, "this is no type", err);
    if (field->field.dtype == CW_DTYPE_F16 || field->field.dtype == CW_DTYPE_BF16)
        return bad_type(row, "f16 and bf16 are not read out of text; read f32 and `cast` it", err);
    if (type[n] == '\0')
        return 0;
    if (field->field.dtype == CW_DTYPE_STR)
        return field->is_json ? bad_type(row, "json has no dimensions", err)
                              : parse_list(row, type + n, field, err);
    return parse_dims(row, type + n, &field->field, err);
}

static size_t name_bytes(const char *row)
{
    size_t n = 0;
    while (isalnum((unsigned char)row[n]) || row[n] == '_' || row[n] == '.')
        n++;
    return n;
}

/* Finds the name and the key in what stands before the type. */
static int parse_name(const char *row, size_t n, struct cw_text_field *field, struct cw_err *err)
{
    const size_t name = name_bytes(row), gap = strspn(row + name, " ");
    size_t key = 0;
    if (name > 0 && name + gap < n && row[name + gap] == '=') {
        key = name + gap + 1;
        key += strspn(row + key, " ");
    }
    while (n > key && row[n - 1] == ' ')
        n--;
    if (n == key)
        return bad_type(row, "the key is empty", err);
    field->key = cw_mem_strndup(row + key, n - key);
    const size_t own = key > 0 ? name : n;
    if (own >= CW_FIELD_NAME_BYTES)
        return bad_type(row, "the name is too long; give it another one", err);
    memcpy(field->field.name, row, own);
    if (name_bytes(field->field.name) != own || isdigit((unsigned char)row[0]))
        return bad_type(row, "a name consists of letters, digits, _ and .; give it another one",
                        err);
    return 0;
}

static int parse_row(const char *row, struct cw_text_field *field, struct cw_err *err)
{
    const char *colon = strrchr(row, ':');
    if (!colon)
        return bad_type(row, "there is no type", err);
    int rc = parse_name(row, (size_t)(colon - row), field, err);
    return rc < 0 ? rc : parse_type(row, colon + 1 + strspn(colon + 1, " "), field, err);
}

/* ---- missing and null ---- */

static int parse_what(const char *option, const char *name, const struct cw_value *value,
                      struct cw_text_absent *absent, struct cw_err *err)
{
    if (value->type == CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID, "option %s: field \"%s\": an object is no value of it",
                          option, name);
    const bool is_word = value->type == CW_VALUE_STR;
    cw_mem_free(absent->value);
    *absent = (struct cw_text_absent){.what = CW_TEXT_VALUE};
    if (value->type == CW_VALUE_NULL || (is_word && strcmp(value->s, "fail") == 0)) {
        absent->what = CW_TEXT_FAIL;
    } else if (is_word && strcmp(value->s, "skip") == 0) {
        absent->what = CW_TEXT_SKIP;
    } else {
        CW_STR_AUTO text = {0};
        cw_value_print(value, &text);
        absent->value = cw_str_take(&text);
    }
    return 0;
}

static struct cw_text_absent *absent_of(struct cw_text_field *field, bool is_null)
{
    return is_null ? &field->null : &field->missing;
}

static int parse_by_field(const char *option, bool is_null, const struct cw_value *value,
                          struct cw_text_schema *schema, struct cw_err *err)
{
    int rc = 0;
    for (size_t k = 0; k < value->n && rc == 0; k++) {
        size_t i = 0;
        while (i < schema->n && strcmp(schema->fields[i].field.name, value->keys[k]) != 0)
            i++;
        if (i == schema->n)
            return cw_err_set(err, CW_E_INVALID, "option %s: there is no field \"%s\"", option,
                              value->keys[k]);
        rc = parse_what(option, value->keys[k], &value->items[k],
                        absent_of(&schema->fields[i], is_null), err);
    }
    return rc;
}

static int parse_absent(const char *option, bool is_null, const struct cw_value *value,
                        struct cw_text_schema *schema, struct cw_err *err)
{
    int rc = 0;
    if (value->type == CW_VALUE_OBJECT)
        return parse_by_field(option, is_null, value, schema, err);
    for (size_t i = 0; i < schema->n && rc == 0; i++)
        rc = parse_what(option, schema->fields[i].field.name, value,
                        absent_of(&schema->fields[i], is_null), err);
    return rc;
}

static int parse_rows(char *const *rows, size_t n, struct cw_text_schema *schema,
                      struct cw_err *err)
{
    int rc = 0;
    if (n == 0 || n > CW_FIELDS_MAX)
        return cw_err_set(err, CW_E_INVALID, "option schema: has %zu fields, not 1 to %d", n,
                          CW_FIELDS_MAX);
    schema->fields = CW_NEW_ARRAY(struct cw_text_field, n);
    for (size_t i = 0; i < n && rc == 0; i++) {
        schema->n++;
        rc = parse_row(rows[i], &schema->fields[i], err);
    }
    return rc;
}

int cw_text_schema_parse(char *const *rows, size_t n, const struct cw_value *missing,
                         const struct cw_value *null, struct cw_text_schema *ret_schema,
                         struct cw_err *err)
{
    struct cw_text_schema schema = {0};
    int rc = parse_rows(rows, n, &schema, err);
    if (rc == 0)
        rc = parse_absent("missing", false, missing, &schema, err);
    if (rc == 0)
        rc = parse_absent("null", true, null, &schema, err);
    if (rc < 0)
        cw_text_schema_fini(&schema);
    else
        *ret_schema = schema;
    return rc;
}

/* Whether a value stands in for one that a record does not have. */
static bool has_value(const struct cw_text_field *field)
{
    return field->missing.what == CW_TEXT_VALUE || field->null.what == CW_TEXT_VALUE;
}

static int mask_one(struct cw_text_schema *schema, const char *name, struct cw_err *err)
{
    struct cw_text_field *field = NULL;
    for (size_t i = 0; i < schema->n && !field; i++)
        if (strcmp(schema->fields[i].field.name, name) == 0)
            field = &schema->fields[i];
    if (!field || !has_value(field))
        return cw_err_set(err, CW_E_INVALID,
                          field ? "option mask: field \"%s\" is never without a value, since "
                                  "`missing` and `null` give none for it"
                                : "option mask: there is no field \"%s\"",
                          name);
    schema->masks += !field->has_mask;
    field->has_mask = true;
    return 0;
}

int cw_text_schema_mask(struct cw_text_schema *schema, const struct cw_value *mask,
                        struct cw_err *err)
{
    int rc = 0;
    bool ok = mask->type == CW_VALUE_NULL || mask->type == CW_VALUE_BOOL ||
              mask->type == CW_VALUE_STR || mask->type == CW_VALUE_LIST;
    for (size_t i = 0; ok && mask->type == CW_VALUE_LIST && i < mask->n; i++)
        ok = mask->items[i].type == CW_VALUE_STR;
    if (!ok)
        return cw_err_set(err, CW_E_INVALID,
                          "option mask: must be true, false, the name of a field, or a list of "
                          "names");
    if (mask->type == CW_VALUE_STR)
        rc = mask_one(schema, mask->s, err);
    for (size_t i = 0; rc == 0 && mask->type == CW_VALUE_LIST && i < mask->n; i++)
        rc = mask_one(schema, mask->items[i].s, err);
    for (size_t i = 0; mask->type == CW_VALUE_BOOL && mask->b && i < schema->n; i++)
        if (has_value(&schema->fields[i]))
            rc = mask_one(schema, schema->fields[i].field.name, err);
    return rc;
}

bool cw_text_schema_asks_mask(const struct cw_value *mask)
{
    return mask->type != CW_VALUE_NULL && !(mask->type == CW_VALUE_BOOL && !mask->b);
}

int cw_text_schema_put_masks(const struct cw_text_schema *schema, const bool *own,
                             struct cw_arena *arena, struct cw_view *ret_views, struct cw_err *err)
{
    unsigned char *values = cw_arena_alloc(arena, schema->masks + 1);
    if (!values)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %zu masks", schema->masks);
    for (size_t i = 0, k = 0; i < schema->n; i++) {
        if (!schema->fields[i].has_mask)
            continue;
        values[k] = own[i];
        ret_views[k] = (struct cw_view){.dtype = CW_DTYPE_BOOL, .data = &values[k], .bytes = 1};
        k++;
    }
    return 0;
}

void cw_text_schema_fini(struct cw_text_schema *schema)
{
    if (!schema)
        return;
    for (size_t i = 0; i < schema->n; i++) {
        cw_mem_free(schema->fields[i].key);
        cw_mem_free(schema->fields[i].missing.value);
        cw_mem_free(schema->fields[i].null.value);
    }
    cw_mem_free(schema->fields);
    *schema = (struct cw_text_schema){0};
}

int cw_text_schema_spec(const struct cw_text_schema *schema, struct cw_spec *ret_spec,
                        struct cw_err *err)
{
    CW_SPEC_AUTO spec = {0};
    int rc = 0;
    for (size_t i = 0; i < schema->n && rc == 0; i++) {
        const struct cw_field *f = &schema->fields[i].field;
        rc = cw_spec_add(&spec, f->name, f->dtype, f->rank, f->dims, err);
    }
    for (size_t i = 0; i < schema->n && rc == 0; i++) {
        CW_STR_AUTO name = {0};
        cw_str_addf(&name, "%s_mask", schema->fields[i].field.name);
        if (schema->fields[i].has_mask)
            rc = cw_spec_add(&spec, cw_str_text(&name), CW_DTYPE_BOOL, 0, NULL, err);
    }
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

bool cw_text_schema_skips(const struct cw_text_schema *schema)
{
    for (size_t i = 0; i < schema->n; i++) {
        if (schema->fields[i].missing.what == CW_TEXT_SKIP ||
            schema->fields[i].null.what == CW_TEXT_SKIP)
            return true;
    }
    return false;
}
