/* SPDX-License-Identifier: Apache-2.0 */
/* cachew run FILE.json --plan PLAN: the pipeline in the order of a plan. */
#ifndef CW_CLIENT_TOOL_CMD_RUN_PLAN_H
#define CW_CLIENT_TOOL_CMD_RUN_PLAN_H

#include "base/err.h"

struct cachew_pipeline;
/* Loads a pipeline and a plan, and rewrites the one by the other. *ret_autocache receives the policy that
 * caches where the plan says, which the caller frees, or NULL; a cache that cannot be had is told. Messages
 * begin with the name of the file. */
int tool_run_plan(const char *pipeline_path, const char *plan_path,
                  struct cachew_pipeline **ret_pipeline, char **ret_autocache, struct cw_err *err);

#endif
