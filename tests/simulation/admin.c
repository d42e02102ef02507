/* SPDX-License-Identifier: Apache-2.0 */
/* A command's program: one call of the dispatcher, as `cachew cache` makes it. */
#include "admin.h"

#include "tokens.h"

#include <stdio.h>
#include <string.h>

#include "cachew/v1/admin.pb-c.h"
#include "rpc/rpc.h"
#include "system.h"
#include "wire/wire.h"

#define LIMIT_MS 60000

__attribute__((visibility("default"))) void sim_admin_main(void *arg);

struct call {
    struct cw_loop *loop;
    const ProtobufCMessageDescriptor *reply_type;
    ProtobufCMessage *reply;
    struct cw_err err;
    int rc;
};

static void on_reply(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    struct call *call = arg;

    if (reply) {
        call->reply = cw_wire_unpack(call->reply_type, reply, &call->err);
        call->rc = call->reply ? 0 : CW_E_CORRUPT;
    } else {
        call->rc = cw_err_set(&call->err, code, "%s", msg);
    }
    cw_loop_stop(call->loop);
}

ProtobufCMessage *sim_admin_ask(struct sim_admin *admin, const char *method,
                                const ProtobufCMessage *request,
                                const ProtobufCMessageDescriptor *type)
{
    struct cw_loop *loop = cw_loop_new();
    struct cw_rpc *rpc = cw_rpc_new(loop);
    struct cw_channel *channel = cw_channel_open(rpc, admin->dispatcher);
    cw_channel_set_token(channel, NULL, SIM_TOKEN_OF_OPERATORS);
    struct call call = {.loop = loop, .reply_type = type};
    struct cw_buf *packed = cw_wire_pack(request);

    cw_channel_unary(channel, method, packed, LIMIT_MS, on_reply, &call);
    cw_buf_unref(packed);
    cw_loop_run(loop);
    cw_channel_close(channel);
    cw_rpc_free(rpc);
    cw_loop_free(loop);
    admin->rc = call.rc;
    snprintf(admin->message, sizeof(admin->message), "%s", call.rc ? call.err.msg : "");
    return call.reply;
}

static void take_row(struct sim_admin *admin, const Cachew__V1__CacheRow *row)
{
    for (size_t i = 0; i < row->n_chunk; i++) {
        struct sim_chunk *chunk = &admin->chunks[admin->chunks_n++];
        snprintf(chunk->name, sizeof(chunk->name), "%s", row->chunk[i]->name);
        chunk->bytes = row->chunk[i]->bytes;
    }
}

static void list(struct sim_admin *admin)
{
    Cachew__V1__CacheListRequest request = CACHEW__V1__CACHE_LIST_REQUEST__INIT;
    size_t n = 0;

    request.chunks = true;
    ProtobufCMessage *message = sim_admin_ask(admin, "/cachew.v1.Admin/CacheList", &request.base,
                                              &cachew__v1__cache_list_reply__descriptor);
    if (!message)
        return;
    const Cachew__V1__CacheListReply *reply =
        (const Cachew__V1__CacheListReply *)(const void *)message;
    for (size_t i = 0; i < reply->n_rows; i++)
        n += reply->rows[i]->n_chunk;
    admin->chunks = sim_world_alloc((n + 1) * sizeof(*admin->chunks));
    for (size_t i = 0; i < reply->n_rows; i++)
        take_row(admin, reply->rows[i]);
    for (size_t i = 0; i < reply->n_rows; i++)
        admin->hits += reply->rows[i]->hits;
    admin->total = reply->bytes;
    protobuf_c_message_free_unpacked(message, NULL);
}

static void evict(struct sim_admin *admin)
{
    Cachew__V1__CacheEvictRequest request = CACHEW__V1__CACHE_EVICT_REQUEST__INIT;

    request.cache = admin->cache;
    request.all = admin->bytes == 0;
    request.bytes = admin->bytes;
    ProtobufCMessage *message = sim_admin_ask(admin, "/cachew.v1.Admin/CacheEvict", &request.base,
                                              &cachew__v1__cache_evict_reply__descriptor);
    if (message)
        protobuf_c_message_free_unpacked(message, NULL);
}

static void scan(struct sim_admin *admin)
{
    Cachew__V1__CacheScanRequest request = CACHEW__V1__CACHE_SCAN_REQUEST__INIT;

    request.cache = admin->cache;
    ProtobufCMessage *message = sim_admin_ask(admin, "/cachew.v1.Admin/CacheScan", &request.base,
                                              &cachew__v1__cache_scan_reply__descriptor);

    if (message)
        protobuf_c_message_free_unpacked(message, NULL);
}

void sim_admin_main(void *arg)
{
    static void (*const run[])(struct sim_admin *) = {[SIM_COMMAND_EVICT] = evict,
                                                      [SIM_COMMAND_SCAN] = scan,
                                                      [SIM_COMMAND_LIST] = list,
                                                      [SIM_COMMAND_REPLAN] = sim_admin_replan,
                                                      [SIM_COMMAND_ATTACH] = sim_admin_attach,
                                                      [SIM_COMMAND_DETACH] = sim_admin_detach,
                                                      [SIM_COMMAND_CLOSE] = sim_admin_close,
                                                      [SIM_COMMAND_DESCRIBE] = sim_admin_describe,
                                                      [SIM_COMMAND_NOTE_SOURCE] =
                                                          sim_admin_note_source};
    struct sim_admin *admin = arg;

    sim_system_init();
    run[admin->command](admin);
    sim_log("%s", admin->rc ? admin->message : "done");
    admin->has_ended = true;
}
