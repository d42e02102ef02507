/* SPDX-License-Identifier: Apache-2.0 */
/* cedar's choice of what runs on a backend: of all stretches of operators that may be fused the one
 * that saves most, then the best of those that do not touch it, and so on. */
#include "policies/cedar_int.h"

#include <math.h>

#include "base/mem.h"

#define LEAST_SHARE 0.05    /* of the profile's time; what is less is not moved */
#define RAY_SLOTS 32        /* actors of all groups and copies together */
#define SMP_SLOTS 8         /* processes of all groups and copies together */
#define BATCH_BYTES 2000000 /* travel to an actor at a time, and back */
#define BATCH_MAX 500       /* elements */

struct search {
    struct cw_cedar_view view;
    enum cw_cedar_backend backend;
    double base_ms;
};
struct stretch {
    struct cw_cedar_offload at;
    double cost;
};

static const struct cw_cedar_op *op_at(const struct search *search, size_t place)
{
    return &search->view.chain->ops[search->view.order[place]];
}

static double cost_of(const struct search *search, const struct cw_cedar_offload *at)
{
    uint64_t moved = 0;

    for (size_t i = at->first; i < at->first + at->n; i++)
        moved |= UINT64_C(1) << i;
    struct cw_cedar_placed placed = {
        .moved = moved, .backend = search->backend, .groups = at, .groups_n = 1};
    return cw_cedar_cost(&search->view, &placed);
}

static bool is_measured(const struct search *search, size_t place)
{
    return op_at(search, place)->moved_throughput[search->backend] > 0;
}

static bool helps_alone(const struct search *search, size_t place)
{
    struct cw_cedar_offload at = {.first = place, .n = 1};

    return is_measured(search, place) && cost_of(search, &at) < search->base_ms;
}

/* Whether a stretch may run on the backend and one of its operators is faster there by itself. */
static bool is_candidate(const struct search *search, size_t first, size_t n)
{
    bool helps = false;

    for (size_t i = first; i < first + n; i++) {
        if (!op_at(search, i)->is_offloadable || !is_measured(search, i))
            return false;
        helps |= helps_alone(search, i);
    }
    return helps;
}

/* Writes all candidates of one run of fusable operators; returns how many. */
static size_t list_stretches(const struct search *search, size_t from, size_t to, bool fusion,
                             struct stretch *ret)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++)
        for (size_t j = i + 1; j <= (fusion ? to : i + 1); j++)
            if (is_candidate(search, i, j - i)) {
                ret[n].at = (struct cw_cedar_offload){.first = i, .n = j - i};
                ret[n].cost = cost_of(search, &ret[n].at);
                n++;
            }
    return n;
}

static bool touch(struct cw_cedar_offload a, struct cw_cedar_offload b)
{
    return a.first < b.first + b.n && b.first < a.first + a.n;
}

/* Takes the cheapest stretch as long as it is cheaper than nothing, and drops those that touch it. */
static void take_best(const struct search *search, struct stretch *all, size_t n,
                      struct cw_cedar_plan *plan)
{
    for (;;) {
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (all[i].cost < search->base_ms && (best == n || all[i].cost < all[best].cost))
                best = i;
        if (best == n)
            return;
        struct cw_cedar_offload taken = all[best].at;
        plan->offloads[plan->offloads_n++] = taken;
        for (size_t i = 0; i < n; i++)
            if (touch(all[i].at, taken))
                all[i].cost = HUGE_VAL;
    }
}

static void find_fused(const struct search *search, bool fusion, struct cw_cedar_plan *plan)
{
    struct stretch *all = CW_NEW_ARRAY(struct stretch, plan->n * (plan->n + 1) / 2);

    for (size_t from = 0, to; from < plan->n; from = to + 1) {
        for (to = from; to < plan->n && op_at(search, to)->is_fusable; to++)
            ;
        take_best(search, all, list_stretches(search, from, to, fusion, all), plan);
    }
    cw_mem_free(all);
}

