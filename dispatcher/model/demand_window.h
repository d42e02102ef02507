/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of what the trainers of a job measured (message Measure), and the demand window that is
 * computed from such sums. It is used on the loop thread only. */
#ifndef CW_DISPATCHER_MODEL_DEMAND_WINDOW_H
#define CW_DISPATCHER_MODEL_DEMAND_WINDOW_H

#include "cachew/v1/job.pb-c.h"
#include "policies/scale.h"

struct cw_job;

struct cw_demand_sums {
    uint64_t batches, bytes, copies, ns, wait_ns, queue_n;
    double queue, step_ns, step_batches;
    struct cw_thread_use threads; /* The job's totals when the sums were begun. */
};
/* Begins the sums of a demand window. */
void cw_demand_begin(const struct cw_job *job, struct cw_demand_sums *sums);
void cw_demand_add(struct cw_demand_sums *sums, const Cachew__V1__Measure *measure, uint64_t ready);
/* Returns the demand window of the sums. It is as long as the trainers needed for its batches; if
 * that is not known, it lasts from begin_ms to now. Its numbers of workers are those that serve the
 * job now. */
struct cw_scale_window cw_demand_window(const struct cw_job *job, const struct cw_demand_sums *sums,
                                        int64_t begin_ms, int64_t now);

#endif
