/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of operators on the values of tables. */
#include "ops/element/columns_op.h"

#include <math.h>

#include "base/mem.h"
#include "format/read_at.h"
#include "ops/kernels/columns.h"

/* the most bytes of a file of `cachew analyze` */
#define STATS_BYTES_MAX (64 << 20)

bool cw_columns_accepts(const struct cw_field *field)
{
    return cw_dtype_is_float(field->dtype);
}

static int check_last(size_t columns, int rank, const int64_t *dims, struct cw_err *err)
{
    const int64_t last = rank > 0 ? dims[rank - 1] : 1;
    if (columns > 1 && last >= 0 && last != (int64_t)columns)
        return cw_err_set(err, CW_E_INVALID,
                          "numbers are given for %zu columns, but the last dimension is %lld",
                          columns, (long long)last);
    return 0;
}

int cw_columns_infer(size_t columns, const struct cw_field *in, struct cw_err *err)
{
    if (in->dtype == CW_DTYPE_STR || in->dtype == CW_DTYPE_U64 || in->dtype == CW_DTYPE_BOOL)
        return cw_err_set(err, CW_E_INVALID, "it is %s%s", cw_dtype_name(in->dtype),
                          in->dtype == CW_DTYPE_U64 ? "; cast it to i64 first"
                                                    : ", and has no numbers");
    return check_last(columns, in->rank, in->dims, err);
}

int cw_columns_check(size_t columns, const struct cw_view *in, struct cw_err *err)
{
    return check_last(columns, in->rank, in->dims, err);
}

void cw_columns_facts(size_t columns, const struct cw_spec *in, const size_t *fields,
                      size_t fields_n, struct cw_op_facts *ret_facts)
{
    cw_facts_of_fields(CW_EFFECT_EACH, fields, fields_n, ret_facts);
    ret_facts->by_last_dim = columns > 1;
    for (size_t i = 0; ret_facts->by_last_dim && i < fields_n; i++) {
        const struct cw_field *field = &in->fields[fields[i]];
        if (field->rank == 0 || field->dims[field->rank - 1] < 0)
            ret_facts->refuses = true;
    }
    ret_facts->by_batch = !ret_facts->refuses;
}

int cw_columns_of_lists(const char *a_name, const struct cw_f64_list *a, const char *b_name,
                        const struct cw_f64_list *b, size_t *ret_columns, struct cw_err *err)
{
    if (a->n > 1 && b->n > 1 && a->n != b->n)
        return cw_err_set(err, CW_E_INVALID, "option %s: %zu numbers, but option %s has %zu",
                          b_name, b->n, a_name, a->n);
    *ret_columns = CW_MAX(CW_MAX(a->n, b->n), 1);
    return 0;
}

size_t cw_columns_period(size_t columns)
{
    return columns % CW_COLUMNS_VECTOR ? columns * CW_COLUMNS_VECTOR : columns;
}

double *cw_columns_spread(const double *v, size_t n, size_t period)
{
    double *all = CW_NEW_ARRAY(double, period);
    for (size_t i = 0; i < period; i++)
        all[i] = v[i % n];
    return all;
}

float *cw_columns_narrow(const double *v, size_t n)
{
    float *all = CW_NEW_ARRAY(float, n);
    for (size_t i = 0; i < n; i++)
        all[i] = (float)v[i];
    return all;
}

/* ---- what a file of `cachew analyze` says ---- */

double cw_columns_number(const struct cw_value *value)
{
    return value->type == CW_VALUE_I64 ? (double)value->i : value->f;
}

int cw_columns_numbers(const struct cw_value *value, struct cw_f64_list *ret_list,
                       struct cw_err *err)
{
    bool ok = value->type == CW_VALUE_LIST && value->n > 0 && value->n <= CW_COLUMNS_MAX;
    for (size_t i = 0; ok && i < value->n; i++)
        ok = value->items[i].type == CW_VALUE_I64 || value->items[i].type == CW_VALUE_F64;
    if (!ok)
        return cw_err_set(err, CW_E_INVALID, "is not a list of 1 to %d numbers", CW_COLUMNS_MAX);
    struct cw_f64_list list = {.v = CW_NEW_ARRAY(double, value->n), .n = value->n};
    for (size_t i = 0; i < value->n; i++)
        list.v[i] = cw_columns_number(&value->items[i]);
    *ret_list = list;
    return 0;
}

