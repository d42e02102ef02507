/* SPDX-License-Identifier: Apache-2.0 */
/* The batch of a sparse pipeline that is being filled. Rows are copied into it when they come,
 * so nothing of an item is held that was walked. Where rows have fixed sizes the batch gets its
 * memory with its first row, for all rows that it may have, and each row is copied once, to its
 * place. The bytes of strings gather beside it, since nobody knows how many there will be. */
#ifndef CW_CLIENT_FILL_H
#define CW_CLIENT_FILL_H

#include "client/delivery/rows.h"

/* Memory for a batch; NULL = none. */
typedef struct cw_buf *cw_fill_alloc_fn(void *arg, size_t bytes);
struct cw_fill_strings;
struct cw_fill {
    cw_fill_alloc_fn *alloc;
    void *arg;
    struct cw_batch *batch;          /* NULL = no row has come */
    uint64_t rows;                   /* in it */
    uint64_t room;                   /* rows for which it has memory */
    uint64_t first_item;             /* whose shapes it has */
    struct cw_fill_strings *strings; /* one a tensor; NULL = it has none */
    size_t strings_room;             /* bytes kept free for them behind the rest */
    size_t bytes;                    /* of all rows in it */
    struct cw_err misfit;            /* a row came that does not fit to the first ones */
};

void cw_fill_clear(struct cw_fill *fill);
/* Copies rows [lo, hi) of an item behind those that are there. At most `most` rows will be in
 * the batch. Rows whose shapes differ are an error when the batch is finished, and none when it
 * never is. */
int cw_fill_add(struct cw_fill *fill, const struct cw_rows *rows, uint64_t lo, uint64_t hi,
                uint64_t most, struct cw_err *err);
/* Gives the batch away (it has tensors, no numbers yet). squeeze: its only row, without the
 * first dimension. */
int cw_fill_finish(struct cw_fill *fill, bool squeeze, struct cw_batch **ret_batch,
                   struct cw_err *err);

#endif
