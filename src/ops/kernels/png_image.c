/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes PNG files with libpng. */
#include "ops/kernels/png_image.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "ops/kernels/pixels.h"

#define SIDE_MAX 65535

struct cw_png {
    png_structp read;
    png_infop info;
    const uint8_t *bytes;
    size_t n, at;
    int64_t h, w;
    int channels;  /* the number of channels of the result */
    bool is_deep;  /* samples have 16 bits */
    bool to_grey;  /* the file is in colour, and one channel is wanted */
    uint8_t *wide; /* for to_grey: the image in colour */
    png_bytep *rows;
    char damage[128];
};

CW_NORETURN static void on_error(png_structp read, png_const_charp message)
{
    struct cw_png *png = png_get_error_ptr(read);
    snprintf(png->damage, sizeof(png->damage), "%s", message);
    png_longjmp(read, 1);
}

static void on_warning(png_structp read, png_const_charp message)
{
    (void)read;
    (void)message;
}

static void on_read(png_structp read, png_bytep dst, size_t n)
{
    struct cw_png *png = png_get_io_ptr(read);
    if (n > png->n - png->at)
        png_error(read, "the file ends too early");
    memcpy(dst, png->bytes + png->at, n);
    png->at += n;
}

bool cw_png_is(const void *bytes, size_t n)
{
    return n >= 8 && png_sig_cmp(bytes, 0, 8) == 0;
}

void cw_png_close(struct cw_png *png)
{
    if (!png)
        return;
    png_destroy_read_struct(&png->read, &png->info, NULL);
    cw_mem_free(png->wide);
    cw_mem_free(png->rows);
    cw_mem_free(png);
}

/* Makes libpng give the numbers in the file, one a byte. Returns false if they are colours. */
static bool set_index_transforms(struct cw_png *png)
{
    const png_byte type = png_get_color_type(png->read, png->info);
    if ((type != PNG_COLOR_TYPE_PALETTE && (type & PNG_COLOR_MASK_COLOR)) ||
        png_get_bit_depth(png->read, png->info) > 8)
        return false;
    png_set_packing(png->read);
    if (type & PNG_COLOR_MASK_ALPHA)
        png_set_strip_alpha(png->read);
    png->channels = 1;
    png_set_interlace_handling(png->read);
    png_read_update_info(png->read, png->info);
    return true;
}

/* Makes libpng give samples of 16 bits, in the machine's order of bytes. */
static void set_deep(struct cw_png *png)
{
    png_set_expand_16(png->read);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    png_set_swap(png->read);
#endif
}

/* Makes libpng convert samples: to 8 or 16 bits, without palette and alpha. Returns false if colours of 16 bits
 * would have to become grey. */
static bool set_transforms(struct cw_png *png, int channels)
{
    const png_byte type = png_get_color_type(png->read, png->info);
    const bool colour = (type & PNG_COLOR_MASK_COLOR) != 0;
    png->channels = channels ? channels : colour ? 3 : 1;
    png->to_grey = colour && png->channels == 1;
    if (png->is_deep && png->to_grey)
        return false;
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(png->read);
    if (type == PNG_COLOR_TYPE_GRAY)
        png_set_expand_gray_1_2_4_to_8(png->read);
    if (png->is_deep)
        set_deep(png);
    else
        png_set_strip_16(png->read);
    png_set_strip_alpha(png->read);
    if (!colour && png->channels == 3)
        png_set_gray_to_rgb(png->read);
    png_set_interlace_handling(png->read);
    png_read_update_info(png->read, png->info);
    return true;
}

static int read_header(struct cw_png *png, int channels, struct cw_err *err)
{
    if (setjmp(png_jmpbuf(png->read)))
        return cw_err_set(err, CW_E_CORRUPT, "damaged PNG image: %s", png->damage);
    png_set_user_limits(png->read, SIDE_MAX, SIDE_MAX);
    png_set_read_fn(png->read, png, on_read);
    png_read_info(png->read, png->info);
    png->h = png_get_image_height(png->read, png->info);
    png->w = png_get_image_width(png->read, png->info);
    if (channels != CW_PNG_INDEX)
        return set_transforms(png, channels)
                   ? 0
                   : cw_err_set(err, CW_E_UNSUPPORTED,
                                "a PNG image in colour does not become grey with 16 bits");
    if (!set_index_transforms(png))
        return cw_err_set(
            err, CW_E_UNSUPPORTED,
            "a PNG image in colour, or of 16 bits, has no palette whose numbers could "
            "be taken");
    return 0;
}

int cw_png_open(const void *bytes, size_t n, const struct cw_png_asked *asked,
                struct cw_png **ret_png, struct cw_err *err)
{
    struct cw_png *png = CW_NEW(struct cw_png);
    png->is_deep = asked->is_deep;
    png->bytes = bytes;
    png->n = n;
    png->read = png_create_read_struct(PNG_LIBPNG_VER_STRING, png, on_error, on_warning);
    png->info = png->read ? png_create_info_struct(png->read) : NULL;
    int rc = png->info ? read_header(png, asked->channels, err)
                       : cw_err_set(err, CW_E_NOMEM, "no memory to decode a PNG image");
    if (rc < 0) {
        cw_png_close(png);
        return rc;
    }
    *ret_png = png;
    return 0;
}

void cw_png_size(const struct cw_png *png, int64_t *ret_h, int64_t *ret_w, int64_t *ret_channels)
{
    *ret_h = png->h;
    *ret_w = png->w;
    *ret_channels = png->channels;
}

static int decode(struct cw_png *png, struct cw_err *err)
{
    if (setjmp(png_jmpbuf(png->read)))
        return cw_err_set(err, CW_E_CORRUPT, "damaged PNG image: %s", png->damage);
    png_read_image(png->read, png->rows);
    png_read_end(png->read, NULL);
    return 0;
}

int cw_png_read(struct cw_png *png, uint8_t *dst, struct cw_err *err)
{
    const size_t h = (size_t)png->h, w = (size_t)png->w,
                 stride = w * (png->to_grey ? 3 : (size_t)png->channels) * (png->is_deep ? 2 : 1);
    uint8_t *image = dst;
    if (png->to_grey)
        image = png->wide = cw_mem_try(h * stride);
    png->rows = cw_mem_try(h * sizeof(*png->rows));
    if (!image || !png->rows)
        return cw_err_set(err, CW_E_NOMEM, "no memory to decode a PNG image of %zu x %zu", h, w);
    /* The row must be exactly as wide as expected, because libpng's idea of its width decides how
     * many bytes it writes. */
    if (png_get_rowbytes(png->read, png->info) != stride)
        return cw_err_set(err, CW_E_INTERNAL, "PNG rows of %zu bytes instead of %zu",
                          (size_t)png_get_rowbytes(png->read, png->info), stride);
    for (size_t y = 0; y < h; y++)
        png->rows[y] = image + y * stride;
    const int rc = decode(png, err);
    if (rc == 0 && png->to_grey)
        cw_pixels_grey(dst, image, h * w);
    return rc;
}
