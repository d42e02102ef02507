/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one unary call to the Admin service, with a loop and a channel of its own, which run until
 * the answer has come. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cachew/cachew.h"
#include "base/short_reason.h"
#include "client/tool/tool.h"
#include "rpc/rpc.h"
#include "wire/wire.h"

struct admin_call {
    struct cw_loop *loop;
    const ProtobufCMessageDescriptor *reply_type;
    ProtobufCMessage *reply;
    struct cw_err *err;
    int rc;
};

static void on_reply(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    struct admin_call *call = arg;
    if (reply) {
        call->reply = cw_wire_unpack(call->reply_type, reply, call->err);
        call->rc = call->reply ? 0 : CW_E_CORRUPT;
    } else {
        call->rc = cw_err_set(call->err, code, "%s", msg);
    }
    cw_loop_stop(call->loop);
}

int tool_admin_call(const char *address, const char *method, const struct ProtobufCMessage *request,
                    const struct ProtobufCMessageDescriptor *reply_type,
                    struct ProtobufCMessage **ret_reply, struct cw_err *err)
{
    return tool_admin_call_within(address, method, 10000, request, reply_type, ret_reply, err);
}

const char *tool_token_file;
struct cw_tls_options tool_tls;
struct cw_arg_list tool_plugins;

/* The texts of a list behind one another, with this between them; NULL if there are none. The caller
 * frees the text. */
static char *join(const struct cw_arg_list *list, char between)
{
    struct cw_str text = {0};
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0)
            cw_str_add_char(&text, between);
        cw_str_add(&text, list->v[i]);
    }
    return list->n ? cw_str_take(&text) : NULL;
}

void tool_connect_options(struct cachew_connect_options *connect)
{
    static char roles[4096]; /* with commas: the library has them in one text */
    static char *plugins;    /* with colons; until the program ends */
    size_t n = 0;
    connect->token_file = tool_token_file;
    connect->tls_cert = tool_tls.cert;
    connect->tls_key = tool_tls.key;
    connect->tls_ca = tool_tls.ca;
    for (size_t i = 0; i < tool_tls.roles.n && n < sizeof(roles); i++)
        n += (size_t)snprintf(&roles[n], sizeof(roles) - n, "%s%s", i > 0 ? "," : "",
                              tool_tls.roles.v[i]);
    connect->tls_roles = n > 0 ? roles : NULL;
    if (!plugins)
        plugins = join(&tool_plugins, ':');
    connect->plugins = plugins;
}

struct cw_channel *tool_open_channel(struct cw_rpc *rpc, const char *address)
{
    const char *file = tool_token_file ? tool_token_file : getenv("CACHEW_TOKEN_FILE");
    if (cw_tls_options_are_set(&tool_tls) && !cw_rpc_address_is_unix(address))
        (void)cw_rpc_set_tls(rpc, &tool_tls, NULL); /* The channel has the error. */
    struct cw_channel *channel = cw_channel_open(rpc, address);
    cw_channel_set_token(channel, NULL, file && *file ? file : NULL);
    return channel;
}

int tool_admin_change(const char *address, const char *method,
                      const struct ProtobufCMessage *request,
                      const struct ProtobufCMessageDescriptor *reply_type,
                      struct ProtobufCMessage **ret_reply, struct cw_err *err)
{
    return tool_admin_call_within(address, method, 60000, request, reply_type, ret_reply, err);
}

int tool_admin_call_within(const char *address, const char *method, int64_t timeout_ms,
                           const struct ProtobufCMessage *request,
                           const struct ProtobufCMessageDescriptor *reply_type,
                           struct ProtobufCMessage **ret_reply, struct cw_err *err)
{
    if (cw_str_starts(address, "local:"))
        return cw_err_set(
            err, CW_E_INVALID,
            "which dispatcher? give --dispatcher HOST:PORT, or set CACHEW_DISPATCHER");
    struct cw_loop *loop = cw_loop_new();
    struct cw_rpc *rpc = cw_rpc_new(loop);
    struct cw_channel *channel = tool_open_channel(rpc, address);
    struct admin_call call = {.loop = loop, .reply_type = reply_type, .err = err};
    struct cw_buf *packed = cw_wire_pack(request);

    cw_channel_unary(channel, method, packed, timeout_ms, on_reply, &call);
    cw_buf_unref(packed);
    cw_loop_run(loop);
    cw_channel_close(channel);
    cw_rpc_free(rpc);
    cw_loop_free(loop);
    if (call.rc == CW_E_UNAVAILABLE || call.rc == CW_E_TIMEOUT) {
        char why[256];
        cw_short_reason(address, err->msg, why, sizeof(why));
        return cw_err_set(err, call.rc, "cannot ask the dispatcher at %s: %s%s", address, why,
                          strstr(why, "refused") ? ": is cachew-dispatcher running there?" : "");
    }
    if (call.rc < 0) /* The answer's text begins with the address already. */
        return call.rc;
    *ret_reply = call.reply;
    return 0;
}
