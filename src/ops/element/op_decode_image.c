/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `decode_image`: decodes the bytes of a JPEG or PNG file to samples. If a crop
 * follows, only the part that it needs is decoded. */
#include "ops/element/image_view.h"

#include <ctype.h>
#include <stdio.h>
#include "base/mem.h"
#include "ops/kernels/jpeg.h"
#include "ops/kernels/png_image.h"

struct decode_image_opts {
    int64_t channels;
};

static const struct cw_opt options[] = {
    {.name = "channels",
     .help = "3 = RGB, 1 = grey, 0 = as in the file",
     .type = CW_OPT_I64,
     .offset = offsetof(struct decode_image_opts, channels),
     .def = "3",
     .min = 0,
     .max = 3},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct decode_image_opts *o = opts;
    if (o->channels == 2)
        return cw_err_set(err, CW_E_INVALID, "option channels: 2 is not possible, only 0, 1 and 3");
    return 0;
}

static bool accepts(const struct cw_field *field)
{
    return field->dtype == CW_DTYPE_STR;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct decode_image_opts *o = opts;
    if (in->dtype != CW_DTYPE_STR)
        return cw_err_set(err, CW_E_INVALID, "field %s is %s, not the bytes (str) of an image file",
                          in->name, cw_dtype_name(in->dtype));
    *ret_field = *in;
    ret_field->dtype = CW_DTYPE_U8;
    ret_field->rank = 3;
    ret_field->dims[0] = ret_field->dims[1] = -1;
    ret_field->dims[2] = o->channels ? o->channels : -1;
    return 0;
}

static void *scratch_new(const void *opts, void *state)
{
    (void)opts;
    (void)state;
    return cw_jpeg_new();
}

static void scratch_free(void *scratch)
{
    cw_jpeg_free(scratch);
}

static int check_size(int64_t h, int64_t w, struct cw_err *err)
{
    if (h > CW_IMAGE_SIDE_MAX || w > CW_IMAGE_SIDE_MAX || h * w > CW_IMAGE_PIXELS_MAX)
        return cw_err_set(
            err, CW_E_LIMIT,
            "image of %lld x %lld pixels is too large: at most %d a side and %lld in all",
            (long long)h, (long long)w, CW_IMAGE_SIDE_MAX, (long long)CW_IMAGE_PIXELS_MAX);
    return 0;
}

/* Makes the view of a part of an image of h x w samples, with memory for it. */
static int make_view(const struct cw_op_ctx *ctx, struct cw_view *out, const struct cw_rect *part,
                     int64_t h, int64_t w, int64_t channels, struct cw_err *err)
{
    out->dtype = CW_DTYPE_U8;
    out->rank = 3;
    out->dims[2] = channels;
    const int rc = cw_image_output(ctx, out, part->h, part->w, err);
    if (rc == 0 && (part->h != h || part->w != w))
        cw_image_set_part(out, part, h, w);
    return rc;
}

/* the decoding of one JPEG file */
struct decoding {
    const struct cw_op_ctx *ctx;
    struct cw_jpeg *jpeg;
    const struct cw_view *in;
    int channels; /* the number of channels that were asked for */
    int64_t h, w; /* size of the whole image */
};

/* Decodes the part `want` of the image; NULL: all of it. */
static int decode_part(struct decoding *of, const struct cw_rect *want, struct cw_view *out,
                       struct cw_err *err)
{
    int64_t channels;
    struct cw_rect part;
    cw_jpeg_size(of->jpeg, &of->h, &of->w, &channels);
    int rc = cw_jpeg_part(of->jpeg, want, &part, err);
    if (rc == 0)
        rc = make_view(of->ctx, out, &part, of->h, of->w, channels, err);
    return rc == 0 ? cw_jpeg_finish(of->jpeg, out->data, err) : rc;
}

/* Decodes only the part that is needed, after the whole image, which was preferred, could not be
 * decoded. The result is marked as a part even if its margins make it as large as the image, since
 * what lies outside of `want` may be damaged. */
static int decode_part_instead(struct decoding *of, const struct cw_rect *want, struct cw_view *out,
                               struct cw_err *err)
{
    cw_jpeg_abort(of->jpeg);
    int rc = cw_jpeg_begin(of->jpeg, of->in->data, of->in->bytes, of->channels, err);
    if (rc == 0)
        rc = decode_part(of, want, out, err);
    out->full_h = of->h;
    out->full_w = of->w;
    return rc;
}

