/* SPDX-License-Identifier: Apache-2.0 */
/* Admin.ReplanJob: a job's operators in another order. */
#include "dispatcher/admin/admin_int.h"
#include "dispatcher/job/job.h"
#include "dispatcher/optimize/job_optimizer.h"
#include "dispatcher/optimize/plan_change.h"

static void handle_replan(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    struct cw_err err = {0};
    ProtobufCMessage *message =
        cw_svc_unpack(&cachew__v1__replan_job_request__descriptor, call, request);
    if (!message)
        return;
    const Cachew__V1__ReplanJobRequest *replan = (const Cachew__V1__ReplanJobRequest *)message;
    Cachew__V1__ReplanJobReply answer = CACHEW__V1__REPLAN_JOB_REPLY__INIT;
    struct cw_job *job = cw_svc_find_job(arg, call, replan->job);
    if (job && cw_job_plan_propose(job, replan->graph, &answer.number, &err) != 0)
        cw_call_fail(call, err.code, err.msg);
    else if (job) {
        cw_job_optimizer_stop(job);
        cw_job_store_options(job);
        cw_svc_reply(call, &answer.base);
    }
    protobuf_c_message_free_unpacked(message, NULL);
}

void cw_svc_plan_add(struct cw_dispatcher *d)
{
    const struct cw_method method = {"/cachew.v1.Admin/ReplanJob", handle_replan, NULL, d};
    cw_server_add(d->server, &method);
    cw_server_set_request_max(d->server, method.path, CW_CHECK_REQUEST_MAX);
}
