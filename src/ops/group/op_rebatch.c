/* SPDX-License-Identifier: Apache-2.0 */
/* Group operator `rebatch`: batches of another size, in the same order. */
#include "ops/group/within.h"

struct rebatch_opts {
    int64_t size, span;
    bool drop_remainder;
};

#define OFFSET(member) offsetof(struct rebatch_opts, member)
static const struct cw_opt options[] = {
    {.name = "size",
     .help = "elements of a batch",
     .type = CW_OPT_I64,
     .offset = OFFSET(size),
     .min = 1,
     .max = 1 << 24,
     .flags = CW_OPT_REQUIRED},
    {.name = "drop_remainder",
     .help = "leave out a last batch of an item that is not full",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(drop_remainder),
     .def = "false"},
    CW_SPAN_ROW(OFFSET(span)),
    {0},
};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct rebatch_opts *o = opts;
    CW_SPEC_AUTO spec = {0};
    (void)in_n;
    int rc = cw_slices_infer(&in[0], &spec, err);
    for (size_t i = 0; rc == 0 && i < spec.n; i++)
        rc = cw_group_add_dimension(&spec.fields[i], o->drop_remainder ? o->size : -1, false, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

static int check_row(const void *opts, const struct cw_spec *in, const struct cw_view *row,
                     struct cw_err *err)
{
    (void)opts;
    return cw_slices_check(in, row, err);
}

/* Joins the elements of a batch to those that wait. */
struct waiting {
    const struct cw_view **row; /* `size` of them */
    size_t n, first;            /* first: the input row that the first one is of */
};

static int add(const struct cw_op_ctx *ctx, const struct cw_slices *slices, int64_t i,
               struct waiting *waiting, struct cw_err *err)
{
    struct cw_view *fields = cw_op_scratch(ctx, ctx->in->n * sizeof(*fields), err);
    if (!fields)
        return CW_E_NOMEM;
    cw_slices_get(slices, i, fields);
    waiting->row[waiting->n++] = fields;
    return 0;
}

static int inside(const struct cw_op_ctx *ctx, const void *opts, const struct cw_op_rows *rows,
                  struct cw_err *err)
{
    const struct rebatch_opts *o = opts;
    size_t size = (size_t)o->size;
    struct waiting waiting = {.row = cw_op_scratch(ctx, size * sizeof(*waiting.row), err)};
    int rc = waiting.row ? 0 : CW_E_NOMEM;
    for (size_t r = 0; rc == 0 && r < rows->n; r++) {
        struct cw_slices slices;
        cw_slices_init(&slices, ctx->in, rows->row[r]);
        for (int64_t i = 0; rc == 0 && i < slices.n; i++) {
            waiting.first = waiting.n == 0 ? r : waiting.first;
            rc = add(ctx, &slices, i, &waiting, err);
            if (rc < 0 || waiting.n < size)
                continue;
            rc = rows->join(rows, waiting.first, waiting.row, waiting.n, 0, err);
            waiting.n = 0;
        }
    }
    if (rc == 0 && waiting.n > 0 && !o->drop_remainder)
        rc = rows->join(rows, waiting.first, waiting.row, waiting.n, 0, err);
    return rc;
}

static int64_t span(const void *opts)
{
    return ((const struct rebatch_opts *)opts)->span;
}

const struct cw_op cw_op_rebatch = {
    .name = "rebatch",
    .version = 1,
    .summary = "batches of another size",
    .doc =
        "Takes the batches that come in apart and makes batches of `size` elements of them, in the "
        "same order:\n"
        "`unbatch` and `batch` in one. Elements must have one shape.\n"
        "\n" CW_INSIDE_DOC,
    .kind = CW_OP_GROUP,
    .traits = CW_OP_CHANGES_COUNT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct rebatch_opts),
    .infer = infer,
    .inside = inside,
    .check_row = check_row,
    .span = span,
    .joins = true,
    .takes_batches = true,
};
