/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of numbers of JSON, nested ones too, as tensors. */
#ifndef CW_FORMAT_JSON_LIST_H
#define CW_FORMAT_JSON_LIST_H

#include "base/arena.h"
#include "data/element.h"

/* Reads the list at p into a tensor of the field's dtype and rank; dims that the field leaves open
 * are those of the list, whose lists must be equally long. */
int cw_json_list(const char *p, size_t n, const struct cw_field *field, struct cw_arena *arena,
                 struct cw_view *ret_view, struct cw_err *err);
/* Reads a scalar that is a number or a bool. */
int cw_json_scalar(const char *p, size_t n, enum cw_dtype dtype, void *dst, size_t *ret_used,
                   struct cw_err *err);

#endif
