/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `normalize`: converts samples to floats of mean 0 and standard deviation 1. */
#include "ops/element/image_view.h"
#include "ops/element/planes.h"

#include "base/mem.h"
#include "ops/kernels/normalize.h"
#include "ops/kernels/pixels.h"

#define CHANNELS_MAX 128

struct normalize_opts {
    struct cw_f64_list mean, std;
    double scale;
};
struct normalize_state {
    size_t channels; /* the number of means or deviations that were given */
    double mean[CHANNELS_MAX], std[CHANNELS_MAX];
    struct cw_normalize u8;
    struct cw_normalize cast;   /* of u8 instead of the f32 that a cast would make of it */
    struct cw_normalize *plane; /* of u8, each channel by itself */
};

static const struct cw_opt options[] = {
    {.name = "mean",
     .help = "of each channel, or one for all",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct normalize_opts, mean),
     .def = "[0.0]",
     .len_min = 1,
     .len_max = CHANNELS_MAX},
    {.name = "scale",
     .help = "values are divided by it first; 0 = 255 for integers, 1 for floats",
     .type = CW_OPT_F64,
     .offset = offsetof(struct normalize_opts, scale),
     .def = "0.0",
     .min = 0,
     .max = 1e30},
    {.name = "std",
     .help = "of each channel, or one for all",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct normalize_opts, std),
     .def = "[1.0]",
     .len_min = 1,
     .len_max = CHANNELS_MAX},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct normalize_opts *o = opts;
    if (o->mean.n > 1 && o->std.n > 1 && o->mean.n != o->std.n)
        return cw_err_set(err, CW_E_INVALID, "option std: %zu values, but option mean has %zu",
                          o->std.n, o->mean.n);
    for (size_t i = 0; i < o->std.n; i++)
        if (!(o->std.v[i] > 0))
            return cw_err_set(err, CW_E_INVALID, "option std: %g is not greater than 0",
                              o->std.v[i]);
    return 0;
}

static size_t channels_of(const struct normalize_opts *o)
{
    return CW_MAX(o->mean.n, o->std.n);
}

static bool accepts(const struct cw_field *field)
{
    const bool dtype =
        field->dtype == CW_DTYPE_U8 || field->dtype == CW_DTYPE_F32 || field->dtype == CW_DTYPE_F64;
    return dtype && field->rank >= 1;
}

static int check_channels(const struct normalize_opts *o, int64_t last_dim, struct cw_err *err)
{
    const size_t channels = channels_of(o);
    if (channels > 1 && last_dim >= 0 && last_dim != (int64_t)channels)
        return cw_err_set(err, CW_E_INVALID,
                          "%zu values of mean or std, but the last dimension is %lld", channels,
                          (long long)last_dim);
    return 0;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct normalize_opts *o = opts;
    if (in->dtype != CW_DTYPE_U8 && in->dtype != CW_DTYPE_F32 && in->dtype != CW_DTYPE_F64)
        return cw_err_set(err, CW_E_INVALID,
                          "field %s is %s: only u8, f32 and f64 can be normalized (cast it first)",
                          in->name, cw_dtype_name(in->dtype));
    const int rc =
        in->rank > 0 ? check_channels(o, in->dims[in->rank - 1], err) : check_channels(o, 1, err);
    if (rc < 0)
        return cw_err_wrap(err, "field %s", in->name);
    *ret_field = *in;
    ret_field->dtype = CW_DTYPE_F32;
    return 0;
}

static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct normalize_opts *o = opts;
    (void)how;
    (void)err;
    struct normalize_state *state = CW_NEW(struct normalize_state);
    float mean[CHANNELS_MAX], std[CHANNELS_MAX];
    state->channels = channels_of(o);
    for (size_t c = 0; c < state->channels; c++) {
        state->mean[c] = o->mean.v[o->mean.n > 1 ? c : 0];
        state->std[c] = o->std.v[o->std.n > 1 ? c : 0];
        mean[c] = (float)state->mean[c];
        std[c] = (float)state->std[c];
    }
    const float scale = (float)(o->scale > 0 ? o->scale : 255.0);
    cw_normalize_init(&state->u8, scale, mean, std, state->channels);
    cw_normalize_init(&state->cast, (float)(o->scale > 0 ? o->scale : 1.0), mean, std,
                      state->channels);
    state->plane = CW_NEW_ARRAY(struct cw_normalize, state->channels);
    for (size_t c = 0; c < state->channels; c++)
        cw_normalize_init(&state->plane[c], scale, &mean[c], &std[c], 1);
    *ret_state = state;
    return 0;
}

