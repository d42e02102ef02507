/* SPDX-License-Identifier: Apache-2.0 */
/* The server's side: each call is shown to the gate, before a message of it is read. A call of which
 * the gate does not know yet waits here; nothing of it is held but its path and its token. */
#include <grpc/support/alloc.h>
#include <stdio.h>

#include "auth/token_file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "rpc/gate.h"
#include "rpc/server_int.h"
#include "rpc/tls.h"

#define KEY "authorization"
#define SCHEME "Bearer "
#define VALUE_BYTES (CW_AUTH_TOKEN_MAX + 16)

struct cw_waiting_call {
    struct cw_waiting_call *next;
    grpc_call *call;
    char *path, *token; /* a call without a token does not wait */
};

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

/* Asks the gate, and refuses the call unless it passes or is to wait. */
static enum cw_gate decide(struct cw_server *server, grpc_call *call, const char *method,
                           const char *token, void **ret_caller)
{
    static const grpc_status_code refusals[] = {[CW_GATE_ASK] = GRPC_STATUS_UNAUTHENTICATED,
                                                [CW_GATE_DENY] = GRPC_STATUS_PERMISSION_DENIED,
                                                [CW_GATE_AWAY] = GRPC_STATUS_UNAVAILABLE};
    const char *why = "";
    cw_autofree char *peer = cw_listener_peer(&server->listener, call);
    struct cw_tls_names names = {0};
    if (server->listener.tls)
        cw_tls_names_init(&names, call);
    const struct cw_gate_question question = {.method = method,
                                              .token = token,
                                              .peer = peer,
                                              .tls = server->listener.tls,
                                              .names = names.v,
                                              .names_n = names.n};
    enum cw_gate answer = server->gate(server->gate_arg, &question, ret_caller, &why);
    if (answer != CW_GATE_PASS && answer != CW_GATE_LATER)
        cw_call_refuse(server, call, refusals[answer], why);
    if (server->listener.tls)
        cw_tls_names_fini(&names);
    return answer;
}

/* ---- calls that wait ---- */

static void refuse_now(struct cw_server *server, grpc_call *call, const char *why)
{
    cw_call_refuse(server, call, GRPC_STATUS_UNAVAILABLE, why);
}

static void wait_for_gate(struct cw_server *server, grpc_call *call, const char *path,
                          const char *token)
{
    if (server->stopping || !token || server->waiting_n >= CW_GATE_WAITING_MAX) {
        refuse_now(server, call, "too many calls wait until it is known who calls");
        return;
    }
    struct cw_waiting_call *waiting = CW_NEW(struct cw_waiting_call);
    waiting->call = call;
    waiting->path = cw_mem_strdup(path);
    waiting->token = cw_mem_strdup(token);
    waiting->next = server->waiting;
    server->waiting = waiting;
    server->waiting_n++;
    cw_server_enter(server);
}

static void free_waiting(struct cw_server *server, struct cw_waiting_call *waiting)
{
    explicit_bzero(waiting->token, strlen(waiting->token));
    cw_mem_free(waiting->token);
    cw_mem_free(waiting->path);
    cw_mem_free(waiting);
    cw_server_leave(server);
}

/* Takes those that show the token out of the list; NULL: all. */
static struct cw_waiting_call *take_waiting(struct cw_server *server, const char *token)
{
    struct cw_waiting_call *taken = NULL, **end = &taken;
    for (struct cw_waiting_call **at = &server->waiting; *at;) {
        struct cw_waiting_call *waiting = *at;
        if (token && !cw_str_eq(waiting->token, token)) {
            at = &waiting->next;
            continue;
        }
        *at = waiting->next;
        waiting->next = NULL;
        *end = waiting;
        end = &waiting->next;
        server->waiting_n--;
    }
    return taken;
}

void cw_gate_ask_again(struct cw_server *server, const char *token, cw_gate_serve_fn *serve)
{
    for (struct cw_waiting_call *at = take_waiting(server, token), *next; at; at = next) {
        void *caller = NULL;
        next = at->next;
        enum cw_gate answer = decide(server, at->call, at->path, at->token, &caller);
        if (answer == CW_GATE_PASS)
            serve(server, at->call, at->path, caller);
        else if (answer == CW_GATE_LATER)
            wait_for_gate(server, at->call, at->path, at->token);
        free_waiting(server, at);
    }
}

void cw_gate_refuse_waiting(struct cw_server *server)
{
    for (struct cw_waiting_call *at = take_waiting(server, NULL), *next; at; at = next) {
        next = at->next;
        refuse_now(server, at->call, "the server ends");
        free_waiting(server, at);
    }
}

/* ---- calls that come ---- */

bool cw_gate_passes(struct cw_server *server, grpc_call *call, const char *method,
                    const grpc_metadata_array *md, void **ret_caller)
{
    char token[VALUE_BYTES] = "";
    if (!server->gate)
        return true;
    bool has_token = find_token(md, token);
    enum cw_gate answer = decide(server, call, method, has_token ? token : NULL, ret_caller);
    if (answer == CW_GATE_LATER)
        wait_for_gate(server, call, method, has_token ? token : NULL);
    explicit_bzero(token, sizeof(token));
    return answer == CW_GATE_PASS;
}
