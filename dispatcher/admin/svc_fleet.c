/* SPDX-License-Identifier: Apache-2.0 */
/* Calls about the fleet: a worker is drained, and the fleet is held. */
#include "dispatcher/admin/admin_int.h"
#include "dispatcher/kubernetes/kubernetes.h"
#include "dispatcher/message/message.h"

#include <stdio.h>
#include <string.h>

static struct cw_worker *find_worker(struct cw_dispatcher *d, const char *name)
{
    for (struct cw_worker *worker = d->workers; worker; worker = worker->next) {
        char id[32];
        snprintf(id, sizeof(id), "%016llx", (unsigned long long)worker->id);
        if (worker->said_hello && (strcmp(worker->address, name) == 0 || strcmp(id, name) == 0))
            return worker;
    }
    return NULL;
}

static void reply_drained(struct cw_call *call, uint64_t worker_id)
{
    Cachew__V1__DrainWorkerReply answer = CACHEW__V1__DRAIN_WORKER_REPLY__INIT;
    answer.worker_id = worker_id;
    cw_svc_reply(call, &answer.base);
}

/* ---- a worker in a pod ---- */

struct eviction {
    struct cw_call *call;
    uint64_t worker_id;
};

static void on_evicted(void *arg, int code, const char *msg)
{
    struct eviction *eviction = arg;
    if (code == CW_OK)
        reply_drained(eviction->call, eviction->worker_id);
    else
        cw_call_fail(eviction->call, code, msg);
    cw_mem_free(eviction);
}

static bool evict(const struct cw_worker *worker, struct cw_call *call)
{
    struct eviction *eviction = CW_NEW(struct eviction);
    *eviction = (struct eviction){.call = call, .worker_id = worker->id};
    if (cw_cluster_evict(worker, on_evicted, eviction))
        return true;
    cw_mem_free(eviction);
    return false;
}

static void drain(struct cw_worker *worker, struct cw_call *call)
{
    cw_log_info(CW_LOG_MOD, "worker=%s is told to drain, on request", worker->address);
    if (evict(worker, call))
        return;
    cw_worker_retire(worker);
    reply_drained(call, worker->id);
}

void cw_svc_drain_worker(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    struct cw_dispatcher *d = arg;
    ProtobufCMessage *message =
        cw_svc_unpack(&cachew__v1__drain_worker_request__descriptor, call, request);
    if (!message)
        return;
    const char *name = ((Cachew__V1__DrainWorkerRequest *)message)->worker;
    struct cw_worker *worker = find_worker(d, name);
    if (worker && cw_worker_is_usable(worker)) {
        drain(worker, call);
    } else if (worker) {
        reply_drained(call, worker->id);
    } else {
        cw_autofree char *msg = cw_mem_printf(
            "there is no worker \"%.80s\" (cachew workers lists ids and addresses)", name);
        cw_call_fail(call, CW_E_NOT_FOUND, msg);
    }
    protobuf_c_message_free_unpacked(message, NULL);
}

void cw_svc_scale_fleet(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    ProtobufCMessage *message =
        cw_svc_unpack(&cachew__v1__scale_fleet_request__descriptor, call, request);
    struct cw_err err = {0};
    if (!message)
        return;
    if (cw_cluster_hold(arg, ((Cachew__V1__ScaleFleetRequest *)message)->hold, &err) != CW_OK) {
        cw_call_fail(call, err.code, err.msg);
    } else {
        Cachew__V1__ScaleFleetReply answer = CACHEW__V1__SCALE_FLEET_REPLY__INIT;
        cw_svc_reply_stored(arg, call, &answer.base);
    }
    protobuf_c_message_free_unpacked(message, NULL);
}
