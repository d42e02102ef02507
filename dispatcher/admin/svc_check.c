/* SPDX-License-Identifier: Apache-2.0 */
/* Admin.CheckPipeline: whether a pipeline could run, as a job's hello would find out. */
#include "base/limits.h"
#include "dispatcher/admin/admin_int.h"
#include "graph/check.h"

static int check(const Cachew__V1__Graph *message, Cachew__V1__CheckReply *reply,
                 struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    if (!message)
        return cw_err_set(err, CW_E_INVALID, "there is no pipeline in the question");
    int rc = cw_wire_graph_from(message, &graph, err);
    if (rc == 0)
        rc = cw_graph_check_without_data(graph, &checked, err);
    if (rc == 0)
        reply->out = cw_wire_spec_to(&checked->nodes[graph->n - 1].out);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return rc;
}

static void handle_check(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    Cachew__V1__CheckReply reply = CACHEW__V1__CHECK_REPLY__INIT;
    struct cw_err err = {0};
    (void)arg;
    ProtobufCMessage *message =
        cw_svc_unpack(&cachew__v1__check_request__descriptor, call, request);
    if (!message)
        return;
    if (check(((const Cachew__V1__CheckRequest *)message)->graph, &reply, &err) == 0)
        cw_svc_reply(call, &reply.base);
    else
        cw_call_fail(call, err.code, err.msg);
    cw_wire_spec_free(reply.out);
    protobuf_c_message_free_unpacked(message, NULL);
}

void cw_svc_check_add(struct cw_dispatcher *d)
{
    const struct cw_method method = {"/cachew.v1.Admin/CheckPipeline", handle_check, NULL, d};
    cw_server_add(d->server, &method);
    cw_server_set_request_max(d->server, method.path, CW_CHECK_REQUEST_MAX);
}
