/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline that is planned by a profile: what `cachew plan` and `cachew explain` share. */
#ifndef CW_CLIENT_TOOL_PLAN_WORK_H
#define CW_CLIENT_TOOL_PLAN_WORK_H

#include "client/tool/plan_profile.h"
#include "policies/optimize_view.h"
#include "policies/optimizer.h"
#include "rewrite/plan_file.h"
#include "rewrite/problem.h"

struct tool_planned {
    struct cw_graph *graph; /* NULL, as are `checked` and `chain`: there is only the problem */
    struct cw_checked
        *checked; /* operators of a zip's branches may stand behind it (rewrite/hoist.h) */
    struct cw_checked *given; /* as it is written */
    struct cw_chain chain;
    struct cw_cost_profile profile; /* without a file: nothing costs anything */
    bool has_costs;                 /* there is a file; else numbers mean nothing */
    struct cw_optimize_problem problem;
    struct cw_problem_map map;
    const struct cw_optimizer *optimizer;
    struct cw_pecan_op classes[CW_OPTIMIZE_NODES_MAX]; /* if the policy needs them */
    struct cw_optimizer_plan found;
    struct cw_optimize_plan written; /* its order, no cache, and the plan's workers */
    bool is_exact;                   /* of the plan's order */
    struct cw_optimize_rejected rejected[CW_REJECTED_MAX]; /* with a profile */
    size_t rejected_n;
    struct cw_err refused; /* why a relaxed order was not taken; msg "": it was */
};
/* Loads pipeline and profile (NULL: none), and sets what the policy needs. */
int tool_planned_load(const char *pipeline_path, const char *profile_path,
                      const struct tool_plan_options *options, struct tool_planned *ret_planned,
                      struct cw_err *err);
/* The same in steps, for those who have the pipeline or the costs from elsewhere: loads and checks the
 * pipeline; sets the profile of a file, or (NULL) one in which nothing costs anything; and makes the problem of
 * `graph`, `checked` and `profile`. where: begins messages about the profile. */
int tool_planned_open(const char *pipeline_path, struct tool_planned *planned, struct cw_err *err);
int tool_planned_profile(const char *path, struct tool_planned *planned, struct cw_err *err);
int tool_planned_prepare(const char *where, const struct tool_plan_options *options,
                         struct tool_planned *planned, struct cw_err *err);
/* Reads "R,L", the most workers that may be used; returns false if it says something else. */
bool tool_parse_workers(const char *text, struct tool_plan_options *options);
/* Whether the objective is a word that is known, and money has a price; if not, says so for a command. */
bool tool_plan_objective_is_good(const char *command, const struct tool_plan_options *options);
/* Plans it, and finds the plans around that plan. */
void tool_planned_search(const struct tool_plan_options *options, struct tool_planned *planned);
/* Makes the plan as files have it, for cw_rewrite. */
void tool_planned_order(const struct tool_planned *planned, struct cw_order_plan *ret_plan);
/* The name of the node at a place of the plan's order, of all nodes of the pipeline. */
const char *tool_planned_name(const struct tool_planned *planned, size_t place);
/* Tells on standard error what is not as was asked. */
void tool_planned_notes(const struct tool_planned *planned);
/* Appends the JSON object of the plan. */
void tool_plan_json(const struct tool_plan_options *options, const struct tool_planned *planned,
                    struct cw_str *out);
/* Prints the plan and writes it to its file; returns the exit code. */
int tool_plan_show(const struct tool_plan_options *options, bool json,
                   const struct tool_planned *planned);
void tool_planned_fini(struct tool_planned *planned);

/* Appends what a rejected plan has otherwise. */
void tool_rejected_text(const struct tool_planned *planned, const struct cw_optimize_rejected *it,
                        struct cw_str *out);
/* "threads", "cpu", "source", "store", "network" or "trainer". */
const char *tool_bound_name(enum cw_optimize_bound bound);
/* Why two operators may not change sides in this plan, exact or relaxed; places, a < b; NULL: they may. */
const char *tool_planned_why_not(const struct tool_planned *planned, bool relaxed, size_t a,
                                 size_t b);

#endif
