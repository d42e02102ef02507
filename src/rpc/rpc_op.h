/* SPDX-License-Identifier: Apache-2.0 */
/* One operation given to gRPC. Its address is the tag by which gRPC reports the completion. It is
 * embedded in the object that it belongs to, so that the pump thread allocates nothing. */
#ifndef CW_RPC_RPC_OP_H
#define CW_RPC_RPC_OP_H

#include <grpc/grpc.h>
#include <stdbool.h>

#include "rpc/rpc.h"

#define CW_RPC_OP_MAGIC 0x6f707270u

struct cw_rpc_op {
    uint32_t magic;
    bool ok; /* whether it succeeded; the pump thread sets it before it posts the node */
    struct cw_rpc *rpc;
    /* Runs on the loop thread, exactly once for each start. May free the operation. */
    void (*done)(struct cw_rpc_op *op, bool ok);
    struct cw_loop_node node;
};

void cw_rpc_op_init(struct cw_rpc_op *op, struct cw_rpc *rpc,
                    void (*done)(struct cw_rpc_op *op, bool ok));
/* Call it right before the tag is given to gRPC. */
void cw_rpc_op_begin(struct cw_rpc_op *op);
/* Call it when gRPC did not take the tag. */
void cw_rpc_op_revert(struct cw_rpc_op *op);
/* Starts a batch of the call. If gRPC refuses it, which is a bug of this program, it logs that,
 * cancels the call and returns false. */
bool cw_rpc_op_start(struct cw_rpc_op *op, grpc_call *call, const grpc_op *ops,
                     size_t n) CW_MUST_CHECK;

#endif
