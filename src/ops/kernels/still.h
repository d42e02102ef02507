/* SPDX-License-Identifier: Apache-2.0 */
/* Image files that are decoded as a whole: PNG, WebP, BMP, and the first image of GIF and TIFF. A file is opened,
 * which reads its header; then the caller, which knows the size, provides memory, and the samples are
 * read. Transparency is dropped. */
#ifndef CW_OPS_KERNELS_STILL_H
#define CW_OPS_KERNELS_STILL_H

#include <stdbool.h>
#include "base/err.h"

struct cw_still_format;

/* One file being read. */
struct cw_still {
    const struct cw_still_format *format;
    const uint8_t *bytes; /* must stay until close */
    size_t n;
    bool is_index; /* asked for: the numbers in the file, which a palette would make colours of */
    bool is_deep;  /* asked for: samples of 16 bits, as the machine has numbers (PNG and TIFF) */
    int asked;     /* asked for: 1 or 3 channels, or 0 for as many as the file has */
    int64_t h, w;
    int channels; /* of the result */
    void *of;     /* the format's own */
};

struct cw_still_format {
    const char *name;
    bool (*is)(const uint8_t *bytes, size_t n);
    /* Sets h, w and channels. UNSUPPORTED if is_index is set and the file has no palette and is not
     * grey. */
    int (*open)(struct cw_still *still, struct cw_err *err);
    /* Writes h * w * channels samples, of 1 byte, or of 2 if is_deep is set. CORRUPT for a file that is damaged or cut off. */
    int (*read)(struct cw_still *still, uint8_t *dst, struct cw_err *err);
    void (*close)(struct cw_still *still); /* NULL: there is nothing to free */
};
extern const struct cw_still_format cw_still_bmp, cw_still_gif, cw_still_png, cw_still_tiff,
    cw_still_webp;

/* Opens a file of any of the formats. Returns 1 if it is of none. */
int cw_still_open(struct cw_still *still, struct cw_err *err);
void cw_still_close(struct cw_still *still);

/* For formats: UNSUPPORTED, "has no palette". */
int cw_still_no_index(const struct cw_still *still, struct cw_err *err);
/* The colours of a palette, of which not all may be there. */
struct cw_still_palette {
    uint8_t rgb[256][3];
    int n;
};
/* Writes n samples of channels of a row of indices. CORRUPT if there is no such colour. */
int cw_still_colours(const struct cw_still *still, const struct cw_still_palette *palette,
                     const uint8_t *index, size_t n, uint8_t *dst, struct cw_err *err);

#endif
