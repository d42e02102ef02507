/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of a relay: starts the program, sends frames to it, and dispatches its answers.
 * Loop thread. */
#include "rpc/relay.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"
#include "loop/child.h"
#include "rpc/relay_pipe.h"

#define END_MS 1000

/* A channel, unary call or stream that goes through the relay. When a relay has ended, the owners
 * of its objects are notified, and the next channel starts another relay. */
struct object {
    /* channel: the number of its channel; 0: the object is a channel itself */
    uint64_t id, channel;
    cw_unary_fn *fn; /* for a unary call */
    struct cw_stream_cb cb;
    void *arg;
};
struct cw_relay {
    struct cw_loop *loop;
    struct cw_child child;
    struct cw_relay_pipe *pipe; /* NULL: no relay is running */
    struct cw_map objects;
    uint64_t last_id;
    /* maps numbers of channels to addresses, for a relay that is started again */
    struct cw_map addresses;
    char *tls;            /* the text of CW_FRAME_TLS; NULL: no TLS */
    struct cw_map tokens; /* the same: texts of tokens, behind '=', or names of files, behind '@' */
    struct cw_err why;    /* why no relay could be started */
    /* Reports that error from the loop, as all ends are reported, and not inside of the call that
     * begins something. */
    struct cw_timer *refuse;
};

static void send(struct cw_relay *relay, struct cw_frame_head head, const char *text,
                 struct cw_buf *const *bufs, size_t n)
{
    if (relay->pipe)
        cw_relay_pipe_send(relay->pipe, &head, text, bufs, n);
}

static struct object *object_new(struct cw_relay *relay, uint64_t channel)
{
    struct object *object = CW_NEW(struct object);
    object->id = ++relay->last_id;
    object->channel = channel;
    cw_map_set(&relay->objects, object->id, object);
    return object;
}

/* ---- frames from the relay ---- */

static void report_end(struct cw_relay *relay, struct object *object, int code, const char *why)
{
    if (!object->channel)
        return;
    struct object ended = *object;
    if (ended.fn) {
        cw_mem_free(cw_map_remove(&relay->objects, ended.id));
        ended.fn(ended.arg, NULL, code, why);
    } else if (ended.cb.on_close) {
        object->cb = (struct cw_stream_cb){0}; /* the owner frees the object */
        ended.cb.on_close(ended.arg, code, why);
    }
}

static void report_all_ends(struct cw_relay *relay, int code, const char *why)
{
    uint64_t last = relay->last_id;
    /* Owners may free other objects in their callbacks, and make new ones. */
    for (uint64_t id = 1; id <= last; id++) {
        struct object *object = cw_map_get(&relay->objects, id);
        if (object)
            report_end(relay, object, code, why);
    }
}

static int end_child(struct cw_relay *relay)
{
    int status = cw_child_stop(&relay->child, END_MS);
    cw_relay_pipe_free(relay->pipe);
    relay->pipe = NULL;
    return status;
}

static void on_gone(struct cw_relay *relay)
{
    int status = end_child(relay);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CW_RELAY_OTHER) {
        cw_err_set(&relay->why, CW_E_STATE,
                   "cachew-relay, which speaks for this forked process, is of another version than "
                   "libcachew (%s)",
                   CW_VERSION);
        report_all_ends(relay, relay->why.code, relay->why.msg);
        return;
    }
    cw_log_warn("rpc", "cachew-relay has ended: another is begun");
    report_all_ends(relay, CW_E_UNAVAILABLE,
                    "cachew-relay, which speaks for this forked process, has ended");
}

static void on_refuse(void *arg)
{
    struct cw_relay *relay = arg;
    if (!relay->pipe)
        report_all_ends(relay, relay->why.code, relay->why.msg);
}

static void on_reply(struct cw_relay *relay, struct object *object, struct cw_frame *frame)
{
    struct object ended = *object;
    struct cw_rpc_msg *msg = NULL;
    cw_mem_free(cw_map_remove(&relay->objects, ended.id));
    if (frame->head.number == 0)
        msg = cw_rpc_msg_own(cw_steal(&frame->bytes), frame->head.bytes_n);
    ended.fn(ended.arg, msg, (int)frame->head.number, frame->text);
    cw_rpc_msg_unref(msg);
}

