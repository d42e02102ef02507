/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/group/pad_options.h"

#include <string.h>
#include "ops/kernels/num.h"

enum { RIGHT, LEFT };
const char *const cw_pad_sides[] = {"right", "left", NULL};

static bool is_number(const struct cw_value *v)
{
    return v->type == CW_VALUE_I64 || v->type == CW_VALUE_F64;
}

static bool is_length(const struct cw_value *v)
{
    return v->type == CW_VALUE_I64 && v->i >= 0 && v->i <= CW_PAD_LENGTH_MAX;
}

/* A length of one field. */
static bool is_field_length(const struct cw_value *v)
{
    if (v->type != CW_VALUE_LIST)
        return is_length(v);
    for (size_t i = 0; i < v->n; i++)
        if (v->items[i].type != CW_VALUE_NULL && !is_length(&v->items[i]))
            return false;
    return true;
}

int cw_pad_value_check(const struct cw_value *option, struct cw_err *err)
{
    bool value = is_number(option) || option->type == CW_VALUE_OBJECT;
    for (size_t i = 0; option->type == CW_VALUE_OBJECT && i < option->n; i++)
        value = value && is_number(&option->items[i]);
    if (value)
        return 0;
    return cw_err_set(err, CW_E_INVALID,
                      "option value: must be a number, or an object with numbers by field");
}

int cw_pad_options_check(const struct cw_pad_options *o, struct cw_err *err)
{
    bool length = o->length.type == CW_VALUE_NULL || is_length(&o->length) ||
                  o->length.type == CW_VALUE_OBJECT;
    for (size_t i = 0; o->length.type == CW_VALUE_OBJECT && i < o->length.n; i++)
        length = length && is_field_length(&o->length.items[i]);
    if (!length)
        return cw_err_set(
            err, CW_E_INVALID,
            "option length: must be a number from 0 to 2^40, or an object with numbers, "
            "or lists of numbers and null, by field");
    return cw_pad_value_check(&o->value, err);
}

/* What an option with values by field says of one: NULL if nothing. */
static const struct cw_value *of_field(const struct cw_value *option, const char *name)
{
    return option->type == CW_VALUE_OBJECT ? cw_value_get(option, name) : option;
}

/* Returns the length of one dimension; -1 if none is given. */
static int64_t length_of(const struct cw_value *length, int d)
{
    const struct cw_value *v = length;
    if (v && v->type == CW_VALUE_LIST)
        v = (size_t)d < v->n ? &v->items[d] : NULL;
    return v && v->type == CW_VALUE_I64 ? v->i : -1;
}

void cw_pad_value_set(const struct cw_value *option, const struct cw_field *field,
                      unsigned char value[8])
{
    const struct cw_value *v = of_field(option, field->name);
    if (v && v->type == CW_VALUE_F64)
        cw_num_put_f64(field->dtype, value, 0, v->f);
    else if (v && v->type == CW_VALUE_I64 && cw_dtype_is_float(field->dtype))
        cw_num_put_f64(field->dtype, value, 0, (double)v->i);
    else if (v && v->type == CW_VALUE_I64)
        cw_num_put_i64(field->dtype, value, 0, v->i);
}

/* Says how a field is filled up: the dims that are not known, and those that have a length by name. */
static bool pad_field(const struct cw_pad_options *o, const struct cw_field *field,
                      struct cw_pad *ret_pad)
{
    const struct cw_value *length = of_field(&o->length, field->name);
    bool named = o->length.type == CW_VALUE_OBJECT && length;
    struct cw_pad pad = {.multiple = o->multiple, .left = o->side == LEFT};
    bool any = false;
    for (int d = 0; field->dtype != CW_DTYPE_STR && d < field->rank; d++) {
        int64_t to = length_of(length, d);
        pad.to[d] = field->dims[d];
        if (field->dims[d] >= 0 && (!named || to < 0))
            continue;
        pad.to[d] = to;
        pad.on[d] = any = true;
    }
    cw_pad_value_set(&o->value, field, pad.value);
    *ret_pad = pad;
    return any;
}

bool cw_pad_options_of(const struct cw_pad_options *o, const struct cw_spec *in, size_t f,
                       struct cw_pad *ret_pad)
{
    int at = (int)in->n;
    for (size_t i = 0; i < f; i++)
        if (pad_field(o, &in->fields[i], ret_pad))
            at += (o->lengths ? 1 : 0) + (o->mask ? 1 : 0);
    if (!pad_field(o, &in->fields[f], ret_pad))
        return false;
    ret_pad->length = o->lengths ? at++ : -1;
    ret_pad->mask = o->mask ? at : -1;
    return true;
}

