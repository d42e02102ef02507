/* SPDX-License-Identifier: Apache-2.0 */
/* Admin.ShowElements: what a job's batches have in them, where the dispatcher's operator allows it. */
#include "dispatcher/admin/admin_int.h"

static void handle_show(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    const struct cw_dispatcher *d = arg;
    Cachew__V1__ShowElementsReply answer = CACHEW__V1__SHOW_ELEMENTS_REPLY__INIT;
    ProtobufCMessage *message =
        cw_svc_unpack(&cachew__v1__show_elements_request__descriptor, call, request);
    if (!message)
        return;
    struct cw_job *job =
        cw_svc_find_job(arg, call, ((const Cachew__V1__ShowElementsRequest *)message)->job);
    answer.allowed = d->options.show_elements;
    if (job && answer.allowed) {
        const struct cw_caller *caller = cw_call_caller(call);
        const char *who = caller && caller->name[0] != '\0' ? caller->name : "who asked";
        answer.shown = cw_job_elements_look(job, who, cw_clock_ms(), &answer.age_ms);
    }
    if (job)
        cw_svc_reply(call, &answer.base);
    protobuf_c_message_free_unpacked(message, NULL);
}

void cw_svc_elements_add(struct cw_dispatcher *d)
{
    const struct cw_method method = {"/cachew.v1.Admin/ShowElements", handle_show, NULL, d};
    cw_server_add(d->server, &method);
}
