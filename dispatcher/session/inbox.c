/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks what peers send: small messages at once, large ones on a thread (d->offload), in order. */
#include "dispatcher/session/inbox.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/limits.h"
#include "base/mem.h"
#include "loop/offload.h"

/* One message. While the thread has it, the letter belongs to the thread, but for `inbox`. */
struct letter {
    struct letter *next;
    struct cw_inbox *inbox; /* NULL: the inbox is gone. */
    const struct cw_inbox_kind *kind;
    struct cw_rpc_msg *msg;
    ProtobufCMessage *message;
    void *read;
    struct cw_err err;
    bool is_read; /* The thread has read it. */
    struct cw_offload work;
};
struct cw_inbox {
    struct cw_dispatcher *d;
    struct cw_stream *stream;
    const struct cw_inbox_kind *kind;
    void *arg;
    bool delivers_large;
    bool held;    /* What is next waits (cw_inbox_hold). */
    bool is_away; /* The first is with the thread. */
    struct letter *first, **end;
};

static void unpack(const struct cw_inbox_kind *kind, struct letter *letter)
{
    letter->message = cw_wire_unpack(kind->type, letter->msg, &letter->err);
    letter->msg = cw_rpc_msg_unref(letter->msg);
}

static void read_more(const struct cw_inbox_kind *kind, struct letter *letter)
{
    if (letter->message && kind->read)
        letter->read = kind->read(letter->message);
}

static void run(void *arg)
{
    struct letter *letter = arg;
    if (letter->msg) /* else it was small, and is slow */
        unpack(letter->kind, letter);
    read_more(letter->kind, letter);
}

static void letter_free(struct letter *letter)
{
    if (letter->message)
        protobuf_c_message_free_unpacked(letter->message, NULL);
    if (letter->read)
        letter->kind->free_read(letter->read);
    cw_rpc_msg_unref(letter->msg);
    cw_mem_free(letter);
}

/* The owner takes what was unpacked. */
static void deliver(struct cw_inbox *inbox, const struct letter *letter, bool is_large)
{
    inbox->delivers_large = is_large;
    inbox->kind->on_message(inbox->arg, letter->message, letter->read, &letter->err);
}

static bool is_large(const struct cw_inbox *inbox, const struct cw_rpc_msg *msg)
{
    if (!inbox->d->offload)
        return false;
    return cw_rpc_msg_len(msg) > CW_UNPACKED_HERE_MAX || cw_fault_rare("session.message_elsewhere");
}

/* Unpacks and reads a message in this thread, unless the other one is to do it. */
static bool is_read_here(const struct cw_inbox *inbox, struct letter *letter)
{
    const struct cw_inbox_kind *kind = inbox->kind;
    if (is_large(inbox, letter->msg))
        return false;
    unpack(kind, letter);
    if (letter->message && kind->is_slow && inbox->d->offload && kind->is_slow(letter->message))
        return false;
    read_more(kind, letter);
    return true;
}

static void on_read(void *arg);

static void hand_over(struct cw_inbox *inbox, struct letter *letter)
{
    inbox->is_away = true;
    letter->work.run = run;
    letter->work.done = on_read;
    letter->work.arg = letter;
    cw_offload_add(inbox->d->offload, &letter->work);
}

/* Goes on with what waits, up to a message that the thread is to read or that the next is held for. */
static void go_on(struct cw_inbox *inbox)
{
    while (inbox->first && !inbox->held) {
        struct letter *letter = inbox->first;
        if (!letter->is_read && !is_read_here(inbox, letter)) {
            hand_over(inbox, letter);
            return;
        }
        inbox->first = letter->next;
        if (!inbox->first)
            inbox->end = &inbox->first;
        deliver(inbox, letter, letter->is_read);
        cw_mem_free(letter);
    }
    if (!inbox->held)
        cw_stream_pause(inbox->stream, false);
}

static void on_read(void *arg)
{
    struct letter *letter = arg;
    struct cw_inbox *inbox = letter->inbox;
    if (!inbox) {
        letter_free(letter);
        return;
    }
    int64_t begin = cw_clock_thread_cpu_ns();
    struct cw_stream *stream = inbox->stream;
    letter->is_read = true;
    inbox->is_away = false;
    go_on(inbox);
    cw_stream_note_time(stream, cw_clock_thread_cpu_ns() - begin);
}

void cw_inbox_hold(struct cw_inbox *inbox)
{
    inbox->held = true;
    cw_stream_pause(inbox->stream, true);
}

void cw_inbox_go_on(struct cw_inbox *inbox)
{
    inbox->held = false;
    if (!inbox->is_away)
        go_on(inbox);
}

bool cw_inbox_is_large(const struct cw_inbox *inbox)
{
    return inbox->delivers_large;
}

struct cw_inbox *cw_inbox_new(struct cw_dispatcher *d, struct cw_stream *stream,
                              const struct cw_inbox_kind *kind, void *arg)
{
    struct cw_inbox *inbox = CW_NEW(struct cw_inbox);
    inbox->d = d;
    inbox->stream = stream;
    inbox->kind = kind;
    inbox->arg = arg;
    inbox->end = &inbox->first;
    return inbox;
}

void cw_inbox_put(struct cw_inbox *inbox, struct cw_rpc_msg *msg)
{
    struct letter here = {.kind = inbox->kind, .inbox = inbox, .msg = cw_rpc_msg_ref(msg)};
    if (!inbox->first && !inbox->held && is_read_here(inbox, &here)) {
        deliver(inbox, &here, false);
        return;
    }
    struct letter *letter = CW_NEW(struct letter);
    *letter = here;
    bool next = !inbox->first && !inbox->held;
    *inbox->end = letter;
    inbox->end = &letter->next;
    if (next) {
        cw_stream_pause(inbox->stream, true);
        hand_over(inbox, letter);
    }
}

bool cw_inbox_is_reading(const struct cw_inbox *inbox)
{
    return inbox && inbox->is_away;
}

void cw_inbox_free(struct cw_inbox *inbox)
{
    if (!inbox)
        return;
    struct letter *behind = inbox->first;
    if (inbox->is_away) {
        behind = inbox->first->next;
        inbox->first->inbox = NULL;
    }
    while (behind) {
        struct letter *letter = behind;
        behind = letter->next;
        letter_free(letter);
    }
    cw_mem_free(inbox);
}

static void free_message(void *arg)
{
    protobuf_c_message_free_unpacked(arg, NULL);
}

void cw_inbox_drop(struct cw_inbox *inbox, ProtobufCMessage *message)
{
    if (inbox->delivers_large && inbox->d->offload)
        cw_offload_call(inbox->d->offload, free_message, message);
    else
        free_message(message);
}

void cw_inbox_drop_kept(struct cw_dispatcher *d, ProtobufCMessage *message, bool large)
{
    if (large && d->offload)
        cw_offload_call(d->offload, free_message, message);
    else
        free_message(message);
}
