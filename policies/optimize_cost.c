/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model: what an order costs an element, and what that makes of an epoch. */
#include "policies/optimize_int.h"

#include <math.h>
#include <string.h>

#include "policies/optimize_view.h"

/* ---- an element ---- */

void cw_optimize_begin(const struct cw_optimize_problem *problem, bool is_whole,
                       struct cw_optimize_flow *ret_flow)
{
    uint32_t added = 0;

    *ret_flow = (struct cw_optimize_flow){.share = 1, .is_whole = is_whole || problem->apart};
    for (size_t i = 0; i < problem->n; i++)
        added |= problem->nodes[i].adds;
    for (size_t f = 0; f < problem->fields_n; f++)
        ret_flow->bytes[f] = added >> f & 1 ? 0 : problem->bytes[f];
}

bool cw_optimize_is_whole(const struct cw_optimize_problem *problem, uint64_t set)
{
    for (size_t i = 0; i < problem->n && !problem->apart; i++)
        if ((set >> i & 1) && problem->nodes[i].crops && !(problem->nodes[i].crops & set))
            return true;
    return false;
}

static void grow(const struct cw_optimize_problem *problem, const struct cw_optimize_node *node,
                 double times, struct cw_optimize_flow *flow)
{
    for (size_t f = 0; f < problem->fields_n; f++)
        if (node->whole_fields >> f & 1)
            flow->bytes[f] *= times;
}

/* What makes whole images makes more bytes, which the first crop behind it takes away. */
static void pass_whole(const struct cw_optimize_problem *problem, size_t node,
                       struct cw_optimize_flow *flow)
{
    const struct cw_optimize_node *it = &problem->nodes[node];

    for (size_t i = 0; i < problem->n; i++)
        if ((flow->whole >> i & 1) && (problem->nodes[i].crops >> node & 1)) {
            grow(problem, &problem->nodes[i], 1 / problem->nodes[i].whole.grows, flow);
            flow->whole &= ~(UINT64_C(1) << i);
        }
    if (it->crops) {
        grow(problem, it, it->whole.grows, flow);
        flow->whole |= UINT64_C(1) << node;
    }
}

/* A filter of those that are known together lets pass what passes all of them, of what has passed the others. */
static void pass_share(const struct cw_optimize_problem *problem, size_t node,
                       struct cw_optimize_flow *flow)
{
    const struct cw_optimize_filters *filters = &problem->filters;
    double keep = problem->nodes[node].keep;

    for (size_t i = 0; i < filters->n; i++) {
        if (filters->place[i] != node)
            continue;
        const unsigned then = flow->passed | 1u << i;
        if (filters->share[flow->passed] > 0)
            keep = filters->share[then] / filters->share[flow->passed];
        flow->passed = then;
    }
    flow->share *= keep;
}

void cw_optimize_pass(const struct cw_optimize_problem *problem, size_t node,
                      struct cw_optimize_flow *flow)
{
    pass_share(problem, node, flow);
    for (size_t f = 0; f < problem->fields_n; f++)
        if (problem->nodes[node].adds >> f & 1)
            flow->bytes[f] = problem->bytes[f];
        else
            flow->bytes[f] *= problem->nodes[node].ratio[f];
    if (flow->is_whole)
        pass_whole(problem, node, flow);
}

static struct cw_optimize_sums line(double share, double bytes, double ns, double ns_byte,
                                    double cpu_ns, double cpu_ns_byte)
{
    return (struct cw_optimize_sums){.thread_ns = share * (ns + ns_byte * bytes),
                                     .cpu_ns = share * (cpu_ns + cpu_ns_byte * bytes)};
}

struct cw_optimize_sums cw_optimize_call_cost(const struct cw_optimize_problem *problem,
                                              size_t node, const struct cw_optimize_flow *flow,
                                              bool by_batch)
{
    const struct cw_optimize_node *it = &problem->nodes[node];
    const struct cw_optimize_whole *whole = &it->whole;
    const struct cw_optimize_batch *batch = &it->batch;
    double bytes = 0;

    for (size_t f = 0; f < problem->fields_n; f++)
        bytes += it->reads >> f & 1 ? flow->bytes[f] : 0;
    if (flow->is_whole && it->crops)
        return line(flow->share, bytes, whole->ns, whole->ns_byte, whole->cpu_ns,
                    whole->cpu_ns_byte);
    if (by_batch && batch->is_known)
        return line(flow->share, bytes, batch->ns, batch->ns_byte, batch->cpu_ns,
                    batch->cpu_ns_byte);
    return line(flow->share, bytes, it->ns, it->ns_byte, it->cpu_ns, it->cpu_ns_byte);
}

