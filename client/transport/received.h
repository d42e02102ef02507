/* SPDX-License-Identifier: Apache-2.0 */
/* An output of a worker that has arrived, on its way from the worker's stream to the ledger. */
#ifndef CW_CLIENT_TRANSPORT_RECEIVED_H
#define CW_CLIENT_TRANSPORT_RECEIVED_H

#include <stdbool.h>
#include <stddef.h>

#include "client/transport/credit.h"

struct cw_batch;
struct cw_rpc_msg;

struct cw_received {
    /* This pointer holds one reference, and has the epoch, the item and the tensors. Its buf is set
     * unless msg is. */
    struct cw_batch *batch;
    /* Sparse pipelines over gRPC: the message that contains the bytes (one reference), from
     * `offset` on; NULL otherwise. */
    struct cw_rpc_msg *msg;
    size_t offset;
    bool shm; /* The bytes of the output are in shared memory. */
    struct cw_charge charge;
};
/* Frees the output and gives its charge back to the worker's credit. NULL is accepted. */
void cw_received_free(struct cw_received *received);

#endif