static int load(const char *path, struct cw_value *ret_value, struct cw_err *err)
{
    struct cw_readable file;
    struct cw_io_file opened;
    int rc = cw_readable_open(path, &opened, &file, err);
    if (rc < 0)
        return cw_err_wrap(err, "option file");
    cw_autofree char *text = NULL;
    if (file.size > STATS_BYTES_MAX)
        rc = cw_err_set(err, CW_E_LIMIT, "option file: %s: more than %d bytes", path,
                        STATS_BYTES_MAX);
    if (rc == 0) {
        text = cw_mem_new((size_t)file.size + 1);
        rc = cw_readable_get(&file, 0, text, (size_t)file.size, err);
    }
    cw_io_close(&opened);
    return rc < 0 ? rc : cw_value_parse(text, (size_t)file.size, path, ret_value, err);
}

static void copy_keys(const struct cw_value *from, const char *name, const char *const *keys,
                      struct cw_value *stats)
{
    for (size_t k = 0; keys[k]; k++)
        if (!cw_value_get(from, keys[k]))
            return;
    struct cw_value *field = cw_value_member(stats, name);
    cw_value_set_object(field);
    for (size_t k = 0; keys[k]; k++)
        cw_value_copy(cw_value_member(field, keys[k]), cw_value_get(from, keys[k]));
}

const struct cw_value *cw_columns_fields(const char *file, const struct cw_value *value,
                                         struct cw_err *err)
{
    const struct cw_value *fields =
        value->type == CW_VALUE_OBJECT ? cw_value_get(value, "fields") : NULL;
    if (fields && fields->type == CW_VALUE_OBJECT)
        return fields;
    cw_err_set(err, CW_E_INVALID,
               "option file: %s: has no \"fields\": it was not written by `cachew analyze`", file);
    return NULL;
}

int cw_columns_load(const char *file, struct cw_value *ret_value,
                    const struct cw_value **ret_fields, struct cw_err *err)
{
    struct cw_value value = {0};
    int rc = load(file, &value, err);
    if (rc < 0)
        return rc;
    *ret_fields = cw_columns_fields(file, &value, err);
    if (!*ret_fields) {
        cw_value_fini(&value);
        return CW_E_INVALID;
    }
    *ret_value = value;
    return 0;
}

int cw_columns_complete(const char *file, const char *const *keys, struct cw_value *said,
                        struct cw_err *err)
{
    struct cw_value value = {0};
    const struct cw_value *fields = NULL;
    int rc = cw_columns_load(file, &value, &fields, err);
    if (rc < 0)
        return rc;
    struct cw_value *stats = cw_value_member(said, "stats");
    cw_value_set_object(stats);
    for (size_t i = 0; i < fields->n; i++)
        if (fields->items[i].type == CW_VALUE_OBJECT)
            copy_keys(&fields->items[i], fields->keys[i], keys, stats);
    cw_value_fini(&value);
    return 0;
}

const struct cw_value *cw_columns_stats(const struct cw_value *stats, const char *field,
                                        const char *key, struct cw_err *err)
{
    const struct cw_value *of_field = cw_value_get(stats, field);
    const struct cw_value *value = of_field ? cw_value_get(of_field, key) : NULL;
    if (!value)
        cw_err_set(err, CW_E_INVALID, "option file: it says no %s of a field of this name", key);
    return value;
}

/* Whether it is a list of numbers, or of such lists. */
static bool is_numbers(const struct cw_value *value, bool may_nest)
{
    bool ok = value->type == CW_VALUE_LIST && value->n > 0 && value->n <= CW_COLUMNS_MAX;
    for (size_t i = 0; ok && i < value->n; i++) {
        const struct cw_value *item = &value->items[i];
        ok = item->type == CW_VALUE_I64 || (item->type == CW_VALUE_F64 && isfinite(item->f)) ||
             (may_nest && is_numbers(item, false));
    }
    return ok;
}

int cw_columns_check_stats(const struct cw_value *stats, struct cw_err *err)
{
    if (stats->type == CW_VALUE_NULL)
        return 0;
    bool ok = stats->type == CW_VALUE_OBJECT;
    for (size_t i = 0; ok && i < stats->n; i++) {
        const struct cw_value *field = &stats->items[i];
        ok = field->type == CW_VALUE_OBJECT;
        for (size_t k = 0; ok && k < field->n; k++)
            ok = is_numbers(&field->items[k], true);
    }
    return ok ? 0
              : cw_err_set(err, CW_E_INVALID,
                           "option stats: is not {field: {key: [numbers]}}, as a file of `cachew "
                           "analyze` has it");
}
