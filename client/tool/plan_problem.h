/* SPDX-License-Identifier: Apache-2.0 */
/* cachew plan PROBLEM.json: plans what another search saw, as decisions have it (policies/problem_json.h). */
#ifndef CW_CLIENT_TOOL_PLAN_PROBLEM_H
#define CW_CLIENT_TOOL_PLAN_PROBLEM_H

#include "client/tool/plan_profile.h"

/* Whether a file says that it is a problem. */
bool tool_plan_is_problem(const char *path);
/* Plans it, prints the plan and writes it to the file of the options; returns the exit code. Epochs,
 * threads and workers are those of the problem. */
int tool_plan_problem(const char *path, const struct tool_plan_options *options, bool json);

#endif
