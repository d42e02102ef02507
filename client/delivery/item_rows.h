/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse pipelines: the rows of one item as a worker sent them. Their head is a batch without
 * bytes. The bytes are in one buffer (shared memory), or still in the received message; each row is
 * copied once, into the batch that is being filled. One thread. */
#ifndef CW_CLIENT_DELIVERY_ITEM_ROWS_H
#define CW_CLIENT_DELIVERY_ITEM_ROWS_H

#include "data/batch.h"
#include "data/ragged.h"

struct cw_rpc_msg;

struct cw_item_rows {
    /* This pointer holds one reference. Its buf is set if the bytes are in one buffer. */
    struct cw_batch *head;
    /* The message that contains the rows (one reference); NULL if their bytes are in head->buf. */
    struct cw_rpc_msg *msg;
    size_t offset; /* The offset in msg at which the bytes of the rows begin. */
    uint64_t item;
};
/* Makes the rows of an item. It takes the reference to head, and makes one to msg unless it is
 * NULL. */
struct cw_item_rows *cw_item_rows_new(struct cw_batch *head, struct cw_rpc_msg *msg,
                                      size_t offset) CW_MUST_CHECK;
/* Frees the rows and drops their references. NULL is accepted. */
void cw_item_rows_free(struct cw_item_rows *rows);
/* Copies n bytes of tensor i from byte `at` on. CORRUPT: they are out of bounds. */
int cw_item_rows_read(const struct cw_item_rows *rows, size_t i, size_t at, void *dst, size_t n,
                      struct cw_err *err);
/* The list of all strings of a tensor (data/strings.h), ragged or not. */
struct cw_item_list {
    const struct cw_item_rows *rows;
    size_t tensor;
    uint64_t at, n;    /* where the list is in the tensor, and how many strings it has */
    uint64_t bytes_at; /* where the bytes of its strings begin in the tensor */
};
int cw_item_rows_list(const struct cw_item_rows *rows, size_t i, struct cw_item_list *ret_list,
                      struct cw_err *err);
/* Returns where string s begins, from bytes_at; if s is the number of strings, where the last one ends.
 * CORRUPT: the worker's offset is out of bounds. */
int cw_item_list_offset(const struct cw_item_list *list, uint64_t s, int64_t *ret_offset,
                        struct cw_err *err);
/* A row of a tensor: its shape, and where its bytes are in the tensor; of strings which one is its first, in
 * the list of all. Rows of a tensor stand one behind another. */
struct cw_item_row {
    int64_t dims[CW_RANK_MAX];
    size_t at, bytes;
};
/* Finds row r of tensor i; the tensor is ragged or not. CORRUPT: what the worker
 * says of the row is not possible. */
int cw_item_rows_row(const struct cw_item_rows *rows, size_t i, uint64_t r,
                     struct cw_item_row *ret_row, struct cw_err *err);

#endif
