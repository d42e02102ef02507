/* SPDX-License-Identifier: Apache-2.0 */
/* References of channels: a channel is freed with its last one. Calls and streams hold one each, so
 * that a channel outlives everything that was begun on it. */
#include <stdio.h>

#include "base/mem.h"
#include "rpc/channel_int.h"
#include "rpc/tls.h"

void cw_channel_ref(struct cw_channel *channel)
{
    channel->refs++;
}

void cw_channel_unref(struct cw_channel *channel)
{
    if (!channel || --channel->refs > 0)
        return;
    if (channel->channel)
        grpc_channel_destroy(channel->channel);
    cw_channel_token_fini(&channel->token);
    cw_mem_free(channel->address);
    cw_mem_free(channel);
}

struct cw_rpc *cw_channel_rpc(const struct cw_channel *channel)
{
    return channel->rpc;
}

int cw_channel_status(const struct cw_channel *channel, grpc_status_code status, grpc_slice details,
                      const char *method, char *ret_msg, size_t cap)
{
    if (channel->bad.code == 0) {
        int code = cw_rpc_status(status, details, channel->address, method, ret_msg, cap);
        if (status == GRPC_STATUS_UNAUTHENTICATED)
            cw_channel_token_explain(channel, ret_msg, cap);
        else if (code == CW_E_UNAVAILABLE)
            cw_tls_explain(channel, ret_msg, cap);
        return code;
    }
    snprintf(ret_msg, cap, "%s", channel->bad.msg);
    return channel->bad.code;
}
