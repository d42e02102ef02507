/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse pipelines: the batch that is being filled. Rows are copied into it as they come, so
 * nothing of an item is held after its rows were copied. If rows have fixed sizes, the batch gets
 * memory for all its rows with the first one, and each row is copied once, to its final place. The
 * bytes of strings and of ragged fields are collected beside it (client/delivery/fill_loose.h), since
 * their sum is not known before the end; so are those of fields that are filled up, since the largest
 * row is not known before the end (client/delivery/fill_pads.h). */
#ifndef CW_CLIENT_DELIVERY_FILL_H
#define CW_CLIENT_DELIVERY_FILL_H

#include "client/delivery/item_rows.h"
#include "data/pad.h"

/* Returns memory for a batch; NULL if there is none. */
typedef struct cw_buf *cw_fill_alloc_fn(void *arg, size_t bytes);
struct cw_fill_loose;
struct cw_fill {
    cw_fill_alloc_fn *alloc;
    void *arg;                  /* The argument of the function alloc. */
    const struct cw_spec *out;  /* It says which fields are ragged; NULL: none is. */
    const struct cw_pads *pads; /* How rows are filled up; NULL: they are not. `out` is set then. */
    struct cw_batch *batch; /* The batch that is being filled; NULL until the first row has come. */
    uint64_t rows;          /* The number of rows that are in the batch. */
    uint64_t rows_cap;      /* The number of rows that the batch has memory for. */
    uint64_t first_item;    /* The item of the first row, which gave the batch its shapes. */
    /* What is collected of each tensor of strings, or of ragged rows; NULL if there is none. */
    struct cw_fill_loose *loose;
    /* The bytes that are reserved for them behind the tensors of fixed size. */
    size_t loose_reserved;
    size_t bytes;            /* The bytes of all rows that are in the batch. */
    struct cw_err shape_err; /* The error is set when a row has another shape than the first one. */
};

void cw_fill_clear(struct cw_fill *fill);
/* Appends rows [lo, hi) of an item. The batch will have at most `most` rows. A row of another shape
 * is not an error here, but in cw_fill_finish, since the batch may never be finished. */
int cw_fill_add(struct cw_fill *fill, const struct cw_item_rows *rows, uint64_t lo, uint64_t hi,
                uint64_t most, struct cw_err *err);
/* Hands the batch over, with tensors but without numbers. squeeze: the batch has one row, and loses
 * the first dimension. */
int cw_fill_finish(struct cw_fill *fill, bool squeeze, struct cw_batch **ret_batch,
                   struct cw_err *err);

#endif
