/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/element/mosaic_fields.h"

#include <string.h>
#include "data/ragged.h"

static int find(const char *option, const char *name, const struct cw_spec *in, struct cw_err *err)
{
    const int i = cw_spec_find(in, name);
    return i >= 0
               ? i
               : cw_err_set(err, CW_E_INVALID, "option %s: there is no field \"%s\"", option, name);
}

int cw_mosaic_find(const struct cw_mosaic_named *named, const struct cw_spec *in,
                   struct cw_mosaic_fields *ret_fields, struct cw_err *err)
{
    int i = find("image", named->image, in, err);
    *ret_fields = (struct cw_mosaic_fields){.image = (size_t)CW_MAX(i, 0), .boxes = -1};
    if (i >= 0 && named->boxes)
        i = ret_fields->boxes = find("boxes", named->boxes, in, err);
    for (size_t k = 0; i >= 0 && k < named->labels->n; k++) {
        i = find("labels", named->labels->v[k], in, err);
        if (i == (int)ret_fields->image || i == ret_fields->boxes)
            return cw_err_set(err, CW_E_INVALID, "option labels: \"%s\" is also an image or boxes",
                              named->labels->v[k]);
        if (i >= 0)
            cw_field_set_add(&ret_fields->labels, (size_t)i);
    }
    return CW_MIN(i, 0);
}

static int refuse(const char *option, const struct cw_field *field, const char *what,
                  struct cw_err *err)
{
    CW_STR_AUTO text = {0};
    cw_field_print(field, &text);
    return cw_err_set(err, CW_E_INVALID, "option %s: %s is not %s", option, cw_str_text(&text),
                      what);
}

static bool is_open(int64_t dim, int64_t wanted)
{
    return dim < 0 || dim == wanted;
}

static bool holds_images(const struct cw_field *field)
{
    return field->dtype == CW_DTYPE_U8 && field->rank == 4 &&
           (is_open(field->dims[3], 3) || field->dims[3] == 1);
}

static bool holds_boxes(const struct cw_field *field)
{
    return field->dtype == CW_DTYPE_F32 && field->rank == 3 && is_open(field->dims[2], 4);
}

static bool holds_labels(const struct cw_field *field)
{
    bool ok = field->dtype != CW_DTYPE_STR && field->rank >= 2;
    for (int d = 2; d < field->rank; d++)
        ok = ok && field->dims[d] >= 0;
    return ok;
}

int cw_mosaic_check(const struct cw_mosaic_named *named, const struct cw_mosaic_fields *fields,
                    const struct cw_spec *in, struct cw_err *err)
{
    const struct cw_field *image = &in->fields[fields->image];
    if (!holds_images(image))
        return refuse("image", image, "a batch u8[n,h,w,1 or 3]: put it behind batch", err);
    if (named->fills > 1 && image->dims[3] >= 0 && image->dims[3] != (int64_t)named->fills)
        return cw_err_set(err, CW_E_INVALID, "option fill: %zu numbers for images of %lld channels",
                          named->fills, (long long)image->dims[3]);
    if (fields->boxes >= 0 && !holds_boxes(&in->fields[fields->boxes]))
        return refuse("boxes", &in->fields[fields->boxes], "a batch f32[n,?,4]", err);
    for (size_t i = 0; i < in->n; i++)
        if (cw_field_set_has(&fields->labels, i) && !holds_labels(&in->fields[i]))
            return refuse("labels", &in->fields[i],
                          "a batch of numbers [n,?,...] of which only the rows are not known", err);
    return 0;
}

int cw_mosaic_row(const struct cw_field *field, const struct cw_view *view, size_t r,
                  struct cw_view *ret_row, struct cw_err *err)
{
    struct cw_field known = *field;
    struct cw_ragged ragged;
    if (cw_field_is_ragged(field)) {
        known.dims[0] = view->dims[0];
        const int rc = cw_ragged_init(&ragged, &known, err);
        if (rc == 0)
            cw_ragged_row(&ragged, view->data, (int64_t)r, ret_row);
        return rc;
    }
    const size_t bytes = view->dims[0] > 0 ? view->bytes / (size_t)view->dims[0] : 0;
    *ret_row = (struct cw_view){.dtype = view->dtype,
                                .rank = view->rank - 1,
                                .bytes = bytes,
                                .data = (char *)view->data + r * bytes};
    memcpy(ret_row->dims, &view->dims[1], (size_t)(view->rank - 1) * sizeof(view->dims[0]));
    return 0;
}
