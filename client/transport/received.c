/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transport/received.h"

#include "base/mem.h"
#include "data/batch.h"
#include "rpc/rpc.h"

void cw_received_free(struct cw_received *received)
{
    if (!received)
        return;
    cw_batch_unref(received->batch);
    if (received->msg)
        cw_rpc_msg_unref(received->msg);
    cw_charge_return(&received->charge);
    cw_mem_free(received);
}
