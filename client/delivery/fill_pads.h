/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse pipelines: fields of the batch that is being filled whose rows are filled up to one shape. Rows are
 * collected as they are, like ragged ones (client/delivery/fill_loose.h), and get their shape when the batch
 * is finished. */
#ifndef CW_CLIENT_DELIVERY_FILL_PADS_H
#define CW_CLIENT_DELIVERY_FILL_PADS_H

#include "client/delivery/fill_loose.h"
#include "data/pad.h"

/* Begins a tensor that is filled up, of which rows with the field `from` come: while rows come, its dims that
 * are filled up are ragged. CORRUPT: it is not what the pipeline says. */
int cw_fill_pads_begin(const struct cw_pads *pads, const struct cw_spec *out, size_t f,
                       const struct cw_field *from, struct cw_field *ret_field, struct cw_err *err);
/* Begins the tensors of lengths and masks behind those that come in. They are ragged until the batch is
 * finished, so they have no memory before. */
void cw_fill_pads_begin_extra(const struct cw_pads *pads, const struct cw_spec *out,
                              struct cw_batch *batch);
/* What a field becomes. */
struct cw_fill_padded {
    struct cw_pad_shape shape;
    size_t length_bytes; /* of a row */
};
/* Finds it for n rows, and sets the bytes of the field's tensor, and of its lengths and mask. */
int cw_fill_pads_measure(const struct cw_pads *pads, size_t f, const struct cw_fill_loose *loose,
                         struct cw_batch *batch, uint64_t n, struct cw_fill_padded *ret_padded,
                         struct cw_err *err);
/* Writes them to their places, sets their fields, and frees what was collected. */
void cw_fill_pads_put(const struct cw_pads *pads, const struct cw_spec *out, size_t f,
                      const struct cw_fill_padded *padded, struct cw_fill_loose *loose,
                      struct cw_batch *batch, uint64_t n);

#endif
