/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/numbers.h"

#include <math.h>

/* ---- in a struct ---- */

static void *field_of(const void *object, const struct cw_number *number)
{
    return (char *)(uintptr_t)object + number->offset;
}

static double get(const void *object, const struct cw_number *number)
{
    const void *at = field_of(object, number);
    return number->kind == CW_NUMBER_F64     ? *(const double *)at
           : number->kind == CW_NUMBER_WHOLE ? *(const unsigned *)at
                                             : *(const bool *)at;
}

static void set(void *object, const struct cw_number *number, double v)
{
    void *at = field_of(object, number);
    if (number->kind == CW_NUMBER_F64)
        *(double *)at = v;
    else if (number->kind == CW_NUMBER_WHOLE)
        *(unsigned *)at = (unsigned)v;
    else
        *(bool *)at = v > 0;
}

static bool is_shown(const struct cw_number *number, double v)
{
    return number->is_always_there || (isfinite(v) && (v < number->usual || v > number->usual));
}

/* ---- printing ---- */

static void set_value(const struct cw_number *number, double v, struct cw_value *ret_value)
{
    if (number->kind == CW_NUMBER_F64)
        cw_value_set_f64(ret_value, v);
    else if (number->kind == CW_NUMBER_WHOLE)
        cw_value_set_i64(ret_value, (int64_t)v);
    else
        cw_value_set_bool(ret_value, v > 0);
}

void cw_numbers_print(const void *from, const struct cw_number *numbers, size_t n,
                      struct cw_str *out)
{
    for (size_t i = 0; i < n; i++) {
        struct cw_value value = {0};
        double v = get(from, &numbers[i]);
        if (!is_shown(&numbers[i], v))
            continue;
        bool is_first = out->len == 0 || out->s[out->len - 1] == '{';
        cw_str_addf(out, "%s\"%s\":", is_first ? "" : ",", numbers[i].key);
        set_value(&numbers[i], v, &value);
        cw_value_print(&value, out);
    }
}

void cw_numbers_add(const void *from, const struct cw_number *numbers, size_t n,
                    struct cw_value *object)
{
    for (size_t i = 0; i < n; i++) {
        double v = get(from, &numbers[i]);
        if (is_shown(&numbers[i], v))
            set_value(&numbers[i], v, cw_value_member(object, numbers[i].key));
    }
}

/* ---- reading ---- */

bool cw_number_of(const struct cw_value *value, double *ret_v)
{
    *ret_v = value->type == CW_VALUE_I64 ? (double)value->i : value->f;
    return (value->type == CW_VALUE_I64 || value->type == CW_VALUE_F64) && isfinite(*ret_v);
}

/* Whether the value is of the number's kind; *ret_not says what it is not. */
static bool is_of_kind(const struct cw_value *value, const struct cw_number *number, double *ret_v,
                       const char **ret_not)
{
    if (number->kind == CW_NUMBER_FLAG) {
        *ret_not = "neither true nor false";
        *ret_v = value->b;
        return value->type == CW_VALUE_BOOL;
    }
    *ret_not = "not a number";
    return cw_number_of(value, ret_v);
}

static int read_one(const struct cw_value *object, const struct cw_number *number, void *to,
                    struct cw_err *err)
{
    const struct cw_value *value = cw_value_get(object, number->key);
    const char *what;
    double v = number->usual;
    if (value && !is_of_kind(value, number, &v, &what))
        return cw_err_set(err, CW_E_INVALID, "%s: %s", number->key, what);
    if (v < number->least || v > number->most)
        return cw_err_set(err, CW_E_INVALID, "%s: %g is not from %g to %g", number->key, v,
                          number->least, number->most);
    if (number->kind == CW_NUMBER_WHOLE && floor(v) < v)
        return cw_err_set(err, CW_E_INVALID, "%s: not a whole number", number->key);
    set(to, number, v);
    return 0;
}

int cw_numbers_read(const struct cw_value *object, const struct cw_number *numbers, size_t n,
                    void *to, struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = read_one(object, &numbers[i], to, err);
    return rc;
}
