/* SPDX-License-Identifier: Apache-2.0 */
/* Images as views: checks, output, rectangles, and resizing. */
#include "ops/element/image_view.h"

#include <string.h>
#include "base/mem.h"
#include "ops/kernels/resample.h"

/* the largest side in pixels, so that 32-bit arithmetic on positions is safe */
#define SIDE_LIMIT (1 << 24)

bool cw_image_accepts(const struct cw_field *field)
{
    return field->dtype != CW_DTYPE_STR && (field->rank == 2 || field->rank == 3);
}

bool cw_image_accepts_u8(const struct cw_field *field)
{
    return field->dtype == CW_DTYPE_U8 && cw_image_accepts(field);
}

int cw_image_check_pixels(int64_t h, int64_t w, struct cw_err *err)
{
    if (h <= 0 || w <= 0 || h <= CW_IMAGE_PIXELS_MAX / w)
        return 0;
    return cw_err_set(err, CW_E_LIMIT,
                      "option size: an image of %lld x %lld pixels is too large: at most %lld",
                      (long long)h, (long long)w, (long long)CW_IMAGE_PIXELS_MAX);
}

int cw_image_infer(const struct cw_field *in, int64_t h, int64_t w, bool u8_only,
                   struct cw_field *ret_field, struct cw_err *err)
{
    if (!cw_image_accepts(in))
        return cw_err_set(err, CW_E_INVALID,
                          "field %s is %s of rank %d, not an image [h, w] or [h, w, channels]",
                          in->name, cw_dtype_name(in->dtype), in->rank);
    if (u8_only && in->dtype != CW_DTYPE_U8)
        return cw_err_set(err, CW_E_INVALID, "field %s is %s: only u8 images can be resized",
                          in->name, cw_dtype_name(in->dtype));
    *ret_field = *in;
    ret_field->dims[0] = h;
    ret_field->dims[1] = w;
    return cw_image_check_pixels(h, w, err);
}

int cw_image_get(const struct cw_view *view, struct cw_image *ret_image, struct cw_err *err)
{
    if (view->dtype == CW_DTYPE_STR || (view->rank != 2 && view->rank != 3))
        return cw_err_set(err, CW_E_INVALID, "%s of rank %d is not an image",
                          cw_dtype_name(view->dtype), view->rank);
    const int64_t channels = view->rank == 3 ? view->dims[2] : 1;
    const bool is_part = view->full_h != 0;
    *ret_image = (struct cw_image){.data = view->data,
                                   .h = view->dims[0],
                                   .w = view->dims[1],
                                   .channels = channels,
                                   .pixel_bytes = (size_t)channels * cw_dtype_bytes(view->dtype),
                                   .part_y = is_part ? view->part_y : 0,
                                   .part_x = is_part ? view->part_x : 0,
                                   .full_h = is_part ? view->full_h : view->dims[0],
                                   .full_w = is_part ? view->full_w : view->dims[1]};
    if (view->dims[0] < 1 || view->dims[1] < 1 || channels < 1)
        return cw_err_set(err, CW_E_INVALID, "an image of %lld x %lld x %lld has no pixels",
                          (long long)view->dims[0], (long long)view->dims[1], (long long)channels);
    if (ret_image->full_h > SIDE_LIMIT || ret_image->full_w > SIDE_LIMIT || channels > 1024)
        return cw_err_set(err, CW_E_LIMIT, "an image of %lld x %lld x %lld is too large",
                          (long long)view->dims[0], (long long)view->dims[1], (long long)channels);
    return 0;
}

int cw_image_shape(struct cw_view *out, int64_t h, int64_t w, struct cw_err *err)
{
    const int rc = cw_image_check_pixels(h, w, err);
    if (rc < 0)
        return rc;
    out->dims[0] = h;
    out->dims[1] = w;
    out->part_y = out->part_x = out->full_h = out->full_w = 0;
    return 0;
}

int cw_image_output(const struct cw_op_ctx *ctx, struct cw_view *out, int64_t h, int64_t w,
                    struct cw_err *err)
{
    const int rc = cw_image_shape(out, h, w, err);
    return rc < 0 ? rc : cw_op_output(ctx, out, err);
}

void cw_image_set_part(struct cw_view *view, const struct cw_rect *part, int64_t h, int64_t w)
{
    view->part_y = part->y;
    view->part_x = part->x;
    view->full_h = h;
    view->full_w = w;
}

int cw_image_rect(const struct cw_image *image, const struct cw_rect *rect,
                  const uint8_t **ret_data, struct cw_err *err)
{
    const int64_t y = rect->y - image->part_y, x = rect->x - image->part_x;
    if (y < 0 || x < 0 || y + rect->h > image->h || x + rect->w > image->w)
        return cw_err_set(err, CW_E_INTERNAL,
                          "%lld x %lld at %lld, %lld is not in the part %lld x %lld at %lld, %lld "
                          "that was decoded",
                          (long long)rect->h, (long long)rect->w, (long long)rect->y,
                          (long long)rect->x, (long long)image->h, (long long)image->w,
                          (long long)image->part_y, (long long)image->part_x);
    *ret_data = image->data ? image->data + (size_t)y * cw_image_stride(image) +
                                  (size_t)x * image->pixel_bytes
                            : NULL;
    return 0;
}

/* Whether a rectangle is all that there is of the image, so that nothing has to be copied. */
static bool is_all(const struct cw_image *image, const struct cw_rect *rect)
{
    return rect->h == image->h && rect->w == image->w;
}

