/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts, who listens on them, and the links between them: how long a piece takes, and whether it
 * passes. */
#include "simulation/rpc/net_int.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"

/* Something that holds from one host to another; "" is any. */
struct net_rule {
    struct net_rule *next;
    char from[NET_HOST_BYTES], to[NET_HOST_BYTES];
    bool is_wall; /* a partition; else a link, or a delay */
    bool is_delay;
    struct net_link link;
    int64_t extra_ns, until_ns;
};

/* ---- hosts ---- */

static size_t bucket_of(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 16777619u;
    return h % NET_BUCKETS;
}

struct net_host *net_host_get(const char *name)
{
    struct net_host **at = &net_state()->hosts[bucket_of(name)];
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    if (*at)
        return *at;
    struct net_host *host = sim_world_alloc(sizeof *host);
    *host = (struct net_host){.id = ++net_state()->hosts_n, .next_port = 32768};
    snprintf(host->name, sizeof host->name, "%s", name);
    *at = host;
    return host;
}

void net_host_down(const char *name, bool down)
{
    net_host_get(name)->down = down;
    if (!down)
        net_retry_all();
}

struct net_host *net_host_of(const struct sim_actor *actor)
{
    return net_host_get(actor ? sim_host(actor) : NET_LOOPBACK);
}

/* ---- who listens ---- */

struct net_listener *net_find_listener(const struct net_host *host, const char *path, uint16_t port)
{
    struct net_listener *listener = host->listeners;
    while (listener && (listener->port != port || strcmp(listener->path, path) != 0))
        listener = listener->next;
    return listener;
}

static uint16_t free_port(struct net_host *host)
{
    do {
        if (++host->next_listen < 20000 || host->next_listen > 30000)
            host->next_listen = 20000;
    } while (net_find_listener(host, "", host->next_listen));
    return host->next_listen;
}

struct net_listener *net_listen(const char *path, uint16_t port, net_accept_fn *accept, void *arg)
{
    struct net_host *host = net_host_of(sim_self());
    if (!path[0] && port == 0)
        port = free_port(host);
    const struct net_listener *before = net_find_listener(host, path, port);
    /* Who stands still is somewhere else, and the name leads to whoever takes his place. */
    if (before && !sim_is_stopped(before->actor))
        return NULL;
    net_know_self();
    struct net_listener *listener = sim_world_alloc(sizeof *listener);
    *listener = (struct net_listener){.next = host->listeners,
                                      .host = host,
                                      .actor = sim_self(),
                                      .port = port,
                                      .accept = accept,
                                      .arg = arg};
    snprintf(listener->path, sizeof listener->path, "%s", path);
    host->listeners = listener;
    return listener;
}

void net_unlisten(struct net_listener *listener)
{
    struct net_listener **at = &listener->host->listeners;
    while (*at != listener)
        at = &(*at)->next;
    *at = listener->next;
    sim_world_free(listener);
}

void net_unlisten_all(const struct sim_actor *actor)
{
    struct net_listener **at = &net_host_of(actor)->listeners;
    while (*at) {
        struct net_listener *listener = *at;
        if (listener->actor != actor) {
            at = &listener->next;
            continue;
        }
        *at = listener->next;
        sim_world_free(listener);
    }
}

/* ---- rules ---- */

static bool is_for(const struct net_rule *rule, const char *from, const char *to)
{
    return (!rule->from[0] || strcmp(rule->from, from) == 0) &&
           (!rule->to[0] || strcmp(rule->to, to) == 0);
}

static struct net_rule *add_rule(const char *from, const char *to)
{
    struct net_rule *rule = sim_world_alloc(sizeof *rule);
    *rule = (struct net_rule){.next = net_state()->rules};
    snprintf(rule->from, sizeof rule->from, "%s", from ? from : "");
    snprintf(rule->to, sizeof rule->to, "%s", to ? to : "");
    net_state()->rules = rule;
    return rule;
}

static void drop_rules(bool (*is_unwanted)(const struct net_rule *rule, const void *arg),
                       const void *arg)
{
    struct net_rule **at = &net_state()->rules;
    while (*at) {
        struct net_rule *rule = *at;
        if (!is_unwanted(rule, arg)) {
            at = &rule->next;
            continue;
        }
        *at = rule->next;
        sim_world_free(rule);
    }
}

void net_set_link(const char *from, const char *to, const struct net_link *link)
{
    add_rule(from, to)->link = *link;
}

