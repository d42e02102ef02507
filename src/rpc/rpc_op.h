/* SPDX-License-Identifier: Apache-2.0 */
/* One operation given to gRPC: the tag. Embedded in what it belongs to, so that the pump allocates
 * nothing; done runs on the loop thread, exactly once per start. */
#ifndef CW_RPC_RPC_OP_H
#define CW_RPC_RPC_OP_H

#include <grpc/grpc.h>
#include <stdbool.h>

#include "rpc/rpc.h"

#define CW_RPC_OP_MAGIC 0x6f707270u

struct cw_rpc_op {
    uint32_t magic;
    bool ok; /* written by the pump before done is posted */
    struct cw_rpc *rpc;
    void (*done)(struct cw_rpc_op *op, bool ok);
    struct cw_loop_node node;
};

void cw_rpc_op_init(struct cw_rpc_op *op, struct cw_rpc *rpc,
                    void (*done)(struct cw_rpc_op *op, bool ok));
/* To be called right before the tag is given to gRPC, and when gRPC did not take it. */
void cw_rpc_op_begin(struct cw_rpc_op *op);
void cw_rpc_op_revert(struct cw_rpc_op *op);
/* Starts a batch; false (and the call cancelled) when gRPC refused it: a bug of ours, logged. */
bool cw_rpc_op_start(struct cw_rpc_op *op, grpc_call *call, const grpc_op *ops,
                     size_t n) CW_MUST_CHECK;

#endif
