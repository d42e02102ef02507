/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the dispatcher. They are dropped while there is no stream to it: the first message of
 * the next stream lists what is held, so nothing is lost. Therefore an item that is reported as
 * failed or handed back must not be held here any more (except by a worker that drains: when it has
 * left, everything is free). Loop thread. */
#ifndef CW_WORKER_MESSAGE_TO_DISPATCHER_H
#define CW_WORKER_MESSAGE_TO_DISPATCHER_H

#include "cachew/v1/fleet.pb-c.h"
#include "worker/model/state.h"

/* Sends a message with the dispatcher's generation, if the dispatcher has welcomed this worker.
 * Ends the session with a dispatcher that does not read what is sent. */
void cw_dispatcher_send(struct cw_worker_state *w, Cachew__V1__WorkerMessage *message);
/* Reports that an item failed. */
void cw_report_failed(struct cw_worker_state *w, const struct cw_wjob *job,
                      struct cw_lease_id lease, uint64_t epoch, uint64_t item,
                      const struct cw_err *error);
/* Hands items back: this worker will not serve them, and the dispatcher may lease them again, here
 * or elsewhere. The caller has dropped what was held of them, or does so at once. */
void cw_report_hand_back(struct cw_worker_state *w, const char *job_id, uint64_t epoch,
                         const struct cw_set *items);
void cw_report_hand_back_item(struct cw_worker_state *w, const char *job_id, uint64_t epoch,
                              uint64_t item);
/* What is said of a job that was prepared on this worker. */
struct cw_prepared_report {
    const struct cw_plan *plan; /* NULL: it could not be, and error says why */
    bool completed;             /* its graph is not the one that was sent (graph/complete.h) */
    const struct cw_buf *manifest;
    const char *relaxed;  /* how a relaxed order differs from the written one; NULL: it is none */
    bool relaxed_refused; /* the plan is that of the written order */
    const struct cw_err *error;
};
void cw_report_prepared(struct cw_worker_state *w, const char *job_id,
                        const struct cw_prepared_report *report);
/* Answers a JobPlan; error is NULL if `plan` is open. */
void cw_report_plan_opened(struct cw_worker_state *w, const char *job_id, uint64_t number,
                           const struct cw_plan *plan, const struct cw_err *error);
/* Leases parts of the job's index to the worker that was offered under this number. files: as in
 * Prepared. */
void cw_report_index_lease(struct cw_worker_state *w, const char *job_id, uint64_t number,
                           const char *op, const char *options, const struct cw_buf *files);
/* Answers an IndexLease; files is NULL if there is an error. */
void cw_report_index_made(struct cw_worker_state *w, const char *job_id, uint64_t number,
                          const struct cw_buf *files, const struct cw_err *error);
/* Shows the first elements of a batch to somebody who looks at its job. */
void cw_report_elements(struct cw_worker_state *w, struct cw_wjob *job,
                        const struct cw_batch *batch);
/* Reports that the worker drains and takes no more leases. */
void cw_report_draining(struct cw_worker_state *w);

#endif
