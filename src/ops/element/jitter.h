/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of brightness, contrast, saturation and hue, as Pillow's ImageEnhance and torchvision's
 * adjust_hue do them. */
#ifndef CW_OPS_ELEMENT_JITTER_H
#define CW_OPS_ELEMENT_JITTER_H

#include "ops/element/u8_op.h"

enum cw_jitter {
    CW_JITTER_BRIGHTNESS,
    CW_JITTER_CONTRAST,
    CW_JITTER_SATURATION,
    CW_JITTER_HUE,
    CW_JITTER_PARTS
};
extern const char *const cw_jitter_names[CW_JITTER_PARTS];
#define CW_JITTER_ORDERS 24 /* of the parts */

/* Changes src, which may be the image's dst, to its dst: by a factor, or by a part of a turn of the
 * hue. */
void cw_jitter_change(const struct cw_u8_op_image *image, const uint8_t *src, enum cw_jitter part,
                      double value);
/* The permutation number `which` of 0 to n - 1, of all in lexicographic order; n is 4 at most. */
void cw_jitter_order(uint64_t which, size_t n, uint8_t *ret_order);

#endif
