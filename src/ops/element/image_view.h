/* SPDX-License-Identifier: Apache-2.0 */
/* Images as operators see them: [h, w] or [h, w, channels], channels last. */
#ifndef CW_OPS_ELEMENT_IMAGE_VIEW_H
#define CW_OPS_ELEMENT_IMAGE_VIEW_H

#include "ops/op.h"

struct cw_image {
    const uint8_t *data;
    int64_t h, w, channels; /* size of the part that was decoded */
    size_t pixel_bytes;
    /* The position of the part in the whole image, and the size of the whole image. */
    int64_t part_y, part_x, full_h, full_w;
};

struct cw_image_size {
    int64_t h, w;
};

/* Whether a field can be an image: it is numeric and has rank 2 or 3. */
bool cw_image_accepts(const struct cw_field *field);
bool cw_image_accepts_u8(const struct cw_field *field);
/* The infer_field function of operators that set height and width (-1: not known). */
int cw_image_infer(const struct cw_field *in, int64_t h, int64_t w, bool u8_only,
                   struct cw_field *ret_field, struct cw_err *err);
/* LIMIT if an image of h x w pixels is too large. */
int cw_image_check_pixels(int64_t h, int64_t w, struct cw_err *err);
/* Makes an image of a view. Returns INVALID if the view is no image or has no pixels. */
int cw_image_get(const struct cw_view *view, struct cw_image *ret_image, struct cw_err *err);
/* Makes *out an image of h x w pixels; it has the channels and dtype that *out has on entry. */
int cw_image_output(const struct cw_op_ctx *ctx, struct cw_view *out, int64_t h, int64_t w,
                    struct cw_err *err);
/* Makes *out an image of h x w pixels without a place, for operators that work by rows (ops/strip.h). */
int cw_image_shape(struct cw_view *out, int64_t h, int64_t w, struct cw_err *err);
/* Says that the image is a part of one of h x w (data/element.h). */
void cw_image_set_part(struct cw_view *view, const struct cw_rect *part, int64_t h, int64_t w);
/* Returns the first pixel of a rectangle, which is given in coordinates of the whole image.
 * INTERNAL if the rectangle is not inside the part. */
int cw_image_rect(const struct cw_image *image, const struct cw_rect *rect,
                  const uint8_t **ret_data, struct cw_err *err);
/* Makes *out, which equals the image's view on entry, the pixels of a rectangle. */
int cw_image_crop(const struct cw_op_ctx *ctx, const struct cw_image *image,
                  const struct cw_rect *rect, struct cw_view *out, struct cw_err *err);
/* The function `begin` (ops/strip.h) of crops: *out becomes the pixels of a rectangle, which may be all that
 * there is of the image. */
int cw_image_crop_begin(const struct cw_view *in, const struct cw_rect *rect, struct cw_view *out,
                        struct cw_err *err);
/* Copies rows of a rectangle: *from has the rows that *to gets. */
void cw_image_crop_strip(const struct cw_view *in, const struct cw_rect *rect,
                         const struct cw_strip *from, const struct cw_strip *to);
static inline size_t cw_image_stride(const struct cw_image *image)
{
    return (size_t)image->w * image->pixel_bytes;
}

/* All rows of an image, channels last. */
struct cw_strip cw_image_strip(const struct cw_view *view);

/* The functions scratch_new and scratch_free of operators that resize. The scratch memory is a
 * struct cw_resample. */
void *cw_image_resample_new(const void *opts, void *state);
void cw_image_resample_free(void *scratch);
/* Begins to resize h x w pixels of the image, which begin at src, to a size. */
int cw_image_resample_begin(void *scratch, const struct cw_image *image, const uint8_t *src,
                            int64_t h, int64_t w, const struct cw_image_size *size, int filter,
                            struct cw_err *err);
/* Begins to make a part of the image resized to size. The image, which may be a part itself, has what
 * is needed for it (cw_image_resample_needs). */
int cw_image_resample_begin_part(void *scratch, const struct cw_image *image,
                                 const struct cw_image_size *size, const struct cw_rect *part,
                                 int filter, struct cw_err *err);
/* Makes all of what was begun; *out has its size. */
int cw_image_resample_all(const struct cw_op_ctx *ctx, void *scratch, struct cw_view *out,
                          struct cw_err *err);
/* The function make (ops/strip.h) of operators that resize. */
void cw_image_resample_make(const struct cw_op_ctx *ctx, const void *opts, void *state,
                            void *scratch, const struct cw_view *in, const struct cw_strip *from,
                            const struct cw_strip *to);
/* Says what is needed of an image of h x w for a part of it resized to size: *part becomes it. */
int cw_image_resample_needs(void *scratch, int64_t h, int64_t w, const struct cw_image_size *size,
                            int filter, struct cw_rect *part, struct cw_err *err);

/* The row of the option `size`: one number, or [h, w]. */
#define CW_IMAGE_SIDE_MAX 65535
#define CW_IMAGE_SIZE_ROW(offset_, help_)                                                          \
    {                                                                                              \
        .name = "size", .help = (help_), .type = CW_OPT_I64_LIST, .offset = (offset_), .min = 1,   \
        .max = CW_IMAGE_SIDE_MAX, .flags = CW_OPT_REQUIRED, .len_min = 1, .len_max = 2             \
    }
/* the most pixels of an image, so that a forged header cannot take all memory */
#define CW_IMAGE_PIXELS_MAX ((int64_t)1 << 28)
/* Converts the option to a size; one number means a square. */
struct cw_image_size cw_image_size(const struct cw_i64_list *size);

#endif
