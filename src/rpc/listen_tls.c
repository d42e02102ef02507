/* SPDX-License-Identifier: Apache-2.0 */
/* Gives connections to gRPC that are to speak TLS. gRPC's C API takes a descriptor only without TLS, and
 * its own listener is closed for ever when descriptors run out once. What remains is the object that
 * gRPC makes for its C++ API's ExternalConnectionAcceptor: an argument of the server says where gRPC puts
 * it, when the server listens at an address that begins with "external:". Its class, TcpServerFdHandler,
 * has been the same since gRPC 1.24: a virtual destructor, then Handle(listener, fd, buffer). Under the
 * ABI of C++ on Linux that is the third entry of its table of functions. unit.rpc.tls would fail if a
 * version of gRPC had another one. */
#include <grpc/grpc_security.h>

#include "rpc/listen.h"
#include "rpc/rpc_int.h"
#include "rpc/tls.h"

#define HANDLE 2 /* behind the destructor's two entries */

typedef void handle_fn(void *acceptor, int listener, int fd, grpc_byte_buffer *read_already);

int cw_listener_use_tls(struct cw_listener *listener, struct cw_tls *tls, struct cw_err *err)
{
    grpc_server_credentials *creds = cw_tls_server_creds(tls);
    (void)grpc_server_add_http2_port(listener->server, CW_RPC_ACCEPTOR, creds);
    grpc_server_credentials_release(creds);
    if (!listener->acceptor)
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "this version of gRPC (%s) takes no connections "
                          "for TLS",
                          grpc_version_string());
    listener->tls = true;
    return 0;
}

void cw_listener_give_tls(struct cw_listener *listener, int fd)
{
    handle_fn *const *functions = *(handle_fn *const **)listener->acceptor;
    functions[HANDLE](listener->acceptor, -1, fd, NULL);
}
