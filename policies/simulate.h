/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs, trainers and workers as formulas in virtual time, steered by the same policies as real
 * ones: what a policy would do with thousands of jobs and ten thousand workers, in seconds.
 * Between events a job goes on at a constant rate:
 *
 *   capacity of n workers   n / (worker_s (1 + loss (n - 1))), or from a table of measured
 *                           epochs
 *   rate                    the smaller of capacity and 1 / step_s, the trainer's demand
 *   step_s                  as the scenario says, times 1 + slow (local - room) for local
 *                           workers beyond the host's room
 *   wait share              1 - rate * step_s
 *
 * A window is measured as the real client does it: after a change some batches are left out.
 * Deterministic: equal scenarios give equal results. */
#ifndef CW_POLICIES_SIMULATE_H
#define CW_POLICIES_SIMULATE_H

#include "policies/scale.h"
#include "policies/max_min_share.h"

struct cw_sim_job_spec {
    const char *name;
    size_t tenant;
    double arrive_s;
    double batches, epochs; /* of an epoch; 0 epochs: until the scenario ends */
    /* the trainer's step from these times after arrival on; the first at 0 */
    const double *step_at_s, *step_s;
    size_t steps_n;
    double worker_s, loss;
    const double *epoch_s; /* instead: measured seconds of an epoch with 1, 2, ... workers */
    size_t epoch_s_n;
    double room, slow; /* of the trainer's host */
    double weight, least, most;
    int priority;
    double remote, local; /* workers to begin with */
};
struct cw_sim_scenario {
    const struct cw_sim_job_spec *jobs;
    size_t jobs_n;
    const struct cw_share_tenant *tenants;
    size_t tenants_n;
    double workers; /* of the fleet */
    double local;   /* that a trainer's host may have */
    double start_s; /* until a new worker serves */
    double window_batches, discard_batches, window_least_s;
    double noise;   /* of measured windows, relative, at most */
    double until_s; /* virtual time at which it ends; 0 = when all jobs are done */
    struct cw_scale_options options;
    const struct cw_scale_policy *policy;
    const char *argument;
};
struct cw_sim_point { /* of a job's trace: from at_s on */
    double at_s, remote, local, wait_share;
};
struct cw_sim_job {
    double begin_s, end_s;          /* end_s < 0: was not done */
    double batches, wait_s, busy_s; /* busy_s: its time in all */
    double remote_s, local_s;       /* worker-seconds */
    double last_epoch_s;
    double best_wait_at_s; /* when its wait share was last above max_stall (0.02 if not given) */
    unsigned decisions;    /* changes of the target */
    double remote, local;  /* at the end */
    struct cw_sim_point *trace;
    size_t trace_n, trace_cap;
};
struct cw_sim_result {
    struct cw_sim_job *jobs; /* as many as the scenario has */
    size_t jobs_n;
    uint64_t windows;
    double end_s;
};
/* INVALID when a policy refuses its argument, or nothing can end. */
int cw_simulate(const struct cw_sim_scenario *scenario, struct cw_sim_result *ret_result,
                struct cw_err *err);
void cw_sim_result_fini(struct cw_sim_result *result);

#endif
