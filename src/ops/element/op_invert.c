/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `invert`: every sample becomes 255 less itself. */
#include "ops/element/u8_op.h"

#include "ops/kernels/tone.h"

struct invert_opts {
    double p;
};

static const struct cw_opt options[] = {
    CW_U8_P_ROW(offsetof(struct invert_opts, p), "1.0"),
    {0},
};

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct invert_opts *o = opts;
    (void)state;
    (void)scratch;
    if (cw_u8_op_skips(ctx, o->p))
        return 0;
    const int rc = cw_op_output(ctx, out, err);
    if (rc == 0)
        cw_tone_bits(out->data, in->data, in->bytes, 0, 255);
    return rc;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct invert_opts *o = opts;
    (void)in;
    cw_u8_op_facts_each(o->p, fields, fields_n, ret_facts);
}

static bool draws(const void *opts)
{
    const struct invert_opts *o = opts;
    return cw_u8_op_draws_p(o->p);
}

const struct cw_op cw_op_invert = {
    .name = "invert",
    .version = 1,
    .summary = "images turned to their negatives",
    .doc = "255 - x for every sample of u8 images, as ImageOps.invert of Pillow and torchvision's "
           "invert. Draw 0\n"
           "says, by `p`, whether an element is changed.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_POINTWISE | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct invert_opts),
    .accepts = cw_image_accepts_u8,
    .infer_field = cw_u8_op_infer,
    .apply_field = apply_field,
    .facts = facts,
    .draws = draws,
};
