/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the session. Each of its files calls only those before it:
 *   session_send.c     messages to the dispatcher
 *   session_waits.c    what the job waits for
 *   session_flow.c     from what has arrived to the trainer, and back to credit and
 *                      acknowledgements
 *   session_workers.c  the streams to workers, and what they report
 *   session_begin.c    the first welcome: what the job is, and where it begins
 *   session_restart.c  begins again a job that the dispatcher has lost
 *   session_recv.c     messages from the dispatcher
 *   session.c          the life of the session and of its stream
 * ack_schedule.c, answer.c and waits_for.c are pure decisions that these ask. Loop thread. */
#ifndef CW_CLIENT_SESSION_SESSION_INT_H
#define CW_CLIENT_SESSION_SESSION_INT_H

#include "cachew/v1/job.pb-c.h"
#include "client/session/ack_schedule.h"
#include "client/session/answer.h"
#include "client/session/session.h"
#include "client/transport/worker_stream.h"

#define CW_SESSION_BACKOFF_MIN_MS 50
#define CW_SESSION_BACKOFF_MAX_MS 1000
/* Two messages about one wait may differ by so much in when it began. */
#define CW_SESSION_TOLD_JITTER_NS INT64_C(3000000000)

/* What was seen at the last tick (session_waits.c). */
struct cw_session_looks {
    uint64_t given, messages;
    bool empty;       /* The trainer had been given everything that was ready. */
    int64_t since_ns; /* Since when nothing has changed. */
};

struct cw_session {
    struct cachew_job *job;
    struct cw_session_conf conf;
    /* A random number that names this client; it is the same on every connection. */
    uint64_t client_id;
    /* The generation of the dispatcher. Messages of an older one are ignored. */
    uint64_t generation;
    struct cw_job_secret secret; /* The last welcome told it. */
    struct cw_stream *stream;    /* The stream to the dispatcher; NULL between two attempts. */
    bool welcome;                /* The dispatcher has answered on this stream. */
    bool begun;                  /* The dispatcher has answered once, on any stream. */
    /* The dispatcher has lost the job: the next hello starts it anew, with a token of this
     * epoch. */
    bool restarting;
    uint64_t restart_epoch;
    /* The dispatcher does not know the job any more, and all items of the job have come. */
    bool over;
    struct cw_timer *retry, *tick, *bye;
    int64_t backoff_ms;
    struct cw_ledger ledger;
    struct cw_worker_stream **streams; /* The streams to workers, which the session owns. */
    size_t streams_n, streams_cap;
    /* The ids of listed workers to which there is no stream, since there are too many, and when the
     * dispatcher was last told of them. */
    uint64_t *unfetched;
    size_t unfetched_n, unfetched_cap;
    int64_t unfetched_ms;
    /* The local workers; NULL until the dispatcher asks for some. */
    struct cw_local_workers *local;
    struct cw_ack_schedule ack; /* The schedule decides when to acknowledge next. */
    int64_t acked_ns;           /* The time of the last acknowledgement; 0 if there was none. */
    int64_t said_ns;            /* The time of the last message to the dispatcher. */
    /* The counters that the last acknowledgement reported. */
    uint64_t acked_wait_ns, acked_bytes, acked_copies;
    /* What was said of bad elements on this stream: how many there are, and how many of the first. */
    uint64_t acked_bad_n;
    size_t acked_bad_first;
    /* The number of messages with outputs: all so far, and how many there were when the trainer
     * began to starve. */
    uint64_t messages, starved_messages;
    int starved_ticks;
    /* What is waited for: why there is no connection to the dispatcher, what the dispatcher has
     * told, and what other threads were told last. */
    struct cw_waits away, told, noted;
    struct cw_session_looks looks;
    int64_t began_ns;
    cw_loop_fn *closed; /* The function is set once the session is being closed. */
    void *closed_arg;
};

