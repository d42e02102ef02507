/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse pipelines: the rows of one item as a worker sent them. Their head is a batch without
 * bytes; the bytes lie in one buffer (shared memory), or still in the received message, from
 * which each row is copied once, into the batch that is being filled. One thread. */
#ifndef CW_CLIENT_DELIVERY_ITEM_ROWS_H
#define CW_CLIENT_DELIVERY_ITEM_ROWS_H

#include "data/batch.h"

struct cw_rpc_msg;

struct cw_item_rows {
    struct cw_batch *head;  /* one ref; its buf is set when the bytes are in one buffer */
    struct cw_rpc_msg *msg; /* one ref; NULL when the bytes are in head->buf */
    size_t offset;          /* where the bytes begin in msg */
    uint64_t item;
};
/* Takes the reference to head; makes one to msg, unless it is NULL. */
struct cw_item_rows *cw_item_rows_new(struct cw_batch *head, struct cw_rpc_msg *msg,
                                      size_t offset) CW_MUST_CHECK;
void cw_item_rows_free(struct cw_item_rows *rows); /* accepts NULL */
/* Copies n bytes of tensor i, from its byte `at` on; CORRUPT out of bounds. */
int cw_item_rows_read(const struct cw_item_rows *rows, size_t i, size_t at, void *dst, size_t n,
                      struct cw_err *err);
/* STR tensors: the offset of the strings of row r behind those of row 0; r = number of rows: the
 * length of all. CORRUPT if the worker's offsets are not rising or out of bounds. */
int cw_item_rows_str_at(const struct cw_item_rows *rows, size_t i, uint64_t r, int64_t *ret_at,
                        struct cw_err *err);

#endif
