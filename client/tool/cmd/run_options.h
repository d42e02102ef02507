/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `cachew run`. */
#ifndef CW_CLIENT_TOOL_CMD_RUN_OPTIONS_H
#define CW_CLIENT_TOOL_CMD_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/args.h"

/* The fields have the names of the options. Strings are borrowed from argv; NULL if not given. */
struct tool_run_options {
    const char *dispatcher, *name, *batches_path, *bad_list, *save_token, *resume, *mode,
        *cache_store, *autocache, *tenant, *cache, *autoscale, *autoplace, *optimize, *step_ms,
        *identity, *plan, *profile;
    uint64_t cache_quota, seed, epochs, buffer, lease_items, stop_after, local_memory;
    int64_t workers, threads, window, timeout_ms, consumers, consumer;
    int64_t min_workers, max_workers, priority, local_workers, local_threads, local_nice;
    double weight, max_stall, client_price, local_cpus;
    bool no_order, json, skip_bad, no_hash, no_shm, quiet, at_most_once, stats, recipes, relaxed;
    bool no_fusion;
    bool no_reorder, no_caching; /* of a plan that is made: of `cachew bench` only */
};

/* Parses the command line. Returns true if the command should run; the pipeline's file is set then.
 * Otherwise *ret_exit is the exit code, and the help or an error was printed. */
bool tool_run_options_parse(int argc, char **argv, struct tool_run_options *o,
                            const char **ret_file, int *ret_exit);

#endif
