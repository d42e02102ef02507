/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of workers and of clients: what may arrive, in which order, and how a stream ends.
 * This is the face of session/.
 *
 *   worker_session.c     a worker's stream: its reports, and how it is lost
 *   client_session.c     a client's stream: what arrives, and in which order it may
 *   client_admission.c   from a client's hello to its welcome: its job, its place, where it goes on
 *   client_end.c         how its stream ends, and its place becomes free
 *   higher_generation.c  peers that have seen a higher generation than this dispatcher's */
#ifndef CW_DISPATCHER_SESSION_SESSION_H
#define CW_DISPATCHER_SESSION_SESSION_H

#include "dispatcher/model/model.h"

/* ---- worker_session.c ---- */
void cw_worker_session_open(void *dispatcher,
                            struct cw_stream *stream); /* method /cachew.v1.Fleet/Attach */
void cw_worker_sessions_tick(struct cw_dispatcher *d, int64_t now);
void cw_worker_sessions_close(struct cw_dispatcher *d);

/* ---- client_session.c ---- */
/* method /cachew.v1.Jobs/Attach */
void cw_client_session_open(void *dispatcher, struct cw_stream *stream);
void cw_client_sessions_tick(struct cw_dispatcher *d, int64_t now);
void cw_client_sessions_close(struct cw_dispatcher *d);
/* It does not come back: its place is free, and with it whatever of a shared job was only its
 * own. One that had no place gives up none. */
void cw_client_leave(struct cw_client *client);

/* ---- client_admission.c ---- */
/* client->hello is there: find or make its job */
int cw_client_hello(struct cw_client *client, struct cw_err *err);
/* give it its place, if it is free */
void cw_client_admit(struct cw_client *client);
/* The job is prepared: those that wait for that are given their places. */
void cw_clients_job_changed(struct cw_job *job);

/* ---- client_end.c ---- */
/* tells, and ends the stream */
void cw_client_fail(struct cw_client *client, int code, const char *msg);
/* its place, if it has one, is free for others; the job goes on without it */
void cw_client_detach(struct cw_client *client);
/* The job is removed: its clients are failed, and then it is (cw_job_remove). */
void cw_clients_end_job(struct cw_job *job, const char *reason);
/* Fails the clients of jobs that have failed since the last call. */
void cw_clients_notify_failed(struct cw_dispatcher *d);
void cw_client_replace(struct cw_client *old); /* its own next connection takes its place */

/* ---- higher_generation.c ---- */
/* A peer has seen a higher generation than this dispatcher's: says so in the log, once for each. */
void cw_session_note_generation(struct cw_dispatcher *d, uint64_t seen, const char *who,
                                const char *address);

#endif
