/* SPDX-License-Identifier: Apache-2.0 */
/* cedar's passes in their order: order, cache, copies of the pipeline, backend and fusion, source. */
#include "policies/cedar_int.h"

#include <math.h>

/* More bytes a second than this between processes, and elements, make copies useless. */
#define COPIES_BYTES_S 1e8
#define COPIES_ELEMENTS_S 100

int cw_cedar_check(const struct cw_cedar_chain *chain, struct cw_err *err)
{
    if (chain->n == 0 || !chain->ops[0].is_source)
        return cw_err_set(err, CW_E_INVALID, "the first operator of the chain is no source");
    if (!(chain->throughput > 0) || !isfinite(chain->throughput))
        return cw_err_set(err, CW_E_INVALID, "the throughput of the profile is %g",
                          chain->throughput);
    double sum = 0;
    for (size_t i = 0; i < chain->n; i++) {
        const struct cw_cedar_op *op = &chain->ops[i];
        const char *wrong = !(op->latency >= 0) || !isfinite(op->latency)      ? "latency"
                            : !(op->out_bytes > 0) || !isfinite(op->out_bytes) ? "output size"
                            : i > 0 && (!(op->in_bytes > 0) || !isfinite(op->in_bytes))
                                ? "input size"
                                : NULL;
        if (wrong)
            return cw_err_set(err, CW_E_INVALID, "operator %lld: the profile has no usable %s",
                              (long long)op->id, wrong);
        if (i > 0 && op->is_source)
            return cw_err_set(err, CW_E_INVALID, "operator %lld is a second source",
                              (long long)op->id);
        sum += op->latency;
    }
    return sum > 0 ? 0 : cw_err_set(err, CW_E_INVALID, "all latencies of the profile are 0");
}

static void find_cache(const struct cw_cedar_view *view, const struct cw_cedar_options *options,
                       struct cw_cedar_plan *plan)
{
    const struct cw_cedar_chain *chain = view->chain;

    for (size_t i = 0; i < chain->n && !chain->ops[view->order[i]].is_random; i++) {
        struct cw_cedar_placed placed = {.has_cache = true, .cache_after = i};
        double cost = cw_cedar_cost(view, &placed);
        if (options->samples * chain->ops[view->order[i]].out_bytes < options->free_bytes &&
            cost < plan->cached_ms) {
            plan->cached_ms = cost;
            plan->cache_after = i;
            plan->has_cache = true;
        }
    }
}

/* How many copies of the pipeline run. Returns false if the bytes between processes forbid several. */
static bool find_workers(const struct cw_cedar_view *view, const struct cw_cedar_options *options,
                         struct cw_cedar_plan *plan)
{
    double elements_s = 1000 / plan->order_ms;
    double bytes_s = elements_s * cw_cedar_out_bytes(view, view->chain->n - 1);

    plan->workers = 1;
    if (options->no_parallelism)
        return true;
    if (bytes_s > COPIES_BYTES_S * (options->no_offload ? 0.8 : 0.95) &&
        elements_s > COPIES_ELEMENTS_S)
        return false;
    plan->workers = options->cpus;
    return true;
}

/* Whether all operators but the source are one group on Ray, or all run in the trainer's process and
 * could be fused: then they become one with a source that allows it. */
static bool is_source_fused(const struct cw_cedar_view *view,
                            const struct cw_cedar_options *options,
                            const struct cw_cedar_plan *plan)
{
    if (!view->chain->ops[0].is_fusable_source || options->no_fusion || plan->has_cache ||
        plan->n < 2)
        return false;
    if (!options->no_offload)
        return plan->backend == CW_CEDAR_RAY && plan->offloads_n == 1 && plan->offloads[0].n > 1 &&
               plan->offloads[0].n == plan->n - 1;
    for (size_t i = 1; i < plan->n; i++)
        if (!view->chain->ops[view->order[i]].is_fusable)
            return false;
    return plan->offloads_n == 0;
}

static double cost_of_all(const struct cw_cedar_view *view, const struct cw_cedar_plan *plan)
{
    struct cw_cedar_placed placed = {
        .backend = plan->backend,
        .groups = plan->offloads,
        .groups_n = plan->offloads_n,
        .has_cache = plan->has_cache,
        .cache_after = plan->cache_after,
    };

    for (size_t i = 0; i < plan->offloads_n; i++)
        for (size_t p = 0; p < plan->offloads[i].n; p++)
            placed.moved |= UINT64_C(1) << (plan->offloads[i].first + p);
    return cw_cedar_cost(view, &placed);
}

void cw_cedar_plan(const struct cw_cedar_chain *chain, const struct cw_cedar_options *options,
                   struct cw_cedar_plan *plan)
{
    struct cw_cedar_view view = {chain, plan->order};

    *plan = (struct cw_cedar_plan){.n = chain->n, .backend = CW_CEDAR_BACKENDS};
    for (size_t i = 0; i < chain->n; i++)
        plan->order[i] = i;
    plan->base_ms = cw_cedar_cost(&view, NULL);
    if (options->no_reorder) {
        plan->orders = 1;
        plan->is_complete = plan->is_least = true;
    } else {
        cw_cedar_find_order(chain, plan);
    }
    plan->order_ms = plan->cached_ms = cw_cedar_cost(&view, NULL);
    if (options->with_caching && options->samples > 0 && chain->read_latency > 0)
        find_cache(&view, options, plan);
    bool may_copy = find_workers(&view, options, plan);
    /* without offloading, cedar fuses only where copies are forbidden */
    if (!options->no_offload || (!options->no_fusion && !may_copy))
        cw_cedar_find_offloads(chain, options, plan);
    if (!plan->has_cache)
        plan->cached_ms = plan->order_ms;
    plan->is_source_fused = is_source_fused(&view, options, plan);
    if (plan->is_source_fused)
        plan->workers = 1;
    plan->plan_ms = cost_of_all(&view, plan);
    if (plan->offloads_n == 0)
        plan->backend = CW_CEDAR_BACKENDS;
}
