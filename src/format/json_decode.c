/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes values by the types of a schema. */
#include "format/json_decode.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "conf/value.h"
#include "format/json_list.h"
#include "format/json_strings.h"
#include "format/json_text.h"

/* Longer records are not looked through for the sake of a message. */
#define KEYS_BYTES_MAX ((size_t)64 << 10)

struct cw_json_reader {
    struct cw_text_schema schema;
    struct cw_json_plan *plan;
    bool skips;
};

static int differs(const struct cw_json_slice *slice, const struct cw_text_field *field,
                   struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "is %s, not %s%s", cw_json_kind_name(slice->kind),
                      field->field.rank > 0 ? "a list of " : "", cw_dtype_name(field->field.dtype));
}

static int decode_string(const struct cw_json_slice *slice, struct cw_arena *arena,
                         struct cw_view *view, struct cw_err *err)
{
    view->data = (void *)(uintptr_t)slice->p;
    view->bytes = slice->n;
    if (!slice->is_escaped)
        return 0;
    view->data = cw_arena_alloc(arena, slice->n);
    if (!view->data)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %zu bytes", slice->n);
    return cw_json_unescape(slice->p, slice->n, view->data, &view->bytes, err);
}

/* All of the value as it stands there, with the quotes of a string. */
static void take_json(const struct cw_json_slice *slice, struct cw_view *view)
{
    const size_t quote = slice->kind == CW_JSON_STRING;
    view->data = (void *)(uintptr_t)(slice->p - quote);
    view->bytes = slice->n + 2 * quote;
}

static int decode_scalar(const struct cw_json_slice *slice, struct cw_arena *arena,
                         struct cw_view *view, struct cw_err *err)
{
    size_t used = 0;
    view->bytes = cw_dtype_bytes(view->dtype);
    view->data = cw_arena_alloc(arena, view->bytes);
    if (!view->data)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %zu bytes", view->bytes);
    int rc = cw_json_scalar(slice->p, slice->n, view->dtype, view->data, &used, err);
    if (rc == 0 && used < slice->n)
        return cw_err_set(err, CW_E_CORRUPT, "\"%.*s\" is no number", (int)CW_MIN(slice->n, 40),
                          slice->p);
    return rc;
}

int cw_json_decode(const struct cw_json_slice *slice, const struct cw_text_field *field,
                   struct cw_arena *arena, struct cw_view *ret_view, struct cw_err *err)
{
    const enum cw_json_kind kind = slice->kind;
    *ret_view = (struct cw_view){.dtype = field->field.dtype};
    if (field->is_json) {
        take_json(slice, ret_view);
        return 0;
    }
    if (field->field.dtype == CW_DTYPE_STR && field->field.rank == 0)
        return kind == CW_JSON_STRING ? decode_string(slice, arena, ret_view, err)
                                      : differs(slice, field, err);
    if (field->field.dtype == CW_DTYPE_STR)
        return kind == CW_JSON_LIST
                   ? cw_json_strings(slice->p, slice->n, field->field.dims[0], arena, ret_view, err)
                   : differs(slice, field, err);
    if (field->field.rank > 0)
        return kind == CW_JSON_LIST
                   ? cw_json_list(slice->p, slice->n, &field->field, arena, ret_view, err)
                   : differs(slice, field, err);
    const bool is_bool = kind == CW_JSON_TRUE || kind == CW_JSON_FALSE;
    if (field->field.dtype == CW_DTYPE_BOOL ? !is_bool : kind != CW_JSON_NUMBER)
        return differs(slice, field, err);
    return decode_scalar(slice, arena, ret_view, err);
}

/* ---- records ---- */

static const struct cw_text_absent *absent_of(const struct cw_text_field *field,
                                              const struct cw_json_slice *slice)
{
    if (slice->kind == CW_JSON_NONE)
        return &field->missing;
    return slice->kind == CW_JSON_NULL && !field->is_json ? &field->null : NULL;
}

