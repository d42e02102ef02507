/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as text, for people and as JSON. */
#ifndef CW_CLIENT_TOOL_VIEW_TENSOR_TEXT_H
#define CW_CLIENT_TOOL_VIEW_TENSOR_TEXT_H

#include "data/element.h"

/* Prints for example "x: f32[2,3] = 0.5 1.5 ...", with at most `most` values. */
void tool_tensor_print(const struct cw_field *field, const struct cw_view *view, size_t most,
                       struct cw_str *out);
/* The values of a ragged batch come with "begins", and "shapes" if it has them, flat.
 * Prints {"field":"x","dtype":"f32","shape":[2,3],"values":[0.5,...]} with all values; those that
 * JSON lacks (NaN, infinity) become null. The key of a string is "value"; invalid UTF-8 in it
 * becomes U+FFFD. */
void tool_tensor_json(const struct cw_field *field, const struct cw_view *view, struct cw_str *out);
/* Prints a spec, for example [{"field":"x","dtype":"f32","shape":[-1,3]},...]. */
void tool_spec_json(const struct cw_spec *spec, struct cw_str *out);

#endif
