/* SPDX-License-Identifier: Apache-2.0 */
/* The queued outputs of jobs, and the memory that they occupy. Loop thread. */
#ifndef CW_WORKER_COMPUTE_OUTPUTS_H
#define CW_WORKER_COMPUTE_OUTPUTS_H

#include "worker/model/state.h"

/* Called when the output was taken out of one queue. With its last copy it is freed, its memory is
 * given back, and its item is not held any more. */
void cw_output_release(struct cw_wjob *job, struct cw_output *output);
/* Drops the queued outputs of these items of the epoch. */
void cw_outputs_drop(struct cw_wjob *job, uint64_t epoch, const struct cw_set *items);
/* Drops all outputs of the job, and frees its queues. */
void cw_outputs_clear(struct cw_wjob *job);
/* Makes room for a job that has less than its share of memory and could not begin an item, because
 * others have more than their shares: these hand back the outputs that they need last. Returns
 * whether `bytes` were freed. */
bool cw_outputs_make_room(struct cw_worker_state *w, size_t bytes);

#endif
