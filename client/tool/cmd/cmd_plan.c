/* SPDX-License-Identifier: Apache-2.0 */
/* cachew plan: the order of operators, what to cache and how many workers, by what was measured. */
#include <math.h>
#include <stdio.h>

#include "client/tool/plan_cedar.h"
#include "client/tool/plan_work.h"
#include "client/tool/tool.h"
#include "policies/optimizer.h"

/* A flag that switches something of the plan. */
#define ROW_FLAG(option, to, text)                                                                 \
    {                                                                                              \
        .name = (option), .type = CW_ARG_FLAG, .target = (to), .help = (text)                      \
    }

int tool_cmd_plan(int argc, char **argv)
{
    struct cw_cedar_options options = {0};
    struct tool_plan_options plan = {.policy = "auto", .epochs = 1, .threads = 1};
    const char *stats = NULL, *profile = NULL, *workers = "1,0";
    uint64_t cpus = 1, samples = 0, free_bytes = UINT64_MAX;
    bool json = false;
    const struct cw_arg rows[] = {
        {.name = "profile",
         .type = CW_ARG_STR,
         .target = &profile,
         .metavar = "FILE",
         .help = "what was measured of the pipeline, as JSON or YAML"},
        {.name = "optimize",
         .type = CW_ARG_STR,
         .target = &plan.policy,
         .metavar = "POLICY",
         .help = "auto (default), cedar, off: as written, with all workers, or pecan"},
        {.name = "epochs",
         .type = CW_ARG_U64,
         .target = &plan.epochs,
         .metavar = "E",
         .help = "how many there will be (default 1)",
         .min = 1,
         .max = 1e9},
        {.name = "threads",
         .type = CW_ARG_U64,
         .target = &plan.threads,
         .metavar = "T",
         .help = "threads of a worker (default 1)",
         .min = 1,
         .max = 100000},
        {.name = "workers",
         .type = CW_ARG_STR,
         .target = &workers,
         .metavar = "R,L",
         .help = "the most workers, remote and beside the trainer (default 1,0)"},
        {.name = "cedar-stats",
         .type = CW_ARG_STR,
         .target = &stats,
         .metavar = "STATS.yaml",
         .help = "what cedar's profiler measured"},
        {.name = "cpus",
         .type = CW_ARG_U64,
         .target = &cpus,
         .metavar = "N",
         .help = "CPUs at the trainer's host (default 1)",
         .min = 1,
         .max = 100000},
        {.name = "samples",
         .type = CW_ARG_U64,
         .target = &samples,
         .metavar = "N",
         .help = "elements of an epoch, for the size of a cache"},
        {.name = "free-bytes",
         .type = CW_ARG_BYTES,
         .target = &free_bytes,
         .metavar = "BYTES",
         .help = "room for a cache (default: no limit)"},
        ROW_FLAG("enable-caching", &options.with_caching, "look for a place for a cache"),
        ROW_FLAG("relaxed", &plan.relaxed, "moves need to keep only types and shapes"),
        ROW_FLAG("disable-offload", &options.no_offload, "nothing runs on Ray"),
        ROW_FLAG("disable-reorder", &options.no_reorder, "the written order stays"),
        ROW_FLAG("disable-fusion", &options.no_fusion, "operators stay apart"),
        ROW_FLAG("disable-caching", &plan.no_caching, "nothing is cached"),
        ROW_FLAG("disable-workers", &plan.no_workers, "all workers are used"),
        ROW_FLAG("disable-parallelism", &options.no_parallelism, "one copy of the pipeline"),
        TOOL_ROW_JSON(&json, "print one JSON object"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew plan",
        .usage = "CHAIN.json --cedar-stats STATS.yaml [options]",
        .about =
            "Plans a chain of operators as cedar's optimizer does: their order, a cache, copies "
            "of the pipeline, and what runs elsewhere, fused, by its formulas and constants. "
            "docs/optimizing.md describes both files and the formulas.",
        .rows = rows,
    };
    const char *files[1];
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "which file?", files, 1, &code))
        return code;
    const struct cw_optimizer *optimizer = cw_optimizer_find(plan.policy);
    if ((stats && profile) || (!stats && !profile && (!optimizer || optimizer->needs_profile))) {
        fputs("cachew plan: either --profile or --cedar-stats says what was measured\n", stderr);
        return TOOL_USAGE;
    }
    options.cpus = (unsigned)cpus;
    options.samples = (double)samples;
    options.free_bytes = free_bytes == UINT64_MAX ? HUGE_VAL : (double)free_bytes;
    if (stats)
        return tool_plan_cedar(files[0], stats, &options, json);
    plan.no_reorder = options.no_reorder;
    if (!tool_parse_workers(workers, &plan) || !optimizer) {
        fprintf(stderr,
                "cachew plan: --workers takes two numbers of at most 1000, not both 0, as in 4,1; "
                "--optimize takes one of %s\n",
                cw_optimizer_names());
        return TOOL_USAGE;
    }
    return tool_plan_profile(files[0], profile, &plan, json);
}
