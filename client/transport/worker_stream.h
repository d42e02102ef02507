/* SPDX-License-Identifier: Apache-2.0 */
/* The data stream from one worker. It is opened again and again as long as the dispatcher lists the
 * worker. Credit limits it, and it uses shared memory if both ends are on one host. What it finds
 * is reported by the callbacks that it was created with; it knows neither the session nor the
 * ledger. It is for the loop thread, except that buffers may be released in any thread. */
#ifndef CW_CLIENT_TRANSPORT_WORKER_STREAM_H
#define CW_CLIENT_TRANSPORT_WORKER_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct cw_loop;
struct cw_received;
struct cw_recvpool;
struct cw_rpc;
struct cw_worker_stream;

struct cw_job_secret {
    uint8_t bytes[64];
    size_t n;
};

/* All of these are called in the loop thread, with `arg` of the configuration. None may close the
 * stream. */
struct cw_worker_stream_events {
    /* An output has arrived; the callback takes it. An error ends this connection, since the worker
     * has sent something invalid. */
    int (*output)(void *arg, struct cw_received *received, struct cw_err *err);
    /* It is called when all outputs of a message were passed to `output`. */
    void (*message)(void *arg);
    /* The connection broke or could not be made. Each failed attempt is reported, so that the
     * worker gets no leases while it cannot be reached. The callback returns false if the
     * dispatcher cannot be told now; cw_worker_stream_report then tries again. */
    bool (*lost)(void *arg, uint64_t worker_id, const char *why);
    /* It is called when a worker that counted as lost has answered. */
    void (*found)(void *arg, uint64_t worker_id);
    /* Returns how many bytes of memory are left for the outputs of all workers together. */
    uint64_t (*room)(void *arg);
    void (*changed)(void *arg); /* The result of cw_worker_stream_is_up may have changed. */
    /* There is no memory for an output, so the job cannot go on. */
    void (*no_memory)(void *arg, const struct cw_err *err);
    /* Slots of shared memory wait to be sent back, so cw_worker_stream_flush should be called soon.
     * This is called in any thread, under a lock, so it may only post to the loop. */
    void (*released)(void *arg);
};
struct cw_worker_stream_conf {
    const struct cw_worker_stream_events *events;
    void *arg;
    struct cw_loop *loop;
    struct cw_rpc *rpc;
    struct cw_recvpool *pool; /* The pool of memory for outputs that arrive over gRPC. */
    const char *host_id;      /* The id of this host; "" if it is not known. */
    const char *job_id;
    /* The secret of the job, which the worker is shown at each connection; NULL or 0 bytes: none. */
    const struct cw_job_secret *secret;
    uint64_t client_id;
    uint32_t consumer;
    bool shm;      /* The stream may use shared memory. */
    bool writable; /* The trainer may write into batches (cw_shm_view_new). */
    bool keep_msg; /* Sparse pipelines: bytes stay in the received message (struct cw_received). */
    uint64_t worker_id;
    const char *worker_address, *worker_host_id;
    /* The bytes of memory that the callback `output` keeps with each output. */
    size_t entry_bytes;
    uint64_t limit; /* The limit in bytes of memory (cw_worker_stream_set_limit). */
};

/* Connects. It copies what it needs of conf, except host_id and secret. */
struct cw_worker_stream *
cw_worker_stream_new(const struct cw_worker_stream_conf *conf) CW_MUST_CHECK;
/* Frees the stream. No more callbacks are made; buffers that the trainer holds stay valid. */
void cw_worker_stream_close(struct cw_worker_stream *stream);
uint64_t cw_worker_stream_worker(const struct cw_worker_stream *stream);
const char *cw_worker_stream_address(const struct cw_worker_stream *stream);
bool cw_worker_stream_is_up(const struct cw_worker_stream *stream);
/* Returns why the worker cannot be reached; NULL while it can, or before the first attempt has
 * failed. The stream owns the text. */
const char *cw_worker_stream_why_lost(const struct cw_worker_stream *stream);
/* Says whether the dispatcher lists the worker. A worker may be unlisted because the dispatcher has
 * just started, or because the worker drains. Its connection is used as long as it lasts, and is
 * not made again. */
void cw_worker_stream_set_listed(struct cw_worker_stream *stream, bool listed);
/* Returns whether the stream is neither listed nor connected. */
bool cw_worker_stream_is_over(const struct cw_worker_stream *stream);
/* Sets the bytes of memory that outputs of this worker may need, on the way or buffered here. */
void cw_worker_stream_set_limit(struct cw_worker_stream *stream, uint64_t bytes);
/* Sends the credit and the slots that have gathered. A small amount is kept back except with `all`.
 * `room` is as of the callback. */
void cw_worker_stream_flush(struct cw_worker_stream *stream, uint64_t room, bool all);
/* Returns the memory that outputs need which the worker may still send on this connection. */
uint64_t cw_worker_stream_promised(const struct cw_worker_stream *stream);
/* The trainer has been given everything: a worker of which nothing is here may send an output,
 * however full the buffer is. */
void cw_worker_stream_let_one(struct cw_worker_stream *stream);
/* The dispatcher is connected again: reports the loss of this worker if that could not be reported,
 * or if the worker is still lost. */
void cw_worker_stream_report(struct cw_worker_stream *stream);
/* The trainer starves while the buffer is full of later outputs: grants a little beyond the limit,
 * so that the missing output can come. */
void cw_worker_stream_overdraw(struct cw_worker_stream *stream);

#endif
