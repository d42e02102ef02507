/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of the same function, whose items a worker computes once (worker/model/batch_dedup.h): an item is leased to the
 * worker that has it for the other job. */
#ifndef CW_DISPATCHER_MODEL_SAME_FUNCTION_H
#define CW_DISPATCHER_MODEL_SAME_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>
#include "base/interval.h"

struct cw_job;
struct cw_share;

/* same_function.c: jobs of the same function, whose items a worker computes once
 * (worker/model/batch_dedup.h) */
void cw_same_function_join(struct cw_job *job); /* the function is known */
void cw_same_function_leave(struct cw_job *job);
/* leased */
void cw_same_function_note(struct cw_share *share, uint64_t epoch, const struct cw_set *items);
void cw_same_function_forget(struct cw_share *share);
/* Whether the share may have run->lo; run is cut where the answer changes. No: another worker
 * had it for a sibling. Idle: not even then, when that one has enough to do. */
bool cw_same_function_allows(const struct cw_share *share, uint64_t epoch, struct cw_interval *run,
                             bool idle, int64_t now);

#endif