bool cw_optimize_folds(const struct cw_optimize_problem *problem, size_t a, size_t b)
{
    return !problem->apart && (problem->nodes[b].folds >> a & 1);
}

struct cw_optimize_sums cw_optimize_cost(const struct cw_optimize_problem *problem, size_t node,
                                         const struct cw_optimize_flow *flow, bool by_batch)
{
    return cw_optimize_folds(problem, node, node)
               ? (struct cw_optimize_sums){0}
               : cw_optimize_call_cost(problem, node, flow, by_batch);
}

double cw_optimize_bytes(const struct cw_optimize_problem *problem,
                         const struct cw_optimize_flow *flow)
{
    double bytes = 0;

    for (size_t f = 0; f < problem->fields_n; f++)
        bytes += flow->bytes[f];
    return bytes;
}

/* ---- an epoch ---- */

/* What an epoch asks for, of an element of the source. */
struct demand {
    struct cw_optimize_sums sums;
    double source_bytes, read_bytes, written_bytes;
};

static double rate_ns(double bytes, double bytes_s)
{
    return bytes_s > 0 ? bytes / bytes_s * 1e9 : 0;
}

/* How long each of what may decide takes. */
static void list_bounds(const struct cw_optimize_problem *problem, const struct demand *demand,
                        const struct cw_optimize_parts *parts, const struct cw_optimize_plan *plan,
                        double ret_ns[CW_BOUNDS_N])
{
    double workers = plan->remote + plan->local, n = problem->elements;
    const double times[CW_BOUNDS_N] = {
        [CW_BOUND_THREADS] =
            n * demand->sums.thread_ns / (problem->threads * workers) + problem->other_ns,
        [CW_BOUND_CPU] =
            problem->cores > 0 ? n * demand->sums.cpu_ns / (problem->cores * workers) : 0,
        [CW_BOUND_SOURCE] = rate_ns(n * demand->source_bytes, problem->source_bytes_s),
        [CW_BOUND_STORE] = fmax(rate_ns(n * demand->read_bytes, problem->store.read_bytes_s),
                                rate_ns(n * demand->written_bytes, problem->store.write_bytes_s)),
        [CW_BOUND_NETWORK] =
            rate_ns(n * parts->output_bytes * plan->remote / workers, problem->network_bytes_s),
        [CW_BOUND_TRAINER] = problem->trainer_ns,
    };

    memcpy(ret_ns, times, sizeof(times));
}

static double epoch_time(const struct cw_optimize_problem *problem, const struct demand *demand,
                         const struct cw_optimize_parts *parts, struct cw_optimize_plan *plan)
{
    double times[CW_BOUNDS_N];

    list_bounds(problem, demand, parts, plan, times);
    plan->bound = CW_BOUND_THREADS;
    for (size_t b = 0; b < CW_BOUNDS_N; b++)
        if (times[b] > times[plan->bound])
            plan->bound = (enum cw_optimize_bound)b;
    return times[plan->bound];
}

static struct cw_optimize_sums add(struct cw_optimize_sums a, double share, double thread_ns,
                                   double cpu_ns)
{
    a.thread_ns += share * thread_ns;
    a.cpu_ns += share * cpu_ns;
    return a;
}

double cw_optimize_is_there(const struct cw_optimize_problem *problem, uint64_t set)
{
    for (size_t i = 0; i < problem->cached_n; i++)
        if (problem->cached[i].set == set)
            return problem->cached[i].share;
    return 0;
}

/* This part is read from the cache, and the rest is computed. */
static struct demand reading_demand(const struct cw_optimize_problem *problem,
                                    const struct cw_optimize_parts *parts, double read)
{
    struct demand demand = {.source_bytes = (1 - read) * problem->source_bytes};
    double read_ns = problem->store.read_ns + problem->store.read_byte_ns * parts->cached_bytes;

    demand.sums = add(demand.sums, 1 - read, parts->before.thread_ns, parts->before.cpu_ns);
    demand.sums = add(demand.sums, read * parts->cached_share, read_ns, read_ns);
    demand.sums = add(demand.sums, 1, parts->behind.thread_ns, parts->behind.cpu_ns);
    demand.sums = add(demand.sums, 1, problem->element_ns, problem->element_ns);
    demand.read_bytes = read * parts->cached_share * parts->cached_bytes;
    return demand;
}

/* What is not in the cache yet is computed, and what there is room for is written. */
static struct demand first_demand(const struct cw_optimize_problem *problem,
                                  const struct cw_optimize_parts *parts, double room)
{
    struct demand demand = reading_demand(problem, parts, parts->is_there);
    double write_ns = problem->store.write_ns + problem->store.write_byte_ns * parts->cached_bytes;
    double written = (room - parts->is_there) * parts->cached_share;

    if (parts->has_cache) {
        demand.sums = add(demand.sums, written, write_ns, write_ns);
        demand.written_bytes = written * parts->cached_bytes;
    }
    return demand;
}

