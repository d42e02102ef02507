/* SPDX-License-Identifier: Apache-2.0 */
/* cachew run FILE.json with --plan, --profile or a policy that plans before the job begins: the pipeline in
 * the order of a plan. */
#ifndef CW_CLIENT_TOOL_CMD_RUN_PLAN_H
#define CW_CLIENT_TOOL_CMD_RUN_PLAN_H

#include "client/tool/cmd/run_options.h"
#include "graph/graph.h"

struct cachew_pipeline;
struct tool_run_planned {
    struct cachew_pipeline *pipeline; /* what the job is started with */
    struct cw_graph *order;           /* the order that it is to be replanned to; NULL: it has it */
    char *autocache; /* the policy that caches where the plan says; NULL: nothing is cached */
};
/* Whether the options ask for a plan that is there before the job begins. */
bool tool_run_is_planned(const struct tool_run_options *options);
/* Returns what is wrong with the options that are about plans; NULL: nothing. */
const char *tool_run_plan_misfit(const struct tool_run_options *options);
/* Loads a pipeline, loads or makes the plan, and rewrites the one by the other; the caller frees the parts of
 * the result. local: the job will be one of local:. A cache that cannot be had is told, and of a relaxed
 * plan how much it changes (exec/relaxed_trial.h). Messages begin with the name of the file. */
int tool_run_plan(const char *pipeline_path, const struct tool_run_options *options, bool local,
                  struct tool_run_planned *ret_planned, struct cw_err *err);
/* The same of a pipeline as text; messages begin with `where`. */
int tool_run_plan_text(const char *text, const char *where, const struct tool_run_options *options,
                       bool local, struct tool_run_planned *ret_planned, struct cw_err *err);
/* Has a running job compute in another order. */
int tool_run_replan(const char *dispatcher, const char *job, const struct cw_graph *order,
                    struct cw_err *err);

#endif
