/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/view/tensor_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "data/ragged.h"
#include "data/strings.h"
#include "ops/kernels/num.h"

static void print_value(enum cw_dtype dtype, const void *data, size_t i, struct cw_str *out)
{
    if (cw_dtype_is_float(dtype)) {
        double v = cw_num_get_f64(dtype, data, i);
        if (isfinite(v))
            cw_str_add_f64(out, v);
        else
            cw_str_add(out, "null");
    } else if (dtype == CW_DTYPE_BOOL) {
        cw_str_add(out, cw_num_get_i64(dtype, data, i) ? "true" : "false");
    } else if (dtype == CW_DTYPE_U64) {
        cw_str_addf(out, "%" PRIu64, (uint64_t)cw_num_get_i64(dtype, data, i));
    } else {
        cw_str_addf(out, "%" PRId64, cw_num_get_i64(dtype, data, i));
    }
}

static size_t count_of(const struct cw_view *view)
{
    return view->dtype == CW_DTYPE_STR ? 1 : view->bytes / cw_dtype_bytes(view->dtype);
}

/* Whether a view is a list of strings that is as long as its dims say. */
static bool is_list(const struct cw_view *view)
{
    return view->dtype == CW_DTYPE_STR && view->rank > 0 &&
           cw_strings_check(view->data, view->bytes, cw_strings_count(view), NULL) == 0;
}

/* Adds the first strings of a list. */
static void print_list(const struct cw_view *view, size_t most, const char *between,
                       struct cw_str *out)
{
    const int64_t count = cw_strings_count(view);
    for (int64_t i = 0; i < count && (uint64_t)i < most; i++) {
        size_t n;
        const char *p = cw_strings_get(view->data, count, i, &n);
        cw_str_add(out, i ? between : "");
        cw_str_add_json(out, p, n);
    }
}

/* Sets the parts of the values of a ragged batch. Returns false for any other. */
static bool is_ragged(const struct cw_view *view, struct cw_ragged_parts *ret_parts)
{
    struct cw_field field = {.dtype = view->dtype, .rank = view->rank};
    memcpy(field.dims, view->dims, sizeof field.dims);
    return cw_ragged_split(&field, view->data, view->bytes, ret_parts) == 0;
}

static void print_dims(int rank, const int64_t *dims, struct cw_str *out)
{
    for (int d = 0; d < rank; d++)
        cw_str_addf(out, "%s%" PRId64, d ? "," : "", dims[d]);
}

void tool_tensor_print(const struct cw_field *field, const struct cw_view *view, size_t most,
                       struct cw_str *out)
{
    struct cw_ragged_parts parts;
    if (is_ragged(view, &parts)) {
        struct cw_field begins = {.name = "begins of rows"};
        tool_tensor_print(field, &parts.values, most, out);
        cw_str_add(out, ", ");
        tool_tensor_print(&begins, &parts.begins, most, out);
        return;
    }
    size_t n = count_of(view);
    cw_str_addf(out, "%s: %s", field->name, cw_dtype_name(view->dtype));
    if (view->rank > 0) {
        cw_str_add_char(out, '[');
        print_dims(view->rank, view->dims, out);
        cw_str_add_char(out, ']');
    }
    cw_str_add(out, " =");
    if (is_list(view)) {
        cw_str_add_char(out, ' ');
        print_list(view, most, " ", out);
        if ((uint64_t)cw_strings_count(view) > most)
            cw_str_add(out, " ...");
        return;
    }
    if (view->dtype == CW_DTYPE_STR) {
        size_t shown = CW_MIN(view->bytes, 8 * most);
        cw_str_add_char(out, ' ');
        cw_str_add_json(out, view->data, shown);
        if (shown < view->bytes)
            cw_str_addf(out, " ... (%zu bytes)", view->bytes);
        return;
    }
    for (size_t i = 0; i < n && i < most; i++) {
        cw_str_add_char(out, ' ');
        print_value(view->dtype, view->data, i, out);
    }
    if (n > most)
        cw_str_add(out, " ...");
}

static void begin_json(const char *name, enum cw_dtype dtype, int rank, const int64_t *dims,
                       struct cw_str *out)
{
    cw_str_add(out, "{\"field\":");
    cw_str_add_json(out, name, strlen(name));
    cw_str_addf(out, ",\"dtype\":\"%s\",\"shape\":[", cw_dtype_name(dtype));
    print_dims(rank, dims, out);
    cw_str_add_char(out, ']');
}

static void add_values(const char *key, const struct cw_view *view, struct cw_str *out)
{
    cw_str_addf(out, ",\"%s\":[", key);
    if (is_list(view)) {
        print_list(view, SIZE_MAX, ",", out);
        cw_str_add_char(out, ']');
        return;
    }
    for (size_t i = 0; i < count_of(view); i++) {
        if (i)
            cw_str_add_char(out, ',');
        print_value(view->dtype, view->data, i, out);
    }
    cw_str_add_char(out, ']');
}

void tool_tensor_json(const struct cw_field *field, const struct cw_view *view, struct cw_str *out)
{
    struct cw_ragged_parts parts;
    begin_json(field->name, view->dtype, view->rank, view->dims, out);
    if (is_ragged(view, &parts)) {
        add_values("values", &parts.values, out);
        add_values("begins", &parts.begins, out);
        if (parts.shapes.rank > 0)
            add_values("shapes", &parts.shapes, out);
    } else if (view->dtype == CW_DTYPE_STR && !is_list(view)) {
        cw_str_add(out, ",\"value\":");
        cw_str_add_json(out, view->data, view->bytes);
    } else {
        add_values("values", view, out);
    }
    cw_str_add_char(out, '}');
}

void tool_spec_json(const struct cw_spec *spec, struct cw_str *out)
{
    cw_str_add_char(out, '[');
    for (size_t i = 0; i < spec->n; i++) {
        const struct cw_field *field = &spec->fields[i];
        if (i)
            cw_str_add_char(out, ',');
        begin_json(field->name, field->dtype, field->rank, field->dims, out);
        cw_str_add_char(out, '}');
    }
    cw_str_add_char(out, ']');
}
