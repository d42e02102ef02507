/* SPDX-License-Identifier: Apache-2.0 */
#include "talk.h"

#include <stdio.h>

#include "cachew/v1/admin.pb-c.h"
#include "loop/loop.h"
#include "rpc/rpc.h"

#define CALL_MS 2000

static void on_reply(void *arg, struct cw_rpc_msg *reply, int code, const char *msg);

static void take_welcome(struct sim_known *known, const Cachew__V1__ClientWelcome *welcome)
{
    snprintf(known->job_id, sizeof(known->job_id), "%s", welcome->job_id);
    if (!welcome->info)
        return;
    known->fingerprint.hi = welcome->info->fingerprint_hi;
    known->fingerprint.lo = welcome->info->fingerprint_lo;
    known->pipeline_sum = welcome->info->pipeline_sum;
    known->files_sum = welcome->info->files_sum;
    known->identity = welcome->info->identity;
}

static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    const struct sim_talk *talk = arg;
    struct cw_err err = {.code = 0};

    if (!talk->known)
        return;
    ProtobufCMessage *base = cw_wire_unpack(&cachew__v1__client_command__descriptor, msg, &err);
    if (!base)
        sim_fail("a dispatcher sends what is no message: %s", err.msg);
    const Cachew__V1__ClientCommand *command = (const Cachew__V1__ClientCommand *)(void *)base;
    if (command->kind_case == CACHEW__V1__CLIENT_COMMAND__KIND_WELCOME)
        take_welcome(talk->known, command->welcome);
    if (command->kind_case == CACHEW__V1__CLIENT_COMMAND__KIND_WORKERS &&
        command->workers->n_workers > 0)
        talk->known->worker_id = command->workers->workers[0]->worker_id;
    protobuf_c_message_free_unpacked(base, NULL);
}

static void on_close(void *arg, int code, const char *msg)
{
    struct sim_talk *talk = arg;

    sim_log("a stranger is refused: %d %s", code, msg ? msg : "");
    cw_stream_free(talk->stream);
    talk->stream = NULL;
    cw_loop_stop(talk->loop);
}

static void on_end(void *arg)
{
    const struct sim_talk *talk = arg;

    cw_loop_stop(talk->loop);
}

/* A channel shows its token once it was asked for it, by a call that says nothing. */
static void show_token(struct sim_talk *talk)
{
    const Cachew__V1__InfoRequest request = CACHEW__V1__INFO_REQUEST__INIT;
    struct cw_buf *packed = cw_wire_pack(&request.base);

    cw_channel_set_token(talk->channel, NULL, talk->token_file);
    cw_channel_unary(talk->channel, "/cachew.v1.Admin/Info", packed, CALL_MS, on_reply, talk);
    cw_buf_unref(packed);
    cw_loop_run(talk->loop);
}

void sim_talk_begin(struct sim_talk *talk, const char *address, const char *method)
{
    static const struct cw_stream_cb callbacks = {.on_message = on_message, .on_close = on_close};

    talk->loop = cw_loop_new();
    talk->rpc = cw_rpc_new(talk->loop);
    talk->end = cw_timer_new(talk->loop, on_end, talk);
    talk->channel = cw_channel_open(talk->rpc, address);
    if (talk->token_file)
        show_token(talk);
    talk->stream = cw_channel_stream(talk->channel, method, &callbacks, talk);
}

void sim_say(struct sim_talk *talk, const ProtobufCMessage *message)
{
    if (talk->stream)
        cw_wire_send(talk->stream, message);
}

void sim_say_garbage(struct sim_talk *talk)
{
    struct cw_buf *buf = cw_buf_new(3);

    if (!buf)
        sim_fail("no memory");
    for (size_t i = 0; i < 3; i++)
        ((unsigned char *)buf->data)[i] = 0xff;
    if (talk->stream)
        cw_stream_send(talk->stream, &buf, 1);
    cw_buf_unref(buf);
}

void sim_talk_wait(struct sim_talk *talk, int64_t ms)
{
    if (!talk->stream)
        return;
    cw_timer_start(talk->end, ms, 0);
    cw_loop_run(talk->loop);
    cw_timer_stop(talk->end);
}

void sim_talk_end(struct sim_talk *talk)
{
    if (talk->stream && sim_one_in(2))
        cw_stream_finish(talk->stream, 0, NULL);
    cw_stream_free(talk->stream);
    talk->stream = NULL;
    cw_timer_free(talk->end);
    cw_channel_close(talk->channel);
    cw_rpc_free(talk->rpc);
    cw_loop_free(talk->loop);
}

static void on_reply(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    struct sim_talk *talk = arg;

    sim_log("a stranger's call: %s", reply ? "done" : msg);
    (void)code;
    cw_loop_stop(talk->loop);
}

void sim_talk_call(const char *address, const char *method, const ProtobufCMessage *request)
{
    struct sim_talk talk = {.loop = cw_loop_new()};
    struct cw_buf *packed = cw_wire_pack(request);

    talk.rpc = cw_rpc_new(talk.loop);
    talk.channel = cw_channel_open(talk.rpc, address);
    cw_channel_unary(talk.channel, method, packed, CALL_MS, on_reply, &talk);
    cw_buf_unref(packed);
    cw_loop_run(talk.loop);
    cw_channel_close(talk.channel);
    cw_rpc_free(talk.rpc);
    cw_loop_free(talk.loop);
}
