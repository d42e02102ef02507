/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `posterize`: only the high bits of samples are kept. */
#include "ops/element/u8_op.h"

#include "ops/kernels/tone.h"

struct posterize_opts {
    double p;
    int64_t bits;
};

static const struct cw_opt options[] = {
    {.name = "bits",
     .help = "bits of each sample that are kept",
     .type = CW_OPT_I64,
     .offset = offsetof(struct posterize_opts, bits),
     .min = 0,
     .max = 8,
     .flags = CW_OPT_REQUIRED},
    CW_U8_P_ROW(offsetof(struct posterize_opts, p), "1.0"),
    {0},
};

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct posterize_opts *o = opts;
    (void)state;
    (void)scratch;
    const uint8_t mask = (uint8_t)(0xff00u >> o->bits);
    if (cw_u8_op_skips(ctx, o->p))
        return 0;
    const int rc = cw_op_output(ctx, out, err);
    if (rc == 0)
        cw_tone_bits(out->data, in->data, in->bytes, 256, mask);
    return rc;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct posterize_opts *o = opts;
    (void)in;
    cw_u8_op_facts_each(o->p, fields, fields_n, ret_facts);
    ret_facts->keeps_zero = true;
}

static bool draws(const void *opts)
{
    const struct posterize_opts *o = opts;
    return cw_u8_op_draws_p(o->p);
}

const struct cw_op cw_op_posterize = {
    .name = "posterize",
    .version = 1,
    .summary = "images with fewer colours",
    .doc = "Keeps the `bits` highest bits of every sample of u8 images and clears the others, as "
           "ImageOps.posterize\n"
           "of Pillow and torchvision's posterize. Draw 0 says, by `p`, whether an element is "
           "changed.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_POINTWISE | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct posterize_opts),
    .accepts = cw_image_accepts_u8,
    .infer_field = cw_u8_op_infer,
    .apply_field = apply_field,
    .facts = facts,
    .draws = draws,
};