/* What there is room for is read from the cache, and the rest is computed. */
static struct demand later_demand(const struct cw_optimize_problem *problem,
                                  const struct cw_optimize_parts *parts, double room)
{
    return reading_demand(problem, parts, room);
}

static double room_for(const struct cw_optimize_problem *problem,
                       const struct cw_optimize_parts *parts)
{
    double bytes = problem->elements * parts->cached_share * parts->cached_bytes;

    return problem->store.free_bytes < 0 || bytes <= problem->store.free_bytes
               ? 1
               : fmax(problem->store.free_bytes / bytes, parts->is_there);
}

void cw_optimize_times(const struct cw_optimize_problem *problem,
                       const struct cw_optimize_parts *parts, struct cw_optimize_plan *plan)
{
    double room = parts->has_cache ? room_for(problem, parts) : 0;
    struct demand first = first_demand(problem, parts, room);
    struct demand later = later_demand(problem, parts, room);
    double workers = plan->remote + plan->local;

    plan->first_ns = epoch_time(problem, &first, parts, plan);
    plan->epoch_ns = epoch_time(problem, &later, parts, plan);
    plan->total_ns = plan->first_ns + (problem->epochs - 1) * plan->epoch_ns;
    plan->work_ns = first.sums.thread_ns + (problem->epochs - 1) * later.sums.thread_ns;
    plan->money =
        (workers * problem->worker_price + problem->trainer_price) * plan->total_ns / 3.6e12;
}

bool cw_optimize_makes_whole(const struct cw_optimize_problem *problem,
                             const struct cw_optimize_plan *plan)
{
    uint64_t set = 0;

    if (plan->cache_after == CW_OPTIMIZE_NO_CACHE)
        return false;
    for (size_t i = 0; i <= plan->cache_after && i < problem->n; i++)
        set |= UINT64_C(1) << plan->order[i];
    return cw_optimize_is_whole(problem, set);
}

/* Goes through the plan's order. */
static void make_parts(const struct cw_optimize_problem *problem,
                       const struct cw_optimize_plan *plan, struct cw_optimize_parts *ret_parts)
{
    struct cw_optimize_parts parts = {0};
    struct cw_optimize_walk walk;
    uint64_t set = 0;

    cw_optimize_walk_begin(problem, plan, &walk);
    for (size_t i = 0; i < problem->n; i++) {
        const struct cw_optimize_sums cost = cw_optimize_walk_next(&walk);
        struct cw_optimize_sums *sums = parts.has_cache ? &parts.behind : &parts.before;
        *sums = add(*sums, 1, cost.thread_ns, cost.cpu_ns);
        set |= UINT64_C(1) << plan->order[i];
        if (i == plan->cache_after) {
            parts.has_cache = true;
            parts.is_there = cw_optimize_is_there(problem, set);
            parts.cached_share = walk.flow.share;
            parts.cached_bytes = cw_optimize_bytes(problem, &walk.flow);
        }
    }
    parts.output_bytes = walk.flow.share * cw_optimize_bytes(problem, &walk.flow);
    *ret_parts = parts;
}

void cw_optimize_price(const struct cw_optimize_problem *problem, struct cw_optimize_plan *plan)
{
    struct cw_optimize_parts parts;

    plan->moved = 0;
    for (size_t i = 0; i < problem->n; i++)
        plan->moved += plan->order[i] != i;
    make_parts(problem, plan, &parts);
    plan->thread_ns = parts.before.thread_ns + parts.behind.thread_ns;
    plan->cpu_ns = parts.before.cpu_ns + parts.behind.cpu_ns;
    cw_optimize_times(problem, &parts, plan);
}

void cw_optimize_epoch(const struct cw_optimize_problem *problem,
                       const struct cw_optimize_plan *plan, struct cw_optimize_epoch *ret_epoch)
{
    struct cw_optimize_parts parts;
    double workers = plan->remote + plan->local, n = problem->elements;

    make_parts(problem, plan, &parts);
    struct demand later =
        later_demand(problem, &parts, parts.has_cache ? room_for(problem, &parts) : 0);
    list_bounds(problem, &later, &parts, plan, ret_epoch->bound_ns);
    ret_epoch->cpu_ns = n * later.sums.cpu_ns;
    ret_epoch->network_bytes = n * parts.output_bytes * plan->remote / workers;
    ret_epoch->money =
        (workers * problem->worker_price + problem->trainer_price) * plan->epoch_ns / 3.6e12;
}
