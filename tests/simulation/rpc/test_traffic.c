/* SPDX-License-Identifier: Apache-2.0 */
/* Random traffic under random faults, checked against the contract of rpc.h: on each stream
 * messages come in order, once each, and none is left out before one that came; a stream is closed
 * once; before a good end everything has come; and when all is well again, every stream ends.
 *
 * test_traffic [SEEDS [FIRST]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "rpc/rpc.h"
#include "simulation/rpc/net.h"

#define TALKS_MAX 4096
#define CLIENTS 3
#define OPEN_MAX 3 /* streams of a client at a time */
#define ADDRESS "s:100"
#define TROUBLE_NS (20 * 1000000000ll)
#define LIMIT_NS (600 * 1000000000ll)
#define QUEUED_MAX ((size_t)1 << 20)

/* A stream, as whoever watches from outside knows it: [0] the client's end, [1] the server's. */
struct talk {
    uint32_t sent[2], got[2];
    struct sim_actor *actor[2];
    bool finished[2], freed[2];
    int finish_code;
    int closes[2];
};
/* In its actor's memory. */
struct end {
    struct talk *talk; /* the server's: NULL until the first message */
    int side;
    struct cw_stream *stream; /* NULL: freed */
    struct cw_timer *timer;
    size_t *open;
    bool paused;
};
struct hello {
    uint32_t talk, number;
};
static struct talk talks[TALKS_MAX];
static size_t talks_n;
static bool is_quiet;
static uint64_t digest;

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x))                                                                                  \
            sim_fail("%s:%d: %s", __FILE__, __LINE__, #x);                                         \
    } while (0)

static void note(uint64_t what)
{
    uint64_t words[] = {digest, what, (uint64_t)sim_now_ns()};
    digest = cw_hash_u64(words, sizeof words);
}

/* ---- both ends ---- */

static void let_go(struct end *end)
{
    if (end->talk)
        end->talk->freed[end->side] = true;
    cw_stream_free(end->stream);
    end->stream = NULL;
    cw_timer_free(end->timer);
    end->timer = NULL;
    if (end->open)
        --*end->open;
}

static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    struct end *end = arg;
    struct hello hello;
    CHECK(end->stream);
    CHECK(cw_rpc_msg_copy(msg, 0, &hello, sizeof hello) == 0);
    if (!end->talk) {
        end->talk = &talks[hello.talk];
        end->talk->actor[1] = sim_self();
    }
    struct talk *talk = end->talk;
    CHECK(talk == &talks[hello.talk]);
    CHECK(talk->closes[end->side] == 0);
    CHECK(hello.number == talk->got[end->side]);
    talk->got[end->side]++;
    size_t n = cw_rpc_msg_len(msg);
    uint8_t last;
    if (n > sizeof hello) {
        CHECK(cw_rpc_msg_copy(msg, n - 1, &last, 1) == 0);
        CHECK(last == (uint8_t)(hello.number + n));
    }
    note(hello.number);
}

static void on_close(void *arg, int code, const char *msg)
{
    struct end *end = arg;
    struct talk *talk = end->talk;
    (void)msg;
    CHECK(end->stream);
    note((uint64_t)-code);
    if (talk) {
        CHECK(talk->closes[end->side]++ == 0);
        /* A client's end makes the server end by itself: what is sent after that is dropped. */
        bool is_answer = end->side == 0
                             ? code == cw_err_from_grpc(8) || (code == 0 && !talk->finished[0])
                             : code == 0 && !talk->finished[1];
        if (is_answer)
            CHECK(talk->got[end->side] == talk->sent[1 - end->side]);
        if (end->side == 0 && code == cw_err_from_grpc(8))
            CHECK(talk->finished[1] && talk->finish_code == CW_E_LIMIT);
    }
    let_go(end);
}

static const struct cw_stream_cb end_cb = {.on_message = on_message, .on_close = on_close};

static void say(struct end *end)
{
    struct talk *talk = end->talk;
    size_t more = sim_one_in(30) ? sim_below(300000) : sim_below(200);
    struct cw_buf *buf = cw_buf_new(sizeof(struct hello) + more);
    struct hello hello = {.talk = (uint32_t)(talk - talks), .number = talk->sent[end->side]++};
    uint8_t *bytes = buf->data;
    memset(bytes, 0, buf->len);
    memcpy(bytes, &hello, sizeof hello);
    if (more > 0)
        bytes[buf->len - 1] = (uint8_t)(hello.number + buf->len);
    cw_stream_send(end->stream, &buf, 1);
    cw_buf_unref(buf);
}

