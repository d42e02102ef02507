/* SPDX-License-Identifier: Apache-2.0 */
/* Admin.CheckPipeline: whether a pipeline could run, as a job's hello would find out. */
#include "base/limits.h"
#include "dispatcher/admin/admin_int.h"
#include "graph/check.h"
#include "graph/expand.h"
#include "loop/offload.h"

static int check(const Cachew__V1__Graph *message, Cachew__V1__CheckReply *reply,
                 struct cw_err *err)
{
    struct cw_graph *written = NULL, *graph = NULL;
    struct cw_checked *checked = NULL;
    if (!message)
        return cw_err_set(err, CW_E_INVALID, "there is no pipeline in the question");
    int rc = cw_wire_graph_from(message, &written, err);
    if (rc == 0)
        rc = cw_graph_expand(written, &graph, err);
    if (rc == 0)
        rc = cw_graph_check_without_data(graph, &checked, err);
    if (rc == 0)
        reply->out = cw_wire_spec_to(&checked->nodes[graph->n - 1].out);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    cw_graph_unref(written);
    return rc;
}

/* A question. A large one is unpacked and checked by the thread, and answered by the loop. */
struct asked {
    struct cw_call *call;
    struct cw_rpc_msg *request;
    struct cw_offload work;
    struct cw_buf *reply; /* NULL: `err` */
    struct cw_err err;
};

static void find_answer(void *arg)
{
    struct asked *asked = arg;
    Cachew__V1__CheckReply reply = CACHEW__V1__CHECK_REPLY__INIT;
    ProtobufCMessage *message =
        cw_wire_unpack(&cachew__v1__check_request__descriptor, asked->request, &asked->err);
    asked->request = cw_rpc_msg_unref(asked->request);
    if (!message) {
        asked->err.code = CW_E_INVALID;
        return;
    }
    if (check(((const Cachew__V1__CheckRequest *)message)->graph, &reply, &asked->err) == 0)
        asked->reply = cw_wire_pack(&reply.base);
    cw_wire_spec_free(reply.out);
    protobuf_c_message_free_unpacked(message, NULL);
}

static void answer(void *arg)
{
    struct asked *asked = arg;
    if (asked->reply)
        cw_call_reply(asked->call, asked->reply);
    else
        cw_call_fail(asked->call, asked->err.code, asked->err.msg);
    cw_buf_unref(asked->reply);
    cw_mem_free(asked);
}

static void handle_check(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    const struct cw_dispatcher *d = arg;
    struct asked *asked = CW_NEW(struct asked);
    asked->call = call;
    asked->request = cw_rpc_msg_ref(request);
    if (d->offload && cw_rpc_msg_len(request) > CW_UNPACKED_HERE_MAX) {
        asked->work = (struct cw_offload){.run = find_answer, .done = answer, .arg = asked};
        cw_offload_add(d->offload, &asked->work);
        return;
    }
    find_answer(asked);
    answer(asked);
}

void cw_svc_check_add(struct cw_dispatcher *d)
{
    const struct cw_method method = {"/cachew.v1.Admin/CheckPipeline", handle_check, NULL, d};
    cw_server_add(d->server, &method);
    cw_server_set_request_max(d->server, method.path, CW_CHECK_REQUEST_MAX);
}
