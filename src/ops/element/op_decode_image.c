/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `decode_image`: decodes the bytes of an image file to samples. If a crop follows, only
 * the part of a JPEG file that it needs is decoded. */
#include "ops/element/image_view.h"

#include <ctype.h>
#include <stdio.h>
#include "base/mem.h"
#include "ops/kernels/exif.h"
#include "ops/kernels/jpeg.h"
#include "ops/kernels/still.h"

#define FORMATS "JPEG, PNG, WebP, GIF, BMP or TIFF"

enum orientation { IGNORE, APPLY };
static const char *const orientation_names[] = {"ignore", "apply", NULL};
enum palette { COLOUR, INDEX };
static const char *const palette_names[] = {"colour", "index", NULL};

struct decode_image_opts {
    int64_t channels, depth, max_bytes, max_pixels, least;
    int orientation, palette;
    bool approximate;
};

static const struct cw_opt options[] = {
    {.name = "approximate",
     .help = "JPEG images are decoded smaller where `least` allows it",
     .type = CW_OPT_BOOL,
     .offset = offsetof(struct decode_image_opts, approximate),
     .def = "false",
     .flags = CW_OPT_NEWER},
    {.name = "channels",
     .help = "3 = RGB, 1 = grey, 0 = as in the file",
     .type = CW_OPT_I64,
     .offset = offsetof(struct decode_image_opts, channels),
     .def = "3",
     .min = 0,
     .max = 3},
    {.name = "depth",
     .help = "bits of a sample: 8, or 16 (PNG and TIFF)",
     .type = CW_OPT_I64,
     .offset = offsetof(struct decode_image_opts, depth),
     .def = "8",
     .min = 8,
     .max = 16,
     .flags = CW_OPT_NEWER},
    {.name = "least",
     .help = "with approximate: the pixels that the shorter side keeps at least",
     .type = CW_OPT_I64,
     .offset = offsetof(struct decode_image_opts, least),
     .def = "0",
     .min = 0,
     .max = CW_IMAGE_SIDE_MAX,
     .flags = CW_OPT_NEWER},
    {.name = "max_bytes",
     .help = "the largest file",
     .type = CW_OPT_BYTES,
     .offset = offsetof(struct decode_image_opts, max_bytes),
     .def = "1073741824",
     .min = 1,
     .max = 1073741824,
     .flags = CW_OPT_NEWER},
    {.name = "max_pixels",
     .help = "the largest image",
     .type = CW_OPT_I64,
     .offset = offsetof(struct decode_image_opts, max_pixels),
     .def = "268435456",
     .min = 1,
     .max = (double)CW_IMAGE_PIXELS_MAX,
     .flags = CW_OPT_NEWER},
    {.name = "orientation",
     .help = "whether images are turned as their EXIF data say",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct decode_image_opts, orientation),
     .def = "\"ignore\"",
     .flags = CW_OPT_NEWER,
     .names = orientation_names},
    {.name = "palette",
     .help = "what pixels of a palette become: colours, or the numbers that the file has of them "
             "(masks of classes)",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct decode_image_opts, palette),
     .def = "\"colour\"",
     .flags = CW_OPT_NEWER,
     .names = palette_names},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct decode_image_opts *o = opts;
    if (o->channels == 2)
        return cw_err_set(err, CW_E_INVALID, "option channels: 2 is not possible, only 0, 1 and 3");
    if (o->depth != 8 && o->depth != 16)
        return cw_err_set(err, CW_E_INVALID, "option depth: %lld is not possible, only 8 and 16",
                          (long long)o->depth);
    if (o->depth == 16 && o->palette == INDEX)
        return cw_err_set(err, CW_E_INVALID, "option depth: the numbers of a palette have 8 bits");
    if (o->approximate && o->least == 0)
        return cw_err_set(err, CW_E_INVALID,
                          "option least: with approximate it must say how many pixels the shorter "
                          "side keeps at least");
    if (!o->approximate && o->least > 0)
        return cw_err_set(err, CW_E_INVALID, "option least: is only for approximate");
    return 0;
}

