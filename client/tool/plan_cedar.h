/* SPDX-License-Identifier: Apache-2.0 */
/* cachew plan CHAIN.json --cedar-stats STATS.yaml */
#ifndef CW_CLIENT_TOOL_PLAN_CEDAR_H
#define CW_CLIENT_TOOL_PLAN_CEDAR_H

#include "policies/cedar.h"

/* Plans and prints; returns the exit code. */
int tool_plan_cedar(const char *chain_path, const char *stats_path,
                    const struct cw_cedar_options *options, bool json);

#endif
