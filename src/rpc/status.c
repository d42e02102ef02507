/* SPDX-License-Identifier: Apache-2.0 */
/* The status with which a call ended, as a message for people. If it comes from gRPC and not from
 * the peer's program, the address is put before it, because "Socket closed" alone helps nobody. */
#include <grpc/support/alloc.h>
#include <stdio.h>

#include "rpc/rpc_int.h"

int cw_rpc_status(grpc_status_code status, grpc_slice details, const char *address,
                  const char *method, char *ret_msg, size_t cap)
{
    char *text = grpc_slice_to_c_string(details);
    switch ((int)status) {
    case GRPC_STATUS_OK:
        snprintf(ret_msg, cap, "%s", "");
        break;
    case GRPC_STATUS_UNAVAILABLE:
    case GRPC_STATUS_UNKNOWN:
    case GRPC_STATUS_INTERNAL:
    case GRPC_STATUS_UNIMPLEMENTED: /* often another program listens there */
        snprintf(ret_msg, cap, "%s: %s", address, text[0] ? text : method);
        break;
    case GRPC_STATUS_DEADLINE_EXCEEDED:
        snprintf(ret_msg, cap, "%s: no answer to %s in time", address, method);
        break;
    default:
        snprintf(ret_msg, cap, "%s", text);
        break;
    }
    gpr_free(text);
    /* A peer that speaks another protocol (HTTP/1, for example) gives UNKNOWN. */
    if (status == GRPC_STATUS_UNKNOWN)
        return CW_E_UNAVAILABLE;
    if (status == GRPC_STATUS_UNAUTHENTICATED)
        return CW_E_DENIED;
    return cw_err_from_grpc((int)status);
}

grpc_slice cw_rpc_status_details(int code, const char *msg)
{
    if (!msg)
        msg = code ? cw_err_text(code) : "";
    return grpc_slice_from_copied_buffer(msg, strnlen(msg, CW_RPC_STATUS_MSG_BYTES));
}
