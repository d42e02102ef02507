/* SPDX-License-Identifier: Apache-2.0 */
/* Commands to workers (to_worker.c) and to clients (to_client.c). Here are the functions that send
 * one, with the generation, and the commands that several places send or that are made of the whole
 * model. A command that one module alone sends is built there, as JobSpec in lease/send.c. What
 * arrives is the business of session/. */
#ifndef CW_DISPATCHER_MESSAGE_MESSAGE_H
#define CW_DISPATCHER_MESSAGE_MESSAGE_H

#include "dispatcher/model/model.h"

/* ---- to_worker.c ---- */
/* sets the generation */
void cw_worker_send(struct cw_worker *worker, Cachew__V1__WorkerCommand *command);
void cw_worker_retire(struct cw_worker *worker); /* it is told to drain, and leaves */
/* It is to drop what it has of the job, which may not be known here. */
void cw_worker_forget_job(struct cw_worker *worker, const char *job_id, const char *reason);
void cw_lease_revoke(struct cw_worker *worker, const struct cw_job *job, uint64_t epoch,
                     const struct cw_set *items);

/* ---- to_client.c ---- */
#define CW_SKIPPED_BY_REQUEST "skipped by request"
void cw_client_send(struct cw_client *client, Cachew__V1__ClientCommand *command);
void cw_client_welcome(struct cw_client *client);
/* The workers that it may have to fetch from; again: also if it was told the same before. */
void cw_client_send_workers(struct cw_client *client, bool again);
/* To all clients of the job: nobody gets these; or to all but the one at this place: it has
 * received them (shared jobs). */
void cw_job_send_skipped(struct cw_job *job, uint64_t epoch, const struct cw_set *items,
                         const char *reason);
void cw_job_send_taken(struct cw_job *job, uint64_t epoch, const struct cw_set *items,
                       uint32_t consumer);
/* What is left out of the epoch and was not sent yet; and that of all epochs, when some is due. */
void cw_job_send_left_out(struct cw_job *job, struct cw_epoch *epoch);
void cw_clients_send_left_out(struct cw_dispatcher *d);
void cw_job_send_skipped_batches(struct cw_job *job, uint64_t epoch, const struct cw_set *batches);

#endif
