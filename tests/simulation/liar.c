/* SPDX-License-Identifier: Apache-2.0 */
/* A liar's program: a dispatcher and a worker that say what none should. A peer is told something
 * when it says hello, and then now and then. */
#include "liar.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/version.h"
#include "cachew/v1/admin.pb-c.h"
#include "loop/loop.h"
#include "rpc/rpc.h"
#include "system.h"

__attribute__((visibility("default"))) void sim_liar_main(void *arg);

#define LIES_MOST 9 /* on one stream */

enum peer { CLIENT, WORKER, FETCHER };
struct listener {
    enum peer peer;
    struct cw_loop *loop;
    struct cw_stream *stream;
    struct cw_timer *timer;
    Cachew__V1__ClientMessage *hello; /* of a client; NULL: none came */
    bool has_heard;                   /* its first message */
    uint64_t said, most;
};
static struct cw_loop *loop;

static void lie(void *arg)
{
    struct listener *l = arg;
    uint64_t said = l->said++;
    bool first = said == 0;

    if (l->peer == CLIENT)
        sim_lie_to_client(l->stream, l->hello ? l->hello->hello : NULL, first);
    else if (l->peer == WORKER)
        sim_lie_to_worker(l->stream, first);
    else
        sim_lie_as_worker(l->stream, said);
    if (l->said < l->most)
        cw_timer_start(l->timer, sim_between(1, 200), 0);
    else if (sim_one_in(2))
        cw_stream_finish(l->stream, sim_one_in(2) ? CW_E_UNAVAILABLE : 0, "");
}

/* A client's first message is kept; others say nothing that a liar wants to know. */
static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    struct listener *l = arg;
    struct cw_err err = {.code = 0};

    if (l->has_heard)
        return;
    l->has_heard = true;
    if (l->peer == CLIENT)
        l->hello = (Cachew__V1__ClientMessage *)(void *)cw_wire_unpack(
            &cachew__v1__client_message__descriptor, msg, &err);
    if (sim_one_in(12)) /* it says nothing at all */
        return;
    cw_timer_start(l->timer, sim_between(0, 20), 0);
}

static void on_close(void *arg, int code, const char *msg)
{
    struct listener *l = arg;

    sim_log("the liar is left: %d %s", code, msg ? msg : "");
    if (l->hello)
        cachew__v1__client_message__free_unpacked(l->hello, NULL);
    cw_timer_free(l->timer);
    cw_stream_free(l->stream);
    cw_mem_free(l);
}

static void listen_to(enum peer peer, struct cw_stream *stream)
{
    static const struct cw_stream_cb callbacks = {.on_message = on_message, .on_close = on_close};
    struct listener *l = CW_NEW(struct listener);

    l->peer = peer;
    l->stream = stream;
    l->timer = cw_timer_new(loop, lie, l);
    l->most = 1 + sim_below(LIES_MOST);
    cw_stream_accept(stream, &callbacks, l);
}

static void on_client(void *arg, struct cw_stream *stream)
{
    (void)arg;
    listen_to(CLIENT, stream);
}

static void on_worker(void *arg, struct cw_stream *stream)
{
    (void)arg;
    listen_to(WORKER, stream);
}

static void on_fetcher(void *arg, struct cw_stream *stream)
{
    (void)arg;
    listen_to(FETCHER, stream);
}

/* This is true, mostly: else nobody would stay. */
static void on_info(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    Cachew__V1__InfoReply reply = CACHEW__V1__INFO_REPLY__INIT;

    (void)arg;
    (void)request;
    reply.protocol = sim_one_in(16) ? 99 : CW_PROTOCOL;
    struct cw_buf *packed = cw_wire_pack(&reply.base);
    cw_call_reply(call, packed);
    cw_buf_unref(packed);
}

void sim_lie_bytes(struct cw_stream *stream)
{
    struct cw_buf *buf = cw_buf_new(3);

    if (!buf)
        sim_fail("no memory");
    for (size_t i = 0; i < 3; i++)
        ((unsigned char *)buf->data)[i] = 0xff;
    cw_stream_send(stream, &buf, 1);
    cw_buf_unref(buf);
}

void sim_liar_main(void *arg)
{
    static const struct cw_method methods[] = {
        {.path = "/cachew.v1.Admin/Info", .unary = on_info},
        {.path = "/cachew.v1.Jobs/Attach", .stream = on_client},
        {.path = "/cachew.v1.Fleet/Attach", .stream = on_worker},
        {.path = "/cachew.v1.Data/Fetch", .stream = on_fetcher},
    };
    struct cw_err err = {.code = 0};
    char address[64];

    (void)arg;
    sim_system_init();
    loop = cw_loop_new();
    struct cw_server *server = cw_server_new(cw_rpc_new(loop));
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        cw_server_add(server, &methods[i]);
    if (cw_server_listen(server, SIM_LIAR_ADDRESS, address, sizeof(address), &err) != 0)
        sim_fail("a liar cannot listen: %s", err.msg);
    cw_server_start(server);
    cw_loop_run(loop);
}
