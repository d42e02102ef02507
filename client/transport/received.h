/* SPDX-License-Identifier: Apache-2.0 */
/* An output of a worker as it has come, on its way from the worker's stream to the ledger. */
#ifndef CW_CLIENT_TRANSPORT_RECEIVED_H
#define CW_CLIENT_TRANSPORT_RECEIVED_H

#include <stdbool.h>
#include <stddef.h>

#include "client/transport/credit.h"

struct cw_batch;
struct cw_rpc_msg;

struct cw_received {
    struct cw_batch *batch; /* one ref: epoch, item, tensors; its buf is set unless msg is */
    /* Sparse pipelines over gRPC: the message that has the bytes (one ref), from `offset` on.
     * Else NULL. */
    struct cw_rpc_msg *msg;
    size_t offset;
    bool shm; /* the bytes lie in shared memory */
    struct cw_charge charge;
};
/* Returns the charge. Accepts NULL. */
void cw_received_free(struct cw_received *received);

#endif