static void finish(struct end *end)
{
    struct talk *talk = end->talk;
    if (talk->finished[end->side])
        return;
    talk->finished[end->side] = true;
    if (end->side == 1)
        talk->finish_code = sim_one_in(2) ? CW_E_LIMIT : 0;
    cw_stream_finish(end->stream, end->side == 1 ? talk->finish_code : 0, NULL);
}

static void step(void *arg)
{
    struct end *end = arg;
    struct talk *talk = end->talk;
    uint64_t what = sim_below(100);
    cw_timer_start(end->timer, sim_between(1, 50), 0);
    if (!talk)
        return;
    if (is_quiet) {
        cw_stream_pause(end->stream, false);
        finish(end);
    } else if (what < 2) {
        finish(end);
        if (sim_one_in(2))
            let_go(end); /* the rest goes by itself */
    } else if (what < 3) {
        let_go(end);
    } else if (what < 13) {
        end->paused = !end->paused;
        cw_stream_pause(end->stream, end->paused);
    } else if (!talk->finished[end->side] && cw_stream_queued(end->stream) < QUEUED_MAX) {
        for (uint64_t i = sim_below(5); i > 0; i--)
            say(end);
    }
}

static struct end *end_new(struct cw_loop *loop, int side)
{
    struct end *end = CW_NEW(struct end);
    end->side = side;
    end->timer = cw_timer_new(loop, step, end);
    cw_timer_start(end->timer, sim_between(1, 50), 0);
    return end;
}

/* ---- server ---- */

static void on_stream(void *arg, struct cw_stream *stream)
{
    struct end *end = end_new(arg, 1);
    end->stream = stream;
    cw_stream_accept(stream, &end_cb, end);
}

static void on_call(void *arg, struct cw_call *call, struct cw_rpc_msg *msg)
{
    (void)arg;
    (void)msg;
    struct cw_buf *buf = cw_buf_copy("yes", 3);
    if (sim_one_in(3))
        cw_call_fail(call, CW_E_DENIED, "no");
    else
        cw_call_reply(call, buf);
    cw_buf_unref(buf);
}

static void serve(void *arg)
{
    (void)arg;
    struct cw_loop *loop = cw_loop_new();
    struct cw_rpc *rpc = cw_rpc_new(loop);
    struct cw_server *server = cw_server_new(rpc);
    char address[128];
    cw_server_add(server,
                  &(struct cw_method){.path = "/t.T/Talk", .stream = on_stream, .arg = loop});
    cw_server_add(server, &(struct cw_method){.path = "/t.T/Ask", .unary = on_call});
    CHECK(cw_server_listen(server, ADDRESS, address, sizeof address, NULL) == 0);
    cw_server_start(server);
    cw_loop_run(loop);
}

/* ---- clients ---- */

struct client {
    struct cw_loop *loop;
    struct cw_channel *channel;
    struct cw_timer *timer;
    size_t open;
    bool asks;
};

static void on_answer(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    struct client *client = arg;
    (void)msg;
    CHECK(client->asks);
    CHECK((code == 0) == (reply != NULL));
    client->asks = false;
    note((uint64_t)-code);
}

static void ask(struct client *client)
{
    struct cw_buf *buf = cw_buf_copy("well?", 5);
    client->asks = true;
    cw_channel_unary(client->channel, "/t.T/Ask", buf, sim_between(1, 10000), on_answer, client);
    cw_buf_unref(buf);
}

static void client_step(void *arg)
{
    struct client *client = arg;
    cw_timer_start(client->timer, sim_between(1, 300), 0);
    if (is_quiet)
        return;
    if (client->open < OPEN_MAX && talks_n < TALKS_MAX) {
        struct end *end = end_new(client->loop, 0);
        end->talk = &talks[talks_n++];
        end->talk->actor[0] = sim_self();
        end->open = &client->open;
        client->open++;
        end->stream = cw_channel_stream(client->channel, "/t.T/Talk", &end_cb, end);
        say(end);
    }
    if (!client->asks)
        ask(client);
}

static void be_client(void *arg)
{
    (void)arg;
    struct client client = {.loop = cw_loop_new()};
    struct cw_rpc *rpc = cw_rpc_new(client.loop);
    client.channel = cw_channel_open(rpc, ADDRESS);
    client.timer = cw_timer_new(client.loop, client_step, &client);
    cw_timer_start(client.timer, 1, 0);
    cw_loop_run(client.loop);
}

