/* SPDX-License-Identifier: Apache-2.0 */
/* Fields, the share, and labels of batches whose rows are mixed. */
#include "ops/element/mix_op.h"

#include <math.h>
#include <string.h>
#include "base/mem.h"
#include "ops/element/draw_gamma.h"
#include "ops/kernels/exact_math.h"
#include "ops/kernels/kernel_table.h"
#include "ops/kernels/num.h"
#include "ops/op_util.h"

static int find(const char *option, const char *name, const struct cw_spec *in, size_t *ret_i,
                struct cw_err *err)
{
    const int i = cw_spec_find(in, name);
    if (i < 0)
        return cw_err_set(err, CW_E_INVALID, "option %s: there is no field \"%s\"", option, name);
    *ret_i = (size_t)i;
    return 0;
}

static bool is_class(const struct cw_field *field)
{
    return field->dtype != CW_DTYPE_STR && field->dtype != CW_DTYPE_BOOL &&
           !cw_dtype_is_float(field->dtype) && field->rank == 1;
}

static bool is_shares(const struct cw_field *field, int64_t classes)
{
    return field->dtype == CW_DTYPE_F32 && field->rank == 2 &&
           (field->dims[1] == classes || field->dims[1] == -1);
}

static int refuse(const char *option, const struct cw_field *field, const char *what,
                  struct cw_err *err)
{
    CW_STR_AUTO text = {0};
    cw_field_print(field, &text);
    return cw_err_set(err, CW_E_INVALID, "option %s: %s is not %s", option, cw_str_text(&text),
                      what);
}

int cw_mix_op_infer(const struct cw_mix_op_opts *o, const struct cw_spec *in,
                    bool (*accepts)(const struct cw_field *image), const char *what,
                    struct cw_spec *ret_spec, struct cw_err *err)
{
    size_t image = 0, label = 0;
    int rc = find("image", o->image, in, &image, err);
    if (rc == 0)
        rc = find("label", o->label, in, &label, err);
    if (rc < 0)
        return rc;
    const struct cw_field *pixels = &in->fields[image], *classes = &in->fields[label];
    if (cw_field_is_ragged(pixels) || !accepts(pixels))
        return refuse("image", pixels, what, err);
    if (cw_field_is_ragged(classes) || (!is_class(classes) && !is_shares(classes, o->classes)))
        return refuse("label", classes,
                      "a batch of classes (integers) or of shares (f32[?,classes])", err);
    *ret_spec = cw_spec_copy(in);
    struct cw_field *field = &ret_spec->fields[label];
    field->dtype = CW_DTYPE_F32;
    field->rank = 2;
    field->dims[1] = o->classes;
    return 0;
}

void cw_mix_op_facts(const struct cw_mix_op_opts *o, const struct cw_spec *in,
                     struct cw_op_facts *ret_facts)
{
    const int image = cw_spec_find(in, o->image), label = cw_spec_find(in, o->label);
    *ret_facts = (struct cw_op_facts){.refuses = true, .refuses_values = true};
    if (image < 0 || label < 0)
        return;
    ret_facts->known = true;
    cw_field_set_add(&ret_facts->reads, (size_t)image);
    cw_field_set_add(&ret_facts->reads, (size_t)label);
    ret_facts->writes = ret_facts->reads;
}

/* ---- the share ---- */

/* A number of the distribution Beta(alpha, alpha), as the share of one of two gamma numbers. */
static double draw_beta(const struct cw_op_ctx *ctx, double alpha)
{
    const double less = cw_draw_log_gamma(ctx, alpha, 201) - cw_draw_log_gamma(ctx, alpha, 1);
    if (less > 700 || less < -700)
        return less > 0 ? 0 : 1;
    return 1 / (1 + cw_exact_exp(less));
}

int cw_mix_op_begin(const struct cw_op_ctx *ctx, const struct cw_mix_op_opts *o,
                    const struct cw_element *element, struct cw_mix_op *ret_mix, struct cw_err *err)
{
    int rc = find("image", o->image, ctx->in, &ret_mix->image, err);
    if (rc == 0)
        rc = find("label", o->label, ctx->in, &ret_mix->label, err);
    if (rc < 0)
        return rc;
    const struct cw_view *image = &element->fields[ret_mix->image],
                         *label = &element->fields[ret_mix->label];
    ret_mix->rows = image->dims[0];
    if (label->dims[0] != image->dims[0])
        return cw_err_set(err, CW_E_INVALID, "%lld rows of \"%s\", and %lld of \"%s\"",
                          (long long)image->dims[0], o->image, (long long)label->dims[0], o->label);
    if (label->rank == 2 && label->dims[1] != o->classes)
        return cw_err_set(err, CW_E_INVALID, "\"%s\" has shares of %lld classes, not of %lld",
                          o->label, (long long)label->dims[1], (long long)o->classes);
    ret_mix->row_bytes = image->dims[0] > 0 ? image->bytes / (size_t)image->dims[0] : 0;
    ret_mix->share = cw_rng_unit(&ctx->rng, 0) < o->p ? draw_beta(ctx, o->alpha) : 1;
    return 0;
}

/* ---- labels ---- */

/* Adds a row of the label, in a share, to a row of shares. */
static int add_label(const struct cw_view *label, int64_t classes, int64_t i, float share,
                     float *to, struct cw_err *err)
{
    const float *shares = label->data;
    if (label->rank == 2) {
        for (int64_t c = 0; c < classes; c++)
            to[c] += shares[i * classes + c] * share;
        cw_kernels()->one_nan(to, (size_t)classes);
        return 0;
    }
    const int64_t class = cw_num_get_i64(label->dtype, label->data, (size_t)i);
    if (class < 0 || class >= classes)
        return cw_err_set(err, CW_E_INVALID, "row %lld is of class %lld: there are %lld",
                          (long long)i, (long long)class, (long long)classes);
    to[class] += share;
    return 0;
}

int cw_mix_op_labels(const struct cw_op_ctx *ctx, const struct cw_mix_op_opts *o,
                     const struct cw_mix_op *mix, struct cw_element *element, struct cw_err *err)
{
    struct cw_view *view = &element->fields[mix->label];
    const struct cw_view label = *view;
    *view = (struct cw_view){.dtype = CW_DTYPE_F32, .rank = 2, .dims = {mix->rows, o->classes}};
    int rc = cw_op_output(ctx, view, err);
    if (rc < 0)
        return rc;
    memset(view->data, 0, view->bytes);
    for (int64_t i = 0; i < mix->rows && rc == 0; i++) {
        float *to = (float *)view->data + i * o->classes;
        if (mix->share < 1)
            rc = add_label(&label, o->classes, cw_mix_op_other(mix, i), (float)(1 - mix->share), to,
                           err);
        if (rc == 0)
            rc = add_label(&label, o->classes, i, (float)mix->share, to, err);
    }
    return rc;
}