static int decode_jpeg(struct decoding *of, struct cw_view *out, struct cw_err *err)
{
    const struct cw_op_ctx *ctx = of->ctx;
    int64_t channels;
    struct cw_rect want;
    int rc = cw_jpeg_begin(of->jpeg, of->in->data, of->in->bytes, of->channels, err);
    if (rc < 0)
        return rc;
    cw_jpeg_size(of->jpeg, &of->h, &of->w, &channels);
    rc = check_size(of->h, of->w, err);
    if (rc == 0 && ctx->next_want)
        rc = ctx->next_want(ctx, of->h, of->w, &want, err);
    if (rc < 0)
        return rc;
    rc = decode_part(of, ctx->next_want && !ctx->prefers_whole ? &want : NULL, out, err);
    if ((rc == CW_E_CORRUPT || rc == CW_E_NOMEM) && ctx->prefers_whole)
        rc = decode_part_instead(of, &want, out, err);
    return rc;
}

static int decode_png(const struct cw_op_ctx *ctx, struct cw_png *png, struct cw_view *out,
                      struct cw_err *err)
{
    int64_t h, w, channels;
    cw_png_size(png, &h, &w, &channels);
    int rc = check_size(h, w, err);
    if (rc == 0)
        rc = make_view(ctx, out, &(struct cw_rect){.h = h, .w = w}, h, w, channels, err);
    return rc == 0 ? cw_png_read(png, out->data, err) : rc;
}

static int refuse(const struct cw_view *in, struct cw_err *err)
{
    if (in->bytes == 0)
        return cw_err_set(err, CW_E_CORRUPT, "not a JPEG or PNG image: empty");
    char text[4 * 8 + 1];
    size_t len = 0;
    const uint8_t *p = in->data;
    for (size_t i = 0; i < CW_MIN(in->bytes, (size_t)8); i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len,
                                p[i] < 0x7f && isprint(p[i]) ? "%c" : "\\x%02x", p[i]);
    return cw_err_set(err, CW_E_CORRUPT, "not a JPEG or PNG image: starts with \"%s\"", text);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct decode_image_opts *o = opts;
    (void)state;
    if (cw_png_is(in->data, in->bytes)) {
        struct cw_png *png;
        int rc = cw_png_open(in->data, in->bytes, (int)o->channels, &png, err);
        if (rc == 0) {
            rc = decode_png(ctx, png, out, err);
            cw_png_close(png);
        }
        return rc;
    }
    if (!cw_jpeg_is(in->data, in->bytes))
        return refuse(in, err);
    if (!scratch)
        return cw_err_set(err, CW_E_NOMEM, "no memory for a JPEG decoder");
    struct decoding of = {.ctx = ctx, .jpeg = scratch, .in = in, .channels = (int)o->channels};
    int rc = decode_jpeg(&of, out, err);
    cw_jpeg_abort(scratch);
    return rc;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)opts;
    (void)in;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
    ret_facts->refuses = true;
    ret_facts->names_field = fields_n == 1; /* out_name */
}

const struct cw_op cw_op_decode_image = {
    .name = "decode_image",
    .version = 1,
    .summary = "JPEG or PNG files to samples",
    .doc = "Turns the bytes of a JPEG or PNG file into u8[height, width, channels]. JPEG samples "
           "are those of libjpeg-turbo's\n"
           "default decoding. In PNG files palettes are expanded, 16-bit samples keep their high "
           "byte, and transparency is\n"
           "dropped. CMYK JPEGs become RGB.\n"
           "\n"
           "Where a crop follows, only the part that it needs is decoded; the result is the same. "
           "Between the two there may be\n"
           "casts, normalize, eval that computes each value of the image by itself and refuses "
           "none, random_flip, resize, and what\n"
           "works on other fields. Damage in a file is an error, unless it lies behind the part "
           "that is needed; a file that was cut\n"
           "off always is. A cache between the two does not change which images are bad: it keeps "
           "images that are sound as a\n"
           "whole, and of one that is damaged behind the part the part is decoded each time.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_GROW | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct decode_image_opts),
    .check = check,
    .accepts = accepts,
    .infer_field = infer_field,
    .out_name = "image",
    .scratch_new = scratch_new,
    .scratch_free = scratch_free,
    .apply_field = apply_field,
    .facts = facts,
    .makes_parts = true,
};
