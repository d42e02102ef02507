/* SPDX-License-Identifier: Apache-2.0 */
/* cedar's cost model: an operator's share of the profile's time, in proportion to the bytes that come
 * to it; less on a backend by Amdahl's law; less in a fused group by the bytes that need not travel. */
#include "policies/cedar_int.h"

static double share_of(const struct cw_cedar_chain *chain, size_t op)
{
    double sum = 0;

    for (size_t i = 0; i < chain->n; i++)
        sum += chain->ops[i].latency;
    return chain->ops[op].latency / sum;
}

double cw_cedar_base_ms(const struct cw_cedar_chain *chain, size_t op)
{
    return share_of(chain, op) * (1000 / chain->throughput);
}

double cw_cedar_in_bytes(const struct cw_cedar_view *view, size_t place)
{
    const struct cw_cedar_op *ops = view->chain->ops;

    return place == 0 ? ops[view->order[0]].in_bytes : cw_cedar_out_bytes(view, place - 1);
}

double cw_cedar_out_bytes(const struct cw_cedar_view *view, size_t place)
{
    const struct cw_cedar_op *ops = view->chain->ops;
    double bytes = ops[view->order[0]].out_bytes;

    for (size_t i = 1; i <= place; i++)
        bytes *= ops[view->order[i]].out_bytes / ops[view->order[i]].in_bytes;
    return bytes;
}

/* The part of an operator's time that is left when it runs on a backend. */
static double left_when_moved(const struct cw_cedar_chain *chain, size_t op,
                              enum cw_cedar_backend backend)
{
    double share = share_of(chain, op);
    double speedup = chain->ops[op].moved_throughput[backend] / chain->throughput;

    if (speedup >= 1 / (1 - share))
        return 0;
    return (1 / speedup - (1 - share)) / share;
}

static double op_cost(const struct cw_cedar_view *view, const struct cw_cedar_placed *placed,
                      size_t place)
{
    size_t op = view->order[place];
    double cost = cw_cedar_base_ms(view->chain, op);

    if (place == 0)
        return cost;
    cost *= cw_cedar_in_bytes(view, place) / view->chain->ops[op].in_bytes;
    if (placed && placed->moved >> place & 1)
        cost *= left_when_moved(view->chain, op, placed->backend);
    return cost;
}

/* A fused group sends its input once and its output once; by themselves, its operators would send
 * everything in between there and back. */
static double group_cost(const struct cw_cedar_view *view, const struct cw_cedar_placed *placed,
                         const struct cw_cedar_offload *group)
{
    size_t last = group->first + group->n - 1;
    double fused = cw_cedar_in_bytes(view, group->first) + cw_cedar_out_bytes(view, last);
    double single = fused, cost = 0;

    for (size_t i = group->first; i <= last; i++) {
        single += i > group->first ? 2 * cw_cedar_in_bytes(view, i) : 0;
        cost += op_cost(view, placed, i);
    }
    return cost * (fused / single);
}

/* The group that a place is in, or NULL. */
static const struct cw_cedar_offload *group_of(const struct cw_cedar_placed *placed, size_t place)
{
    for (size_t i = 0; placed && i < placed->groups_n; i++)
        if (place >= placed->groups[i].first &&
            place < placed->groups[i].first + placed->groups[i].n)
            return &placed->groups[i];
    return NULL;
}

double cw_cedar_cost(const struct cw_cedar_view *view, const struct cw_cedar_placed *placed)
{
    size_t cached = placed && placed->has_cache ? placed->cache_after + 1 : 0;
    double cost = 0;

    for (size_t i = 0; i < view->chain->n;) {
        const struct cw_cedar_offload *group = group_of(placed, i);
        /* a group that begins before the cache is skipped whole */
        if (i >= cached)
            cost += group ? group_cost(view, placed, group) : op_cost(view, placed, i);
        i += group ? group->n : 1;
    }
    if (cached > 0) /* the size is that of the profile, whatever the order */
        cost +=
            view->chain->ops[view->order[cached - 1]].out_bytes * view->chain->read_latency * 1000;
    return cost;
}
