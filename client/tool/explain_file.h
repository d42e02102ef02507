/* SPDX-License-Identifier: Apache-2.0 */
/* cachew explain: what a plan of a pipeline is made of. The pipeline is that of a file, with a profile or
 * with what a run of it measures, or that of a job, with what its workers have measured. */
#ifndef CW_CLIENT_TOOL_EXPLAIN_FILE_H
#define CW_CLIENT_TOOL_EXPLAIN_FILE_H

#include "client/tool/measured.h"
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
    /* What was measured of the same nodes, by place of the plan's order. */
    struct tool_measured measured; /* n = 0: nothing */
    struct cw_optimize_row measured_rows[CW_OPTIMIZE_NODES_MAX];
    /* Elements of the source a second that one worker gives without a cache: predicted, beside
     * measured.elements_s. */
    double predicted_s;
};

/* Whether what `cachew explain` was given is a pipeline, and not a job: a file that can be read. */
bool tool_explain_is_file(const char *what);
/* Plans the pipeline by the profile (NULL: none), and finds all that is to be told of the plan. analyze_s > 0:
 * it is run for so many seconds in the plan's order, and, without a profile, before that as it is written, to
 * make one. */
int tool_explained_load(const char *path, const char *profile_path, double analyze_s,
                        const struct tool_plan_options *options,
                        struct tool_explained *ret_explained, struct cw_err *err);
/* Its steps, once the plan is there: finds what is to be told of it; and follows an epoch's elements through
 * the plan's order by what was measured of each node (what does no work is as predicted). */
void tool_explained_find(struct tool_explained *explained);
void tool_explained_compare(struct tool_explained *explained);
/* The same of a job, by what it has measured (explain_job.c); predicted is what its latest plan was made of.
 * options: with 0 workers and 0 threads these are the job's, and
 * with 0 epochs those that it has left. */
int tool_explained_job(const char *dispatcher, const Cachew__V1__ExplainReply *reply,
                       struct tool_plan_options *options, struct tool_explained *ret_explained,
                       struct cw_err *err);
void tool_explained_fini(struct tool_explained *explained);

/* A case of what if, in words. */
void tool_what_if_text(const struct tool_explained *e, const struct cw_what_if *it,
                       struct cw_str *out);
/* The node at a place of the written order. */
const struct cw_node *tool_explained_node(const struct tool_explained *e, size_t place);
/* What was measured of the node at a place of the plan's order; NULL: nothing. */
const struct tool_measured_node *tool_explained_measured(const struct tool_explained *e,
                                                         size_t place);

#endif
