/* SPDX-License-Identifier: Apache-2.0 */
/* cachew top: a live view of a dispatcher. There is one loop: a timer asks, and answers, keys and
 * signals are handled as they come. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/tool/view/term.h"
#include "client/tool/tool.h"
#include "client/tool/view/top.h"
#include "rpc/rpc.h"
#include "wire/wire.h"

#define ANSWER_MS 3000

enum { INFO, JOBS, WORKERS, DECISIONS, ASKED_N };
struct view;
struct asked {
    struct view *view;
    ProtobufCMessage *now, *next; /* The replies that are shown, and those of the present round. */
};
struct view {
    const char *address;
    int64_t interval_ms;
    bool once, json, screen;
    struct cw_loop *loop;
    struct cw_rpc *rpc;
    /* The channel to the dispatcher; NULL if it must be opened again. */
    struct cw_channel *channel;
    struct cw_timer *timer;
    struct cw_poll *keys;
    struct asked asked[ASKED_N];
    unsigned waiting; /* The answers of the present round that have not come. */
    int64_t time_ms;
    struct cw_err failed; /* The error of the present round of requests. */
    struct cw_err lost;   /* The error of the last round of requests. */
    int code;
};

static void message_free(ProtobufCMessage *message)
{
    if (message)
        protobuf_c_message_free_unpacked(message, NULL);
}

/* ---- showing ---- */

static void show(struct view *v)
{
    CW_STR_AUTO out = {0};
    const struct tool_top top = {
        .address = v->address,
        .info = (const Cachew__V1__InfoReply *)(void *)v->asked[INFO].now,
        .jobs = (const Cachew__V1__ListJobsReply *)(void *)v->asked[JOBS].now,
        .workers = (const Cachew__V1__ListWorkersReply *)(void *)v->asked[WORKERS].now,
        .decisions = (const Cachew__V1__ListDecisionsReply *)(void *)v->asked[DECISIONS].now,
        .time_ms = v->time_ms,
        .lost = v->lost.code != 0 ? v->lost.msg : NULL};
    if (v->screen) {
        size_t columns, rows;
        tool_term_size(&columns, &rows);
        tool_top_text(&top, columns, rows, true, &out);
        if (!top.lost)
            cw_str_add(&out, "q quits");
        tool_term_show(cw_str_text(&out), TOOL_TOP_HEAD);
        return;
    }
    if (v->json)
        tool_top_json(&top, &out);
    else if (top.lost) /* Earlier output stays above. */
        cw_str_addf(&out, "connection lost, trying again: %s\n", top.lost);
    else
        tool_top_text(&top, TOOL_TOP_WIDE, 0, false, &out);
    puts(cw_str_text(&out));
    int code = tool_flush_output();
    if (code == TOOL_OK)
        return;
    v->code = code; /* The disk is full, or the reader of the pipe is gone. */
    cw_loop_stop(v->loop);
}

/* ---- asking ---- */

static void end_round(struct view *v)
{
    v->time_ms = cw_clock_wall_ms();
    v->lost = v->failed;
    for (size_t i = 0; i < ASKED_N; i++) {
        struct asked *asked = &v->asked[i];
        message_free(v->failed.code == 0 ? asked->now : asked->next);
        if (v->failed.code == 0)
            asked->now = asked->next;
        asked->next = NULL;
    }
    if (v->once && v->lost.code != 0)
        v->code = v->json
                      ? TOOL_FAILED
                      : tool_fail("cannot ask the dispatcher at %s: %s", v->address, v->lost.msg);
    if (v->json || v->lost.code == 0 || !v->once)
        show(v);
    if (v->once)
        cw_loop_stop(v->loop);
    else
        cw_timer_start(v->timer, v->interval_ms, 0);
}

static const ProtobufCMessageDescriptor *const replies[] = {
    [INFO] = &cachew__v1__info_reply__descriptor,
    [JOBS] = &cachew__v1__list_jobs_reply__descriptor,
    [WORKERS] = &cachew__v1__list_workers_reply__descriptor,
    [DECISIONS] = &cachew__v1__list_decisions_reply__descriptor,
};

static void on_reply(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    struct asked *asked = arg;
    struct view *v = asked->view;
    struct cw_err err = {0};
    if (reply)
        asked->next = cw_wire_unpack(replies[asked - v->asked], reply, &err);
    else
        (void)cw_err_set(&err, code, "%s", msg);
    if (!asked->next)
        v->failed = err;
    if (--v->waiting == 0)
        end_round(v);
}

static void ask(struct view *v, int which, const char *method, const ProtobufCMessage *request)
{
    struct cw_buf *packed = cw_wire_pack(request);
    v->asked[which].view = v;
    cw_channel_unary(v->channel, method, packed, ANSWER_MS, on_reply, &v->asked[which]);
    cw_buf_unref(packed);
}

