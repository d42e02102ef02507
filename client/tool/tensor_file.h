/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one tensor as a file that other programs read. */
#ifndef CW_CLIENT_TOOL_TENSOR_FILE_H
#define CW_CLIENT_TOOL_TENSOR_FILE_H

#include "data/element.h"

/* Returns whether the tensor is a picture: u8 or f32, and [h, w], [h, w, 1] or [h, w, 3]. */
bool tool_is_image(const struct cw_view *view);
/* Floats: the finite values, from *ret_min to *ret_max, are spread over 0 to 255; NaN becomes 0. */
int tool_write_png(const char *path, const struct cw_view *view, double *ret_min, double *ret_max,
                   struct cw_err *err);
/* Makes the header of an .npy file (NumPy format 1.0). The tensor has no strings. */
void tool_npy_head(const struct cw_view *view, struct cw_str *out);
int tool_write_npy(const char *path, const struct cw_view *view, struct cw_err *err);
int tool_write_bytes(const char *path, const void *data, size_t n, struct cw_err *err);

#endif
