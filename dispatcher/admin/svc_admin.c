/* SPDX-License-Identifier: Apache-2.0 */
/* The service for tools: unary calls of proto/cachew/v1/admin.proto about the dispatcher, jobs and
 * workers. */
#include "base/version.h"
#include "dispatcher/admin/admin_int.h"
#include "dispatcher/message/message.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/session/session.h"

#include <stdio.h>
#include <string.h>

/* The protocol that is spoken with a peer of protocol `asked`: its own, if it is served. Peers of
 * protocol 1 do not say theirs. */
static uint32_t protocol_for(uint32_t asked)
{
    asked = CW_MAX(asked, 1);
    return CW_MAX(CW_MIN(asked, CW_PROTOCOL), CW_PROTOCOL_OLDEST);
}

static void handle_info(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    struct cw_dispatcher *d = arg;
    ProtobufCMessage *message = cw_svc_unpack(&cachew__v1__info_request__descriptor, call, request);
    if (!message)
        return;
    char version[] = CW_VERSION;
    cw_autofree char *dir = cw_mem_strdup(d->options.state_dir);
    Cachew__V1__InfoReply info = CACHEW__V1__INFO_REPLY__INIT;
    info.version = version;
    info.protocol = protocol_for(((const Cachew__V1__InfoRequest *)message)->protocol);
    info.generation = d->generation;
    info.uptime_ms = (uint64_t)(cw_clock_ms() - d->started_ms);
    info.state_dir = dir;
    if (cw_access_tenant_of(cw_call_caller(call)))
        dir[0] = '\0'; /* It is the operators' business. */
    cw_svc_reply(call, &info.base);
    protobuf_c_message_free_unpacked(message, NULL);
}

#define REMOVED_IDS_MAX 4096

/* The map copies its keys. Its values have no meaning. */
static void note_removed(const struct cw_job *job)
{
    struct cw_strmap *ids = &job->d->removed_ids;
    if (ids->n >= REMOVED_IDS_MAX) {
        cw_strmap_fini(ids);
        *ids = (struct cw_strmap){0};
    }
    cw_strmap_set(ids, job->id, job->d);
}

static void handle_remove_job(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    ProtobufCMessage *message =
        cw_svc_unpack(&cachew__v1__remove_job_request__descriptor, call, request);
    if (!message)
        return;
    struct cw_job *job = cw_svc_find_job(arg, call, ((Cachew__V1__RemoveJobRequest *)message)->job);
    if (job) {
        cw_state_forget_decisions(job->d->state, job->id);
        note_removed(job);
        cw_clients_end_job(job, "it was removed by request");
        Cachew__V1__RemoveJobReply answer = CACHEW__V1__REMOVE_JOB_REPLY__INIT;
        cw_svc_reply_stored(arg, call, &answer.base);
    }
    protobuf_c_message_free_unpacked(message, NULL);
}

static void handle_scale(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    ProtobufCMessage *message =
        cw_svc_unpack(&cachew__v1__scale_job_request__descriptor, call, request);
    if (!message)
        return;
    const Cachew__V1__ScaleJobRequest *scale = (const Cachew__V1__ScaleJobRequest *)message;
    struct cw_job *job = cw_svc_find_job(arg, call, scale->job);
    struct cw_err err = {0};
    if (job && job->status != CW_JOB_RUNNING && job->status != CW_JOB_PREPARING) {
        cw_call_fail(call, CW_E_STATE, "the job is over");
    } else if (job && scale->policy[0] == '\0') {
        cw_call_fail(call, CW_E_INVALID,
                     "no policy was given: name one (cachew scale --help lists them)");
    } else if (job && cw_scaling_change(job, scale->policy, scale->place, &err) != 0) {
        cw_call_fail(call, err.code, err.msg);
    } else if (job) {
        cw_job_store_options(job);
        Cachew__V1__ScaleJobReply answer = CACHEW__V1__SCALE_JOB_REPLY__INIT;
        cw_svc_reply_stored(arg, call, &answer.base);
    }
    protobuf_c_message_free_unpacked(message, NULL);
}

