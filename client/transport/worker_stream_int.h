/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the two parts of a worker's stream share: its life and what is sent
 * (worker_stream.c), and what is received (worker_stream_recv.c), which the first part calls. */
#ifndef CW_CLIENT_TRANSPORT_WORKER_STREAM_INT_H
#define CW_CLIENT_TRANSPORT_WORKER_STREAM_INT_H

#include "client/transport/received.h"
#include "client/transport/worker_stream.h"
#include "loop/loop.h"
#include "wire/wire.h"

struct cw_worker_stream {
    /* The stream's options, except worker_host_id, which is not kept. */
    struct cw_worker_stream_conf conf;
    char *address, *job_id; /* Copies of the texts of conf, which the stream owns. */
    bool want_shm;          /* Both ends are on one host and may use shared memory. */
    struct cw_channel *channel;
    struct cw_stream *stream;
    struct cw_timer *retry;
    int64_t backoff_ms;
    bool up;                  /* The worker has answered on this connection. */
    bool was_lost;            /* The connection broke, and the worker has not answered since. */
    char why[200];            /* Why the connection broke, while was_lost. */
    bool listed;              /* The dispatcher's last list of workers contains this worker. */
    bool unreported;          /* The dispatcher could not be told that the worker was lost. */
    struct cw_credit *credit; /* The memory credit of the worker (one reference). */
    /* The shared memory of this connection; NULL and -1 if there is none. */
    struct cw_shm_view *view;
    int shm_fd;
    struct cw_poll *shm_poll; /* of shm_fd; NULL once the worker has closed it */
    bool in_packet;           /* A message of the socket is taken in. */
    struct cw_shm_release_queue *released;
};

/* ---- worker_stream_recv.c ---- */
/* The worker's welcome may offer shared memory: connects to it, and answers. on_socket(stream) is
 * called when something has come there. */
void cw_worker_stream_shm_start(struct cw_worker_stream *stream,
                                const Cachew__V1__DataWelcome *welcome, cw_loop_fn *on_socket);
void cw_worker_stream_shm_stop(struct cw_worker_stream *stream);
/* Takes in what waits in the socket of shared memory. Adds the number of outputs to *outputs. */
int cw_worker_stream_shm_take(struct cw_worker_stream *stream, size_t *outputs, struct cw_err *err);
/* The bytes behind the head of a message. Its outputs take one part after the other. */
struct cw_worker_stream_payload {
    struct cw_rpc_msg *msg;
    size_t at, left;
};
/* Takes in one output of a message, and passes it to events->output. */
int cw_worker_stream_recv(struct cw_worker_stream *stream, const Cachew__V1__Output *output,
                          struct cw_worker_stream_payload *payload, struct cw_err *err);
/* Takes in all outputs of a message, and the slots that are gone. Adds the number of outputs to
 * *outputs. */
int cw_worker_stream_recv_data(struct cw_worker_stream *stream, struct cw_rpc_msg *msg,
                               const struct cw_wire_data *data, size_t *outputs,
                               struct cw_err *err);
/* ---- worker_stream.c ---- */
/* The socket of shared memory has something, or has ended. */
void cw_worker_stream_on_socket(void *stream);

#endif
