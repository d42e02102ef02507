/* SPDX-License-Identifier: Apache-2.0 */
/* cachew explain FILE.json: what a plan of a pipeline is made of. */
#ifndef CW_CLIENT_TOOL_EXPLAIN_FILE_H
#define CW_CLIENT_TOOL_EXPLAIN_FILE_H

#include "client/tool/plan_work.h"
#include "policies/optimize_view.h"

struct tool_explained {
    struct tool_planned planned;
    bool relaxed; /* the constraints of the search are the relaxed ones */
    /* What the plan says in numbers; without a profile they mean nothing. */
    struct cw_optimize_row rows[CW_OPTIMIZE_NODES_MAX]; /* by place of the plan's order */
    struct cw_optimize_epoch epoch;
    struct cw_what_if what_if[CW_WHAT_IF_MAX];
    size_t what_if_n;
};

/* Whether what `cachew explain` was given is a pipeline, and not a job: a file that can be read. */
bool tool_explain_is_file(const char *what);
/* Plans the pipeline by the profile (NULL: none), and finds all that is to be told of the plan. */
int tool_explained_load(const char *path, const char *profile_path,
                        const struct tool_plan_options *options,
                        struct tool_explained *ret_explained, struct cw_err *err);
void tool_explained_fini(struct tool_explained *explained);

/* A case of what if, in words. */
void tool_what_if_text(const struct tool_explained *e, const struct cw_what_if *it,
                       struct cw_str *out);
/* The node at a place of the written order. */
const struct cw_node *tool_explained_node(const struct tool_explained *e, size_t place);

#endif