static int read_field(const struct cw_text_field *field, struct cw_json_slice slice,
                      struct cw_arena *arena, struct cw_view *view, struct cw_err *err)
{
    const struct cw_text_absent *absent = absent_of(field, &slice);
    int rc = 0;
    if (absent && absent->what == CW_TEXT_SKIP)
        return 1;
    if (absent && absent->what == CW_TEXT_FAIL)
        rc = cw_err_set(err, CW_E_CORRUPT, "is null (see option null)");
    else if (absent)
        rc = cw_json_whole(absent->value, strlen(absent->value), &slice, err);
    if (rc == 0)
        rc = cw_json_decode(&slice, field, arena, view, err);
    return rc < 0 ? cw_err_wrap(err, "key \"%s\"", field->key) : 0;
}

/* Says which keys a record has, if it is not so long that this would take long. */
static void add_keys(const char *p, size_t n, const char *key, struct cw_str *out)
{
    struct cw_value record = {0};
    if (n > KEYS_BYTES_MAX || cw_value_parse(p, n, "", &record, NULL) < 0)
        return;
    if (record.type == CW_VALUE_OBJECT) {
        cw_autofree const char **names = cw_mem_new((record.n + 1) * sizeof(*names));
        for (size_t i = 0; i < record.n; i++)
            names[i] = record.keys[i];
        cw_str_suggest(key, names, out);
    }
    cw_value_fini(&record);
}

/* A key that no record has is mostly misspelt. */
static int misses(const struct cw_text_field *field, const char *p, size_t n, struct cw_err *err)
{
    CW_STR_AUTO has = {0};
    add_keys(p, n, field->key, &has);
    return cw_err_set(err, CW_E_CORRUPT, "key \"%s\": is missing (see option missing)%s",
                      field->key, cw_str_text(&has));
}

/* So many records, of at most LOOKED_MOST, say that none has a key. */
#define LOOKED_LEAST 16
#define LOOKED_MOST 1000

/* Drops of `missing`, fields of the schema, those that the record has. Returns false if it cannot be read. */
static bool find_keys(const struct cw_json_reader *reader, const char *p, size_t n,
                      uint16_t *missing, size_t *missing_n)
{
    struct cw_json_slice slices[CW_FIELDS_MAX];
    size_t left = 0;
    if (cw_json_find(reader->plan, p, n, slices, NULL) < 0)
        return false;
    for (size_t i = 0; i < *missing_n; i++)
        if (slices[missing[i]].kind == CW_JSON_NONE)
            missing[left++] = missing[i];
    *missing_n = left;
    return true;
}

int cw_json_look(const struct cw_json_reader *reader, const char *p, size_t n, struct cw_err *err)
{
    uint16_t missing[CW_FIELDS_MAX]; /* numbers of fields */
    size_t missing_n = 0, looked = 0, last_n = 0;
    const char *last = NULL;
    for (size_t i = 0; i < reader->schema.n; i++)
        if (reader->schema.fields[i].missing.what == CW_TEXT_FAIL)
            missing[missing_n++] = (uint16_t)i;
    while (n > 0 && missing_n > 0 && looked < LOOKED_MOST) {
        const char *end = memchr(p, '\n', n);
        const size_t line = end ? (size_t)(end - p) : n;
        if (find_keys(reader, p, line, missing, &missing_n)) {
            last = p;
            last_n = line;
            looked++;
        }
        n -= CW_MIN(line + 1, n);
        p += line + (end ? 1 : 0);
    }
    if (missing_n == 0 || looked < LOOKED_LEAST)
        return 0;
    CW_STR_AUTO has = {0};
    const char *key = reader->schema.fields[missing[0]].key;
    add_keys(last, last_n, key, &has);
    return cw_err_set(
        err, CW_E_INVALID,
        "key \"%s\": is missing in each of the first %zu records (see option missing)%s", key,
        looked, cw_str_text(&has));
}

static int put_masks(const struct cw_text_schema *schema, const struct cw_json_slice *slices,
                     struct cw_arena *arena, struct cw_view *ret_views, struct cw_err *err)
{
    bool own[CW_FIELDS_MAX];
    for (size_t i = 0; i < schema->n; i++)
        own[i] = absent_of(&schema->fields[i], &slices[i]) == NULL;
    return cw_text_schema_put_masks(schema, own, arena, ret_views, err);
}

