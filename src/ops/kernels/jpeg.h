/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG files to interleaved 8-bit samples: a whole image, or the part that the next operator
 * needs. Samples of the part that was asked for are those of a full decode by libjpeg-turbo, bit
 * for bit: libjpeg reads headers and whatever is unusual, jpeg_fast.c the rest. One decoder per
 * thread; it keeps memory from image to image, and nothing else. */
#ifndef CW_OPS_KERNELS_JPEG_H
#define CW_OPS_KERNELS_JPEG_H

#include <stdbool.h>
#include "ops/op.h"

struct cw_jpeg;
struct cw_jpeg *cw_jpeg_new(void) CW_MUST_CHECK;
void cw_jpeg_free(struct cw_jpeg *jpeg);

/* Without the fast decoder, as on a CPU that cannot run it: for tests, which compare. */
void cw_jpeg_set_plain(struct cw_jpeg *jpeg, bool plain);

bool cw_jpeg_is(const void *bytes, size_t n);
/* Reads the header. channels: 0 = as in the file, 1 or 3. The bytes must stay until finish. */
int cw_jpeg_begin(struct cw_jpeg *jpeg, const void *bytes, size_t n, int channels,
                  struct cw_err *err);
void cw_jpeg_size(const struct cw_jpeg *jpeg, int64_t *ret_h, int64_t *ret_w,
                  int64_t *ret_channels);
/* What will be decoded: at least `want` (NULL = everything). What lies in the part but outside
 * of `want` may differ from a full decode. */
int cw_jpeg_part(struct cw_jpeg *jpeg, const struct cw_rect *want, struct cw_rect *ret_part,
                 struct cw_err *err);
/* Decodes the part to dst, rows without gaps. CORRUPT for damaged and truncated files. */
int cw_jpeg_finish(struct cw_jpeg *jpeg, uint8_t *dst, struct cw_err *err);
/* Gives up an image that was begun; may be called at any time. */
void cw_jpeg_abort(struct cw_jpeg *jpeg);

#endif
