/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes of a job's plan use the cache, and when records that wait for a full chunk are
 * written. Loop thread. */
#ifndef CW_WORKER_CACHE_CACHE_JOB_H
#define CW_WORKER_CACHE_CACHE_JOB_H

#include "cachew/v1/fleet.pb-c.h"
#include "worker/model/state.h"

/* Sets what the dispatcher wants to be cached, in place of what it said before. */
void cw_wcache_job_set(struct cw_wjob *job, Cachew__V1__CacheUse *const *uses, size_t n);
/* Makes the plan's nodes use the cache as was set. Called when the plan or the store was opened. */
void cw_wcache_job_engage(struct cw_wjob *job);
/* No node of the plan uses the cache any more. */
void cw_wcache_job_disengage(struct cw_wjob *job);
/* False while indices are being loaded, for a short time: the next item would be computed though
 * the cache has it. The cache's timer fires when it is time to ask again. */
bool cw_wcache_job_may_begin(struct cw_wjob *job);
/* A task of the job is about to be submitted: it gets a ref on the store, and the next items are
 * prefetched. */
void cw_wcache_job_begun(struct cw_wjob *job, struct cw_wtask *task);
/* A task of the job is finished, and is not in the job's list any more. */
void cw_wcache_job_done(struct cw_wjob *job, struct cw_wtask *task);
/* At each heartbeat: flushes the job's records when it has been idle for a while. */
void cw_wcache_job_beat(struct cw_wjob *job, int64_t now_ms);
/* Writes the job's records that wait for a full chunk. */
void cw_wcache_job_flush(struct cw_wjob *job);
void cw_wcache_job_fini(struct cw_wjob *job);

#endif
