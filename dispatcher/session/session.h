/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of workers and clients: which messages may arrive and in which order, and how a
 * stream ends. This is the face of session/.
 *
 *   worker_session.c     a worker's stream: its reports, and how a worker is lost
 *   client_session.c     a client's stream: which messages arrive, and in which order they may
 *   ack_turns.c          what a client says that it has, in as many turns of the loop as it needs
 *   inbox.c              what came and is not handled yet; large messages go to a thread
 *   client_pipeline.c    packs and checks the pipeline of a hello
 *   client_admission.c   from a client's hello to its welcome: its job, its slot, its position
 *   resume_token.c       reads the token with which a client resumes
 *   client_end.c         how a client's stream ends and its slot becomes free
 *   higher_generation.c  peers that have seen a higher generation than this dispatcher's */
#ifndef CW_DISPATCHER_SESSION_SESSION_H
#define CW_DISPATCHER_SESSION_SESSION_H

#include "dispatcher/model/model.h"

/* ---- worker_session.c ---- */
void cw_worker_session_open(void *dispatcher,
                            /* This function handles the method /cachew.v1.Fleet/Attach. */
                            struct cw_stream *stream);
void cw_worker_sessions_tick(struct cw_dispatcher *d, int64_t now);
/* Ends the streams of workers whose token does not count any more (access/access.h); they come back
 * with what they hold if they have another one. */
void cw_worker_sessions_check_tokens(struct cw_dispatcher *d);
void cw_worker_sessions_close(struct cw_dispatcher *d);

/* ---- client_session.c ---- */
/* This function handles the method /cachew.v1.Jobs/Attach. */
void cw_client_session_open(void *dispatcher, struct cw_stream *stream);
void cw_client_sessions_tick(struct cw_dispatcher *d, int64_t now);
/* The same for clients. Their jobs go on. */
void cw_client_sessions_check_tokens(struct cw_dispatcher *d);
void cw_client_sessions_close(struct cw_dispatcher *d);
/* The client will not come back: its slot becomes free, and so do, in a shared job, the items that
 * it owned. A client without a slot gives up nothing. */
void cw_client_leave(struct cw_client *client);

/* ---- client_admission.c ---- */
/* Finds or creates the job that client->hello asks for. */
int cw_client_hello(struct cw_client *client, struct cw_err *err);
/* Gives the client its consumer slot, if that is free. */
void cw_client_admit(struct cw_client *client);
/* The job is prepared: clients that wait for that are admitted. */
void cw_clients_job_changed(struct cw_job *job);

/* ---- resume_token.c ---- */
/* Reads the token of a hello. INVALID: it is none, or one of another function or seed. */
int cw_client_read_token(const struct cw_job *job, const Cachew__V1__ClientHello *hello,
                         struct cw_token *ret_token, struct cw_err *err);

/* ---- client_end.c ---- */
/* Sends the error to the client and ends its stream. */
void cw_client_fail(struct cw_client *client, int code, const char *msg);
/* Frees the client's slot, if it has one. The job goes on without it. */
void cw_client_detach(struct cw_client *client);
/* Fails the clients of the job and removes it (cw_job_remove). */
void cw_clients_end_job(struct cw_job *job, const char *reason);
/* Fails the clients of all jobs that have failed since the last call. */
void cw_clients_notify_failed(struct cw_dispatcher *d);
/* Ends the client's old stream, since its own next connection takes the slot. */
void cw_client_replace(struct cw_client *old);
/* Ends earlier streams of the same client that wait for their admission: it listens to this one. */
void cw_client_replace_waiting(const struct cw_client *client);

/* ---- higher_generation.c ---- */
/* Logs that a peer has seen a higher generation than this dispatcher's, once for each
 * generation. */
void cw_session_note_generation(struct cw_dispatcher *d, uint64_t seen, const char *who,
                                const char *address);

#endif
