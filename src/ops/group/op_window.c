/* SPDX-License-Identifier: Apache-2.0 */
/* Group operator `window`: groups of consecutive elements that may overlap. Over elements whose number is
 * known they are positions, like batches; behind an operator that changes the count they are made inside
 * items. */
#include "ops/group/within.h"

struct window_opts {
    int64_t size, shift, span;
    bool drop_remainder;
};

#define OFFSET(member) offsetof(struct window_opts, member)
static const struct cw_opt options[] = {
    {.name = "size",
     .help = "elements of a window",
     .type = CW_OPT_I64,
     .offset = OFFSET(size),
     .min = 1,
     .max = 1 << 24,
     .flags = CW_OPT_REQUIRED},
    {.name = "shift",
     .help = "how many elements further the next window begins; 0 = as many as a window has",
     .type = CW_OPT_I64,
     .offset = OFFSET(shift),
     .def = "0",
     .min = 0,
     .max = 1 << 24},
    {.name = "drop_remainder",
     .help = "leave out windows at the end that are not full",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(drop_remainder),
     .def = "true"},
    CW_SPAN_ROW(OFFSET(span)),
    {0},
};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct window_opts *o = opts;
    CW_SPEC_AUTO spec = cw_spec_copy(&in[0]);
    int rc = 0;
    (void)in_n;
    for (size_t i = 0; rc == 0 && i < spec.n; i++)
        rc = cw_group_add_dimension(&spec.fields[i], o->drop_remainder ? o->size : -1, false, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

static int64_t group_size(const void *opts)
{
    return ((const struct window_opts *)opts)->size;
}

static int64_t group_shift(const void *opts)
{
    const struct window_opts *o = opts;
    return o->shift > 0 ? o->shift : o->size;
}

static bool group_drops(const void *opts)
{
    return ((const struct window_opts *)opts)->drop_remainder;
}

static bool group_within(const void *opts)
{
    (void)opts;
    return true;
}

static int64_t span(const void *opts)
{
    return ((const struct window_opts *)opts)->span;
}

const struct cw_op cw_op_window = {
    .name = "window",
    .version = 1,
    .summary = "groups of consecutive elements that may overlap",
    .doc =
        "Puts `size` consecutive elements after each other along a new first dimension, like "
        "`batch`; the next\n"
        "window begins `shift` elements further. Fields must have the same shape in all elements "
        "of a window.\n"
        "\n"
        "Behind an operator that changes the count, such as a filter, windows do not reach over "
        "the ends of items.\n" CW_INSIDE_DOC,
    .kind = CW_OP_GROUP,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct window_opts),
    .infer = infer,
    .group_size = group_size,
    .group_shift = group_shift,
    .group_drops = group_drops,
    .group_within = group_within,
    .span = span,
};
