/* SPDX-License-Identifier: Apache-2.0 */
/* Commands to workers (to_worker.c) and to clients (to_client.c, worker_lists.c, welcome.c). Here are the functions that send
 * a command, with the generation, and the commands that several places send or that are made of the
 * whole model. A command that only one module sends is built there, as JobSpec in lease/send.c.
 * Messages that arrive are handled in session/. */
#ifndef CW_DISPATCHER_MESSAGE_MESSAGE_H
#define CW_DISPATCHER_MESSAGE_MESSAGE_H

#include "dispatcher/model/model.h"

/* ---- to_worker.c ---- */
/* Sets the generation of the command and sends it. */
void cw_worker_send(struct cw_worker *worker, Cachew__V1__WorkerCommand *command);
/* Sends a command of that kind, with a body to which the parts belong (cw_wire_pack_parts). */
void cw_worker_send_parts(struct cw_worker *worker, uint32_t kind, const ProtobufCMessage *body,
                          const struct cw_wire_part *parts, size_t n);
void cw_worker_retire(struct cw_worker *worker); /* Tells the worker to drain, so that it leaves. */
/* Tells the worker to drop what it has of the job, which may be unknown to this dispatcher. */
void cw_worker_forget_job(struct cw_worker *worker, const char *job_id, const char *reason);
/* Sends the job's plan, or the one that comes next for a try, to a worker that has the JobSpec and knows
 * of plans. */
void cw_worker_send_plan(struct cw_worker *worker, const struct cw_job *job, bool only_try);
void cw_lease_revoke(struct cw_worker *worker, const struct cw_job *job, uint64_t epoch,
                     const struct cw_set *items);

/* ---- to_client.c ---- */
#define CW_SKIPPED_BY_REQUEST "skipped by request"
void cw_client_send(struct cw_client *client, Cachew__V1__ClientCommand *command);
/* Sends a command of that kind, with a body to which the parts belong (cw_wire_pack_parts). */
void cw_client_send_parts(struct cw_client *client, uint32_t kind, const ProtobufCMessage *body,
                          const struct cw_wire_part *parts, size_t n);
/* Tells all clients of the job that no consumer will receive the items (skipped), or all except
 * this consumer that it has received them (taken: shared jobs). */
void cw_job_send_skipped(struct cw_job *job, uint64_t epoch, const struct cw_set *items,
                         const char *reason);
void cw_job_send_taken(struct cw_job *job, uint64_t epoch, const struct cw_set *items,
                       uint32_t consumer);
/* The same, to one client; and of batches of a sparse job. */
void cw_client_send_skipped(struct cw_client *client, uint64_t epoch, const struct cw_set *items,
                            const char *reason);
void cw_client_send_skipped_batches(struct cw_client *client, uint64_t epoch,
                                    const struct cw_set *batches, const char *reason);
void cw_client_send_taken(struct cw_client *client, uint64_t epoch, const struct cw_set *items);
/* Tells clients of the epoch's skipped items that they were not told of; cw_clients_send_left_out
 * does so for all epochs, if any are due. */
void cw_job_send_left_out(struct cw_job *job, struct cw_epoch *epoch);
void cw_clients_send_left_out(struct cw_dispatcher *d);
void cw_job_send_skipped_batches(struct cw_job *job, uint64_t epoch, const struct cw_set *batches);

/* ---- worker_lists.c ---- */
/* Sends the list of workers that the client may have to fetch from. It is sent only if it has
 * changed, except with `again`. */
void cw_client_send_workers(struct cw_client *client, bool again);
/* Sends the lists that are due, at the end of an iteration of the loop. */
void cw_clients_send_worker_lists(struct cw_dispatcher *d);
/* The worker has come, or goes: the lists of all jobs that use all workers are due, and of its own job if
 * it serves one alone. (Those of other jobs are by cw_job_worker_list_due.) */
void cw_fleet_changed(struct cw_worker *worker);
void cw_fleet_list_drop(struct cw_dispatcher *d); /* It is made anew when it is needed. */

/* ---- welcome.c ---- */
/* Returns where a client without a token begins that takes its slot: where the slot's last process
 * stood. */
struct cw_state_position cw_client_find_position(const struct cw_client *client);
/* Welcomes the client, which begins at the slot's stored position, or makes a piece of its welcome.
 * Afterwards due.welcome or due.rest says that there is more to do, in the next iteration of the
 * loop. */
void cw_client_welcome(struct cw_client *client);
/* The client has lost its slot: what is left of its welcome is not made any more. */
void cw_client_drop_welcome(struct cw_client *client);

#endif