static enum cw_dtype dtype_of(const struct decode_image_opts *o)
{
    return o->depth == 16 ? CW_DTYPE_U16 : CW_DTYPE_U8;
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
    ret_field->dtype = dtype_of(o);
    ret_field->rank = 3;
    ret_field->dims[0] = ret_field->dims[1] = -1;
    ret_field->dims[2] = o->palette == INDEX ? 1 : o->channels ? o->channels : -1;
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

static int check_size(const struct decode_image_opts *o, int64_t h, int64_t w, struct cw_err *err)
{
    if (h > CW_IMAGE_SIDE_MAX || w > CW_IMAGE_SIDE_MAX || h * w > o->max_pixels)
        return cw_err_set(
            err, CW_E_LIMIT,
            "image of %lld x %lld pixels is too large: at most %d a side and %lld in all",
            (long long)h, (long long)w, CW_IMAGE_SIDE_MAX, (long long)o->max_pixels);
    return 0;
}

/* the decoding of one file */
struct decoding {
    const struct cw_op_ctx *ctx;
    const struct decode_image_opts *opts;
    struct cw_jpeg *jpeg;
    const struct cw_view *in;
    int orientation;
    int64_t h, w; /* size of the whole image in the file */
};

/* Memory for a part of the image in the file: the result's, unless the part must still be turned. */
static int begin_part(const struct decoding *of, struct cw_view *out, const struct cw_rect *part,
                      int64_t channels, uint8_t **ret_samples, struct cw_err *err)
{
    const struct cw_exif_rect upright = cw_exif_from_file(
        of->orientation,
        (struct cw_exif_rect){.y = part->y, .x = part->x, .h = part->h, .w = part->w}, of->h,
        of->w);
    const struct cw_rect result = {upright.y, upright.x, upright.h, upright.w};
    const bool swaps = cw_exif_swaps(of->orientation);
    out->dtype = dtype_of(of->opts);
    out->rank = 3;
    out->dims[2] = channels;
    const int rc = cw_image_output(of->ctx, out, result.h, result.w, err);
    if (rc < 0)
        return rc;
    if (part->h != of->h || part->w != of->w)
        cw_image_set_part(out, &result, swaps ? of->w : of->h, swaps ? of->h : of->w);
    *ret_samples = of->orientation == 1 ? out->data : cw_op_scratch(of->ctx, out->bytes, err);
    return *ret_samples ? 0 : CW_E_NOMEM;
}

static void end_part(const struct decoding *of, const struct cw_view *out,
                     const struct cw_rect *part, const uint8_t *samples)
{
    if (of->orientation != 1)
        cw_exif_turn(of->orientation, samples, part->h, part->w,
                     (size_t)out->dims[2] * cw_dtype_bytes(out->dtype), out->data);
}

/* Decodes the part `want` of the image; NULL: all of it. */
static int decode_part(struct decoding *of, const struct cw_rect *want, struct cw_view *out,
                       struct cw_err *err)
{
    int64_t channels;
    struct cw_rect part;
    uint8_t *samples;
    cw_jpeg_size(of->jpeg, &of->h, &of->w, &channels);
    int rc = cw_jpeg_part(of->jpeg, want, &part, err);
    if (rc == 0)
        rc = begin_part(of, out, &part, channels, &samples, err);
    if (rc == 0)
        rc = cw_jpeg_finish(of->jpeg, samples, err);
    if (rc == 0)
        end_part(of, out, &part, samples);
    return rc;
}

/* Decodes only the part that is needed, after the whole image, which was preferred, could not be
 * decoded. The result is marked as a part even if its margins make it as large as the image, since
 * what lies outside of `want` may be damaged. */
static int decode_part_instead(struct decoding *of, const struct cw_rect *want, struct cw_view *out,
                               struct cw_err *err)
{
    const bool swaps = cw_exif_swaps(of->orientation);
    cw_jpeg_abort(of->jpeg);
    int rc = cw_jpeg_begin(of->jpeg, of->in->data, of->in->bytes, (int)of->opts->channels, err);
    if (rc == 0)
        rc = decode_part(of, want, out, err);
    out->full_h = swaps ? of->w : of->h;
    out->full_w = swaps ? of->h : of->w;
    return rc;
}

/* Asks for the part of the upright image that is needed, and says where it lies in the file's. */
static int ask_want(const struct decoding *of, struct cw_rect *ret_want, struct cw_err *err)
{
    const bool swaps = cw_exif_swaps(of->orientation);
    struct cw_rect w;
    const int rc =
        of->ctx->next_want(of->ctx, swaps ? of->w : of->h, swaps ? of->h : of->w, &w, err);
    if (rc < 0)
        return rc;
    const struct cw_exif_rect in_file = cw_exif_to_file(
        of->orientation, (struct cw_exif_rect){.y = w.y, .x = w.x, .h = w.h, .w = w.w}, of->h,
        of->w);
    *ret_want = (struct cw_rect){in_file.y, in_file.x, in_file.h, in_file.w};
    return 0;
}

static int decode_jpeg(struct decoding *of, struct cw_view *out, struct cw_err *err)
{
    const struct cw_op_ctx *ctx = of->ctx;
    int64_t channels;
    struct cw_rect want;
    bool is_whole = !ctx->next_want; /* no part of the image is decoded */
    int rc = cw_jpeg_begin(of->jpeg, of->in->data, of->in->bytes, (int)of->opts->channels, err);
    if (rc < 0)
        return rc;
    cw_jpeg_size(of->jpeg, &of->h, &of->w, &channels);
    rc = check_size(of->opts, of->h, of->w, err);
    if (rc == 0 && of->opts->approximate && cw_jpeg_shrink(of->jpeg, of->opts->least))
        is_whole = true;
    if (rc == 0 && !is_whole)
        rc = ask_want(of, &want, err);
    if (rc < 0)
        return rc;
    rc = decode_part(of, is_whole || ctx->prefers_whole ? NULL : &want, out, err);
    if ((rc == CW_E_CORRUPT || rc == CW_E_NOMEM) && !is_whole && ctx->prefers_whole)
        rc = decode_part_instead(of, &want, out, err);
    return rc;
}

static int decode_still(struct decoding *of, struct cw_still *still, struct cw_view *out,
                        struct cw_err *err)
{
    const struct cw_rect all = {.h = still->h, .w = still->w};
    uint8_t *samples;
    of->h = still->h;
    of->w = still->w;
    int rc = check_size(of->opts, still->h, still->w, err);
    if (rc == 0)
        rc = begin_part(of, out, &all, still->channels, &samples, err);
    if (rc == 0)
        rc = still->format->read(still, samples, err);
    if (rc == 0)
        end_part(of, out, &all, samples);
    return rc;
}

static int refuse(const struct cw_view *in, struct cw_err *err)
{
    if (in->bytes == 0)
        return cw_err_set(err, CW_E_CORRUPT, "not a " FORMATS " image: empty");
    char text[4 * 8 + 1];
    size_t len = 0;
    const uint8_t *p = in->data;
    for (size_t i = 0; i < CW_MIN(in->bytes, (size_t)8); i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len,
                                p[i] < 0x7f && isprint(p[i]) ? "%c" : "\\x%02x", p[i]);
    return cw_err_set(err, CW_E_CORRUPT, "not a " FORMATS " image: starts with \"%s\"", text);
}

static int check_jpeg(const struct decode_image_opts *o, const void *scratch, struct cw_err *err)
{
    if (o->palette == INDEX)
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "a JPEG image has no palette whose numbers could be taken");
    if (o->depth == 16)
        return cw_err_set(err, CW_E_UNSUPPORTED, "a JPEG image has no samples of 16 bits");
    return scratch ? 0 : cw_err_set(err, CW_E_NOMEM, "no memory for a JPEG decoder");
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct decode_image_opts *o = opts;
    struct decoding of = {.ctx = ctx, .opts = o, .jpeg = scratch, .in = in, .orientation = 1};
    struct cw_still still = {.bytes = in->data,
                             .n = in->bytes,
                             .is_index = o->palette == INDEX,
                             .is_deep = o->depth == 16,
                             .asked = (int)o->channels};
    (void)state;
    if (in->bytes > (size_t)o->max_bytes)
        return cw_err_set(err, CW_E_LIMIT, "an image file of %zu bytes: at most %lld", in->bytes,
                          (long long)o->max_bytes);
    if (o->orientation == APPLY)
        of.orientation = cw_exif_orientation(in->data, in->bytes);
    const bool is_jpeg = cw_jpeg_is(in->data, in->bytes);
    int rc = is_jpeg ? check_jpeg(o, scratch, err) : cw_still_open(&still, err);
    if (rc == 1)
        return refuse(in, err);
    if (rc == 0)
        rc = is_jpeg ? decode_jpeg(&of, out, err) : decode_still(&of, &still, out, err);
    if (is_jpeg && scratch)
        cw_jpeg_abort(scratch);
    cw_still_close(&still);
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
    .summary = "image files to samples",
    .doc =
        "Turns the bytes of a JPEG, PNG, WebP, GIF, BMP or TIFF file into u8[height, width, "
        "channels]. "
        "JPEG samples are those of\n"
        "libjpeg-turbo's default decoding. Palettes are expanded, 16-bit samples keep "
        "their high byte, and transparency is\n"
        "dropped. CMYK JPEGs become RGB. Of a GIF the first frame is taken. WebP files with "
        "several "
        "frames and compressed BMP\n"
        "files are refused. Of a TIFF file the first image is read: greys, palettes and RGB of up "
        "to 16 bits, in strips or tiles,\n"
        "plain or packed by PackBits, LZW or Deflate; others are refused.\n"
        "\n"
        "`depth: 16` gives u16 of PNG and TIFF files (depth maps, scans): samples of 16 bits as "
        "they are, "
        "others over the whole range, so 255\n"
        "becomes 65,535. Files of other formats are refused, and so is grey of a file in colour.\n"
        "\n"
        "`palette: index` gives one channel with the numbers in the file, of a palette or of greys "
        "without scaling: masks of classes.\n"
        "`orientation: apply` turns images upright, as the tag in their EXIF data says; damaged "
        "EXIF data count as none.\n"
        "\n"
        "`approximate` decodes a JPEG file by a half, a quarter or an eighth of its size where the "
        "shorter side keeps `least` pixels,\n"
        "as Pillow's Image.draft: the DCT's high frequencies are left out, in place of a part of "
        "the filter of a resize behind it. What\n"
        "follows sees the smaller image: boxes and points in pixels are still those of the whole "
        "one, relative ones are right. Damage\n"
        "anywhere in such a file is an error. How far results are from exact ones: "
        "docs/performance.md.\n"
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
