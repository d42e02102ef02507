/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a pipeline in this process as a worker does that prepares a job. While that takes long, a line on
 * the terminal says how far it is. */
#ifndef CW_CLIENT_TOOL_OPEN_PLAN_H
#define CW_CLIENT_TOOL_OPEN_PLAN_H

#include "graph/graph.h"
#include "plan/plan.h"

/* What was done, for those who want to know. */
struct tool_opened {
    double seconds;
};
/* ret_opened may be NULL. */
int tool_open_plan(struct cw_graph *graph, struct tool_opened *ret_opened,
                   struct cw_plan **ret_plan, struct cw_err *err);

#endif
