/* SPDX-License-Identifier: Apache-2.0 */
/* An item's rows as they came from a worker: a batch's header, and its bytes either in one
 * buffer (shared memory) or still in the received message, from where the join copies them once,
 * into the batch being filled. One thread. */
#ifndef CW_CLIENT_ROWS_H
#define CW_CLIENT_ROWS_H

#include "data/batch.h"

struct cw_rpc_msg;

struct cw_rows {
    struct cw_batch *head;  /* one ref; its buf is set when the bytes are in one piece */
    struct cw_rpc_msg *msg; /* else: one ref, and where the payload begins */
    size_t offset;
    uint64_t item;
};
struct cw_rows *cw_rows_new(struct cw_batch *head /* taken */,
                            struct cw_rpc_msg *msg /* a ref is taken; NULL = head's buffer */,
                            size_t offset) CW_MUST_CHECK;
void cw_rows_free(struct cw_rows *rows); /* accepts NULL */
/* Copies n bytes of tensor i from offset `at`; CORRUPT out of bounds. */
int cw_rows_read(const struct cw_rows *rows, size_t i, size_t at, void *dst, size_t n,
                 struct cw_err *err);
/* STR tensors: where row r's bytes begin (r = elements: where they end), relative to the first
 * row; CORRUPT if that cannot be. */
int cw_rows_str_at(const struct cw_rows *rows, size_t i, uint64_t r, int64_t *ret_at,
                   struct cw_err *err);

#endif
