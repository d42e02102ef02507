/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated network: hosts, links between them, connections; and what can go wrong with them.
 * Actors use it by way of src/rpc, whose gRPC is the one of this folder (grpc_int.h). This is the
 * side of the harness: it places actors on hosts, sets links, and makes faults.
 *
 * What a connection promises is what TCP does. In each direction bytes arrive in order and once,
 * after the link's latency, at the link's rate. What has not arrived when a connection is cut is
 * lost, from a point that the seed chooses, and each end hears of it at its own time: after what
 * it still receives. An end whose peer says nothing more hears of it by its own keepalive alone.
 *
 * All of it is in the world's memory; everything that is chosen is chosen by the seed. */
#ifndef TESTS_SIMULATION_RPC_NET_H
#define TESTS_SIMULATION_RPC_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulation/sim.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default) /* actors' programs find these in the executable */
#endif

#define NET_HOST_BYTES 64

/* ---- hosts ---- */

/* An actor's host is the one that sim_spawn was told: connections to "HOST:PORT" reach it there,
 * and "127.0.0.1" is the caller's own. A host that is down answers nothing and sends nothing:
 * what is on its way to it, or is sent to it, waits. An actor killed there closes no connection
 * (as when the power fails): its peers hear of it by their keepalive. */
void net_host_down(const char *host, bool down);

/* Connections of the actor that it has not closed. */
size_t net_open(const struct sim_actor *actor);

/* ---- links ---- */

struct net_link {
    int64_t latency_ns; /* one way */
    int64_t jitter_ns;  /* at most so much more, another for each piece */
    int64_t bytes_per_s;
};
/* From `from` to `to`, both ways alike unless it is called for both. NULL: of all hosts for which
 * nothing is said. At the beginning the seed chooses one for each pair of hosts. */
void net_set_link(const char *from, const char *to, const struct net_link *link);
/* What goes from `from` to `to` takes so much longer until `until_ns`. NULL: any host. */
void net_delay(const char *from, const char *to, int64_t extra_ns, int64_t until_ns);

/* ---- faults ---- */

/* Nothing passes from `from` to `to` until it is healed: what is sent waits, as TCP sends it
 * again. One way: the other one is open. NULL: any host. */
void net_partition(const char *from, const char *to);
void net_heal(const char *from, const char *to); /* as they were given; the waiting goes on */
void net_heal_all(void);                         /* partitions and delays; hosts stay down */

/* Cuts all connections between the two actors, NULL: of any. Each end hears of it. Returns how
 * many. */
size_t net_cut(const struct sim_actor *a, const struct sim_actor *b);
/* Cuts one that the seed chooses; false: there is none. */
bool net_cut_any(void);
size_t net_connections(void);

/* ---- what was said ---- */

struct net_count {
    char method[96]; /* "/cachew.v1.Fleet/Attach" */
    bool to_server;
    uint64_t messages, bytes;
};
/* One after another by method and direction, in the order in which they were first used; false:
 * there are no more. */
bool net_count(size_t i, struct net_count *ret_count);
void net_count_reset(void);

/* The messages that a kill of the actor would lose at this moment, or some of them. Those that have
 * come to it and that its code is not done with are told sim_held_add, too. */
struct net_held {
    size_t unread; /* on their way to it, or come: its code is not done with them */
    size_t unsent; /* they have left its code, and have not arrived */
};
struct net_held net_held(const struct sim_actor *actor);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
