/* SPDX-License-Identifier: Apache-2.0 */
/* The option `fill` of operators that put pixels around images of any numeric dtype. */
#ifndef CW_OPS_ELEMENT_FILL_OP_H
#define CW_OPS_ELEMENT_FILL_OP_H

#include "ops/element/image_view.h"

#define CW_FILL_CHANNELS_MAX 128
/* of the widest dtype */
#define CW_FILL_PIXEL_BYTES_MAX (CW_FILL_CHANNELS_MAX * sizeof(double))

#define CW_FILL_ROW(offset_, help_)                                                                \
    {                                                                                              \
        .name = "fill", .help = (help_), .type = CW_OPT_F64_LIST, .offset = (offset_),             \
        .def = "[0.0]", .len_min = 1, .len_max = CW_FILL_CHANNELS_MAX                              \
    }
/* INVALID if there is neither one value nor one for each channel; channels: -1 if not known. */
int cw_fill_check(const struct cw_f64_list *fill, int64_t channels, struct cw_err *err);
/* Makes the bytes of a pixel, which is 0 in a mask. LIMIT if there are too many channels. */
int cw_fill_pixel(const struct cw_op_ctx *ctx, const struct cw_f64_list *fill, enum cw_dtype dtype,
                  int64_t channels, uint8_t ret_pixel[CW_FILL_PIXEL_BYTES_MAX], struct cw_err *err);
/* Writes n pixels. */
void cw_fill_run(uint8_t *dst, int64_t n, const uint8_t *pixel, size_t pixel_bytes);

#endif