/* Names in `length` and `value` must be those of fields that can be filled up. */
static int check_names(const struct cw_value *option, const char *what, const struct cw_spec *in,
                       struct cw_err *err)
{
    CW_STR_AUTO spec = {0};
    cw_spec_print(in, &spec);
    for (size_t i = 0; option->type == CW_VALUE_OBJECT && i < option->n; i++) {
        int f = cw_spec_find(in, option->keys[i]);
        if (f < 0 || in->fields[f].dtype == CW_DTYPE_STR || in->fields[f].rank == 0)
            return cw_err_set(err, CW_E_INVALID, "option %s: %s \"%s\"; what comes in is %s", what,
                              f < 0 ? "there is no field" : "nothing can be filled up in field",
                              option->keys[i], cw_str_text(&spec));
        if (option->items[i].type == CW_VALUE_LIST &&
            option->items[i].n != (size_t)in->fields[f].rank)
            return cw_err_set(err, CW_E_INVALID,
                              "option %s: %zu lengths for field \"%s\" of %d dimensions", what,
                              option->items[i].n, option->keys[i], in->fields[f].rank);
    }
    return 0;
}

/* Lists of strings are not filled up, so their lengths must be known to be equal. */
static int check_lists(const struct cw_field *field, struct cw_err *err)
{
    CW_STR_AUTO spec = {0};
    bool known = true;
    for (int d = 0; d < field->rank; d++)
        known = known && field->dims[d] >= 0;
    if (field->dtype != CW_DTYPE_STR || known)
        return 0;
    cw_field_print(field, &spec);
    return cw_err_set(
        err, CW_E_INVALID,
        "field %s: lists of strings cannot be filled up, and how many strings each has "
        "is not known before the data: leave the field out (select), join the strings "
        "(join_text), or use batch with `ragged`",
        cw_str_text(&spec));
}

/* Adds the field of lengths, or the mask. */
static int add_extra(struct cw_spec *spec, const char *name, const char *suffix,
                     enum cw_dtype dtype, int rank, const int64_t *dims, struct cw_err *err)
{
    CW_STR_AUTO text = {0};
    cw_str_addf(&text, "%s%s", name, suffix);
    return cw_spec_add(spec, cw_str_text(&text), dtype, rank, dims, err);
}

static int add_extras(const struct cw_pad_options *o, const struct cw_field *field,
                      const struct cw_pad *pad, int64_t n, struct cw_spec *spec, struct cw_err *err)
{
    int64_t lengths[2] = {n, 0}, mask[CW_RANK_MAX + 1] = {n};
    int rank = 0, rc = 0;
    for (int d = 0; d < field->rank; d++) {
        lengths[1] += pad->on[d];
        rank = pad->on[d] ? d + 1 : rank;
        mask[d + 1] = pad->to[d];
    }
    if (o->lengths)
        rc = add_extra(spec, field->name, "_length", CW_DTYPE_I64, lengths[1] > 1 ? 2 : 1, lengths,
                       err);
    if (rc == 0 && o->mask)
        rc = add_extra(spec, field->name, "_mask", CW_DTYPE_BOOL, rank + 1, mask, err);
    return rc;
}

/* Gives a field its shape in a batch. */
static int batch_field(struct cw_field *field, int64_t n, const struct cw_pad *pad,
                       struct cw_err *err)
{
    if (field->rank >= CW_RANK_MAX)
        return cw_err_set(err, CW_E_INVALID,
                          "field \"%s\" has %d dimensions already, one more is too many",
                          field->name, field->rank);
    for (int d = field->rank; d > 0; d--)
        field->dims[d] = pad->on[d - 1] ? pad->to[d - 1] : field->dims[d - 1];
    field->dims[0] = n;
    field->rank++;
    return 0;
}

int cw_pad_options_infer(const struct cw_pad_options *o, const struct cw_spec *in, int64_t n,
                         struct cw_spec *ret_spec, struct cw_err *err)
{
    CW_SPEC_AUTO spec = cw_spec_copy(in);
    struct cw_pad pad;
    int rc = check_names(&o->length, "length", in, err);
    if (rc == 0)
        rc = check_names(&o->value, "value", in, err);
    for (size_t f = 0; rc == 0 && f < in->n; f++) {
        (void)pad_field(o, &in->fields[f], &pad);
        rc = check_lists(&in->fields[f], err);
        rc = rc < 0 ? rc : batch_field(&spec.fields[f], n, &pad, err);
    }
    for (size_t f = 0; rc == 0 && f < in->n; f++)
        if (pad_field(o, &in->fields[f], &pad))
            rc = add_extras(o, &in->fields[f], &pad, n, &spec, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}
