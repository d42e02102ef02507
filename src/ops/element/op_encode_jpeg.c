/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `encode_jpeg`: makes JPEG files of images. */
#include "ops/element/u8_op.h"

#include <string.h>
#include "ops/kernels/jpeg_write.h"

static const char *const sampling_names[] = {"444", "422", "420", NULL};

struct encode_jpeg_opts {
    int64_t quality;
    int sampling;
    bool optimize, progressive;
};

static const struct cw_opt options[] = {
    {.name = "optimize",
     .help = "smaller files, whose codes are made for the image",
     .type = CW_OPT_BOOL,
     .offset = offsetof(struct encode_jpeg_opts, optimize),
     .def = "false"},
    {.name = "progressive",
     .help = "files that show a coarse image first",
     .type = CW_OPT_BOOL,
     .offset = offsetof(struct encode_jpeg_opts, progressive),
     .def = "false"},
    {.name = "quality",
     .help = "100 is the best",
     .type = CW_OPT_I64,
     .offset = offsetof(struct encode_jpeg_opts, quality),
     .def = "75",
     .min = 1,
     .max = 100},
    {.name = "sampling",
     .help = "of colours: 444 a sample for each pixel, 422 for two side by side, 420 for four",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct encode_jpeg_opts, sampling),
     .def = "\"420\"",
     .names = sampling_names},
    {0},
};

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const int rc = cw_u8_op_infer_colours(opts, in, ret_field, err);
    ret_field->dtype = CW_DTYPE_STR;
    ret_field->rank = 0;
    memset(ret_field->dims, 0, sizeof(ret_field->dims));
    return rc;
}

static void *scratch_new(const void *opts, void *state)
{
    (void)opts;
    (void)state;
    return cw_jpeg_writer_new();
}

static void scratch_free(void *scratch)
{
    cw_jpeg_writer_free(scratch);
}

static int check_image(const struct cw_image *image, struct cw_err *err)
{
    if (image->channels != 1 && image->channels != 3)
        return cw_err_set(err, CW_E_INVALID,
                          "an image of %lld channels: only 1 (grey) and 3 (RGB) are possible",
                          (long long)image->channels);
    if (image->h > CW_IMAGE_SIDE_MAX || image->w > CW_IMAGE_SIDE_MAX)
        return cw_err_set(err, CW_E_LIMIT, "an image of %lld x %lld: at most %d a side",
                          (long long)image->h, (long long)image->w, CW_IMAGE_SIDE_MAX);
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct encode_jpeg_opts *o = opts;
    struct cw_image image;
    const uint8_t *bytes;
    size_t n;
    (void)state;
    if (!scratch)
        return cw_err_set(err, CW_E_NOMEM, "no memory for a JPEG encoder");
    int rc = cw_image_get(in, &image, err);
    if (rc == 0)
        rc = check_image(&image, err);
    if (rc < 0)
        return rc;
    const struct cw_jpeg_image what = {.samples = image.data,
                                       .h = image.h,
                                       .w = image.w,
                                       .channels = (int)image.channels,
                                       .quality = (int)o->quality,
                                       .sampling = (enum cw_jpeg_sampling)o->sampling,
                                       .optimize = o->optimize,
                                       .progressive = o->progressive};
    rc = cw_jpeg_write(scratch, &what, &bytes, &n, err);
    if (rc < 0)
        return rc;
    *out = (struct cw_view){.dtype = CW_DTYPE_STR, .bytes = n};
    rc = cw_op_output(ctx, out, err);
    if (rc == 0)
        memcpy(out->data, bytes, n);
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

const struct cw_op cw_op_encode_jpeg = {
    .name = "encode_jpeg",
    .version = 1,
    .summary = "samples to JPEG files",
    .doc =
        "Makes the bytes of a JPEG file of each u8 image of one channel or three, as libjpeg-turbo "
        "does with its exact transform: those\n"
        "that Pillow's save writes. A cache of them is smaller than one of samples. A single field "
        "is renamed to \"bytes\".",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_SHRINK | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct encode_jpeg_opts),
    .accepts = cw_image_accepts_u8,
    .infer_field = infer_field,
    .out_name = "bytes",
    .scratch_new = scratch_new,
    .scratch_free = scratch_free,
    .apply_field = apply_field,
    .facts = facts,
};
