/* SPDX-License-Identifier: Apache-2.0 */
/* Group operator `unbatch`: makes the elements of each batch, or the parts of each document, that come
 * in. */
#include "ops/group/within.h"

struct unbatch_opts {
    int64_t span;
    bool survey;
};

static const struct cw_opt options[] = {
    CW_SPAN_ROW(offsetof(struct unbatch_opts, span)),
    CW_SURVEY_ROW(offsetof(struct unbatch_opts, survey)),
    {0},
};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    (void)opts;
    (void)in_n;
    return cw_slices_infer(&in[0], ret_spec, err);
}

static int check_row(const void *opts, const struct cw_spec *in, const struct cw_view *row,
                     struct cw_err *err)
{
    (void)opts;
    return cw_slices_check(in, row, err);
}

static int inside(const struct cw_op_ctx *ctx, const void *opts, const struct cw_op_rows *rows,
                  struct cw_err *err)
{
    struct cw_view *fields = cw_op_scratch(ctx, (ctx->in->n + 1) * sizeof(*fields), err);
    (void)opts;
    if (!fields)
        return CW_E_NOMEM;
    for (size_t r = 0; r < rows->n; r++) {
        struct cw_slices slices;
        cw_slices_init(&slices, ctx->in, rows->row[r]);
        int rc = cw_stop_check(ctx->stop, err);
        for (int64_t i = 0; rc == 0 && i < slices.n; i++) {
            cw_slices_get(&slices, i, fields);
            rc = rows->make(rows, r, fields, err);
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int64_t span(const void *opts)
{
    return ((const struct unbatch_opts *)opts)->span;
}

static bool asks_survey(const void *opts)
{
    return ((const struct unbatch_opts *)opts)->survey;
}

const struct cw_op cw_op_unbatch = {
    .name = "unbatch",
    .version = 1,
    .summary = "takes elements apart along their first dimension",
    .doc =
        "Makes an element of each entry of the first dimension, which all fields must have: of a "
        "batch its elements,\n"
        "also where they are strings or ragged. The number of elements then depends on data.\n"
        "\n" CW_INSIDE_DOC CW_SURVEY_DOC,
    .kind = CW_OP_GROUP,
    .traits = CW_OP_CHANGES_COUNT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct unbatch_opts),
    .infer = infer,
    .inside = inside,
    .check_row = check_row,
    .span = span,
    .asks_survey = asks_survey,
    .takes_apart = true,
    .takes_batches = true,
};
