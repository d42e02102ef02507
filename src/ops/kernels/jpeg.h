/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes JPEG files to interleaved 8-bit samples: a whole image, or the part that the next
 * operator needs. The samples of that part are those of a full decode by libjpeg-turbo, bit for
 * bit: libjpeg reads headers and everything unusual, jpeg_fast.c the rest. There is one decoder a
 * thread; it keeps memory from image to image, and nothing else. */
#ifndef CW_OPS_KERNELS_JPEG_H
#define CW_OPS_KERNELS_JPEG_H

#include <stdbool.h>
#include "ops/op.h"

struct cw_jpeg;
struct cw_jpeg *cw_jpeg_new(void) CW_MUST_CHECK;
void cw_jpeg_free(struct cw_jpeg *jpeg);

/* Makes the decoder work without the fast one, as on a CPU that cannot run it: for tests, which
 * compare both. */
void cw_jpeg_set_plain(struct cw_jpeg *jpeg, bool plain);

bool cw_jpeg_is(const void *bytes, size_t n);
/* Reads the header. channels: 1 or 3, or 0 for as many as the file has. The bytes must stay until
 * finish. */
int cw_jpeg_begin(struct cw_jpeg *jpeg, const void *bytes, size_t n, int channels,
                  struct cw_err *err);
void cw_jpeg_size(const struct cw_jpeg *jpeg, int64_t *ret_h, int64_t *ret_w,
                  int64_t *ret_channels);
/* Has the image decoded smaller, in the DCT domain, after begin: by the largest of 8, 4, 2 and 1 by which the
 * shorter side keeps at least `least` pixels, as Pillow's Image.draft. Size and part are then those of the
 * smaller image, of which no parts are decoded. Returns whether it is smaller. */
bool cw_jpeg_shrink(struct cw_jpeg *jpeg, int64_t least);
/* Chooses what will be decoded: at least `want` (NULL: everything). *ret_part may be larger;
 * samples of it outside of `want` may differ from those of a full decode. */
int cw_jpeg_part(struct cw_jpeg *jpeg, const struct cw_rect *want, struct cw_rect *ret_part,
                 struct cw_err *err);
/* Decodes the part to dst, rows without gaps. Returns CORRUPT for damaged and truncated files. */
int cw_jpeg_finish(struct cw_jpeg *jpeg, uint8_t *dst, struct cw_err *err);
/* Gives up an image that was begun; may be called at any time. */
void cw_jpeg_abort(struct cw_jpeg *jpeg);

#endif
