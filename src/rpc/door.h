/* SPDX-License-Identifier: Apache-2.0 */
/* The door of a server: calls whose first message has not come. gRPC takes up to 64 KiB of a call
 * for which nobody reads, and a whole message as soon as somebody does, so the door lets few calls
 * be read at a time, and none for long. Whoever has said something is through. Loop thread. */
#ifndef CW_RPC_DOOR_H
#define CW_RPC_DOOR_H

#include <grpc/grpc.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "loop/loop.h"

/* A call at the door; the call embeds it. */
struct cw_door_guest {
    struct cw_door_guest *next, **prev; /* In one of the door's lists; prev is NULL: in none. */
    grpc_call *call;
    struct cw_door_peer *peer;
    bool reading;     /* The door has let it be read. */
    int64_t since_ms; /* When it came, or when its reading began. */
    cw_loop_fn *read; /* Begins reading; called once. */
    void *arg;
};
/* The calls of one address at the door. */
struct cw_door_peer {
    char *host;
    size_t reading, waiting;
};
struct cw_door {
    struct cw_timer *timer; /* It runs while somebody is at the door. */
    struct cw_strmap peers; /* Host -> struct cw_door_peer *, which the door owns. */
    struct cw_door_guest *reading, *waiting; /* The last who came is the first. */
    size_t reading_n, waiting_n;
    uint64_t refused, timed_out; /* Calls, since the server was made. */
};

void cw_door_init(struct cw_door *door, struct cw_loop *loop);
void cw_door_fini(struct cw_door *door);
/* A call has come from a peer ("ipv4:10.0.0.1:4711"). Calls read(arg) at once or later, when its first message may be read. Returns
 * false if too many wait already: then nothing is called, and the caller ends the call. */
bool cw_door_enter(struct cw_door *door, struct cw_door_guest *guest, grpc_call *call,
                   const char *peer, cw_loop_fn *read, void *arg);
/* The first message has come, or the call is over. Does nothing if the guest is not at the door. */
void cw_door_leave(struct cw_door *door, struct cw_door_guest *guest);

#endif
