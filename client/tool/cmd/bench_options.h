/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `cachew bench`: those of cedar's runner, and where the job runs. */
#ifndef CW_CLIENT_TOOL_CMD_BENCH_OPTIONS_H
#define CW_CLIENT_TOOL_CMD_BENCH_OPTIONS_H

#include "client/tool/cmd/run_options.h"
#include "client/tool/plan_profile.h"

struct tool_bench_options {
    const char *file; /* the pipeline */
    const char *dispatcher, *step_ms, *results, *output, *profile, *plan, *cache_store;
    uint64_t batch_size; /* 0: as the pipeline says */
    uint64_t epochs, samples, seed, seconds;
    int64_t workers, threads;
    bool run_profiling, generate_plan, relaxed, quiet;
    bool no_optimizer, no_controller, no_prefetch, no_offload, no_parallelism, no_reorder,
        no_fusion, no_caching;
};

/* Parses the command line, as tool_run_options_parse does. */
bool tool_bench_options_parse(int argc, char **argv, struct tool_bench_options *o, int *ret_exit);
/* Whether the job runs in a cluster that is started for it. */
bool tool_bench_is_local(const struct tool_bench_options *o);
/* What the switches mean for a run of `cachew run`, and for a plan of `cachew plan`. */
void tool_bench_run_options(const struct tool_bench_options *o, struct tool_run_options *ret_run);
void tool_bench_plan_options(const struct tool_bench_options *o,
                             struct tool_plan_options *ret_plan);

#endif
