/* SPDX-License-Identifier: Apache-2.0 */
/* Scenario files of `cachew simulate` (docs/simulate.md), and the plot of the results. */
#ifndef CW_CLIENT_TOOL_SCENARIO_H
#define CW_CLIENT_TOOL_SCENARIO_H

#include "conf/opt.h"
#include "policies/simulate.h"

struct scenario {
    char *name;
    struct cw_str_list policies; /* The names of policies, for example "auto" or "place:pecan". */
    struct cw_sim_scenario sim;
    /* Owns the memory that sim points into. */
    struct scenario_file *file;
    struct cw_sim_job_spec *jobs;
    struct cw_share_tenant *tenants;
    char **names;
    size_t names_n;
};
int scenario_load(const char *path, struct scenario **ret_scenario, struct cw_err *err);
void scenario_free(struct scenario *scenario);
/* Sets sim.policy: an autoscale policy by its name, or an autoplace policy as "place:NAME". */
int scenario_use(struct scenario *scenario, const char *policy, struct cw_err *err);

/* Plots workers over time: one panel for each policy, one line for each job (the first ten). */
struct scenario_plot {
    const char *title;
    struct scenario_panel *panels;
    size_t n, cap;
};
void scenario_plot_add(struct scenario_plot *plot, const char *policy,
                       const struct cw_sim_result *result);
int scenario_plot_write(const struct scenario_plot *plot, const char *path, struct cw_err *err);
void scenario_plot_fini(struct scenario_plot *plot);

#endif
