/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `layout`: puts the channels of an image first, or last. */
#include "ops/element/planes.h"

#include "ops/kernels/pixels.h"

enum layout { CHW, HWC };
static const char *const layout_names[] = {"chw", "hwc", NULL};

struct layout_opts {
    int to;
};

static const struct cw_opt options[] = {
    {.name = "to",
     .help = "chw: [channels, height, width] of [height, width, channels]; hwc: the other way",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct layout_opts, to),
     .def = "\"chw\"",
     .names = layout_names},
    {0},
};

static bool accepts(const struct cw_field *field)
{
    return field->dtype != CW_DTYPE_STR && field->rank == 3;
}

static void turn_dims(int to, const int64_t in[3], int64_t *ret_dims)
{
    ret_dims[0] = in[to == CHW ? 2 : 1];
    ret_dims[1] = in[to == CHW ? 0 : 2];
    ret_dims[2] = in[to == CHW ? 1 : 0];
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct layout_opts *o = opts;
    if (!accepts(in))
        return cw_err_set(err, CW_E_INVALID, "field %s is %s of rank %d, not an image of rank 3",
                          in->name, cw_dtype_name(in->dtype), in->rank);
    *ret_field = *in;
    turn_dims(o->to, in->dims, ret_field->dims);
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct layout_opts *o = opts;
    (void)state;
    (void)scratch;
    turn_dims(o->to, in->dims, out->dims);
    const int rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    const int64_t channels = in->dims[o->to == CHW ? 2 : 0];
    const size_t bytes = cw_dtype_bytes(in->dtype);
    if (channels == 0 || in->bytes == 0)
        return 0;
    const size_t pixels = in->bytes / bytes / (size_t)channels;
    if (o->to == CHW)
        cw_pixels_split(out->data, in->data, pixels, (size_t)channels, bytes, pixels);
    else
        cw_pixels_join(out->data, in->data, pixels, (size_t)channels, bytes);
    return 0;
}

static bool to_planes(const void *opts, const struct cw_field *in)
{
    (void)in;
    return ((const struct layout_opts *)opts)->to == CHW;
}

static int begin(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    (void)ctx;
    (void)opts;
    (void)state;
    (void)scratch;
    (void)in;
    (void)out;
    (void)err;
    return CW_STRIP_MAKE;
}

static void make(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 const struct cw_view *in, const struct cw_strip *from, const struct cw_strip *to)
{
    (void)ctx;
    (void)opts;
    (void)state;
    (void)scratch;
    cw_planes_split_strip(in, from, to);
}

static const struct cw_op_strips strips = {.usable = to_planes, .begin = begin, .make = make};

static bool puts_channels_first(const void *opts)
{
    return ((const struct layout_opts *)opts)->to == CHW;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)opts;
    (void)in;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
}

const struct cw_op cw_op_layout = {
    .name = "layout",
    .version = 1,
    .summary = "channels first, or last",
    .doc = "Turns [height, width, channels] into [channels, height, width], which most training "
           "programs take (NCHW behind\n"
           "`batch`), or back. All numeric dtypes. Other operators on images want channels last.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct layout_opts),
    .accepts = accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = facts,
    .puts_channels_first = puts_channels_first,
    .strips = &strips,
};
