/* SPDX-License-Identifier: Apache-2.0 */
/* The network's state in a world, the actors that use it, and the pieces that it carries. */
#include "simulation/rpc/net_int.h"

#include <string.h>

struct net *net_state(void)
{
    void **slot = sim_slot(SIM_SLOT_NET);
    if (!*slot) {
        struct net *net = sim_world_alloc(sizeof *net);
        net->conns_tail = &net->conns;
        net->seed = sim_random() | 1;
        *slot = net;
    }
    return *slot;
}

/* Those that use the network. */
struct net_known {
    struct net_known *next;
    uint64_t id;
};

static void on_death(void *arg)
{
    net_on_death(arg);
}

void net_know_self(void)
{
    uint64_t id = sim_actor_id(sim_self());
    struct net_known **at = &net_state()->known[id % NET_BUCKETS];
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    if (*at || id == 0)
        return;
    *at = sim_world_alloc(sizeof **at);
    (*at)->id = id;
    sim_on_death(sim_self(), on_death, sim_self());
}

/* ---- pieces ---- */

struct net_bytes *net_bytes_new(size_t n)
{
    struct net_bytes *bytes = sim_world_alloc(sizeof *bytes + n);
    *bytes = (struct net_bytes){.refs = 1, .n = n, .p = (uint8_t *)(bytes + 1)};
    return bytes;
}

struct net_bytes *net_bytes_ref(struct net_bytes *bytes)
{
    bytes->refs++;
    return bytes;
}

struct net_bytes *net_bytes_unref(struct net_bytes *bytes)
{
    if (bytes && --bytes->refs == 0)
        sim_world_free(bytes);
    return NULL;
}

struct net_piece *net_piece_new(enum net_kind kind, uint32_t stream)
{
    struct net_piece *piece = sim_world_alloc(sizeof *piece);
    *piece = (struct net_piece){.kind = kind, .stream = stream};
    return piece;
}

void net_piece_set_text(struct net_piece *piece, const char *text)
{
    size_t n = strlen(text) + 1;
    piece->text = sim_world_alloc(n);
    memcpy(piece->text, text, n);
}

void net_piece_free(struct net_piece *piece)
{
    net_bytes_unref(piece->bytes);
    sim_world_free(piece->text);
    sim_world_free(piece);
}
