/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model: what a plan makes of an epoch. */
#include "policies/optimize_int.h"

#include <math.h>
#include <string.h>

#include "policies/optimize_view.h"

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
    const double read_bytes_ns = problem->store.read_byte_ns * parts->cached_bytes;

    demand.sums = add(demand.sums, 1 - read, parts->before.thread_ns, parts->before.cpu_ns);
    /* A thread waits for the store; what bytes take besides (they are unpacked and copied) is work. */
    demand.sums = add(demand.sums, read * parts->cached_share,
                      problem->store.read_ns + read_bytes_ns, read_bytes_ns);
    demand.sums = add(demand.sums, 1, parts->behind.thread_ns, parts->behind.cpu_ns);
    /* How much of it is waiting is not known, so it counts for no CPU. */
    demand.sums = add(demand.sums, 1, problem->element_ns, 0);
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

/* Returns what so much time costs: workers, the trainer, and what is cached. */
static double money_of(const struct cw_optimize_problem *problem,
                       const struct cw_optimize_parts *parts, double room,
                       const struct cw_optimize_plan *plan, double ns)
{
    const double workers = plan->remote + plan->local;
    const double cached = problem->elements * room * parts->cached_share * parts->cached_bytes;

    return (workers * problem->worker_price + problem->trainer_price +
            problem->store_price * cached / 1e9) *
           ns / 3.6e12;
}

void cw_optimize_times(const struct cw_optimize_problem *problem,
                       const struct cw_optimize_parts *parts, struct cw_optimize_plan *plan)
{
    double room = parts->has_cache ? room_for(problem, parts) : 0;
    struct demand first = first_demand(problem, parts, room);
    struct demand later = later_demand(problem, parts, room);

    plan->first_ns = epoch_time(problem, &first, parts, plan);
    plan->epoch_ns = epoch_time(problem, &later, parts, plan);
    plan->total_ns = plan->first_ns + (problem->epochs - 1) * plan->epoch_ns;
    plan->work_ns = first.sums.thread_ns + (problem->epochs - 1) * later.sums.thread_ns;
    plan->money = money_of(problem, parts, room, plan, plan->total_ns);
}

/* ---- a cache within what the first node stands for ---- */

size_t cw_optimize_branch_of(const struct cw_optimize_problem *problem,
                             const struct cw_optimize_plan *plan)
{
    const size_t k = plan->cache_after - CW_OPTIMIZE_INSIDE;

    return plan->cache_after >= CW_OPTIMIZE_INSIDE && k < problem->branches_n ? k
                                                                              : problem->branches_n;
}

const char *cw_optimize_cached_name(const struct cw_optimize_problem *problem,
                                    const struct cw_optimize_plan *plan)
{
    const size_t k = cw_optimize_branch_of(problem, plan);

    if (k < problem->branches_n)
        return problem->branches[k].name;
    return plan->cache_after < problem->n ? problem->nodes[plan->order[plan->cache_after]].name
                                          : NULL;
}

void cw_optimize_set_branch(const struct cw_optimize_problem *problem, size_t k,
                            struct cw_optimize_sums all, struct cw_optimize_parts *parts)
{
    const struct cw_optimize_branch *branch = &problem->branches[k];

    parts->has_cache = true;
    parts->cache_after = CW_OPTIMIZE_INSIDE + k;
    parts->cached_share = 1;
    parts->cached_bytes = branch->bytes;
    parts->is_there = branch->share;
    parts->before = (struct cw_optimize_sums){branch->whole_ns, branch->whole_cpu_ns};
    parts->behind = (struct cw_optimize_sums){fmax(all.thread_ns - branch->ns, 0),
                                              fmax(all.cpu_ns - branch->cpu_ns, 0)};
}

/* ---- a plan ---- */

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
            parts.cache_after = i;
            parts.is_there = cw_optimize_is_there(problem, set);
            parts.cached_share = walk.flow.share;
            parts.cached_bytes = cw_optimize_bytes(problem, &walk.flow);
        }
    }
    parts.output_bytes = walk.flow.share * cw_optimize_bytes(problem, &walk.flow);
    const size_t branch = cw_optimize_branch_of(problem, plan);
    if (branch < problem->branches_n)
        cw_optimize_set_branch(problem, branch, parts.before, &parts);
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
    const double room = parts.has_cache ? room_for(problem, &parts) : 0;
    struct demand later = later_demand(problem, &parts, room);
    list_bounds(problem, &later, &parts, plan, ret_epoch->bound_ns);
    ret_epoch->cpu_ns = n * later.sums.cpu_ns;
    ret_epoch->network_bytes = n * parts.output_bytes * plan->remote / workers;
    ret_epoch->money = money_of(problem, &parts, room, plan, plan->epoch_ns);
}
