/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of batches of which mosaic makes one image: images, boxes, and what goes with these. */
#ifndef CW_OPS_ELEMENT_MOSAIC_FIELDS_H
#define CW_OPS_ELEMENT_MOSAIC_FIELDS_H

#include "ops/op.h"

/* What the options say of them. */
struct cw_mosaic_named {
    const char *image, *boxes; /* boxes NULL: there are none */
    const struct cw_str_list *labels;
    size_t fills; /* how many numbers the option `fill` has */
};
struct cw_mosaic_fields {
    size_t image;
    int boxes; /* -1: there are none */
    struct cw_field_set labels;
};
/* Finds the fields. INVALID if one is not there. */
int cw_mosaic_find(const struct cw_mosaic_named *named, const struct cw_spec *in,
                   struct cw_mosaic_fields *ret_fields, struct cw_err *err);
/* INVALID if they are not batches of images, boxes and labels. */
int cw_mosaic_check(const struct cw_mosaic_named *named, const struct cw_mosaic_fields *fields,
                    const struct cw_spec *in, struct cw_err *err);
/* Row r of a field of a batch, whose rows may have different shapes. */
int cw_mosaic_row(const struct cw_field *field, const struct cw_view *view, size_t r,
                  struct cw_view *ret_row, struct cw_err *err);

#endif
