/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes 8-bit samples to JPEG files with libjpeg-turbo, with its exact integer transform, so that the
 * bytes are the same on every CPU. */
#ifndef CW_OPS_KERNELS_JPEG_WRITE_H
#define CW_OPS_KERNELS_JPEG_WRITE_H

#include <stdbool.h>
#include "base/err.h"

/* Memory of one thread for files that are written. */
struct cw_jpeg_writer;
struct cw_jpeg_writer *cw_jpeg_writer_new(void);
void cw_jpeg_writer_free(struct cw_jpeg_writer *writer);

/* How many pixels share one sample of colour. */
enum cw_jpeg_sampling { CW_JPEG_444, CW_JPEG_422, CW_JPEG_420 };
struct cw_jpeg_image {
    const uint8_t *samples; /* rows without gaps */
    int64_t h, w;           /* 1 to 65535 */
    int channels;           /* 1 or 3 */
    int quality;            /* 1 to 100 */
    enum cw_jpeg_sampling sampling;
    bool optimize, progressive;
};
/* The file lies in the writer until the next call. */
int cw_jpeg_write(struct cw_jpeg_writer *writer, const struct cw_jpeg_image *image,
                  const uint8_t **ret_bytes, size_t *ret_n, struct cw_err *err);

#endif
