/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `mixup`: adds each image of a batch to the one before it, in a random share. */
#include "ops/element/mix_op.h"

#include "ops/kernels/kernel_table.h"

struct mixup_opts {
    struct cw_mix_op_opts mix;
};

#define OFFSET offsetof(struct mixup_opts, mix)
static const struct cw_opt options[] = {
    CW_MIX_OP_ALPHA_ROW(OFFSET), CW_MIX_OP_CLASSES_ROW(OFFSET), CW_MIX_OP_IMAGE_ROW(OFFSET),
    CW_MIX_OP_LABEL_ROW(OFFSET), CW_MIX_OP_P_ROW(OFFSET),       {0},
};

static bool accepts(const struct cw_field *image)
{
    return image->dtype == CW_DTYPE_F32 && image->rank >= 2;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct mixup_opts *o = opts;
    (void)in_n;
    return cw_mix_op_infer(&o->mix, in, accepts,
                           "a batch of f32: put it behind batch, and normalize or cast before it",
                           ret_spec, err);
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct mixup_opts *o = opts;
    struct cw_mix_op mix;
    (void)state;
    (void)scratch;
    int rc = cw_mix_op_begin(ctx, &o->mix, element, &mix, err);
    if (rc == 0)
        rc = cw_mix_op_labels(ctx, &o->mix, &mix, element, err);
    struct cw_view *view = rc == 0 ? &element->fields[mix.image] : NULL;
    if (!view || !(mix.share < 1))
        return rc;
    const float *from = view->data;
    rc = cw_op_output(ctx, view, err);
    const int64_t n = (int64_t)(mix.row_bytes / sizeof(float));
    const float share = (float)mix.share, rest = (float)(1 - mix.share);
    for (int64_t i = 0; i < mix.rows && rc == 0; i++) {
        const float *own = from + i * n, *other = from + cw_mix_op_other(&mix, i) * n;
        float *to = (float *)view->data + i * n;
        for (int64_t k = 0; k < n; k++)
            to[k] = other[k] * rest + own[k] * share;
        cw_kernels()->one_nan(to, (size_t)n);
    }
    return rc;
}

static bool draws(const void *opts)
{
    const struct mixup_opts *o = opts;
    return o->mix.p > 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct mixup_opts *o = opts;
    (void)fields;
    (void)fields_n;
    cw_mix_op_facts(&o->mix, in, ret_facts);
}

const struct cw_op cw_op_mixup = {
    .name = "mixup",
    .version = 1,
    .summary = "images of a batch added to each other",
    .doc = "Behind `batch`, with images of f32: adds to each image the one before it, to the first "
           "the last, in a share that is drawn\n"
           "once for the batch, and makes of the labels shares of classes, f32[?,classes], in the "
           "same "
           "share, as torchvision's MixUp does\n"
           "(Zhang et al., \"mixup: Beyond empirical risk minimization\", ICLR 2018). With `p` "
           "less than "
           "1 the labels of the other batches\n"
           "become shares as well.\n"
           "Draw 0 says, by `p`, whether a batch is mixed; the share takes draws from 1 on.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct mixup_opts),
    .infer = infer,
    .apply = apply,
    .facts = facts,
    .draws = draws,
};