static void find_single(const struct search *search, struct cw_cedar_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++)
        if (!op_at(search, i)->is_fusable && op_at(search, i)->is_offloadable &&
            helps_alone(search, i))
            plan->offloads[plan->offloads_n++] = (struct cw_cedar_offload){.first = i, .n = 1};
}

/* The sum of what the operators gain on a backend, by which cedar chooses one when nothing is fused. */
static double gain_on(const struct cw_cedar_chain *chain, enum cw_cedar_backend backend)
{
    double sum = 0;

    for (size_t i = 0; i < chain->n; i++)
        sum += fmax(0, chain->ops[i].moved_throughput[backend] - chain->throughput);
    return sum;
}

static enum cw_cedar_backend choose_backend(const struct cw_cedar_chain *chain,
                                            const struct cw_cedar_options *options)
{
    if (options->no_offload)
        return CW_CEDAR_SMP;
    if (options->no_fusion && chain->has_backend[CW_CEDAR_SMP] &&
        gain_on(chain, CW_CEDAR_SMP) > gain_on(chain, CW_CEDAR_RAY))
        return CW_CEDAR_SMP;
    return CW_CEDAR_RAY;
}

static void drop_small(const struct search *search, struct cw_cedar_plan *plan)
{
    size_t kept = 0;

    for (size_t i = 0; i < plan->offloads_n; i++) {
        struct cw_cedar_offload at = plan->offloads[i];
        double ms = 0;
        for (size_t p = at.first; p < at.first + at.n; p++)
            ms += cw_cedar_base_ms(search->view.chain, search->view.order[p]);
        if (ms * search->view.chain->throughput / 1000 >= LEAST_SHARE)
            plan->offloads[kept++] = at;
    }
    plan->offloads_n = kept;
}

/* A cache stays only where it pays with each of the groups. */
static void look_at_cache(const struct search *search, struct cw_cedar_plan *plan)
{
    for (size_t i = 0; plan->has_cache && i < plan->offloads_n; i++) {
        const struct cw_cedar_offload *at = &plan->offloads[i];
        struct cw_cedar_placed placed = {.backend = search->backend, .groups = at, .groups_n = 1};
        for (size_t p = at->first; p < at->first + at->n; p++)
            placed.moved |= UINT64_C(1) << p;
        double without = cw_cedar_cost(&search->view, &placed);
        placed.has_cache = true;
        placed.cache_after = plan->cache_after;
        plan->has_cache = cw_cedar_cost(&search->view, &placed) <= without;
    }
}

static void set_sizes(const struct search *search, struct cw_cedar_plan *plan)
{
    size_t shared_by = plan->offloads_n * plan->workers;

    for (size_t i = 0; i < plan->offloads_n; i++) {
        struct cw_cedar_offload *at = &plan->offloads[i];
        if (search->backend == CW_CEDAR_SMP) {
            at->scale = (unsigned)(SMP_SLOTS / shared_by);
            continue;
        }
        double bytes = cw_cedar_in_bytes(&search->view, at->first) +
                       cw_cedar_out_bytes(&search->view, at->first + at->n - 1);
        at->scale = (unsigned)((RAY_SLOTS + shared_by - 1) / shared_by);
        at->submit_batch = (unsigned)fmin(fmax(floor(BATCH_BYTES / bytes), 1), BATCH_MAX);
    }
}

void cw_cedar_find_offloads(const struct cw_cedar_chain *chain,
                            const struct cw_cedar_options *options, struct cw_cedar_plan *plan)
{
    struct search search = {.view = {chain, plan->order},
                            .backend = choose_backend(chain, options)};

    plan->backend = search.backend;
    search.base_ms = cw_cedar_cost(&search.view, NULL);
    find_fused(&search, !options->no_fusion, plan);
    find_single(&search, plan);
    if (!options->no_offload)
        look_at_cache(&search, plan);
    drop_small(&search, plan);
    set_sizes(&search, plan);
}
