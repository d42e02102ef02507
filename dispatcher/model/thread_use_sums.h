/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of a job's workers did, or waited for (base/thread_use.h). A worker sends totals
 * since the job was given to it; their growth is added up here. Loop thread. */
#ifndef CW_DISPATCHER_MODEL_THREAD_USE_SUMS_H
#define CW_DISPATCHER_MODEL_THREAD_USE_SUMS_H

#include "base/map.h"
#include "base/thread_use.h"
#include "cachew/v1/fleet.pb-c.h"

struct cw_job;
struct cw_worker;

struct cw_thread_use_sums {
    struct cw_thread_use total; /* ns of all workers since this dispatcher began */
    /* In the same time: of threads while they worked on the job, summed over them, and the time in which at
     * least one of a worker did, summed over workers. */
    double busy_ns, active_ns;
    struct cw_map workers; /* worker id -> the totals that it sent last (struct seen) */
};
/* Frees what the sums own. A zeroed struct is accepted. */
void cw_thread_use_sums_fini(struct cw_thread_use_sums *sums);
/* Adds what a worker sent. While no trainer of the job waits for a batch, threads without a lease
 * wait for the trainers: nothing more is leased because nobody takes what there is. */
void cw_thread_use_take(struct cw_worker *worker, const Cachew__V1__Progress *progress);
/* Returns how many threads of a worker worked on the job on average, while at least one did; 0: it is not
 * known. */
double cw_thread_use_inside(const struct cw_thread_use_sums *sums);
/* Returns the growth from `before` to `now` as shares, to three decimals; all 0 if nothing was
 * reported between them. */
struct cw_thread_use cw_thread_use_shares(const struct cw_thread_use *now,
                                          const struct cw_thread_use *before);

#endif