int cw_json_read(const struct cw_json_reader *reader, const char *p, size_t n,
                 struct cw_arena *arena, struct cw_view *ret_views, struct cw_err *err)
{
    struct cw_json_slice slices[CW_FIELDS_MAX];
    int rc = cw_json_find(reader->plan, p, n, slices, err);
    for (size_t i = 0; i < reader->schema.n && rc == 0; i++) {
        const struct cw_text_field *field = &reader->schema.fields[i];
        rc = slices[i].kind == CW_JSON_NONE && field->missing.what == CW_TEXT_FAIL
                 ? misses(field, p, n, err)
                 : read_field(field, slices[i], arena, &ret_views[i], err);
    }
    if (rc == 0 && reader->schema.masks)
        rc = put_masks(&reader->schema, slices, arena, ret_views + reader->schema.n, err);
    return rc;
}

bool cw_json_is_skipped(const struct cw_json_reader *reader, const char *p, size_t n)
{
    struct cw_json_slice slices[CW_FIELDS_MAX];
    if (!reader->skips || cw_json_find(reader->plan, p, n, slices, NULL) < 0)
        return false;
    for (size_t i = 0; i < reader->schema.n; i++) {
        const struct cw_text_absent *absent = absent_of(&reader->schema.fields[i], &slices[i]);
        if (absent && absent->what == CW_TEXT_SKIP)
            return true;
    }
    return false;
}

static int check_value(const char *option, const struct cw_text_field *field,
                       const struct cw_text_absent *absent, struct cw_arena *arena,
                       struct cw_err *err)
{
    struct cw_json_slice slice;
    struct cw_view view;
    if (absent->what != CW_TEXT_VALUE)
        return 0;
    int rc = cw_json_whole(absent->value, strlen(absent->value), &slice, err);
    if (rc == 0)
        rc = cw_json_decode(&slice, field, arena, &view, err);
    return rc < 0 ? cw_err_set(err, CW_E_INVALID, "option %s: %s is no value of field \"%s\"",
                               option, absent->value, field->field.name)
                  : 0;
}

static int check_values(const struct cw_text_schema *schema, struct cw_err *err)
{
    struct cw_arena *arena = cw_arena_new(4096);
    int rc = 0;
    for (size_t i = 0; i < schema->n && rc == 0; i++) {
        rc = check_value("missing", &schema->fields[i], &schema->fields[i].missing, arena, err);
        if (rc == 0)
            rc = check_value("null", &schema->fields[i], &schema->fields[i].null, arena, err);
    }
    cw_arena_free(arena);
    return rc;
}

int cw_json_reader_new(struct cw_text_schema *schema, struct cw_json_reader **ret_reader,
                       struct cw_err *err)
{
    struct cw_json_reader *reader = CW_NEW(struct cw_json_reader);
    const char *paths[CW_FIELDS_MAX];
    reader->schema = *schema;
    *schema = (struct cw_text_schema){0};
    reader->skips = cw_text_schema_skips(&reader->schema);
    for (size_t i = 0; i < reader->schema.n; i++)
        paths[i] = reader->schema.fields[i].key;
    int rc = cw_json_plan_new(paths, reader->schema.n, &reader->plan, err);
    if (rc < 0)
        rc = cw_err_wrap(err, "option schema");
    if (rc == 0)
        rc = check_values(&reader->schema, err);
    if (rc < 0)
        cw_json_reader_free(reader);
    else
        *ret_reader = reader;
    return rc;
}

void cw_json_reader_free(struct cw_json_reader *reader)
{
    if (!reader)
        return;
    cw_json_plan_free(reader->plan);
    cw_text_schema_fini(&reader->schema);
    cw_mem_free(reader);
}

const struct cw_text_schema *cw_json_reader_schema(const struct cw_json_reader *reader)
{
    return &reader->schema;
}
