/* SPDX-License-Identifier: Apache-2.0 */
/* Opens plans on threads, since that may scan many files. A job is either prepared (its sources are
 * found, and the manifest is the result) or opened (with the manifest of the worker that prepared
 * it). Loop thread. */
#ifndef CW_WORKER_JOB_PLAN_LOADER_H
#define CW_WORKER_JOB_PLAN_LOADER_H

#include "cachew/v1/fleet.pb-c.h"
#include "worker/model/state.h"

/* Begins to prepare a job; takes the graphs. written: the pipeline as it was written, if `graph` has it in a relaxed order;
 * else NULL. source_store: as in cw_source_use_store. The result is sent to the dispatcher. */
void cw_loader_prepare(struct cw_worker_state *w, const Cachew__V1__Prepare *prepare,
                       struct cw_graph *graph, struct cw_graph *written, uint64_t source_store);
/* Begins to open the job's plan. w->loader.opened is called with the result. */
void cw_loader_open(struct cw_wjob *job);
/* Begins to open the job's operators in another order, beside the plan that is open.
 * w->loader.opened_beside is called with the result. */
void cw_loader_open_beside(struct cw_wjob *job, struct cw_graph *graph);
/* Returns the plan that was made when this job was prepared on this worker, if that was with the
 * same manifest; otherwise NULL. */
struct cw_plan *cw_loader_take_prepared(struct cw_worker_state *w, const struct cw_wjob *job);
/* Stops the loadings of a job that is not wanted any more (NULL: of all jobs). One that hangs in
 * the kernel is left alone, and its result is dropped. */
void cw_loader_forget(struct cw_worker_state *w, const char *job_id);
/* Adds the preparations in progress to a Progress message. */
#define CW_REPORT_SLOW_MS 2000 /* what takes longer than this is reported as slow */
void cw_loader_report(const struct cw_worker_state *w, Cachew__V1__Progress *progress);
/* Frees what cw_loader_report has added. */
void cw_loader_report_free(Cachew__V1__Progress *progress);
/* Notes that the dispatcher that asked for preparations is gone. They end after a while, unless it
 * asks for them again. */
void cw_loader_detached(struct cw_worker_state *w);
void cw_loader_start(struct cw_worker_state *w);
/* Drops the loadings that wait, and stops those that run. */
void cw_loader_stop(struct cw_worker_state *w);

#endif
