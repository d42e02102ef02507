/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/tensors.h"

#include "base/mem.h"
#include "data/strings.h"
#include "src/ops/kernels/num.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *text_of(const struct cw_value *object, const char *key)
{
    const struct cw_value *v = cw_value_get(object, key);
    return v && v->type == CW_VALUE_STR ? v->s : NULL;
}

static int parse_field(const struct cw_value *json, const char *name, struct cw_spec *spec,
                       struct cw_err *err)
{
    const char *dtype_text = text_of(json, "dtype");
    const struct cw_value *shape = cw_value_get(json, "shape");
    enum cw_dtype dtype;
    int64_t dims[CW_RANK_MAX] = {0};
    if (!dtype_text || cw_dtype_parse(dtype_text, &dtype) < 0)
        return cw_err_set(err, CW_E_INVALID, "%s: no such dtype", name);
    size_t rank = shape ? shape->n : 0;
    for (size_t i = 0; i < rank && i < CW_RANK_MAX; i++)
        dims[i] = shape->items[i].i;
    return cw_spec_add(spec, name, dtype, (int)rank, dims, err);
}

int test_spec_parse(const struct cw_value *json, struct cw_spec *ret_spec, struct cw_err *err)
{
    int rc = 0;
    *ret_spec = (struct cw_spec){0};
    for (size_t i = 0; i < json->n && rc == 0; i++)
        rc = parse_field(&json->items[i], json->keys[i], ret_spec, err);
    return rc;
}

