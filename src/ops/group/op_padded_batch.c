/* SPDX-License-Identifier: Apache-2.0 */
/* Group operator `padded_batch`: makes one element of `size` elements whose shapes differ, each filled
 * up to one shape. Which shape is decided here; the engine computes and fills (exec/pad_rows.h). */
#include "ops/op.h"

#include <string.h>
#include "ops/kernels/num.h"

#define LENGTH_MAX (INT64_C(1) << 40)

struct padded_opts {
    int64_t size, multiple;
    bool drop_remainder, lengths, mask;
    int side;
    struct cw_value
        length;            /* null; a number; or an object of numbers, or lists of them, by field */
    struct cw_value value; /* a number, or an object of numbers by field */
};

enum { RIGHT, LEFT };
static const char *const sides[] = {"right", "left", NULL};

#define OFFSET(member) offsetof(struct padded_opts, member)
static const struct cw_opt options[] = {
    {.name = "size",
     .help = "elements of a batch",
     .type = CW_OPT_I64,
     .offset = OFFSET(size),
     .min = 1,
     .max = 1 << 24,
     .flags = CW_OPT_REQUIRED},
    {.name = "drop_remainder",
     .help = "leave out a last batch that is not full",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(drop_remainder),
     .def = "false"},
    {.name = "length",
     .help = "fill up to this length: a number, or by field a number or a list with one for each "
             "dimension (null: as `multiple` says); an element that is longer is bad",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(length)},
    {.name = "multiple",
     .help =
         "where there is no length: fill up to the longest of the batch, rounded up to a multiple",
     .type = CW_OPT_I64,
     .offset = OFFSET(multiple),
     .min = 1,
     .max = 1 << 20,
     .def = "1"},
    {.name = "value",
     .help = "what is filled in: a number, or numbers by field",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(value),
     .def = "0"},
    {.name = "side",
     .help = "where it is filled in",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(side),
     .names = sides,
     .def = "\"right\""},
    {.name = "lengths",
     .help = "add a field NAME_length: how long each element was, i64, for each dimension that is "
             "filled up",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(lengths),
     .def = "false"},
    {.name = "mask",
     .help = "add a field NAME_mask: which values are the element's own, bool",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(mask),
     .def = "false"},
    {0},
};

static bool is_number(const struct cw_value *v)
{
    return v->type == CW_VALUE_I64 || v->type == CW_VALUE_F64;
}

