/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates jobs, trainers and workers as formulas in virtual time, controlled by the same policies
 * as real ones. It shows within seconds what a policy would do with thousands of jobs and ten
 * thousand workers. Between events a job runs at a constant rate:
 *
 *   capacity of n workers   n / (worker_s (1 + loss (n - 1) + slower n (n - 1))) and no more than
 *                           the ceiling; or from a table of measured epochs
 *   rate                    the smaller of capacity and 1 / step_s, the trainer's demand
 *   step_s                  given by the scenario, times 1 + slow (local - room) if there are more
 *                           local workers than the host has room for
 *   wait share              1 - rate * step_s
 *
 * A window is measured as the real client does it: after a change some batches are left out. Its
 * length, wait, step and rate each have noise of their own, and some windows are odd.
 * Deterministic: equal scenarios give equal results. */
#ifndef CW_POLICIES_SIMULATE_H
#define CW_POLICIES_SIMULATE_H

#include "policies/scale.h"
#include "policies/max_min_share.h"

struct cw_sim_series { /* values that become valid at these times after arrival; the first at 0 */
    const double *at_s, *v;
    size_t n;
};
/* What limits all workers together to the ceiling. All causes except the network show in the rate
 * that a worker reports, since its threads wait for them inside of an element. */
enum cw_sim_cause {
    CW_SIM_SOURCE,
    CW_SIM_CPU,
    CW_SIM_STORE,
    CW_SIM_QUOTA,
    CW_SIM_NETWORK,
};
struct cw_sim_job_spec {
    const char *name;
    size_t tenant;
    double arrive_s;
    /* batches of an epoch; 0 epochs: the job runs until the scenario ends */
    double batches, epochs;
    struct cw_sim_series step_s; /* the trainer's step */
    struct cw_sim_series worker_s;
    struct cw_sim_series ceiling; /* batches/s of all workers together; 0 or no value: none */
    enum cw_sim_cause cause;
    double loss, slower;
    double local_speed; /* speed of a local worker, as a part of a remote one's; 0 means 1 */
    double cpu_s;       /* CPU time that a batch takes on a worker; 0: all of its time */
    /* Used instead of worker_s: measured seconds of an epoch with 1, 2, ... workers. With columns:
     * the entry for r remote and l local workers is [r * columns + l], beginning with 0 and 0. */
    const double *epoch_s;
    size_t epoch_s_n, columns;
    /* local workers that the trainer's host has room for, and how much each further one slows it
     * down */
    double room, slow;
    /* One window in so many, chosen at random, is odd: the trainer stood still for odd_s, while it
     * saved a checkpoint or (odd_waits) waited. */
    double odd_every, odd_s;
    bool odd_waits;
    double weight, least, most;
    struct cw_sim_series rooms, mosts; /* used instead of room and most, if they have values */
    int priority;
    double remote, local; /* workers at the beginning */
};
struct cw_sim_result;
struct cw_sim_scenario {
    const struct cw_sim_job_spec *jobs;
    size_t jobs_n;
    const struct cw_share_tenant *tenants;
    size_t tenants_n;
    double workers; /* workers of the fleet */
    double local;   /* the most local workers on a trainer's host */
    double start_s; /* seconds until a new worker serves */
    double window_batches, discard_batches, window_least_s;
    double noise;   /* largest relative error of what windows measure */
    uint64_t seed;  /* seed of the noise and of odd windows */
    double mark_s;  /* the state of jobs is noted at this time, too, if it is above 0 */
    double until_s; /* virtual time at which the simulation ends; 0: when all jobs are done */
    struct cw_scale_options options;
    const struct cw_scale_policy *policy;
    const char *argument;
    /* Called after each event (NULL: not), with the virtual time and what the result is so far. */
    void (*progress)(void *arg, double now_s, const struct cw_sim_result *so_far);
    void *progress_arg;
};
struct cw_sim_point { /* a point of a job's trace: its values are valid from at_s on */
    double at_s, remote, local, wait_share;
};
struct cw_sim_job {
    double begin_s, end_s;          /* end_s < 0: the job was not done */
    double batches, wait_s, busy_s; /* busy_s: total time of the job */
    double remote_s, local_s;       /* integrals of its workers over time, in worker-seconds */
    double last_epoch_s;
    /* when its wait share was last above max_stall (0.02 if that is not given) */
    double best_wait_at_s;
    unsigned decisions; /* number of changes of the target */
    /* number of windows that were measured, and their number when the target last changed */
    double windows, settled_window;
    double remote, local; /* workers at the end */
    /* what it was at mark_s */
    struct cw_sim_mark {
        double windows, settled_window, remote, local;
        unsigned decisions;
    } mark;
    struct cw_sim_point *trace;
    size_t trace_n, trace_cap;
};
struct cw_sim_result {
    struct cw_sim_job *jobs; /* one for each job of the scenario */
    size_t jobs_n;
    uint64_t windows;
    double end_s;
};
/* Runs a scenario. INVALID if a policy refuses its argument, or a job has no worker and nothing
 * would give it one. */
int cw_simulate(const struct cw_sim_scenario *scenario, struct cw_sim_result *ret_result,
                struct cw_err *err);
void cw_sim_result_fini(struct cw_sim_result *result);

#endif
