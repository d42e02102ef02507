/* SPDX-License-Identifier: Apache-2.0 */
/* In place of src/rpc/listen.c: the simulated gRPC listens itself, and never runs out of anything. */
#include "rpc/listen.h"

#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>

#include "base/mem.h"
#include "rpc/rpc_int.h"
#include "rpc/tls.h"

void cw_listener_init(struct cw_listener *listener, struct cw_loop *loop, grpc_server *server)
{
    *listener = (struct cw_listener){.loop = loop, .server = server};
}

int cw_listener_open(struct cw_listener *listener, const char *address, struct cw_tls *tls,
                     struct cw_err *err)
{
    listener->tls = tls && !cw_rpc_address_is_unix(address);
    grpc_server_credentials *creds =
        listener->tls ? cw_tls_server_creds(tls) : grpc_insecure_server_credentials_create();
    int port = grpc_server_add_http2_port(listener->server, address, creds);
    grpc_server_credentials_release(creds);
    return port > 0 ? port : cw_rpc_address_explain(address, err);
}

void cw_listener_start(struct cw_listener *listener)
{
    (void)listener;
}

void cw_listener_close(struct cw_listener *listener)
{
    (void)listener;
}

void cw_listener_fini(struct cw_listener *listener)
{
    (void)listener;
}

bool cw_listener_is_full(const struct cw_listener *listener)
{
    (void)listener;
    return false;
}

char *cw_listener_peer(const struct cw_listener *listener, grpc_call *call)
{
    (void)listener;
    char *said = grpc_call_get_peer(call);
    char *peer = cw_mem_strdup(said ? said : "unknown");
    gpr_free(said);
    return peer;
}
