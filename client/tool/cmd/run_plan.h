/* SPDX-License-Identifier: Apache-2.0 */
/* cachew run FILE.json --plan PLAN: the pipeline in the order of a plan. */
#ifndef CW_CLIENT_TOOL_CMD_RUN_PLAN_H
#define CW_CLIENT_TOOL_CMD_RUN_PLAN_H

#include "graph/graph.h"

struct cachew_pipeline;
struct tool_run_planned {
    struct cachew_pipeline *pipeline; /* what the job is started with */
    struct cw_graph *order;           /* the order that it is to be replanned to; NULL: it has it */
    char *autocache; /* the policy that caches where the plan says; NULL: nothing is cached */
};
/* Loads a pipeline and a plan, and rewrites the one by the other; the caller frees the parts of the result.
 * local: the job will be one of local:. A cache that cannot be had is told. Messages begin with the name of
 * the file. */
int tool_run_plan(const char *pipeline_path, const char *plan_path, bool local,
                  struct tool_run_planned *ret_planned, struct cw_err *err);
/* Has a running job compute in another order. */
int tool_run_replan(const char *dispatcher, const char *job, const struct cw_graph *order,
                    struct cw_err *err);

#endif
