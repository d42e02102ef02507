/* SPDX-License-Identifier: Apache-2.0 */
/* Group operator `padded_batch`: makes one element of `size` elements whose shapes differ, each filled
 * up to one shape. Which shape is decided here; the engine computes and fills (exec/pad_rows.h). */
#include "ops/group/pad_options.h"
#include "ops/group/within.h"

struct padded_opts {
    int64_t size;
    bool drop_remainder;
    struct cw_pad_options pad;
    struct cw_within within;
};

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
     .offset = OFFSET(pad.length)},
    CW_PAD_OPTION_ROWS(OFFSET(pad)),
    CW_WITHIN_ROWS(OFFSET(within)),
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct padded_opts *o = opts;
    int rc = cw_pad_options_check(&o->pad, err);
    return rc < 0 ? rc : cw_within_check(&o->within, err);
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct padded_opts *o = opts;
    (void)in_n;
    return cw_pad_options_infer(&o->pad, &in[0], o->drop_remainder ? o->size : -1, ret_spec, err);
}

static bool group_pad(const void *opts, const struct cw_spec *in, size_t f, struct cw_pad *ret_pad)
{
    return cw_pad_options_of(&((const struct padded_opts *)opts)->pad, in, f, ret_pad);
}

static int64_t group_size(const void *opts)
{
    return ((const struct padded_opts *)opts)->size;
}

static bool group_drops(const void *opts)
{
    return ((const struct padded_opts *)opts)->drop_remainder;
}

static bool group_within(const void *opts)
{
    return ((const struct padded_opts *)opts)->within.within == CW_WITHIN_ITEM;
}

static int64_t span(const void *opts)
{
    return ((const struct padded_opts *)opts)->within.span;
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
        "they are, unless `length` names them; so are strings, and lists of as many strings each.\n"
        "Behind an operator that changes the count, such as a filter, the trainer's process cuts "
        "batches and fills\n"
        "them up, and only take and skip may follow; with within = item a worker does (see "
        "batch).",
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
    .group_within = group_within,
    .span = span,
};
