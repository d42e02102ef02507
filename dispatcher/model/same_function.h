/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of the same function. A worker computes their items once for all of them
 * (worker/model/batch_dedup.h), so an item is best leased to the worker that got it for another
 * such job. */
#ifndef CW_DISPATCHER_MODEL_SAME_FUNCTION_H
#define CW_DISPATCHER_MODEL_SAME_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>
#include "base/interval.h"

struct cw_job;
struct cw_share;

/* The job's fingerprint is known now: it joins the ring of the jobs of its function. */
void cw_same_function_join(struct cw_job *job);
void cw_same_function_leave(struct cw_job *job);
/* Records that the items were leased to the share's worker. */
void cw_same_function_note(struct cw_share *share, uint64_t epoch, const struct cw_set *items);
void cw_same_function_forget(struct cw_share *share);
/* Returns whether the share may be leased run->lo; the run is cut where the answer changes. The
 * answer is no if another worker had the item for a job of the same function. With `idle` it is yes
 * even then, if that worker has enough to do. */
bool cw_same_function_allows(const struct cw_share *share, uint64_t epoch, struct cw_interval *run,
                             bool idle, int64_t now);

#endif
