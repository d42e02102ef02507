/* SPDX-License-Identifier: Apache-2.0 */
/* Images as operators see them: [h, w] or [h, w, channels], channels last. */
#ifndef CW_OPS_ELEMENT_IMAGE_VIEW_H
#define CW_OPS_ELEMENT_IMAGE_VIEW_H

#include "ops/op.h"

struct cw_image {
    const uint8_t *data;
    int64_t h, w, channels; /* of the part that is there */
    size_t pixel_bytes;
    /* Where the part lies in the whole image, and the size of that. */
    int64_t part_y, part_x, full_h, full_w;
};

bool cw_image_accepts(const struct cw_field *field); /* a numeric field of rank 2 or 3 */
bool cw_image_accepts_u8(const struct cw_field *field);
/* infer_field of operators that set height and width (-1 = not known). */
int cw_image_infer(const struct cw_field *in, int64_t h, int64_t w, bool u8_only,
                   struct cw_field *ret_field, struct cw_err *err);
/* A view as an image; INVALID when it is none or has no pixels. */
int cw_image_get(const struct cw_view *view, struct cw_image *ret_image, struct cw_err *err);
/* Gives out a view of h x w with the channels and dtype it has. */
int cw_image_output(const struct cw_op_ctx *ctx, struct cw_view *out, int64_t h, int64_t w,
                    struct cw_err *err);
/* The first pixel of a rectangle given in coordinates of the whole image; INTERNAL when it is
 * not in the part. */
int cw_image_rect(const struct cw_image *image, const struct cw_rect *rect,
                  const uint8_t **ret_data, struct cw_err *err);
static inline size_t cw_image_stride(const struct cw_image *image)
{
    return (size_t)image->w * image->pixel_bytes;
}

/* scratch_new and scratch_free of operators that resize: a struct cw_resample. */
void *cw_image_resample_new(const void *opts, void *state);
void cw_image_resample_free(void *scratch);
/* h x w pixels of the image, from src on, in the size that `out` has (cw_image_output). */
int cw_image_resample(void *scratch, const struct cw_image *image, const uint8_t *src, int64_t h,
                      int64_t w, const struct cw_view *out, int filter, struct cw_err *err);

/* Option `size`: one number or [h, w]. */
#define CW_IMAGE_SIDE_MAX 65535
#define CW_IMAGE_SIZE_ROW(offset_, help_)                                                          \
    {                                                                                              \
        .name = "size", .help = (help_), .type = CW_OPT_I64_LIST, .offset = (offset_), .min = 1,   \
        .max = CW_IMAGE_SIDE_MAX, .flags = CW_OPT_REQUIRED, .len_min = 1, .len_max = 2             \
    }
#define CW_IMAGE_PIXELS_MAX ((int64_t)1 << 28) /* of one image; a header must not take all memory */
struct cw_image_size {
    int64_t h, w;
};
/* One number means a square. */
struct cw_image_size cw_image_size(const struct cw_i64_list *size);

#endif