static void handle_skip(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    ProtobufCMessage *message =
        cw_svc_unpack(&cachew__v1__skip_items_request__descriptor, call, request);
    if (!message)
        return;
    const Cachew__V1__SkipItemsRequest *skip = (const Cachew__V1__SkipItemsRequest *)message;
    struct cw_job *job = cw_svc_find_job(arg, call, skip->job);
    bool sparse = job && job->info && job->info->sparse;
    uint64_t most = sparse ? cw_job_max_batches(job) : job ? job->items : 0;
    bool exists = job && skip->lo < skip->hi && skip->lo < most &&
                  (job->epochs_n == 0 || skip->epoch < job->epochs_n);
    if (job && (job->status != CW_JOB_RUNNING || !exists)) {
        cw_call_fail(call, CW_E_INVALID,
                     job->status != CW_JOB_RUNNING ? "the job is not running"
                                                   : "the job has no such batches");
    } else if (job && cw_job_skips_full(job, skip->epoch)) {
        cw_call_fail(call, CW_E_LIMIT, "too much of the job is left out already");
    } else if (job) {
        Cachew__V1__SkipItemsReply answer = CACHEW__V1__SKIP_ITEMS_REPLY__INIT;
        uint64_t hi = CW_MIN(skip->hi, most);
        answer.skipped = hi - skip->lo;
        answer.consumed = sparse ? cw_job_skip_batches(job, skip->epoch, skip->lo, hi)
                                 : cw_job_skip_on_request(job, skip->epoch, skip->lo, hi);
        cw_svc_reply_stored(arg, call, &answer.base);
    }
    protobuf_c_message_free_unpacked(message, NULL);
}

static void handle_get_job(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    ProtobufCMessage *message =
        cw_svc_unpack(&cachew__v1__get_job_request__descriptor, call, request);
    if (!message)
        return;
    struct cw_job *job = cw_svc_find_job(arg, call, ((Cachew__V1__GetJobRequest *)message)->job);
    if (job) {
        struct cw_svc_job_row row;
        cw_svc_job_row(job, &row);
        Cachew__V1__GetJobReply answer = CACHEW__V1__GET_JOB_REPLY__INIT;
        answer.job = &row.row;
        const struct cw_wire_part parts[] = {{"graph", cw_job_graph(job)},
                                             {"manifest", job->manifest}};
        struct cw_buf *bufs[CW_WIRE_PART_BUFS_MAX];
        size_t n = cw_wire_pack_parts(NULL, 0, &answer.base, parts, CW_ARRAY_LEN(parts), bufs);
        cw_call_reply_parts(call, bufs, n);
        for (size_t i = 0; i < n; i++)
            cw_buf_unref(bufs[i]);
    }
    protobuf_c_message_free_unpacked(message, NULL);
}

void cw_svc_admin_add(struct cw_dispatcher *d)
{
    const struct cw_method methods[] = {
        {"/cachew.v1.Admin/Info", handle_info, NULL, d},
        {"/cachew.v1.Admin/ListJobs", cw_svc_list_jobs, NULL, d},
        {"/cachew.v1.Admin/ListWorkers", cw_svc_list_workers, NULL, d},
        {"/cachew.v1.Admin/DrainWorker", cw_svc_drain_worker, NULL, d},
        {"/cachew.v1.Admin/RemoveJob", handle_remove_job, NULL, d},
        {"/cachew.v1.Admin/SkipItems", handle_skip, NULL, d},
        {"/cachew.v1.Admin/ScaleJob", handle_scale, NULL, d},
        {"/cachew.v1.Admin/ScaleFleet", cw_svc_scale_fleet, NULL, d},
        {"/cachew.v1.Admin/GetJob", handle_get_job, NULL, d},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(methods); i++)
        cw_server_add(d->server, &methods[i]);
}