int cw_image_crop(const struct cw_op_ctx *ctx, const struct cw_image *image,
                  const struct cw_rect *rect, struct cw_view *out, struct cw_err *err)
{
    const uint8_t *src;
    int rc = cw_image_rect(image, rect, &src, err);
    if (rc == 0 && is_all(image, rect))
        return cw_image_shape(out, rect->h, rect->w, err);
    if (rc == 0)
        rc = cw_image_output(ctx, out, rect->h, rect->w, err);
    const size_t row_bytes = (size_t)rect->w * image->pixel_bytes;
    for (int64_t y = 0; rc == 0 && y < rect->h; y++)
        memcpy((uint8_t *)out->data + (size_t)y * row_bytes,
               src + (size_t)y * cw_image_stride(image), row_bytes);
    return rc;
}

int cw_image_crop_begin(const struct cw_view *in, const struct cw_rect *rect, struct cw_view *out,
                        struct cw_err *err)
{
    struct cw_image image;
    const uint8_t *src;
    int rc = cw_image_get(in, &image, err);
    if (rc == 0)
        rc = cw_image_rect(&image, rect, &src, err);
    if (rc == 0)
        rc = cw_image_shape(out, rect->h, rect->w, err);
    return rc < 0 ? rc : is_all(&image, rect) ? CW_STRIP_SAME : CW_STRIP_MAKE;
}

void cw_image_crop_strip(const struct cw_view *in, const struct cw_rect *rect,
                         const struct cw_strip *from, const struct cw_strip *to)
{
    const size_t pixel = from->stride / (size_t)in->dims[1];
    const uint8_t *src = from->data + (size_t)(rect->x - (in->full_h ? in->part_x : 0)) * pixel;
    for (int64_t y = 0; y < to->n; y++)
        memcpy(to->data + (size_t)y * to->stride, src + (size_t)y * from->stride,
               (size_t)rect->w * pixel);
}

struct cw_strip cw_image_strip(const struct cw_view *view)
{
    const int64_t h = view->dims[0];
    return (struct cw_strip){
        .data = view->data, .n = h, .stride = h > 0 ? view->bytes / (size_t)h : 0};
}

struct cw_image_size cw_image_size(const struct cw_i64_list *size)
{
    return (struct cw_image_size){.h = size->v[0], .w = size->v[size->n - 1]};
}

void *cw_image_resample_new(const void *opts, void *state)
{
    (void)opts;
    (void)state;
    return CW_NEW(struct cw_resample);
}

void cw_image_resample_free(void *scratch)
{
    cw_resample_fini(scratch);
    cw_mem_free(scratch);
}

static struct cw_resample_part part_of(int64_t y, int64_t x, int64_t h, int64_t w)
{
    return (struct cw_resample_part){(int32_t)y, (int32_t)x, (int32_t)h, (int32_t)w};
}

int cw_image_resample_begin(void *scratch, const struct cw_image *image, const uint8_t *src,
                            int64_t h, int64_t w, const struct cw_image_size *size, int filter,
                            struct cw_err *err)
{
    const struct cw_resample_job job = {.src = src,
                                        .src_stride = cw_image_stride(image),
                                        .src_h = (int32_t)h,
                                        .src_w = (int32_t)w,
                                        .channels = (int32_t)image->channels,
                                        .src_part = part_of(0, 0, h, w),
                                        .dst_h = (int32_t)size->h,
                                        .dst_w = (int32_t)size->w,
                                        .dst_part = part_of(0, 0, size->h, size->w),
                                        .filter = (enum cw_filter)filter};
    return cw_resample_begin(scratch, &job, err);
}

int cw_image_resample_begin_part(void *scratch, const struct cw_image *image,
                                 const struct cw_image_size *size, const struct cw_rect *part,
                                 int filter, struct cw_err *err)
{
    const struct cw_resample_job job = {
        .src = image->data,
        .src_stride = cw_image_stride(image),
        .src_h = (int32_t)image->full_h,
        .src_w = (int32_t)image->full_w,
        .channels = (int32_t)image->channels,
        .src_part = part_of(image->part_y, image->part_x, image->h, image->w),
        .dst_h = (int32_t)size->h,
        .dst_w = (int32_t)size->w,
        .dst_part = part_of(part->y, part->x, part->h, part->w),
        .filter = (enum cw_filter)filter};
    return cw_resample_begin(scratch, &job, err);
}

int cw_image_resample_all(const struct cw_op_ctx *ctx, void *scratch, struct cw_view *out,
                          struct cw_err *err)
{
    const int rc = cw_op_output(ctx, out, err);
    if (rc == 0)
        cw_resample_strip(scratch, 0, (int32_t)out->dims[0], out->data);
    return rc;
}

void cw_image_resample_make(const struct cw_op_ctx *ctx, const void *opts, void *state,
                            void *scratch, const struct cw_view *in, const struct cw_strip *from,
                            const struct cw_strip *to)
{
    (void)ctx;
    (void)opts;
    (void)state;
    (void)in;
    (void)from; /* the pixels were given at the beginning */
    cw_resample_strip(scratch, (int32_t)to->y, (int32_t)to->n, to->data);
}

int cw_image_resample_needs(void *scratch, int64_t h, int64_t w, const struct cw_image_size *size,
                            int filter, struct cw_rect *part, struct cw_err *err)
{
    const struct cw_resample_job job = {.src_h = (int32_t)h,
                                        .src_w = (int32_t)w,
                                        .dst_h = (int32_t)size->h,
                                        .dst_w = (int32_t)size->w,
                                        .dst_part = part_of(part->y, part->x, part->h, part->w),
                                        .filter = (enum cw_filter)filter};
    struct cw_resample_part needs;
    const int rc = cw_resample_needs(scratch, &job, &needs, err);
    if (rc == 0)
        *part = (struct cw_rect){.y = needs.y, .x = needs.x, .h = needs.h, .w = needs.w};
    return rc;
}
