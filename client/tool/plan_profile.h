/* SPDX-License-Identifier: Apache-2.0 */
/* cachew plan FILE.json --profile PROFILE */
#ifndef CW_CLIENT_TOOL_PLAN_PROFILE_H
#define CW_CLIENT_TOOL_PLAN_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

struct tool_plan_options {
    const char *policy; /* of policies/policy_list.h */
    const char *output; /* the file that the plan is written to; NULL: none */
    uint64_t epochs, threads, remote, local;
    double cores;                       /* of a worker; 0: as many as its threads can use */
    const char *objective;              /* "time" or "money"; NULL: time */
    double worker_price, trainer_price; /* an hour, in one currency */
    double store_price;                 /* of a GB in the cache, an hour */
    bool relaxed, no_reorder, no_fusion, no_caching, no_workers;
};
/* The options of what a plan is to make least; `o` points to a struct with these members. */
#define TOOL_ROW_PRICE(option, target, help)                                                       \
    {                                                                                              \
        option, 0, CW_ARG_F64, (target), "P", (help), 0, 1e9                                       \
    }
#define TOOL_ROWS_MONEY(o)                                                                         \
    {"objective", 0,                                                                               \
     CW_ARG_STR,  &(o)->objective,                                                                 \
     "WHAT",      "what is to be least: time (default), then money; or money, then time",          \
     0,           0},                                                                              \
        TOOL_ROW_PRICE("worker-price", &(o)->worker_price, "of a worker, an hour"),                \
        TOOL_ROW_PRICE("trainer-price", &(o)->trainer_price,                                       \
                       "of the trainer, an hour, in the same currency"),                           \
        TOOL_ROW_PRICE("store-price", &(o)->store_price, "of a GB in the cache, an hour")
/* Plans a pipeline by a profile (NULL: none, for policies that need none), prints the plan and writes it to its
 * file; returns the exit code. */
int tool_plan_profile(const char *pipeline_path, const char *profile_path,
                      const struct tool_plan_options *options, bool json);

#endif