/* ---- trouble ---- */

static struct sim_actor *actors[CLIENTS + 1]; /* [0] the server */
static const char *const hosts[CLIENTS + 1] = {"s", "a", "b", "a"};

static void start(size_t i)
{
    actors[i] = sim_spawn(hosts[i], i == 0 ? "server" : "client", i == 0 ? serve : be_client, NULL);
}

static void on_cont(void *arg)
{
    sim_cont(arg);
}

static void kill_one(size_t i)
{
    if (!sim_is_alive(actors[i]))
        return; /* its host is down */
    sim_kill(actors[i]);
    start(i);
}

/* The power fails: no connection is closed, and what comes up again knows of none. */
static void on_power(void *arg)
{
    size_t i = (size_t)((struct sim_actor **)arg - actors);
    net_host_down(hosts[i], false);
    start(i);
}

static void crash_host(size_t i)
{
    if (!sim_is_alive(actors[i]))
        return;
    net_host_down(hosts[i], true);
    sim_kill(actors[i]);
    sim_at(NULL, sim_now_ns() + sim_between(1, 8000) * 1000000, on_power, &actors[i]);
}

static bool loses_something(const struct sim_actor *actor)
{
    struct net_held held = net_held(actor);
    return held.unread + held.unsent > 0;
}

static void trouble(void *arg)
{
    (void)arg;
    const char *x = hosts[sim_below(CLIENTS + 1)], *y = hosts[sim_below(CLIENTS + 1)];
    size_t i = (size_t)sim_below(CLIENTS + 1);
    if (sim_now_ns() >= TROUBLE_NS)
        return;
    sim_at(NULL, sim_now_ns() + sim_between(10, 1500) * 1000000, trouble, NULL);
    switch (sim_below(9)) {
    case 0:
    case 1:
        net_cut_any();
        break;
    case 2:
        net_partition(x, y);
        break;
    case 3:
    case 4:
        net_heal_all();
        break;
    case 5:
        net_delay(x, y, sim_between(1, 2000) * 1000000, sim_now_ns() + sim_between(1, 5000000000));
        break;
    case 6:
        crash_host(i);
        break;
    case 7:
        sim_stop(actors[i]);
        sim_at(NULL, sim_now_ns() + sim_between(1, 4000) * 1000000, on_cont, actors[i]);
        break;
    default:
        if (loses_something(actors[i]) || sim_one_in(4))
            kill_one(i);
        break;
    }
}

static void peace(void *arg)
{
    (void)arg;
    net_heal_all();
    is_quiet = true;
}

static bool is_over(void *arg)
{
    (void)arg;
    if (!is_quiet)
        return false;
    for (size_t i = 0; i < talks_n; i++)
        for (int side = 0; side < 2; side++)
            if (talks[i].actor[side] && sim_is_alive(talks[i].actor[side]) && !talks[i].freed[side])
                return false;
    return true;
}

static uint64_t run(uint64_t seed)
{
    struct sim_config config = {.seed = seed};
    memset(talks, 0, sizeof talks);
    talks_n = 0;
    is_quiet = false;
    digest = seed;
    sim_world_begin(&config);
    for (size_t i = 0; i <= CLIENTS; i++)
        start(i);
    sim_at(NULL, 100000000, trouble, NULL);
    sim_at(NULL, TROUBLE_NS + 5000000000ll, peace, NULL);
    if (sim_world_run(is_over, NULL, LIMIT_NS) != SIM_END_DONE)
        sim_fail("a stream has not ended");
    CHECK(talks_n > 0);
    note(sim_random());
    sim_world_end();
    return digest;
}

int main(int argc, char **argv)
{
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : SEEDS;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, messages = 0, whole = 0;
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        uint64_t got = run(seed);
        for (size_t i = 0; i < talks_n; i++) {
            messages += talks[i].got[0] + talks[i].got[1];
            whole += talks[i].closes[0] && talks[i].got[0] == talks[i].sent[1];
        }
        if (seed % 50 == first % 50 && run(seed) != got) {
            fprintf(stderr, "seed %llu: another run went another way\n", (unsigned long long)seed);
            return 1;
        }
    }
    printf("%llu seeds, %llu messages, %llu streams of which the client got everything\n",
           (unsigned long long)seeds, (unsigned long long)messages, (unsigned long long)whole);
    return messages == 0 || whole == 0;
}
