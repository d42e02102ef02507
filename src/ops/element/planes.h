/* SPDX-License-Identifier: Apache-2.0 */
/* Images that an operator writes with channels first (cw_op_ctx.planes), since `layout` comes next. */
#ifndef CW_OPS_ELEMENT_PLANES_H
#define CW_OPS_ELEMENT_PLANES_H

#include "ops/op.h"

/* Copies the image [height, width, channels] of a view to scratch memory with channels first. *out gets the
 * dims of that, and *ret_planes the copy; *ret_pixels are those of a channel. */
int cw_planes_split(const struct cw_op_ctx *ctx, const struct cw_view *in, struct cw_view *out,
                    const uint8_t **ret_planes, size_t *ret_pixels, struct cw_err *err);

/* Writes rows of an image `in` to the planes of *to. */
void cw_planes_split_strip(const struct cw_view *in, const struct cw_strip *from,
                           const struct cw_strip *to);

#endif