/* ---- session_send.c ---- */
void cw_session_send_hello(struct cw_session *session);
void cw_session_send_bye(struct cw_session *session);
/* Sends an acknowledgement, unless there is nothing new. */
void cw_session_send_ack(struct cw_session *session);
/* Returns false if no dispatcher is connected. */
bool cw_session_send_worker_lost(struct cw_session *session, uint64_t worker_id, const char *why);
#define CW_SESSION_UNREAD_MAX ((size_t)1 << 20) /* While more waits to be sent, it is not said. */
/* Says of all workers to which there is no stream that this client cannot reach them. */
void cw_session_send_unfetched(struct cw_session *session);
void cw_session_send_worker_found(struct cw_session *session, uint64_t worker_id);
void cw_session_send_local_failed(struct cw_session *session, const char *error);
/* Sends an acknowledgement if one is due: an empty one if there is nothing new. */
void cw_session_send_ack_when_due(struct cw_session *session);
/* Sends an empty acknowledgement now and then to a dispatcher that has not sent its welcome yet:
 * its host may have lost its power, which shows only when something is sent. */
void cw_session_send_alive(struct cw_session *session);
/* The dispatcher knows everything that has come, or is about to be sent it. */
void cw_session_note_acked(struct cw_session *session, bool starving);

/* ---- session_flow.c ---- */
/* Does what may be due: settles the ledger, pushes the next entries in order to the trainer, grants
 * credit to the workers (small amounts only with `all`), and acknowledges when it is time. */
void cw_session_advance(struct cw_session *session, bool all);
/* Returns the part of the buffer that each of so many workers has. */
uint64_t cw_session_share(const struct cw_session *session, size_t workers);
/* Returns the bytes of memory that are left of the buffer for outputs of all workers. */
uint64_t cw_session_room(const struct cw_session *session);
/* Sets the window and how often to acknowledge; what is 0 stays as it is. */
void cw_session_set_window(struct cw_session *session, uint64_t items, uint32_t ack_ms);
/* Sets how much the trainer consumes between two wake-ups of the loop. */
void cw_session_set_kicks(struct cw_session *session);
/* Notes for how long nothing has moved. Whenever something moves, the time limit of cachew_job_start
 * begins anew. CW_SESSION_STUCK: nothing has moved since the last call. */
void cw_session_limit_start(struct cw_session *session, uint64_t still_ms);
/* Is called at each tick: grants credit beyond the limit if the trainer starves for want of it. */
void cw_session_help_starving(struct cw_session *session);

/* ---- session_workers.c ---- */
void cw_session_set_workers(struct cw_session *session, const Cachew__V1__Workers *list);
/* Sets the job's counter of connected workers. */
void cw_session_count_workers(struct cw_session *session);
/* Closes the streams to workers that have ended. */
void cw_session_drop_streams(struct cw_session *session);
/* Tells the dispatcher again, when it is due, of the workers from which this client does not
 * fetch. */
void cw_session_note_unfetched(struct cw_session *session, int64_t now);

/* ---- session_waits.c ---- */
/* Is called at each tick: notes for other threads what the job waits for. */
void cw_session_note_waits(struct cw_session *session);
/* The dispatcher cannot be reached; has told what is waited for; has refused the client, which tries
 * again; has welcomed it. */
void cw_session_note_away(struct cw_session *session, const char *reason);
void cw_session_hear_waiting(struct cw_session *session, const Cachew__V1__Waiting *waiting);
void cw_session_note_refused(struct cw_session *session, const char *reason);
void cw_session_note_welcome(struct cw_session *session);

/* ---- session_begin.c ---- */
int cw_session_begin(struct cw_session *session, const Cachew__V1__ClientWelcome *welcome,
                     struct cw_err *err);

/* ---- session_restart.c ---- */
/* Returns whether the job can go on although the dispatcher answers a hello with "no such job". */
bool cw_session_can_restart(const struct cw_session *session);
/* The dispatcher has lost the job: prepares the hello that starts it anew, unless everything has
 * come. */
int cw_session_forget_job(struct cw_session *session, const char *why, struct cw_err *err);
/* Handles the welcome that answers that hello. */
int cw_session_restart(struct cw_session *session, const Cachew__V1__ClientWelcome *welcome,
                       struct cw_err *err);

/* ---- session_recv.c ---- */
/* This function is the callback on_message of the stream. */
void cw_session_recv(void *session, struct cw_rpc_msg *msg);

#endif
