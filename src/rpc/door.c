/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/door.h"

#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"

#define TICK_MS 1000

/* ---- lists ---- */

static void put_first(struct cw_door_guest **list, struct cw_door_guest *guest)
{
    guest->next = *list;
    guest->prev = list;
    if (guest->next)
        guest->next->prev = &guest->next;
    *list = guest;
}

static void take_out(struct cw_door_guest *guest)
{
    *guest->prev = guest->next;
    if (guest->next)
        guest->next->prev = guest->prev;
    guest->prev = NULL;
}

/* ---- peers ---- */

/* Cuts the port off: "ipv4:10.0.0.1:4711" -> "ipv4:10.0.0.1". All peers of a unix socket are one. */
static struct cw_door_peer *peer_of(struct cw_door *door, const char *address)
{
    cw_autofree char *host = cw_mem_strdup(address);
    char *colon = strncmp(host, "unix", 4) == 0 ? strchr(host, ':') : strrchr(host, ':');
    if (colon)
        *colon = '\0';
    struct cw_door_peer *peer = cw_strmap_get(&door->peers, host);
    if (!peer) {
        peer = CW_NEW(struct cw_door_peer);
        peer->host = cw_mem_strdup(host);
        (void)cw_strmap_set(&door->peers, peer->host, peer);
    }
    return peer;
}

static void peer_drop(struct cw_door *door, struct cw_door_peer *peer)
{
    if (peer->reading + peer->waiting > 0)
        return;
    (void)cw_strmap_remove(&door->peers, peer->host);
    cw_mem_free(peer->host);
    cw_mem_free(peer);
}

/* ---- letting in ---- */

static bool may_read(const struct cw_door *door, const struct cw_door_peer *peer)
{
    return door->reading_n < CW_DOOR_READING_MAX && peer->reading < CW_DOOR_READING_PEER_MAX;
}

static void let_read(struct cw_door *door, struct cw_door_guest *guest)
{
    put_first(&door->reading, guest);
    door->reading_n++;
    guest->peer->reading++;
    guest->reading = true;
    guest->since_ms = cw_clock_ms();
    guest->read(guest->arg);
}

/* Lets those in for whom there is room now. Who came last is the first: whoever says nothing comes
 * before those whom he keeps waiting. */
static void let_in(struct cw_door *door)
{
    struct cw_door_guest *next;
    for (struct cw_door_guest *guest = door->waiting;
         guest && door->reading_n < CW_DOOR_READING_MAX; guest = next) {
        next = guest->next;
        if (!may_read(door, guest->peer))
            continue;
        take_out(guest);
        door->waiting_n--;
        guest->peer->waiting--;
        let_read(door, guest);
    }
}

static void end_late(struct cw_door *door, struct cw_door_guest *list, int64_t now)
{
    for (struct cw_door_guest *guest = list; guest; guest = guest->next) {
        bool crowded = guest->reading && guest->peer->waiting > 0;
        if (now - guest->since_ms < (crowded ? CW_FIRST_MESSAGE_CROWDED_MS : CW_FIRST_MESSAGE_MS))
            continue;
        grpc_call_cancel_with_status(guest->call, GRPC_STATUS_DEADLINE_EXCEEDED,
                                     "no complete message came in time", NULL);
        door->timed_out++;
        guest->since_ms = INT64_MAX / 2; /* It leaves when gRPC says that the call is over. */
    }
}

static void on_tick(void *arg)
{
    struct cw_door *door = arg;
    int64_t now = cw_clock_ms();
    end_late(door, door->reading, now);
    end_late(door, door->waiting, now);
}

void cw_door_init(struct cw_door *door, struct cw_loop *loop)
{
    *door = (struct cw_door){0};
    door->timer = cw_timer_new(loop, on_tick, door);
}

void cw_door_fini(struct cw_door *door)
{
    cw_timer_free(door->timer);
    cw_strmap_fini(&door->peers);
}

bool cw_door_enter(struct cw_door *door, struct cw_door_guest *guest, grpc_call *call,
                   const char *peer, cw_loop_fn *read, void *arg)
{
    if (door->waiting_n >= CW_DOOR_WAITING_MAX) {
        door->refused++;
        return false;
    }
    *guest = (struct cw_door_guest){.call = call,
                                    .peer = peer_of(door, peer),
                                    .since_ms = cw_clock_ms(),
                                    .read = read,
                                    .arg = arg};
    if (!cw_timer_is_active(door->timer))
        cw_timer_start(door->timer, TICK_MS, TICK_MS);
    if (may_read(door, guest->peer)) {
        let_read(door, guest);
        return true;
    }
    put_first(&door->waiting, guest);
    door->waiting_n++;
    guest->peer->waiting++;
    return true;
}

void cw_door_leave(struct cw_door *door, struct cw_door_guest *guest)
{
    if (!guest->prev)
        return;
    take_out(guest);
    *(guest->reading ? &door->reading_n : &door->waiting_n) -= 1;
    *(guest->reading ? &guest->peer->reading : &guest->peer->waiting) -= 1;
    peer_drop(door, guest->peer);
    if (door->reading_n + door->waiting_n == 0)
        cw_timer_stop(door->timer);
    else
        let_in(door);
}
