/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the session: its parts are session.c (life and flow), session_say.c and session_hear.c
 * (messages to and from the dispatcher), session_begin.c (where a job begins), session_again.c
 * (and where it goes on when it was lost), session_links.c (the workers). Loop thread. */
#ifndef CW_CLIENT_SESSION_INT_H
#define CW_CLIENT_SESSION_INT_H

#include "cachew/v1/job.pb-c.h"
#include "client/session/ack_schedule.h"
#include "client/transport/worker_stream.h"
#include "client/session/session.h"

#define CW_SESSION_BACKOFF_MIN_MS 50
#define CW_SESSION_BACKOFF_MAX_MS 1000

struct cw_session {
    struct cachew_job *job;
    struct cw_session_conf conf;
    uint64_t client_id, generation;
    struct cw_stream *stream;
    bool welcome; /* on this stream */
    bool begun;   /* there was a welcome, ever */
    bool again;   /* the next hello begins the job again, by a token of this epoch: */
    uint64_t again_epoch;
    bool over; /* the job is gone, and all of it has come */
    struct cw_timer *retry, *tick, *bye;
    int64_t backoff_ms;
    struct cw_deliver deliver;
    struct cw_worker_stream **streams;
    size_t streams_n, streams_cap;
    struct cw_local_workers *local; /* NULL: none were ever asked for */
    struct cw_ack ack;              /* what is known of the next one */
    int64_t acked_ns;
    uint64_t acked_wait_ns, acked_bytes, acked_copies;
    /* messages with outputs: now, and when the trainer began to starve */
    uint64_t came, starved_came;
    int starved_ticks;
    cw_loop_fn *closed;
    void *closed_arg;
};

/* session_flow.c */
/* Settles the book, hands on what is next, returns credit (small change too when `all`),
 * acknowledges. */
void cw_session_move(struct cw_session *session, bool all);
void cw_session_set_window(struct cw_session *session, uint64_t items); /* 0 = not told */
/* What the trainer waits for, and for how long nothing has moved, from which the limit of
 * cachew_job_start counts; CW_SESSION_STUCK: as long as before. */
#define CW_SESSION_STUCK UINT64_MAX
void cw_session_set_reason(struct cw_session *session, const char *reason, uint64_t still_ms);

/* In a tick: the trainer may starve for want of credit. */
void cw_session_help_starving(struct cw_session *session);
void cw_session_set_kicks(struct cw_session *session); /* when the trainer wakes the loop */

/* session_send.c */
void cw_session_say_hello(struct cw_session *session);
void cw_session_say_bye(struct cw_session *session);
void cw_session_ack(struct cw_session *session); /* if there is news */
/* false: there is no dispatcher to tell */
bool cw_session_send_worker_lost(struct cw_session *session, uint64_t worker_id, const char *why);
void cw_session_send_worker_found(struct cw_session *session, uint64_t worker_id);
void cw_session_say_local_failed(struct cw_session *session, const char *error);
bool cw_session_ack_is_due(struct cw_session *session);
/* the dispatcher knows what has come, or is being told */
void cw_session_note_told(struct cw_session *session, bool starving);

/* session_recv.c */
void cw_session_hear(void *session, struct cw_rpc_msg *msg);

/* session_begin.c */
/* The first welcome: what the job is, and where it begins. */
int cw_session_begin(struct cw_session *session, const Cachew__V1__ClientWelcome *welcome,
                     struct cw_err *err);

/* session_restart.c */
/* the job is not known, says the answer to a hello: that need not be the end */
bool cw_session_can_begin_again(const struct cw_session *session);
int cw_session_forget_job(struct cw_session *session, const char *why, struct cw_err *err);
int cw_session_begin_again(struct cw_session *session, const Cachew__V1__ClientWelcome *welcome,
                           struct cw_err *err);

/* session_workers.c */
void cw_session_set_workers(struct cw_session *session, const Cachew__V1__Workers *list);
void cw_session_count_workers(struct cw_session *session);
void cw_session_drop_streams(struct cw_session *session); /* those that are over */

#endif