static void close_state(void *state_arg)
{
    struct normalize_state *state = state_arg;
    if (!state)
        return;
    cw_normalize_fini(&state->u8);
    cw_normalize_fini(&state->cast);
    for (size_t c = 0; c < state->channels; c++)
        cw_normalize_fini(&state->plane[c]);
    cw_mem_free(state->plane);
    cw_mem_free(state);
}

static void from_f32(float *dst, const float *src, size_t n, double scale_arg,
                     const struct normalize_state *state)
{
    const float scale = (float)scale_arg;
    size_t c = 0;
    for (size_t i = 0; i < n; i++) {
        dst[i] = (src[i] / scale - (float)state->mean[c]) / (float)state->std[c];
        c = c + 1 == state->channels ? 0 : c + 1;
    }
}

static void from_f64(float *dst, const double *src, size_t n, double scale,
                     const struct normalize_state *state)
{
    size_t c = 0;
    for (size_t i = 0; i < n; i++) {
        dst[i] = (float)((src[i] / scale - state->mean[c]) / state->std[c]);
        c = c + 1 == state->channels ? 0 : c + 1;
    }
}

/* The size of the result, of which it depends whether it is written past the caches; 0 if another operator is
 * going to read it. */
static size_t delivered(const struct cw_op_ctx *ctx, const void *dst, size_t whole)
{
    return cw_op_is_delivered(ctx, dst) ? whole : 0;
}

static bool makes_planes(const void *opts, const struct cw_field *in)
{
    (void)opts;
    return in->rank == 3 && in->dtype == CW_DTYPE_U8;
}

/* Writes u8 pixels with channels first. */
static void make_planes(const struct normalize_state *state, const uint8_t *src, size_t pixels,
                        size_t channels, const struct cw_strip *to, size_t whole)
{
    uint8_t *planes = to->spare;
    cw_pixels_split(planes, src, pixels, channels, 1, pixels);
    for (size_t c = 0; c < channels; c++)
        cw_normalize_u8(&state->plane[state->channels > 1 ? c : 0],
                        (float *)(void *)(to->data + c * to->plane), planes + c * pixels, pixels,
                        whole);
}

/* The constants for u8, which may stand for what a cast would make of it. */
static const struct cw_normalize *of_u8(const struct cw_op_ctx *ctx,
                                        const struct normalize_state *state)
{
    return ctx->in->fields[ctx->field].dtype == CW_DTYPE_U8 ? &state->u8 : &state->cast;
}

/* Converts n values, of which the first belongs to channel 0, and which are some of a `whole`. */
static void convert(const struct cw_op_ctx *ctx, const struct normalize_opts *o,
                    const struct normalize_state *state, enum cw_dtype dtype, void *dst,
                    const void *src, size_t n, size_t whole)
{
    const double scale = o->scale > 0 ? o->scale : 1.0;
    if (dtype == CW_DTYPE_U8)
        cw_normalize_u8(of_u8(ctx, state), dst, src, n, whole);
    else if (dtype == CW_DTYPE_F32)
        from_f32(dst, src, n, scale, state);
    else
        from_f64(dst, src, n, scale, state);
}

static int begin(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    (void)ctx;
    (void)state;
    (void)scratch;
    out->dtype = CW_DTYPE_F32;
    return check_channels(opts, in->rank > 0 ? in->dims[in->rank - 1] : 1, err);
}

static void make(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 const struct cw_view *in, const struct cw_strip *from, const struct cw_strip *to)
{
    const size_t n = from->stride / cw_dtype_bytes(in->dtype) * (size_t)to->n;
    const size_t whole = delivered(ctx, to->data, n / (size_t)to->n * (size_t)in->dims[0]);
    (void)scratch;
    if (to->plane)
        make_planes(state, from->data, n / (size_t)in->dims[2], (size_t)in->dims[2], to, whole);
    else
        convert(ctx, opts, state, in->dtype, to->data, from->data, n, whole);
}