static bool is_length(const struct cw_value *v)
{
    return v->type == CW_VALUE_I64 && v->i >= 0 && v->i <= LENGTH_MAX;
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

static int check(const void *opts, struct cw_err *err)
{
    const struct padded_opts *o = opts;
    bool length = o->length.type == CW_VALUE_NULL || is_length(&o->length) ||
                  o->length.type == CW_VALUE_OBJECT;
    bool value = is_number(&o->value) || o->value.type == CW_VALUE_OBJECT;
    for (size_t i = 0; o->length.type == CW_VALUE_OBJECT && i < o->length.n; i++)
        length = length && is_field_length(&o->length.items[i]);
    for (size_t i = 0; o->value.type == CW_VALUE_OBJECT && i < o->value.n; i++)
        value = value && is_number(&o->value.items[i]);
    if (!length)
        return cw_err_set(
            err, CW_E_INVALID,
            "option length: must be a number from 0 to 2^40, or an object with numbers, "
            "or lists of numbers and null, by field");
    if (!value)
        return cw_err_set(err, CW_E_INVALID,
                          "option value: must be a number, or an object with numbers by field");
    return 0;
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

static void set_value(const struct padded_opts *o, const struct cw_field *field,
                      struct cw_op_pad *pad)
{
    const struct cw_value *v = of_field(&o->value, field->name);
    if (v && v->type == CW_VALUE_F64)
        cw_num_put_f64(field->dtype, pad->value, 0, v->f);
    else if (v && v->type == CW_VALUE_I64 && cw_dtype_is_float(field->dtype))
        cw_num_put_f64(field->dtype, pad->value, 0, (double)v->i);
    else if (v && v->type == CW_VALUE_I64)
        cw_num_put_i64(field->dtype, pad->value, 0, v->i);
}

/* Says how a field is filled up: the dims that are not known, and those that have a length by name. */
static bool pad_field(const struct padded_opts *o, const struct cw_field *field,
                      struct cw_op_pad *ret_pad)
{
    const struct cw_value *length = of_field(&o->length, field->name);
    bool named = o->length.type == CW_VALUE_OBJECT && length;
    struct cw_op_pad pad = {.multiple = o->multiple, .left = o->side == LEFT};
    bool any = false;
    for (int d = 0; field->dtype != CW_DTYPE_STR && d < field->rank; d++) {
        int64_t to = length_of(length, d);
        pad.to[d] = field->dims[d];
        if (field->dims[d] >= 0 && (!named || to < 0))
            continue;
        pad.to[d] = to;
        pad.on[d] = any = true;
    }
    set_value(o, field, &pad);
    *ret_pad = pad;
    return any;
}

static bool group_pad(const void *opts, const struct cw_spec *in, size_t f,
                      struct cw_op_pad *ret_pad)
{
    const struct padded_opts *o = opts;
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

/* Adds the field of lengths, or the mask. */
static int add_extra(struct cw_spec *spec, const char *name, const char *suffix,
                     enum cw_dtype dtype, int rank, const int64_t *dims, struct cw_err *err)
{
    CW_STR_AUTO text = {0};
    cw_str_addf(&text, "%s%s", name, suffix);
    return cw_spec_add(spec, cw_str_text(&text), dtype, rank, dims, err);
}

static int add_extras(const struct padded_opts *o, const struct cw_field *field,
                      const struct cw_op_pad *pad, struct cw_spec *spec, struct cw_err *err)
{
    int64_t n = o->drop_remainder ? o->size : -1, lengths[2] = {n, 0}, mask[CW_RANK_MAX + 1] = {n};
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
static int batch_field(const struct padded_opts *o, struct cw_field *field,
                       const struct cw_op_pad *pad, struct cw_err *err)
{
    if (field->rank >= CW_RANK_MAX)
        return cw_err_set(err, CW_E_INVALID,
                          "field \"%s\" has %d dimensions already, one more is too many",
                          field->name, field->rank);
    for (int d = field->rank; d > 0; d--)
        field->dims[d] = pad->on[d - 1] ? pad->to[d - 1] : field->dims[d - 1];
    field->dims[0] = o->drop_remainder ? o->size : -1;
    field->rank++;
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct padded_opts *o = opts;
    struct cw_spec spec = in[0];
    struct cw_op_pad pad;
    (void)in_n;
    int rc = check_names(&o->length, "length", &in[0], err);
    if (rc == 0)
        rc = check_names(&o->value, "value", &in[0], err);
    for (size_t f = 0; rc == 0 && f < in->n; f++) {
        (void)pad_field(o, &in->fields[f], &pad);
        rc = batch_field(o, &spec.fields[f], &pad, err);
    }
    for (size_t f = 0; rc == 0 && f < in->n; f++)
        if (pad_field(o, &in->fields[f], &pad))
            rc = add_extras(o, &in->fields[f], &pad, &spec, err);
    if (rc == 0)
        *ret_spec = spec;
    return rc;
}

static int64_t group_size(const void *opts)
{
    const struct padded_opts *o = opts;
    return o->size;
}

static bool group_drops(const void *opts)
{
    const struct padded_opts *o = opts;
    return o->drop_remainder;
}

const struct cw_op cw_op_padded_batch = {
    .name = "padded_batch",
    .version = 1,
    .summary = "joins elements of different shapes to batches, filled up to one shape",
    .doc =
        "Puts `size` elements after each other along a new first dimension, like batch, and fills "
        "each up\n"
        "with `value` to one shape: dimensions that are not known before the data are get "
        "`length`, "
        "or the\n"
        "largest of the batch, rounded up to a `multiple`. What is filled in stands on the `side`. "
        "`lengths`\n"
        "and `mask` add fields that tell what an element's own values are. Fields of one shape are "
        "batched as\n"
        "they are, unless `length` names them; so are strings.\n"
        "It cannot stand behind a filter: the trainer's process, which cuts batches there, only "
        "copies rows;\n"
        "use batch with `ragged`.",
    .kind = CW_OP_GROUP,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct padded_opts),
    .check = check,
    .infer = infer,
    .group_size = group_size,
    .group_drops = group_drops,
    .group_pad = group_pad,
};
