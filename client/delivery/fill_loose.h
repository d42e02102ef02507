/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse pipelines: a tensor of the batch that is being filled whose size is not known before the last
 * row has come: strings, or rows of different shapes. Its bytes are collected here, and put into the
 * batch when it is finished. */
#ifndef CW_CLIENT_DELIVERY_FILL_LOOSE_H
#define CW_CLIENT_DELIVERY_FILL_LOOSE_H

#include "client/delivery/item_rows.h"

struct cw_fill_loose {
    /* An array of int64_t: the end of each string in bytes, or the end of each ragged row as
     * data/ragged.h counts them. */
    void *ends;
    size_t ends_cap;
    /* An array of int64_t. Ragged: the shape of each row, if shapes are stored; of lists of strings, where
     * each row ends, in strings. */
    void *shapes;
    uint64_t strings; /* Strings so far. */
    size_t shapes_cap;
    void *bytes;
    size_t n, cap;
    int64_t at; /* Ragged: the end of the last row. */
};
/* Whether the tensor is collected, and not written in place. */
bool cw_fill_is_loose(const struct cw_tensor *tensor);
void cw_fill_loose_fini(struct cw_fill_loose *loose);
/* Appends rows [lo, hi) of tensor i of an item. to: the tensor of the batch, which has `before` rows.
 * ret_bytes: what came in. */
int cw_fill_loose_add(struct cw_fill_loose *loose, const struct cw_tensor *to, uint64_t before,
                      const struct cw_item_rows *rows, size_t i, uint64_t lo, uint64_t hi,
                      size_t *ret_bytes, struct cw_err *err);
/* Returns the bytes of the whole tensor of n rows. */
size_t cw_fill_loose_size(const struct cw_fill_loose *loose, const struct cw_field *field,
                          uint64_t n);
/* Writes the tensor of n rows to its place, and frees what was collected. */
void cw_fill_loose_put(struct cw_fill_loose *loose, const struct cw_field *field, uint64_t n,
                       void *dst);

#endif
