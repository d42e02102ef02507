/* SPDX-License-Identifier: Apache-2.0 */
/* cachew plan FILE.json --profile PROFILE */
#ifndef CW_CLIENT_TOOL_PLAN_PROFILE_H
#define CW_CLIENT_TOOL_PLAN_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

struct tool_plan_options {
    const char *policy; /* of policies/optimizer_list.h */
    const char *output; /* the file that the plan is written to; NULL: none */
    uint64_t epochs, threads, remote, local;
    double worker_price, trainer_price; /* an hour, in one currency */
    bool relaxed, no_reorder, no_fusion, no_caching, no_workers;
};
/* Plans a pipeline by a profile (NULL: none, for policies that need none), prints the plan and writes it to its
 * file; returns the exit code. */
int tool_plan_profile(const char *pipeline_path, const char *profile_path,
                      const struct tool_plan_options *options, bool json);

#endif
