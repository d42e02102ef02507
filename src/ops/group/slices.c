/* SPDX-License-Identifier: Apache-2.0 */
/* Takes batches apart: fields that are stacked, ragged, or strings. Nothing is copied. */
#include "ops/group/within.h"

#include <string.h>

#include "data/ragged.h"

int cw_slices_infer(const struct cw_spec *in, struct cw_spec *ret_spec, struct cw_err *err)
{
    CW_SPEC_AUTO spec = cw_spec_copy(in);
    for (size_t f = 0; f < spec.n; f++) {
        struct cw_field *field = &spec.fields[f];
        if (field->rank == 0)
            return cw_err_set(err, CW_E_INVALID,
                              "field \"%s\" has no dimension along which it could be taken apart",
                              field->name);
        field->rank--;
        memmove(field->dims, field->dims + 1, (size_t)field->rank * sizeof(field->dims[0]));
        for (int d = 0; d < field->rank; d++)
            field->dims[d] = CW_MAX(field->dims[d], -1); /* what is ragged is just not known */
        if (field->dtype == CW_DTYPE_STR && field->rank > 0)
            return cw_err_set(err, CW_E_UNSUPPORTED,
                              "field \"%s\" is a batch of lists of strings, which are not taken "
                              "apart",
                              field->name);
    }
    *ret_spec = cw_spec_take(&spec);
    return 0;
}

int cw_slices_check(const struct cw_spec *in, const struct cw_view *fields, struct cw_err *err)
{
    for (size_t f = 1; f < in->n; f++)
        if (fields[f].dims[0] != fields[0].dims[0])
            return cw_err_set(err, CW_E_INVALID,
                              "field \"%s\" has %lld elements, and field \"%s\" has %lld",
                              in->fields[f].name, (long long)fields[f].dims[0], in->fields[0].name,
                              (long long)fields[0].dims[0]);
    return 0;
}

void cw_slices_init(struct cw_slices *slices, const struct cw_spec *spec,
                    const struct cw_view *fields)
{
    *slices = (struct cw_slices){.spec = spec, .fields = fields, .n = fields[0].dims[0]};
}

static void get_str(const struct cw_view *batch, int64_t i, struct cw_view *row)
{
    int64_t at[2];
    memcpy(at, (const char *)batch->data + (size_t)i * sizeof(at[0]), sizeof(at));
    row->data = (char *)batch->data + (size_t)(batch->dims[0] + 1) * sizeof(at[0]) + at[0];
    row->bytes = (size_t)(at[1] - at[0]);
}

static bool is_ragged(const struct cw_view *view)
{
    bool ragged = false;
    for (int d = 1; d < view->rank; d++)
        ragged = ragged || view->dims[d] == CW_DIM_RAGGED;
    return ragged;
}

static void get_ragged(const struct cw_view *batch, int64_t i, struct cw_view *row)
{
    struct cw_field field = {.dtype = batch->dtype, .rank = batch->rank};
    struct cw_ragged ragged;
    struct cw_err impossible = {0}; /* it is in memory */
    memcpy(field.dims, batch->dims, sizeof(field.dims));
    if (cw_ragged_init(&ragged, &field, &impossible) == 0)
        cw_ragged_row(&ragged, batch->data, i, row);
}

void cw_slices_get(const struct cw_slices *slices, int64_t i, struct cw_view *ret_fields)
{
    for (size_t f = 0; f < slices->spec->n; f++) {
        const struct cw_view *batch = &slices->fields[f];
        struct cw_view *row = &ret_fields[f];
        *row = (struct cw_view){.dtype = batch->dtype, .rank = batch->rank - 1};
        memcpy(row->dims, batch->dims + 1, (size_t)row->rank * sizeof(row->dims[0]));
        if (batch->dtype == CW_DTYPE_STR) {
            get_str(batch, i, row);
        } else if (is_ragged(batch)) {
            get_ragged(batch, i, row);
        } else {
            row->bytes = slices->n > 0 ? batch->bytes / (size_t)slices->n : 0;
            row->data = (char *)batch->data + (size_t)i * row->bytes;
        }
    }
}