static void on_message(struct object *object, struct cw_frame *frame)
{
    struct cw_rpc_msg *msg = cw_rpc_msg_own(cw_steal(&frame->bytes), frame->head.bytes_n);
    object->cb.on_message(object->arg, msg);
    cw_rpc_msg_unref(msg);
}

static void on_frame(void *arg, struct cw_frame *frame)
{
    struct cw_relay *relay = arg;
    if (frame->head.kind == CW_FRAME_GONE) {
        on_gone(relay);
        return;
    }
    struct object *object = cw_map_get(&relay->objects, frame->head.id);
    if (!object)
        return; /* it was freed meanwhile */
    if (frame->head.kind == CW_FRAME_REPLY && object->fn)
        on_reply(relay, object, frame);
    else if (frame->head.kind == CW_FRAME_MESSAGE && object->cb.on_message)
        on_message(object, frame);
    else if (frame->head.kind == CW_FRAME_END)
        report_end(relay, object, (int)frame->head.number, frame->text);
}

/* ---- the relay's process ---- */

static int start_child(struct cw_relay *relay, struct cw_err *err)
{
    char path[4096];
    int rc = cw_child_find("cachew-relay", path, sizeof(path), err);
    const char *const argv[] = {path, CW_VERSION, NULL};
    if (rc == 0)
        rc = cw_child_start(&relay->child, argv, NULL, 0, err);
    return rc;
}

static void send_token(struct cw_relay *relay, uint64_t channel, const char *token)
{
    send(relay,
         (struct cw_frame_head){.kind = CW_FRAME_TOKEN, .id = channel, .number = token[0] == '@'},
         &token[1], NULL, 0);
}

/* A channel is kept as the number of its role, a space and its address. */
static void send_channel(struct cw_relay *relay, uint64_t id, const char *text)
{
    send(relay, (struct cw_frame_head){.kind = CW_FRAME_CHANNEL, .id = id, .number = text[0] - '0'},
         &text[2], NULL, 0);
}

static void begin(struct cw_relay *relay)
{
    uint64_t id;
    void *address, *token;
    if (relay->pipe)
        return;
    if (start_child(relay, &relay->why) != 0) {
        cw_err_wrap(&relay->why, "this process was forked from one that has connected (connect in "
                                 "the parent only after it has forked, or begin "
                                 "children with spawn or forkserver)");
        relay->why.code = CW_E_STATE;
        return;
    }
    relay->why = (struct cw_err){0};
    relay->pipe = cw_relay_pipe_new(relay->loop, relay->child.stdout_fd, relay->child.stdin_fd,
                                    on_frame, relay);
    if (relay->tls)
        send(relay, (struct cw_frame_head){.kind = CW_FRAME_TLS}, relay->tls, NULL, 0);
    for (size_t i = 0; cw_map_next(&relay->addresses, &i, &id, &address);)
        send_channel(relay, id, address);
    for (size_t i = 0; cw_map_next(&relay->tokens, &i, &id, &token);)
        send_token(relay, id, token);
}

struct cw_relay *cw_relay_new(struct cw_loop *loop)
{
    struct cw_relay *relay = CW_NEW(struct cw_relay);
    relay->loop = loop;
    relay->refuse = cw_timer_new(loop, on_refuse, relay);
    return relay;
}

void cw_relay_free(struct cw_relay *relay)
{
    if (!relay)
        return;
    /* What was to be sent has been answered, or nobody waits for it. */
    cw_child_kill(&relay->child, SIGKILL);
    if (relay->pipe)
        (void)end_child(relay);
    cw_timer_free(relay->refuse);
    cw_map_fini_free(&relay->objects);
    cw_map_fini_free(&relay->addresses);
    cw_map_fini_free(&relay->tokens);
    cw_mem_free(relay->tls);
    cw_mem_free(relay);
}

/* ---- frames to the relay ---- */

