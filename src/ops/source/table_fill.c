/* SPDX-License-Identifier: Apache-2.0 */
/* The values that the option `fill` of sources of tables has for nulls. */
#include <string.h>

#include "ops/kernels/num.h"
#include "ops/source/table_fields.h"

static const struct cw_value *fill_of(const struct cw_table_opts *o, const char *column)
{
    if (o->fill.type == CW_VALUE_OBJECT)
        return cw_value_get(&o->fill, column);
    return o->fill.type == CW_VALUE_NULL ? NULL : &o->fill;
}

static bool put_number(const struct cw_value *fill, enum cw_dtype dtype, uint64_t *ret)
{
    *ret = 0;
    if (fill->type == CW_VALUE_F64 && cw_dtype_is_float(dtype))
        cw_num_put_f64(dtype, ret, 0, fill->f);
    else if (fill->type == CW_VALUE_STR && strcmp(fill->s, "nan") == 0 && cw_dtype_is_float(dtype))
        cw_num_put_f64(dtype, ret, 0, __builtin_nan(""));
    else if (fill->type == CW_VALUE_I64 || fill->type == CW_VALUE_BOOL)
        cw_num_put_i64(dtype, ret, 0, fill->type == CW_VALUE_BOOL ? fill->b : fill->i);
    else
        return false;
    return true;
}

int cw_table_fill_of(const struct cw_table_opts *o, const char *column, enum cw_dtype dtype,
                     struct cw_table_fill *ret_fill, struct cw_err *err)
{
    const struct cw_value *fill = fill_of(o, column);
    *ret_fill = (struct cw_table_fill){.is_set = fill != NULL};
    if (!fill)
        return 0;
    if (dtype == CW_DTYPE_STR)
        ret_fill->text = fill->type == CW_VALUE_STR ? fill->s : NULL;
    if (dtype == CW_DTYPE_STR ? ret_fill->text != NULL : put_number(fill, dtype, &ret_fill->number))
        return 0;
    return cw_err_set(err, CW_E_INVALID, "option fill: the value for column %s, which is %s, %s",
                      column, cw_dtype_name(dtype),
                      dtype == CW_DTYPE_STR ? "is not a string"
                                            : "is not a number that it can hold");
}
