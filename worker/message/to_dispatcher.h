/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the dispatcher. All of them are dropped while there is no stream to it: the first
 * message of the next stream says what is held, so nothing is lost by that. Therefore an item that
 * is reported as failed or handed back must not be held here any more (but by a worker that drains:
 * when it has left, everything is free). Loop thread. */
#ifndef CW_WORKER_MESSAGE_TO_DISPATCHER_H
#define CW_WORKER_MESSAGE_TO_DISPATCHER_H

#include "cachew/v1/fleet.pb-c.h"
#include "worker/model/state.h"

/* Sends a message if the dispatcher has welcomed us; sets its generation. Leaves a dispatcher that
 * does not read what is sent. */
void cw_dispatcher_send(struct cw_worker_state *w, Cachew__V1__WorkerMessage *message);
/* An item failed. */
void cw_report_failed(struct cw_worker_state *w, const struct cw_wjob *job,
                      struct cw_lease_id lease, uint64_t epoch, uint64_t item,
                      const struct cw_err *error);
/* This worker will not serve these items: the dispatcher may lease them again, here or elsewhere.
 * The caller has dropped what was held of them, or does so at once. */
void cw_report_hand_back(struct cw_worker_state *w, const char *job_id, uint64_t epoch,
                         const struct cw_set *items);
void cw_report_hand_back_item(struct cw_worker_state *w, const char *job_id, uint64_t epoch,
                              uint64_t item);
/* A job was prepared here. plan NULL: it could not be, and error says why. */
void cw_report_prepared(struct cw_worker_state *w, const char *job_id, const struct cw_graph *graph,
                        const struct cw_plan *plan, struct cw_buf *manifest,
                        const struct cw_err *error);
/* The worker drains: it takes no more leases. */
void cw_report_draining(struct cw_worker_state *w);

#endif