uint64_t cw_relay_channel(struct cw_relay *relay, const char *address, enum cw_role role)
{
    struct object *object = object_new(relay, 0);
    char *text = cw_mem_printf("%d %s", (int)role, address);
    cw_map_set(&relay->addresses, object->id, text);
    if (relay->pipe)
        send_channel(relay, object->id, text);
    else
        begin(relay);
    return object->id;
}

void cw_relay_tls(struct cw_relay *relay, const struct cw_tls_options *options)
{
    CW_STR_AUTO text = {0};
    CW_ASSERT(!relay->pipe && !relay->tls);
    cw_str_addf(&text, "%s\n%s\n%s", options->cert, options->key, options->ca);
    for (size_t i = 0; i < options->roles.n; i++)
        cw_str_addf(&text, "\n%s", options->roles.v[i]);
    relay->tls = cw_mem_strdup(cw_str_text(&text));
}

void cw_relay_token(struct cw_relay *relay, uint64_t channel, const char *text, const char *file)
{
    cw_mem_free(cw_map_remove(&relay->tokens, channel));
    if (!text && !file)
        return;
    char *token = cw_mem_printf("%s%s", text ? "=" : "@", text ? text : file);
    cw_map_set(&relay->tokens, channel, token);
    send_token(relay, channel, token);
}

void cw_relay_channel_close(struct cw_relay *relay, uint64_t channel)
{
    uint64_t id;
    void *value;
    for (size_t i = 0; cw_map_next(&relay->objects, &i, &id, &value);) {
        struct object *object = value;
        if (id == channel || (object->channel == channel && object->fn))
            cw_mem_free(cw_map_remove(&relay->objects, id));
    }
    cw_mem_free(cw_map_remove(&relay->addresses, channel));
    cw_mem_free(cw_map_remove(&relay->tokens, channel));
    send(relay, (struct cw_frame_head){.kind = CW_FRAME_CHANNEL_CLOSE, .id = channel}, NULL, NULL,
         0);
}

static bool can_begin(struct cw_relay *relay)
{
    begin(relay);
    if (!relay->pipe)
        cw_timer_start(relay->refuse, 0, 0);
    return relay->pipe != NULL;
}

void cw_relay_unary(struct cw_relay *relay, uint64_t channel, const char *method,
                    struct cw_buf *request, int64_t timeout_ms, cw_unary_fn *fn, void *arg)
{
    struct object *object = object_new(relay, channel);
    object->fn = fn;
    object->arg = arg;
    if (can_begin(relay))
        send(relay,
             (struct cw_frame_head){
                 .kind = CW_FRAME_UNARY, .id = object->id, .on = channel, .number = timeout_ms},
             method, &request, 1);
}

uint64_t cw_relay_stream(struct cw_relay *relay, uint64_t channel, const char *method,
                         const struct cw_stream_cb *cb, void *arg)
{
    struct object *object = object_new(relay, channel);
    object->cb = *cb;
    object->arg = arg;
    if (can_begin(relay))
        send(relay,
             (struct cw_frame_head){.kind = CW_FRAME_STREAM, .id = object->id, .on = channel},
             method, NULL, 0);
    return object->id;
}

void cw_relay_send(struct cw_relay *relay, uint64_t stream, struct cw_buf *const *bufs, size_t n)
{
    send(relay, (struct cw_frame_head){.kind = CW_FRAME_SEND, .id = stream}, NULL, bufs, n);
}

void cw_relay_pause(struct cw_relay *relay, uint64_t stream, bool paused)
{
    send(relay, (struct cw_frame_head){.kind = CW_FRAME_PAUSE, .id = stream, .number = paused},
         NULL, NULL, 0);
}

void cw_relay_finish(struct cw_relay *relay, uint64_t stream, int code, const char *msg)
{
    send(relay, (struct cw_frame_head){.kind = CW_FRAME_FINISH, .id = stream, .number = code}, msg,
         NULL, 0);
}

void cw_relay_stream_free(struct cw_relay *relay, uint64_t stream)
{
    cw_mem_free(cw_map_remove(&relay->objects, stream));
    send(relay, (struct cw_frame_head){.kind = CW_FRAME_FREE, .id = stream}, NULL, NULL, 0);
}
