/* SPDX-License-Identifier: Apache-2.0 */
/* The server's side: each call is shown to the gate, before a message of it is read. */
#include <grpc/support/alloc.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "rpc/gate.h"
#include "rpc/server_int.h"
#include "rpc/tls.h"

#define KEY "authorization"
#define SCHEME "Bearer "
#define VALUE_BYTES 600

void cw_server_set_gate(struct cw_server *server, cw_gate_fn *fn, void *arg)
{
    server->gate = fn;
    server->gate_arg = arg;
}

/* Finds the token; false: there is none, or more than one. A value of another form counts as a token
 * that nobody has. */
static bool find_token(const grpc_metadata_array *md, char ret_token[VALUE_BYTES])
{
    size_t n = 0;
    for (size_t i = 0; i < md->count; i++) {
        const grpc_slice *key = &md->metadata[i].key;
        if (GRPC_SLICE_LENGTH(*key) != strlen(KEY) ||
            memcmp(GRPC_SLICE_START_PTR(*key), KEY, strlen(KEY)) != 0)
            continue;
        char *value = grpc_slice_to_c_string(md->metadata[i].value);
        bool bearer = strncmp(value, SCHEME, strlen(SCHEME)) == 0;
        snprintf(ret_token, VALUE_BYTES, "%s", bearer ? value + strlen(SCHEME) : "");
        explicit_bzero(value, strlen(value));
        gpr_free(value);
        n++;
    }
    return n == 1;
}

bool cw_gate_passes(struct cw_server *server, grpc_call *call, const char *method,
                    const grpc_metadata_array *md, void **ret_caller)
{
    char token[VALUE_BYTES] = "";
    const char *why = "";
    if (!server->gate)
        return true;
    cw_autofree char *peer = cw_listener_peer(&server->listener, call);
    struct cw_tls_names names = {0};
    if (server->listener.tls)
        cw_tls_names_init(&names, call);
    const struct cw_gate_question question = {.method = method,
                                              .token = find_token(md, token) ? token : NULL,
                                              .peer = peer,
                                              .tls = server->listener.tls,
                                              .names = names.v,
                                              .names_n = names.n};
    enum cw_gate answer = server->gate(server->gate_arg, &question, ret_caller, &why);
    explicit_bzero(token, sizeof(token));
    if (answer != CW_GATE_PASS)
        cw_call_refuse(server, call,
                       answer == CW_GATE_ASK ? GRPC_STATUS_UNAUTHENTICATED
                                             : GRPC_STATUS_PERMISSION_DENIED,
                       why);
    if (server->listener.tls)
        cw_tls_names_fini(&names);
    return answer == CW_GATE_PASS;
}
