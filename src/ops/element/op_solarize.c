/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `solarize`: bright samples are inverted. */
#include "ops/element/u8_op.h"

#include "ops/kernels/tone.h"

struct solarize_opts {
    double p;
    int64_t threshold;
};

static const struct cw_opt options[] = {
    CW_U8_P_ROW(offsetof(struct solarize_opts, p), "1.0"),
    {.name = "threshold",
     .help = "samples below it stay; 256: all do",
     .type = CW_OPT_I64,
     .offset = offsetof(struct solarize_opts, threshold),
     .def = "128",
     .min = 0,
     .max = 256},
    {0},
};

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct solarize_opts *o = opts;
    (void)state;
    (void)scratch;
    if (cw_u8_op_skips(ctx, o->p))
        return 0;
    const int rc = cw_op_output(ctx, out, err);
    if (rc == 0)
        cw_tone_bits(out->data, in->data, in->bytes, (unsigned)o->threshold, 255);
    return rc;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct solarize_opts *o = opts;
    (void)in;
    cw_u8_op_facts_each(o->p, fields, fields_n, ret_facts);
    ret_facts->keeps_zero = o->threshold > 0 || !(o->p > 0);
}

static bool draws(const void *opts)
{
    const struct solarize_opts *o = opts;
    return cw_u8_op_draws_p(o->p);
}

const struct cw_op cw_op_solarize = {
    .name = "solarize",
    .version = 1,
    .summary = "images whose bright samples are inverted",
    .doc = "255 - x for every sample x of u8 images that is `threshold` or more, as "
           "ImageOps.solarize of Pillow and\n"
           "torchvision's solarize. Draw 0 says, by `p`, whether an element is changed.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_POINTWISE | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct solarize_opts),
    .accepts = cw_image_accepts_u8,
    .infer_field = cw_u8_op_infer,
    .apply_field = apply_field,
    .facts = facts,
    .draws = draws,
};
