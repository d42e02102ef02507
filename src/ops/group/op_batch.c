/* SPDX-License-Identifier: Apache-2.0 */
/* Group operator `batch`: makes one element of `size` elements. Only the shape is decided here; the
 * engine computes elements straight into their rows of the batch. */
#include "ops/group/within.h"

struct batch_opts {
    int64_t size;
    bool drop_remainder;
    struct cw_value ragged; /* true, false, the name of a field, or a list of names */
    struct cw_within within;
};

#define OFFSET(member) offsetof(struct batch_opts, member)
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
    {.name = "ragged",
     .help =
         "fields whose shapes may differ within a batch: names, or true for all of unknown size",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(ragged),
     .def = "false",
     .flags = CW_OPT_NEWER},
    CW_WITHIN_ROWS(OFFSET(within)),
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct cw_value *ragged = &((const struct batch_opts *)opts)->ragged;
    bool ok = ragged->type == CW_VALUE_BOOL || ragged->type == CW_VALUE_STR ||
              (ragged->type == CW_VALUE_LIST && ragged->n > 0);
    for (size_t i = 0; ok && ragged->type == CW_VALUE_LIST && i < ragged->n; i++)
        ok = ragged->items[i].type == CW_VALUE_STR;
    if (ok)
        return cw_within_check(&((const struct batch_opts *)opts)->within, err);
    return cw_err_set(err, CW_E_INVALID,
                      "option ragged: must be true, false, the name of a field, or a list of names "
                      "(given %s)",
                      cw_value_type_name(ragged->type));
}

/* Whether the shape of the field may differ from row to row: strings of any length go together
 * anyway, and lists of them are ragged if they have one dimension. */
static bool may_differ(const struct cw_field *field)
{
    if (field->dtype == CW_DTYPE_STR)
        return field->rank == 1 && field->dims[0] < 0;
    return !cw_field_is_fixed(field);
}

static int pick_name(const struct cw_spec *in, const char *name, bool *picked, struct cw_err *err)
{
    int i = cw_spec_find(in, name);
    CW_STR_AUTO spec = {0};
    cw_spec_print(in, &spec);
    if (i < 0)
        return cw_err_set(err, CW_E_INVALID,
                          "option ragged: there is no field \"%s\"; what comes in is %s", name,
                          cw_str_text(&spec));
    if (!may_differ(&in->fields[i]))
        return cw_err_set(err, CW_E_INVALID, "option ragged: field \"%s\" %s; what comes in is %s",
                          name,
                          in->fields[i].dtype == CW_DTYPE_STR && in->fields[i].rank == 0
                              ? "is a string: strings of any length go together without it"
                              : "has the same shape in all elements",
                          cw_str_text(&spec));
    picked[i] = true;
    return 0;
}

static int pick_ragged(const struct batch_opts *o, const struct cw_spec *in, bool *picked,
                       struct cw_err *err)
{
    const struct cw_value *ragged = &o->ragged;
    int rc = ragged->type == CW_VALUE_STR ? pick_name(in, ragged->s, picked, err) : 0;
    for (size_t i = 0; rc == 0 && ragged->type == CW_VALUE_LIST && i < ragged->n; i++)
        rc = pick_name(in, ragged->items[i].s, picked, err);
    for (size_t i = 0; ragged->type == CW_VALUE_BOOL && ragged->b && i < in->n; i++)
        picked[i] = may_differ(&in->fields[i]);
    return rc;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct batch_opts *o = opts;
    CW_SPEC_AUTO spec = cw_spec_copy(&in[0]);
    bool ragged[CW_FIELDS_MAX] = {false};
    (void)in_n;
    int rc = pick_ragged(o, &in[0], ragged, err);
    for (size_t i = 0; rc == 0 && i < spec.n; i++)
        rc = cw_group_add_dimension(&spec.fields[i], o->drop_remainder ? o->size : -1, ragged[i],
                                    err);
    if (rc < 0)
        return rc;
    *ret_spec = cw_spec_take(&spec);
    return 0;
}

static int64_t group_size(const void *opts)
{
    const struct batch_opts *o = opts;
    return o->size;
}

static bool group_drops(const void *opts)
{
    const struct batch_opts *o = opts;
    return o->drop_remainder;
}

static bool group_within(const void *opts)
{
    const struct batch_opts *o = opts;
    return o->within.within == CW_WITHIN_ITEM;
}

static int64_t span(const void *opts)
{
    const struct batch_opts *o = opts;
    return o->within.span;
}

static bool names(const void *opts, struct cw_op_names *names)
{
    const struct cw_value *ragged = &((const struct batch_opts *)opts)->ragged;
    if (ragged->type == CW_VALUE_STR)
        cw_op_names_add(names, ragged->s);
    for (size_t i = 0; ragged->type == CW_VALUE_LIST && i < ragged->n; i++)
        if (ragged->items[i].type == CW_VALUE_STR)
            cw_op_names_add(names, ragged->items[i].s);
    return true;
}

const struct cw_op cw_op_batch = {
    .name = "batch",
    .version = 1,
    .summary = "joins elements to batches",
    .doc =
        "Puts `size` elements after each other along a new first dimension. Fields must have "
        "the same\n"
        "shape in all elements of a batch; strings of any length go together. Fields that "
        "`ragged`\n"
        "names (true: all whose shape is not known) may have another shape in each element: "
        "their\n"
        "values stand one after another, with where each row begins, and its shape if more than "
        "the\n"
        "first dimension differs (cachew_batch_ragged). The last batch of an epoch may be "
        "shorter,\n"
        "or is left out with drop_remainder.\n"
        "Behind an operator that changes the count, such as a filter, the trainer's process cuts "
        "batches, and only\n"
        "take and skip may follow. With within = item a worker makes them of what is left of "
        "each item: all\n"
        "operators for batches may follow, and the last batch of each item may be shorter. "
        "Elsewhere it makes no\n"
        "difference.",
    .kind = CW_OP_GROUP,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct batch_opts),
    .check = check,
    .infer = infer,
    .group_size = group_size,
    .group_drops = group_drops,
    .group_within = group_within,
    .span = span,
    .names = names,
};
