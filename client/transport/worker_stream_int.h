/* SPDX-License-Identifier: Apache-2.0 */
/* The two parts of a worker's stream: its life and what is sent (worker_stream.c), and what is
 * received (worker_stream_recv.c), which the first calls. */
#ifndef CW_CLIENT_TRANSPORT_WORKER_STREAM_INT_H
#define CW_CLIENT_TRANSPORT_WORKER_STREAM_INT_H

#include "client/transport/received.h"
#include "client/transport/worker_stream.h"
#include "wire/wire.h"

struct cw_worker_stream {
    struct cw_worker_stream_conf conf; /* worker_host_id is not kept */
    char *address, *job_id;            /* those of conf, owned */
    bool want_shm;                     /* both ends are on one host, and may use it */
    struct cw_channel *channel;
    struct cw_stream *stream;
    struct cw_timer *retry;
    int64_t backoff_ms;
    bool up;                  /* the worker has answered on this connection */
    bool was_lost;            /* the connection broke, and the worker has not answered since */
    bool listed;              /* the dispatcher lists the worker */
    bool unreported;          /* the dispatcher could not be told that the worker was lost */
    struct cw_credit *credit; /* one ref */
    /* Shared memory of this connection; NULL and -1 without. */
    struct cw_shm_view *view;
    int shm_fd;
    struct cw_shm_release_queue *released;
};

/* ---- worker_stream_recv.c ---- */
/* The worker's welcome offers shared memory, or not: connects to it, and answers. */
void cw_worker_stream_shm_start(struct cw_worker_stream *stream,
                                const Cachew__V1__DataWelcome *welcome);
void cw_worker_stream_shm_stop(struct cw_worker_stream *stream);
/* The bytes behind the head of a message, of which its outputs take one part after the other. */
struct cw_worker_stream_payload {
    struct cw_rpc_msg *msg;
    size_t at, left;
};
/* Takes in one output of a message, and hands it over (events->output). */
int cw_worker_stream_recv(struct cw_worker_stream *stream, const Cachew__V1__Output *output,
                          struct cw_worker_stream_payload *payload, struct cw_err *err);

#endif
