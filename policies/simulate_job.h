/* SPDX-License-Identifier: Apache-2.0 */
/* A job of the simulator at one moment: its speed, and what a window shows of it. */
#ifndef CW_POLICIES_SIMULATE_JOB_H
#define CW_POLICIES_SIMULATE_JOB_H

#include "policies/simulate.h"

struct cw_sim_now {
    const struct cw_sim_job_spec *spec;
    double t_s; /* time since its arrival */
    double remote, local;
};
struct cw_sim_sums { /* sums over the present window */
    double batches, seconds, wait_s;
};
double cw_sim_series_at(const struct cw_sim_series *series, double t_s, double otherwise);
/* Returns the time since arrival at which the next value of the scenario becomes valid; INFINITY:
 * never. */
double cw_sim_next_change(const struct cw_sim_job_spec *spec, double t_s);
double cw_sim_step(const struct cw_sim_now *now);
double cw_sim_capacity(const struct cw_sim_now *now);
double cw_sim_rate(const struct cw_sim_now *now);
/* Makes the window that is measured. draw: a number of the window; equal numbers give equal
 * noise. */
struct cw_scale_window cw_sim_window(const struct cw_sim_now *now, const struct cw_sim_sums *sums,
                                     double noise, uint64_t draw);

#endif
