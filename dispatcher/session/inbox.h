/* SPDX-License-Identifier: Apache-2.0 */
/* What has come on a stream of a worker or client and is not handled yet. A small message is
 * unpacked and handled at once. A large one is unpacked by a thread, and one that says so much with few
 * words that it is slow to read is read by it, so that it holds up nobody but its sender: what comes
 * behind it waits, and the stream is not read further meanwhile. Loop thread. */
#ifndef CW_DISPATCHER_SESSION_INBOX_H
#define CW_DISPATCHER_SESSION_INBOX_H

#include "dispatcher/model/model.h"
#include "wire/wire.h"

struct cw_inbox_kind {
    const ProtobufCMessageDescriptor *type;
    /* Reads more of a message that was just unpacked, which it may change: on any thread. Its
     * result, if it is not NULL, is freed with free_read. May be NULL. */
    void *(*read)(ProtobufCMessage *message);
    void (*free_read)(void *read);
    /* Whether `read` of a small message may take long, so that the thread reads it too. May be NULL. */
    bool (*is_slow)(const ProtobufCMessage *message);
    /* Takes the message and what was read of it. message NULL: it is none, for the reason `err`. */
    void (*on_message)(void *arg, ProtobufCMessage *message, void *read, const struct cw_err *err);
};
/* kind: stays valid. */
struct cw_inbox *cw_inbox_new(struct cw_dispatcher *d, struct cw_stream *stream,
                              const struct cw_inbox_kind *kind, void *arg) CW_MUST_CHECK;
void cw_inbox_put(struct cw_inbox *inbox, struct cw_rpc_msg *msg);
/* What comes next waits until it is no longer held: the message that was delivered last is not handled
 * to its end yet. */
void cw_inbox_hold(struct cw_inbox *inbox);
void cw_inbox_go_on(struct cw_inbox *inbox);
/* Whether the message that is being delivered is a large one. */
bool cw_inbox_is_large(const struct cw_inbox *inbox);
/* Whether a message is being unpacked. Accepts NULL. */
bool cw_inbox_is_reading(const struct cw_inbox *inbox);
/* Nothing is delivered any more. Not to be called by on_message. Accepts NULL. */
void cw_inbox_free(struct cw_inbox *inbox);
/* Frees the message that is being delivered; a large one has many parts, and is freed by the
 * thread. */
void cw_inbox_drop(struct cw_inbox *inbox, ProtobufCMessage *message);
/* The same for one that was kept, and is not being delivered any more. */
void cw_inbox_drop_kept(struct cw_dispatcher *d, ProtobufCMessage *message, bool large);

#endif
