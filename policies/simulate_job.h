/* SPDX-License-Identifier: Apache-2.0 */
/* A job of the simulator at one moment: how fast it is, and what a window shows of it. */
#ifndef CW_POLICIES_SIMULATE_JOB_H
#define CW_POLICIES_SIMULATE_JOB_H

#include "policies/simulate.h"

struct cw_sim_now {
    const struct cw_sim_job_spec *spec;
    double t_s; /* since it arrived */
    double remote, local;
};
struct cw_sim_sums { /* of the window under way */
    double batches, seconds, wait_s;
};
double cw_sim_series_at(const struct cw_sim_series *series, double t_s, double otherwise);
/* When the next value of the job begins to hold, since it arrived; INFINITY: never. */
double cw_sim_next_change(const struct cw_sim_job_spec *spec, double t_s);
double cw_sim_step(const struct cw_sim_now *now);
double cw_sim_capacity(const struct cw_sim_now *now);
double cw_sim_rate(const struct cw_sim_now *now);
/* draw: a number of the window; the same gives the same noise. */
struct cw_scale_window cw_sim_window(const struct cw_sim_now *now, const struct cw_sim_sums *sums,
                                     double noise, uint64_t draw);

#endif