static int load_file(const char *folder, const char *name, void **ret_data, size_t *ret_bytes,
                     struct cw_err *err)
{
    cw_autofree char *path = cw_mem_printf("%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return cw_err_errno(err, errno, "%s", path);
    size_t cap = 1 << 20, n = 0, got;
    char *data = cw_mem_new(cap);
    while ((got = fread(data + n, 1, cap - n, file)) > 0) {
        n += got;
        if (n == cap)
            data = cw_mem_grow(data, cap *= 2, 1);
    }
    fclose(file);
    *ret_data = data;
    *ret_bytes = n;
    return 0;
}

static void *from_hex(const char *hex, size_t *ret_bytes)
{
    size_t n = strlen(hex) / 2;
    uint8_t *bytes = cw_mem_new(n + 1);
    for (size_t i = 0; i < n; i++) {
        unsigned byte = 0;
        sscanf(hex + 2 * i, "%2x", &byte);
        bytes[i] = (uint8_t)byte;
    }
    *ret_bytes = n;
    return bytes;
}

static void put_number(const struct cw_view *view, size_t i, const struct cw_value *v)
{
    if (v->type == CW_VALUE_I64)
        cw_num_put_i64(view->dtype, view->data, i, v->i);
    else if (v->type == CW_VALUE_BOOL)
        cw_num_put_i64(view->dtype, view->data, i, v->b);
    else if (v->type == CW_VALUE_STR)
        cw_num_put_f64(view->dtype, view->data, i,
                       strcmp(v->s, "nan") == 0   ? (double)NAN
                       : strcmp(v->s, "inf") == 0 ? (double)INFINITY
                                                  : (double)-INFINITY);
    else
        cw_num_put_f64(view->dtype, view->data, i, v->f);
}

static int parse_numbers(const struct cw_value *data, const struct cw_field *field,
                         struct cw_view *view, struct cw_err *err)
{
    int64_t n = cw_field_count(field);
    if (!data || (int64_t)data->n != n)
        return cw_err_set(err, CW_E_INVALID, "%s: %zu values for %lld places", field->name,
                          data ? data->n : 0, (long long)n);
    view->bytes = (size_t)n * cw_dtype_bytes(field->dtype);
    view->data = cw_mem_try_aligned(64, view->bytes + 64);
    for (size_t i = 0; i < data->n; i++)
        put_number(view, i, &data->items[i]);
    return 0;
}

static int parse_strings(const struct cw_value *items, const struct cw_field *field,
                         struct cw_view *view, struct cw_err *err)
{
    struct cw_strings list = {0};
    if (field->dtype != CW_DTYPE_STR || (int64_t)items->n != cw_field_count(field))
        return cw_err_set(err, CW_E_INVALID, "%s: %zu strings do not fit its shape", field->name,
                          items->n);
    for (size_t i = 0; i < items->n; i++) {
        cw_str_add(&list.text, items->items[i].s);
        (void)cw_strings_end(&list, err);
    }
    view->bytes = cw_strings_bytes(&list);
    view->data = cw_mem_new(view->bytes);
    cw_strings_put(&list, view->data);
    cw_strings_fini(&list);
    return 0;
}

static int parse_tensor(const struct cw_value *json, const struct cw_field *field,
                        const char *folder, struct cw_view *view, struct cw_err *err)
{
    int rc = 0;
    view->dtype = field->dtype;
    view->rank = field->rank;
    memcpy(view->dims, field->dims, sizeof(view->dims));
    if (text_of(json, "file")) {
        rc = load_file(folder, text_of(json, "file"), &view->data, &view->bytes, err);
    } else if (text_of(json, "hex")) {
        view->data = from_hex(text_of(json, "hex"), &view->bytes);
    } else if (cw_value_get(json, "strings")) {
        rc = parse_strings(cw_value_get(json, "strings"), field, view, err);
    } else if (text_of(json, "text")) {
        view->data = cw_mem_strdup(text_of(json, "text"));
        view->bytes = strlen(text_of(json, "text"));
    } else {
        rc = parse_numbers(cw_value_get(json, "data"), field, view, err);
    }
    if (rc == 0 && field->dtype != CW_DTYPE_STR && (int64_t)view->bytes != cw_field_bytes(field))
        rc = cw_err_set(err, CW_E_INVALID, "%s: %zu bytes do not fit its shape", field->name,
                        view->bytes);
    return rc;
}

int test_element_parse(const struct cw_value *json, const char *folder, struct test_element *ret,
                       struct cw_err *err)
{
    *ret = (struct test_element){0};
    int rc = test_spec_parse(json, &ret->spec, err);
    for (size_t i = 0; i < ret->spec.n && rc == 0; i++) {
        rc = parse_tensor(&json->items[i], &ret->spec.fields[i], folder, &ret->e.fields[i], err);
        ret->owned[i] = ret->e.fields[i].data;
    }
    ret->e.n = ret->spec.n;
    return rc;
}

void test_element_fini(struct test_element *element)
{
    for (size_t i = 0; i < element->spec.n; i++)
        cw_mem_free(element->owned[i]);
    cw_spec_fini(&element->spec);
    *element = (struct test_element){0};
}

bool test_view_same_bytes(const struct cw_view *a, const struct cw_view *b)
{
    return a->dtype == b->dtype && a->rank == b->rank && a->bytes == b->bytes &&
           memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(a->dims[0])) == 0 &&
           (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
}

static int compare_shapes(const char *name, const struct cw_view *got, const struct cw_view *want,
                          struct cw_err *err)
{
    if (got->dtype != want->dtype || got->rank != want->rank)
        return cw_err_set(err, CW_E_INVALID, "%s: is %s of rank %d, expected %s of rank %d", name,
                          cw_dtype_name(got->dtype), got->rank, cw_dtype_name(want->dtype),
                          want->rank);
    for (int i = 0; i < got->rank; i++) {
        if (got->dims[i] != want->dims[i])
            return cw_err_set(err, CW_E_INVALID, "%s: dimension %d is %lld, expected %lld", name, i,
                              (long long)got->dims[i], (long long)want->dims[i]);
    }
    if (got->bytes != want->bytes)
        return cw_err_set(err, CW_E_INVALID, "%s: %zu bytes, expected %zu", name, got->bytes,
                          want->bytes);
    return 0;
}

/* Whether two values have the same bits, as NaNs must, too (kernels/one_nan.h). */
static bool is_same(enum cw_dtype dtype, const struct cw_view *got, const struct cw_view *want,
                    size_t i)
{
    const size_t bytes = cw_dtype_bytes(dtype);
    return memcmp((const char *)got->data + i * bytes, (const char *)want->data + i * bytes,
                  bytes) == 0;
}

static double difference(enum cw_dtype dtype, const struct cw_view *got, const struct cw_view *want,
                         size_t i)
{
    if (!cw_dtype_is_float(dtype) &&
        cw_num_get_i64(dtype, got->data, i) == cw_num_get_i64(dtype, want->data, i))
        return 0;
    double a = cw_num_get_f64(dtype, got->data, i), b = cw_num_get_f64(dtype, want->data, i);
    if (isnan(a) && isnan(b))
        return is_same(dtype, got, want, i) ? 0 : (double)INFINITY;
    if (cw_dtype_is_float(dtype) && a == b)
        return 0;
    double d = fabs(a - b);
    return isnan(d) ? (double)INFINITY : CW_MAX(d, 0x1p-1000);
}

int test_view_compare(const char *name, const struct cw_view *got, const struct cw_view *want,
                      const struct test_tolerance *tolerance, struct cw_err *err)
{
    int rc = compare_shapes(name, got, want, err);
    if (rc < 0 || got->bytes == 0)
        return rc;
    if (got->dtype == CW_DTYPE_STR)
        return memcmp(got->data, want->data, got->bytes) == 0
                   ? 0
                   : cw_err_set(err, CW_E_INVALID, "%s: is \"%.*s\"", name,
                                (int)CW_MIN(got->bytes, (size_t)200), (const char *)got->data);
    size_t n = got->bytes / cw_dtype_bytes(got->dtype);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double d = difference(got->dtype, got, want, i);
        sum += d;
        if (d > tolerance->each)
            return cw_err_set(err, CW_E_INVALID, "%s: value %zu is %.17g, expected %.17g", name, i,
                              cw_num_get_f64(got->dtype, got->data, i),
                              cw_num_get_f64(want->dtype, want->data, i));
    }
    if (tolerance->mean >= 0 && sum / (double)n > tolerance->mean)
        return cw_err_set(err, CW_E_INVALID, "%s: mean difference %g", name, sum / (double)n);
    return 0;
}
