/* SPDX-License-Identifier: Apache-2.0 */
/* Checks pipelines where their files may be: what only the files say is looked up in them. */
#ifndef CW_CLIENT_TOOL_TOOL_GRAPH_H
#define CW_CLIENT_TOOL_TOOL_GRAPH_H

#include "graph/check.h"

/* Completes the graph (graph/complete.h), with the manifest of a job if there is one, and checks it. */
int tool_graph_check(struct cw_graph *graph, const struct cw_value *manifest,
                     struct cw_checked **ret_checked, struct cw_err *err);

#endif
