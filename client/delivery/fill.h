/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse pipelines: the batch that is being filled. Rows are copied into it as they come, so that
 * nothing of an item is held once its rows were walked. Where rows have fixed sizes, the batch
 * gets memory for all its rows with the first one, and each row is copied once, to its place. The
 * bytes of strings are collected beside it, since their sum is not known before the end. */
#ifndef CW_CLIENT_DELIVERY_FILL_H
#define CW_CLIENT_DELIVERY_FILL_H

#include "client/delivery/item_rows.h"

/* Memory for a batch; NULL = none. */
typedef struct cw_buf *cw_fill_alloc_fn(void *arg, size_t bytes);
struct cw_fill_strings;
struct cw_fill {
    cw_fill_alloc_fn *alloc;
    void *arg;                       /* of alloc */
    struct cw_batch *batch;          /* NULL = no row has come */
    uint64_t rows;                   /* in the batch */
    uint64_t room;                   /* rows for which the batch has memory */
    uint64_t first_item;             /* the item of the first row, whose shapes the batch has */
    struct cw_fill_strings *strings; /* an array, one a tensor; NULL = there are no strings */
    size_t strings_room;             /* bytes reserved for strings behind the other tensors */
    size_t bytes;                    /* of all rows in the batch */
    struct cw_err misfit;            /* set when a row has another shape than the first one */
};

void cw_fill_clear(struct cw_fill *fill);
/* Appends rows [lo, hi) of an item. The batch will have at most `most` rows. A row whose shape
 * differs is no error here, but one of cw_fill_finish: the batch may never be finished. */
int cw_fill_add(struct cw_fill *fill, const struct cw_item_rows *rows, uint64_t lo, uint64_t hi,
                uint64_t most, struct cw_err *err);
/* Gives the batch away, with tensors and without numbers. squeeze: it has one row, and loses the
 * first dimension. */
int cw_fill_finish(struct cw_fill *fill, bool squeeze, struct cw_batch **ret_batch,
                   struct cw_err *err);

#endif