static const struct cw_op_strips strips = {.begin = begin, .make = make};

static int apply_planes(const struct cw_op_ctx *ctx, const struct normalize_state *state,
                        const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const uint8_t *planes;
    size_t pixels;
    int rc = cw_planes_split(ctx, in, out, &planes, &pixels, err);
    if (rc < 0)
        return rc;
    rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    float *to = out->data;
    for (size_t c = 0; c < (size_t)in->dims[2]; c++)
        cw_normalize_u8(&state->plane[state->channels > 1 ? c : 0], to + c * pixels,
                        planes + c * pixels, pixels, delivered(ctx, to, pixels));
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    int rc = begin(ctx, opts, state, scratch, in, out, err);
    if (rc < 0)
        return rc;
    if (ctx->planes)
        return apply_planes(ctx, state, in, out, err);
    rc = cw_op_output(ctx, out, err);
    const size_t n = out->bytes / sizeof(float);
    if (rc == 0)
        convert(ctx, opts, state, in->dtype, out->data, in->data, n, delivered(ctx, out->data, n));
    return rc;
}

/* Each u8 is an f32, of which the same is computed. */
static bool takes_over(const void *opts, const struct cw_field *in, const struct cw_op *before,
                       const void *before_opts, const struct cw_field *from)
{
    (void)opts;
    (void)before_opts;
    return cw_str_eq(before->name, "cast") && from->dtype == CW_DTYPE_U8 &&
           in->dtype == CW_DTYPE_F32;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct normalize_opts *o = opts;
    cw_facts_of_fields(CW_EFFECT_EACH, fields, fields_n, ret_facts);
    ret_facts->by_last_dim = channels_of(o) > 1;
    ret_facts->keeps_zero = true;
    for (size_t i = 0; i < o->mean.n; i++)
        if (o->mean.v[i] < 0 || o->mean.v[i] > 0)
            ret_facts->keeps_zero = false;
    for (size_t i = 0; i < o->std.n; i++)
        if (!((float)o->std.v[i] > 0)) /* too small for f32: 0 / 0 */
            ret_facts->keeps_zero = false;
    for (size_t i = 0; ret_facts->by_last_dim && i < fields_n; i++) {
        const struct cw_field *field = &in->fields[fields[i]];
        if (field->rank == 0 || field->dims[field->rank - 1] < 0)
            ret_facts->refuses = true;
    }
    ret_facts->by_batch = !ret_facts->refuses;
}

/* The number that values of this dtype are divided by. */
static double scale_of(const struct normalize_opts *o, enum cw_dtype dtype)
{
    if (o->scale > 0)
        return o->scale;
    return dtype == CW_DTYPE_U8 ? 255 : 1;
}

static bool pin(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                struct cw_value *pinned)
{
    const double scale = scale_of(opts, in->fields[fields[0]].dtype);
    for (size_t i = 1; i < fields_n; i++) {
        const double other = scale_of(opts, in->fields[fields[i]].dtype);
        if (other < scale || other > scale)
            return false;
    }
    cw_value_set_f64(cw_value_member(pinned, "scale"), scale);
    return true;
}

const struct cw_op cw_op_normalize = {
    .name = "normalize",
    .version = 1,
    .summary = "scales values to a mean and a deviation",
    .doc = "(x / scale - mean) / std for every value, as f32. The last dimension is that of the "
           "channels: `mean` and `std` have\n"
           "one number for each, or one for all. `scale` is 255 for u8 and 1 for floats unless "
           "given. Computed in single\n"
           "precision for u8 and f32, in double precision for f64.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_POINTWISE | CW_OP_CAST | CW_OP_GROW | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct normalize_opts),
    .check = check,
    .accepts = accepts,
    .infer_field = infer_field,
    .open = open_state,
    .close = close_state,
    .apply_field = apply_field,
    .facts = facts,
    .makes_planes = makes_planes,
    .pin = pin,
    .takes_over = takes_over,
    .strips = &strips,
};
