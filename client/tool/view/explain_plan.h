/* SPDX-License-Identifier: Apache-2.0 */
/* A planned pipeline, as a tree for people, or as JSON. */
#ifndef CW_CLIENT_TOOL_VIEW_EXPLAIN_PLAN_H
#define CW_CLIENT_TOOL_VIEW_EXPLAIN_PLAN_H

#include "client/tool/explain_file.h"

void tool_explain_plan(const struct tool_plan_options *options, const struct tool_explained *e);
/* Appends the members of an object that is open: plan, nodes, bound, rejected, pairs, what_if. */
void tool_explain_plan_members(const struct tool_plan_options *options,
                               const struct tool_explained *e, struct cw_str *out);

/* What is to be said of the node at a place of the plan's order: "moved, cached". */
void tool_explain_marks(const struct tool_explained *e, size_t place, struct cw_str *out);

#endif