static void on_timer(void *arg)
{
    struct view *v = arg;
    /* The channel is opened again, since the old one would wait for gRPC's reconnect backoff. */
    if (v->lost.code != 0) {
        cw_channel_close(v->channel);
        v->channel = NULL;
    }
    if (!v->channel)
        v->channel = tool_open_channel(v->rpc, v->address);
    const Cachew__V1__InfoRequest info = CACHEW__V1__INFO_REQUEST__INIT;
    const Cachew__V1__ListJobsRequest jobs = CACHEW__V1__LIST_JOBS_REQUEST__INIT;
    const Cachew__V1__ListWorkersRequest workers = CACHEW__V1__LIST_WORKERS_REQUEST__INIT;
    Cachew__V1__ListDecisionsRequest decisions = CACHEW__V1__LIST_DECISIONS_REQUEST__INIT;
    decisions.limit = TOOL_TOP_DECISIONS;
    decisions.brief = true;
    v->failed = (struct cw_err){0};
    v->waiting = ASKED_N;
    ask(v, INFO, "/cachew.v1.Admin/Info", &info.base);
    ask(v, JOBS, "/cachew.v1.Admin/ListJobs", &jobs.base);
    ask(v, WORKERS, "/cachew.v1.Admin/ListWorkers", &workers.base);
    ask(v, DECISIONS, "/cachew.v1.Admin/ListDecisions", &decisions.base);
}

/* ---- keys and signals ---- */

static int key_fd = -1;

static void on_key(void *arg)
{
    struct view *v = arg;
    char bytes[64];
    ssize_t n = read(key_fd, bytes, sizeof(bytes));
    if (n == 0) {
        cw_poll_free(v->keys);
        v->keys = NULL;
    }
    for (ssize_t i = 0; i < n; i++)
        if (bytes[i] == 'q' || bytes[i] == 'Q')
            cw_loop_stop(v->loop);
}

static void on_signal(void *arg, int signum)
{
    struct view *v = arg;
    if (signum == SIGWINCH) {
        show(v);
    } else if (signum == SIGTSTP) {
        tool_term_close();
        (void)raise(SIGSTOP);
        (void)tool_term_open();
        show(v);
    } else {
        v->code = signum == SIGINT && v->screen ? TOOL_OK : TOOL_INTERRUPTED;
        cw_loop_stop(v->loop);
    }
}

static int begin_screen(struct view *v, struct cw_err *err)
{
    static const int signums[] = {SIGWINCH, SIGTSTP};
    for (size_t i = 0; i < CW_ARRAY_LEN(signums); i++) {
        int rc = cw_loop_on_signal(v->loop, signums[i], on_signal, v, err);
        if (rc < 0)
            return rc;
    }
    key_fd = tool_term_open();
    (void)atexit(tool_term_close);
    if (key_fd >= 0)
        v->keys = cw_poll_new(v->loop, key_fd, on_key, v, err);
    show(v);
    return key_fd >= 0 && !v->keys ? err->code : 0;
}

static int run(struct view *v)
{
    static const int signums[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct cw_err err = {0};
    int rc = 0;
    v->loop = cw_loop_new();
    for (size_t i = 0; rc == 0 && i < CW_ARRAY_LEN(signums); i++)
        rc = cw_loop_on_signal(v->loop, signums[i], on_signal, v, &err);
    if (rc == 0 && v->screen)
        rc = begin_screen(v, &err);
    if (rc == 0) {
        v->rpc = cw_rpc_new(v->loop);
        v->timer = cw_timer_new(v->loop, on_timer, v);
        cw_timer_start(v->timer, 0, 0);
        cw_loop_run(v->loop);
    }
    tool_term_close();
    cw_poll_free(v->keys);
    cw_timer_free(v->timer);
    cw_channel_close(v->channel);
    cw_rpc_free(v->rpc);
    cw_loop_free(v->loop);
    for (size_t i = 0; i < ASKED_N; i++) {
        message_free(v->asked[i].now);
        message_free(v->asked[i].next);
    }
    return rc < 0 ? tool_fail_err(&err) : v->code;
}

int tool_cmd_top(int argc, char **argv)
{
    struct view v = {.address = tool_dispatcher(), .interval_ms = 1000};
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&v.address),
        {"interval", 'i', CW_ARG_MS, &v.interval_ms, "TIME", "between two looks (default 1s)", 50,
         3600000},
        {"once", 0, CW_ARG_FLAG, &v.once, NULL, "look once, print plain text, and end", 0, 0},
        TOOL_ROW_JSON(&v.json, "print one JSON object a look"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew top",
        .usage = "[options]",
        .about = "Shows what happens, live: the fleet, jobs and how long their trainers wait, "
                 "workers and their hosts, the last "
                 "decisions. Without a terminal it prints plain text. Keys: q quits.",
        .rows = rows};
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "", NULL, 0, &code))
        return code;
    if (cw_str_starts(v.address, "local:"))
        return tool_fail("which dispatcher? give --dispatcher HOST:PORT, or set CACHEW_DISPATCHER");
    v.screen = !v.once && !v.json && tool_term_is_there();
    return run(&v);
}