void net_delay(const char *from, const char *to, int64_t extra_ns, int64_t until_ns)
{
    struct net_rule *rule = add_rule(from, to);
    rule->is_delay = true;
    rule->extra_ns = extra_ns;
    rule->until_ns = until_ns;
}

void net_partition(const char *from, const char *to)
{
    add_rule(from, to)->is_wall = true;
}

static bool is_same_wall(const struct net_rule *rule, const void *arg)
{
    const struct net_rule *other = arg;
    return rule->is_wall && strcmp(rule->from, other->from) == 0 &&
           strcmp(rule->to, other->to) == 0;
}

void net_heal(const char *from, const char *to)
{
    struct net_rule like = {0};
    snprintf(like.from, sizeof like.from, "%s", from ? from : "");
    snprintf(like.to, sizeof like.to, "%s", to ? to : "");
    drop_rules(is_same_wall, &like);
    net_retry_all();
}

static bool is_fault(const struct net_rule *rule, const void *arg)
{
    (void)arg;
    return rule->is_wall || rule->is_delay;
}

void net_heal_all(void)
{
    drop_rules(is_fault, NULL);
    net_retry_all();
}

bool net_is_blocked(const struct net_host *from, const struct net_host *to)
{
    if (from->down || to->down)
        return true;
    for (const struct net_rule *rule = net_state()->rules; rule && from != to; rule = rule->next)
        if (rule->is_wall && is_for(rule, from->name, to->name))
            return true;
    return false;
}

/* ---- how long it takes ---- */

/* Chosen by the seed for each pair: from two hosts in one rack to two on far ends of a country. */
static struct net_link link_between(const struct net_host *from, const struct net_host *to)
{
    if (from == to)
        return (struct net_link){.latency_ns = 20000, .jitter_ns = 20000, .bytes_per_s = 4 * NET_G};
    for (const struct net_rule *rule = net_state()->rules; rule; rule = rule->next)
        if (!rule->is_wall && !rule->is_delay && is_for(rule, from->name, to->name))
            return rule->link;
    struct cw_rng rng;
    cw_rng_init(&rng, net_state()->seed, 0, from->id, to->id, 0);
    int64_t latency = 30000ll << cw_rng_below(&rng, 0, 9);
    return (struct net_link){.latency_ns = latency,
                             .jitter_ns = latency >> cw_rng_below(&rng, 1, 5),
                             .bytes_per_s = 100000000ll << cw_rng_below(&rng, 2, 6)};
}

static int64_t extra_delay(const struct net_host *from, const struct net_host *to)
{
    int64_t extra = 0;
    for (const struct net_rule *rule = net_state()->rules; rule; rule = rule->next)
        if (rule->is_delay && sim_now_ns() < rule->until_ns && is_for(rule, from->name, to->name))
            extra += rule->extra_ns;
    return extra;
}

int64_t net_transit_end(struct net_host *from, const struct net_host *to, size_t bytes)
{
    struct net_link link = link_between(from, to);
    int64_t now = sim_now_ns();
    int64_t start = from->busy_until > now ? from->busy_until : now;
    int64_t sent = start + (int64_t)((double)bytes * 1e9 / (double)link.bytes_per_s);
    from->busy_until = sent;
    int64_t jitter = (int64_t)net_random((uint64_t)link.jitter_ns + 1);
    return sent + link.latency_ns + jitter + extra_delay(from, to);
}

/* ---- faults ---- */

size_t net_cut(const struct sim_actor *a, const struct sim_actor *b)
{
    size_t n = 0;
    for (struct net_conn *conn = net_first_conn(); conn; conn = conn->next) {
        const struct sim_actor *x = conn->end[0].actor, *y = conn->end[1].actor;
        bool is_meant = ((!a || a == x) && (!b || b == y)) || ((!a || a == y) && (!b || b == x));
        if (!is_meant || !net_conn_is_up(conn))
            continue;
        net_cut_conn(conn);
        n++;
    }
    return n;
}

bool net_cut_any(void)
{
    size_t n = net_connections();
    if (n == 0)
        return false;
    uint64_t left = net_random(n);
    for (struct net_conn *conn = net_first_conn(); conn; conn = conn->next)
        if (net_conn_is_up(conn) && left-- == 0) {
            net_cut_conn(conn);
            return true;
        }
    return false;
}
