/* SPDX-License-Identifier: Apache-2.0 */
/* Messages and bytes by method; and the timers of actors, which may be stopped. */
#include "simulation/rpc/net_int.h"

#include <stdio.h>
#include <string.h>

struct net_counter {
    struct net_counter *next;
    struct net_count count;
};

struct net_counter *net_counter_of(const char *method, bool to_server)
{
    struct net_counter **at = &net_state()->counters;
    while (*at && ((*at)->count.to_server != to_server || strcmp((*at)->count.method, method) != 0))
        at = &(*at)->next;
    if (!*at) {
        *at = sim_world_alloc(sizeof **at);
        **at = (struct net_counter){.count = {.to_server = to_server}};
        snprintf((*at)->count.method, sizeof(*at)->count.method, "%s", method);
    }
    return *at;
}

void net_counter_add(struct net_counter *counter, size_t bytes)
{
    counter->count.messages++;
    counter->count.bytes += bytes;
}

bool net_count(size_t i, struct net_count *ret_count)
{
    struct net_counter *counter = net_state()->counters;
    while (counter && i-- > 0)
        counter = counter->next;
    if (counter)
        *ret_count = counter->count;
    return counter != NULL;
}

void net_count_reset(void)
{
    for (struct net_counter *counter = net_state()->counters; counter; counter = counter->next)
        counter->count.messages = counter->count.bytes = 0;
}

size_t net_open(const struct sim_actor *actor)
{
    size_t n = 0;

    for (const struct net_conn *conn = net_first_conn(); conn; conn = conn->next)
        for (size_t i = 0; i < 2; i++)
            n += conn->end[i].actor == actor && !conn->end[i].closed && !conn->end[i].lost;
    return n;
}

/* ---- timers ---- */

struct net_timer {
    void (*fn)(void *arg); /* NULL: stopped */
    void *arg;
};

static void on_timer(void *arg)
{
    struct net_timer timer = *(struct net_timer *)arg;
    sim_world_free(arg);
    if (timer.fn)
        timer.fn(timer.arg);
}

struct net_timer *net_timer_start(int64_t delay_ns, void (*fn)(void *), void *arg)
{
    struct net_timer *timer = sim_world_alloc(sizeof *timer);
    *timer = (struct net_timer){.fn = fn, .arg = arg};
    sim_at(sim_self(), sim_now_ns() + delay_ns, on_timer, timer);
    return timer;
}

void net_timer_stop(struct net_timer *timer)
{
    if (timer)
        timer->fn = NULL;
}
