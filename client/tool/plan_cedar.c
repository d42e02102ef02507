/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/plan_cedar.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "client/tool/cedar_files.h"
#include "client/tool/tool.h"

static const char *const BACKENDS[] = {"RAY", "SMP"};

static int64_t id_at(const struct cw_cedar_chain *chain, const struct cw_cedar_plan *plan,
                     size_t place)
{
    return chain->ops[plan->order[place]].id;
}

/* Appends "[9,8,3]" of n places of the order. */
static void add_ids(struct cw_str *out, const struct cw_cedar_chain *chain,
                    const struct cw_cedar_plan *plan, size_t first, size_t n)
{
    cw_str_add(out, "[");
    for (size_t i = 0; i < n; i++)
        cw_str_addf(out, "%s%" PRId64, i ? "," : "", id_at(chain, plan, first + i));
    cw_str_add(out, "]");
}

static void add_offload(struct cw_str *out, const struct cw_cedar_chain *chain,
                        const struct cw_cedar_plan *plan, size_t i)
{
    const struct cw_cedar_offload *at = &plan->offloads[i];

    cw_str_addf(out, "%s{\"ops\":", i ? "," : "");
    add_ids(out, chain, plan, at->first, at->n);
    if (plan->backend == CW_CEDAR_RAY)
        cw_str_addf(out, ",\"n_actors\":%u,\"submit_batch\":%u}", at->scale, at->submit_batch);
    else
        cw_str_addf(out, ",\"n_procs\":%u}", at->scale);
}

static void print_json(const struct cw_cedar_chain *chain, const struct cw_cedar_plan *plan)
{
    CW_STR_AUTO out = {0};

    if (plan->orders > 0)
        cw_str_addf(&out, "{\"orders\":%.17g", plan->orders);
    else
        cw_str_add(&out, "{\"orders\":null");
    cw_str_addf(&out,
                ",\"complete\":%s,\"least\":%s,\"order\":", plan->is_complete ? "true" : "false",
                plan->is_least ? "true" : "false");
    add_ids(&out, chain, plan, 0, plan->n);
    cw_str_addf(&out, ",\"base_ms\":%.9g,\"order_ms\":%.9g,\"cache_after\":", plan->base_ms,
                plan->order_ms);
    if (plan->has_cache)
        cw_str_addf(&out, "%" PRId64, id_at(chain, plan, plan->cache_after));
    else
        cw_str_add(&out, "null");
    cw_str_addf(&out, ",\"cached_ms\":%.9g,\"workers\":%u", plan->cached_ms, plan->workers);
    if (plan->backend < CW_CEDAR_BACKENDS)
        cw_str_addf(&out, ",\"backend\":\"%s\",\"offload\":[", BACKENDS[plan->backend]);
    else
        cw_str_add(&out, ",\"backend\":null,\"offload\":[");
    for (size_t i = 0; i < plan->offloads_n; i++)
        add_offload(&out, chain, plan, i);
    cw_str_addf(&out, "],\"plan_ms\":%.9g,\"source_fused\":%s}", plan->plan_ms,
                plan->is_source_fused ? "true" : "false");
    puts(cw_str_text(&out));
}

static void print_offloads(const struct cw_cedar_chain *chain, const struct cw_cedar_plan *plan)
{
    for (size_t i = 0; i < plan->offloads_n; i++) {
        const struct cw_cedar_offload *at = &plan->offloads[i];
        CW_STR_AUTO ids = {0};
        add_ids(&ids, chain, plan, at->first, at->n);
        if (plan->backend == CW_CEDAR_RAY)
            printf("on Ray     %s, %u actors, %u elements at a time\n", cw_str_text(&ids),
                   at->scale, at->submit_batch);
        else
            printf("on SMP     %s, %u processes\n", cw_str_text(&ids), at->scale);
    }
}

static void print_text(const struct cw_cedar_chain *chain, const struct cw_cedar_plan *plan)
{
    CW_STR_AUTO order = {0};

    add_ids(&order, chain, plan, 0, plan->n);
    printf("written    %.3f ms an element on one core\n", plan->base_ms);
    if (plan->orders > 0)
        printf("order      %s of %.0f, %.3f ms\n", cw_str_text(&order), plan->orders,
               plan->order_ms);
    else
        printf("order      %s, %.3f ms\n", cw_str_text(&order), plan->order_ms);
    if (plan->has_cache)
        printf("cache      behind %" PRId64 ", %.3f ms\n", id_at(chain, plan, plan->cache_after),
               plan->cached_ms);
    printf("workers    %u\n", plan->workers);
    print_offloads(chain, plan);
    if (plan->is_source_fused)
        puts("source     all operators become one with it");
    printf("plan       %.3f ms\n", plan->plan_ms);
}

static void print_notes(const struct cw_cedar_chain *chain, const struct cw_cedar_options *options,
                        const struct cw_cedar_plan *plan)
{
    if (!plan->is_least)
        fputs("note: too many orders to look at; the written order stays\n", stderr);
    else if (!plan->is_complete)
        fprintf(
            stderr,
            "note: more than %d orders; this is one that costs least, not the first of those in "
            "cedar's enumeration\n",
            CW_CEDAR_ORDERS_MAX);
    if (!options->no_offload && !chain->has_backend[CW_CEDAR_RAY])
        fputs("note: the statistics have nothing of RAY: nothing runs there\n", stderr);
    if (options->with_caching && options->samples == 0)
        fputs("note: nothing is cached without --samples\n", stderr);
    if (options->with_caching && chain->read_latency == 0)
        fputs("note: nothing is cached: the statistics have no disk_info.read_latency\n", stderr);
}

int tool_plan_cedar(const char *chain_path, const char *stats_path,
                    const struct cw_cedar_options *options, bool json)
{
    struct cw_err err = {0};
    struct cw_cedar_chain *chain = CW_NEW(struct cw_cedar_chain);
    struct cw_cedar_plan *plan = CW_NEW(struct cw_cedar_plan);
    int rc = tool_cedar_chain_load(chain_path, chain, &err);

    if (rc == 0)
        rc = tool_cedar_stats_load(stats_path, chain, &err);
    if (rc == 0) {
        cw_cedar_plan(chain, options, plan);
        print_notes(chain, options, plan);
        if (json)
            print_json(chain, plan);
        else
            print_text(chain, plan);
    }
    cw_mem_free(plan);
    cw_mem_free(chain);
    return rc < 0 ? tool_fail_err(&err) : TOOL_OK;
}
