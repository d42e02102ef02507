/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `resample`: waveforms at another sample rate. */
#include "ops/element/waveform_resample.h"

#include "ops/kernels/kernel_table.h"
#include "ops/kernels/num.h"

struct resample_opts {
    char *field, *rate_field;
    int64_t from, to, lowpass_filter_width;
    double beta, rolloff;
    int window;
};

#define OFFSET(member) offsetof(struct resample_opts, member)
#define RATE_MAX 10000000
static const struct cw_opt options[] = {
    {.name = "beta",
     .help = "form of the Kaiser window",
     .type = CW_OPT_F64,
     .offset = OFFSET(beta),
     .def = "14.769656459379492",
     .min = 0,
     .max = 100},
    {.name = "field",
     .help = "the waveform",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"audio\""},
    {.name = "from",
     .help = "samples a second of the waveforms; 0: rate_field says it",
     .type = CW_OPT_I64,
     .offset = OFFSET(from),
     .def = "0",
     .min = 0,
     .max = RATE_MAX},
    {.name = "lowpass_filter_width",
     .help = "zero crossings of the filter on each side",
     .type = CW_OPT_I64,
     .offset = OFFSET(lowpass_filter_width),
     .def = "6",
     .min = 1,
     .max = 1024},
    {.name = "rate_field",
     .help = "with from 0: the integer that says how many samples a second the waveform has, and "
             "becomes `to`",
     .type = CW_OPT_STR,
     .offset = OFFSET(rate_field),
     .def = "\"sample_rate\""},
    {.name = "rolloff",
     .help = "the filter's cut-off, as a part of the lower Nyquist frequency",
     .type = CW_OPT_F64,
     .offset = OFFSET(rolloff),
     .def = "0.99",
     .min = 0.01,
     .max = 1},
    {.name = "to",
     .help = "samples a second of the results",
     .type = CW_OPT_I64,
     .offset = OFFSET(to),
     .flags = CW_OPT_REQUIRED,
     .min = 1,
     .max = RATE_MAX},
    {.name = "window",
     .help = "the filter's window",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(window),
     .def = "\"hann\"",
     .names = cw_sinc_window_names},
    {0},
};

static struct cw_sinc_design design_of(const struct resample_opts *o, int64_t from)
{
    return (struct cw_sinc_design){.from = from,
                                   .to = o->to,
                                   .width = o->lowpass_filter_width,
                                   .rolloff = o->rolloff,
                                   .window = (enum cw_sinc_window)o->window,
                                   .beta = o->beta};
}

static int check(const void *opts, struct cw_err *err)
{
    const struct resample_opts *o = opts;
    struct cw_sinc sinc;
    if (o->from == 0 || o->from == o->to)
        return 0;
    const struct cw_sinc_design design = design_of(o, o->from);
    const int rc = cw_sinc_init(&sinc, &design, err);
    if (rc == 0)
        cw_sinc_fini(&sinc);
    return rc;
}

static bool is_rate(const struct cw_field *field)
{
    return field->rank == 0 && field->dtype != CW_DTYPE_STR && field->dtype != CW_DTYPE_BOOL &&
           !cw_dtype_is_float(field->dtype);
}

/* The length of the result if it is known. */
static int64_t length_of(const struct resample_opts *o, int64_t frames)
{
    int64_t product;
    if (frames < 0 || o->from == 0 || __builtin_mul_overflow(frames, o->to, &product))
        return -1;
    return product / o->from + (product % o->from > 0);
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct resample_opts *o = opts;
    struct cw_field field;
    (void)in_n;
    const int at = cw_spec_find(in, o->field), rate = cw_spec_find(in, o->rate_field);
    if (at < 0)
        return cw_err_set(err, CW_E_INVALID, "option field: there is no field \"%s\"", o->field);
    if (o->from == 0 && (rate < 0 || !is_rate(&in->fields[rate])))
        return cw_err_set(err, CW_E_INVALID,
                          "option rate_field: there is no integer field \"%s\" (or give `from`)",
                          o->rate_field);
    const int rc = cw_waveform_infer(opts, &in->fields[at], &field, err);
    if (rc < 0)
        return rc;
    field.dims[0] = length_of(o, field.dims[0]);
    *ret_spec = cw_spec_copy(in);
    ret_spec->fields[at] = field;
    return 0;
}

static void *scratch_new(const void *opts, void *state)
{
    (void)opts;
    (void)state;
    return cw_waveform_resampler_new();
}

static void scratch_free(void *scratch)
{
    cw_waveform_resampler_free(scratch);
}

/* The rate of the element; the field that says it becomes `to`. */
static int take_rate(const struct cw_op_ctx *ctx, const struct resample_opts *o,
                     struct cw_element *element, int64_t *ret_from, struct cw_err *err)
{
    *ret_from = o->from;
    if (o->from > 0)
        return 0;
    struct cw_view *view = &element->fields[cw_spec_find(ctx->in, o->rate_field)];
    const int64_t from = cw_num_get_i64(view->dtype, view->data, 0);
    if (from < 1 || from > RATE_MAX)
        return cw_err_set(err, CW_E_INVALID, "field %s: %lld samples a second", o->rate_field,
                          (long long)from);
    view->data = cw_op_scratch(ctx, view->bytes, err);
    if (!view->data)
        return CW_E_NOMEM;
    cw_num_put_i64(view->dtype, view->data, 0, o->to);
    *ret_from = from;
    return 0;
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct resample_opts *o = opts;
    struct cw_view *view = &element->fields[cw_spec_find(ctx->in, o->field)];
    struct cw_waveform waveform;
    int64_t from = 0;
    (void)state;
    int rc = cw_waveform_get(view, &waveform, err);
    if (rc == 0)
        rc = take_rate(ctx, o, element, &from, err);
    if (rc < 0 || from == o->to)
        return rc;
    const struct cw_sinc_design design = design_of(o, from);
    rc = cw_waveform_resample(scratch, ctx, &design, &waveform, view, err);
    if (rc == 0)
        cw_kernels()->one_nan(view->data, view->bytes / sizeof(float));
    return rc;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct resample_opts *o = opts;
    (void)fields;
    (void)fields_n;
    size_t used[2] = {(size_t)cw_spec_find(in, o->field)}, n = 1;
    if (o->from == 0)
        used[n++] = (size_t)cw_spec_find(in, o->rate_field);
    cw_facts_of_fields(CW_EFFECT_OTHER, used, n, ret_facts);
    ret_facts->refuses = true;
    ret_facts->refuses_values = o->from == 0;
}

const struct cw_op cw_op_resample = {
    .name = "resample",
    .version = 1,
    .summary = "waveforms at another sample rate",
    .doc = "A waveform, f32[frames] or f32[frames, channels], gets `to` samples a second, by a "
           "windowed "
           "sinc as torchaudio.functional.resample:\n"
           "ceil(frames x to / from) of them. What it had stands in `from`, or in the field "
           "`rate_field` "
           "(`decode_audio` adds one), which\n"
           "then becomes `to`. The filters are computed in double precision, and used in single "
           "precision.",
    .kind = CW_OP_ELEMENT,
    .traits = 0,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct resample_opts),
    .check = check,
    .infer = infer,
    .scratch_new = scratch_new,
    .scratch_free = scratch_free,
    .apply = apply,
    .facts = facts,
};
