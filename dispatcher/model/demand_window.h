/* SPDX-License-Identifier: Apache-2.0 */
/* What trainers told of their time (Measure), summed up, and a window made of it. Loop thread. */
#ifndef CW_DISPATCHER_MODEL_DEMAND_WINDOW_H
#define CW_DISPATCHER_MODEL_DEMAND_WINDOW_H

#include "cachew/v1/job.pb-c.h"
#include "policies/scale.h"

struct cw_job;

struct cw_demand_sums {
    uint64_t batches, bytes, copies, ns, wait_ns, queue_n;
    double queue, step_ns, step_batches;
};
void cw_demand_add(struct cw_demand_sums *sums, const Cachew__V1__Measure *measure, uint64_t ready);
/* As long as its batches took the trainer; of begin_ms to now when that is not known. The
 * workers are those that serve the job now. */
struct cw_scale_window cw_demand_window(const struct cw_job *job, const struct cw_demand_sums *sums,
                                        int64_t begin_ms, int64_t now);

#endif
