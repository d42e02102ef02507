/* SPDX-License-Identifier: Apache-2.0 */
/* Sets which nodes of a job's plan use the cache, and writes records that wait for a full chunk.
 * Loop thread. */
#ifndef CW_WORKER_CACHE_CACHE_JOB_H
#define CW_WORKER_CACHE_CACHE_JOB_H

#include "cachew/v1/fleet.pb-c.h"
#include "worker/model/state.h"

/* Sets the job's cache, and at which nodes the dispatcher wants elements to be cached; this replaces
 * what was set before. */
void cw_wcache_job_set(struct cw_wjob *job, uint64_t cache_id, Cachew__V1__CacheUse *const *uses,
                       size_t n);
/* Makes the plan's nodes use the cache as it was set. Called when the plan or the store was
 * opened. */
void cw_wcache_job_engage(struct cw_wjob *job);
/* Makes no node of the plan use the cache any more. */
/* Goes over from the old plan to job->plan. */
void cw_wcache_job_replanned(struct cw_wjob *job, struct cw_plan *old);
void cw_wcache_job_disengage(struct cw_wjob *job);
/* Whether the job's next item may begin. It returns false, for a short time, while indices are
 * being loaded, since the item would be computed although the cache has it. The cache's timer fires
 * when it is time to ask again. */
bool cw_wcache_job_may_begin(struct cw_wjob *job);
/* Prepares a task of the job that is about to be submitted: it gets a reference to the store, and
 * the next items are prefetched. */
void cw_wcache_job_begun(struct cw_wjob *job, struct cw_wtask *task);
/* Called when a task of the job is finished, and is not in the job's list any more. */
void cw_wcache_job_done(struct cw_wjob *job, struct cw_wtask *task);
/* Called at each heartbeat: flushes the job's records if it has been idle for a while. */
void cw_wcache_job_beat(struct cw_wjob *job, int64_t now_ms);
/* Writes the job's records that wait for a full chunk. */
void cw_wcache_job_flush(struct cw_wjob *job);
void cw_wcache_job_fini(struct cw_wjob *job);

#endif
