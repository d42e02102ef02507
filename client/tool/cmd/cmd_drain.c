/* SPDX-License-Identifier: Apache-2.0 */
/* cachew drain WORKER: lets a worker finish what it has begun, and leave. */
#include "base/clock.h"
#include "base/mem.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"

#define LOOK_MS 200

static int is_there(const char *dispatcher, uint64_t id, struct cw_err *err)
{
    Cachew__V1__ListWorkersRequest request = CACHEW__V1__LIST_WORKERS_REQUEST__INIT;
    ProtobufCMessage *message = NULL;
    int rc = tool_admin_call(dispatcher, "/cachew.v1.Admin/ListWorkers", &request.base,
                             &cachew__v1__list_workers_reply__descriptor, &message, err);
    if (rc < 0)
        return rc;
    const Cachew__V1__ListWorkersReply *reply =
        (const Cachew__V1__ListWorkersReply *)(void *)message;
    for (size_t i = 0; i < reply->n_workers; i++)
        rc = rc || reply->workers[i]->worker_id == id;
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}

static int wait_gone(const char *dispatcher, uint64_t id, int64_t timeout_ms)
{
    struct cw_err err = {0};
    int64_t deadline_ms = cw_clock_ms() + timeout_ms;
    int rc;
    while ((rc = is_there(dispatcher, id, &err)) > 0) {
        if (cw_clock_ms() >= deadline_ms)
            return tool_fail("the worker is still there after %lld s: it continues to drain",
                             (long long)(timeout_ms / 1000));
        cw_clock_sleep_ns((int64_t)LOOK_MS * 1000000);
    }
    return rc < 0 ? tool_fail_err(&err) : TOOL_OK;
}

int tool_cmd_drain(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher();
    bool wait = false;
    int64_t timeout_ms = 60000;
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        {"wait", 'w', CW_ARG_FLAG, &wait, NULL, "end when it has left", 0, 0},
        {"timeout", 0, CW_ARG_MS, &timeout_ms, "TIME",
         "with --wait: not longer than this (default 60s)", 0, 0},
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew drain",
        .usage = "WORKER [options]",
        .about = "Tells a worker, given by id or address, to finish what it has begun, to hand "
                 "back the rest, and to leave: before its host "
                 "is taken away. No batch is lost or repeated.",
        .rows = rows};
    const char *names[1];
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "which worker?", names, 1, &code))
        return code;
    struct cw_err err = {0};
    Cachew__V1__DrainWorkerRequest request = CACHEW__V1__DRAIN_WORKER_REQUEST__INIT;
    cw_autofree char *name = cw_mem_strdup(names[0]);
    ProtobufCMessage *message = NULL;
    request.worker = name;
    if (tool_admin_call(dispatcher, "/cachew.v1.Admin/DrainWorker", &request.base,
                        &cachew__v1__drain_worker_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    uint64_t id = ((const Cachew__V1__DrainWorkerReply *)(void *)message)->worker_id;
    protobuf_c_message_free_unpacked(message, NULL);
    if (wait)
        code = wait_gone(dispatcher, id, timeout_ms);
    if (code == TOOL_OK)
        printf("worker %016llx %s\n", (unsigned long long)id,
               wait ? "has left" : "drains, and leaves");
    return code;
}
