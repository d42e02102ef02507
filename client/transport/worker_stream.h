/* SPDX-License-Identifier: Apache-2.0 */
/* The data stream from one worker. It is opened again and again for as long as the dispatcher
 * lists the worker, is bounded by credit, and goes through shared memory when both ends are on
 * one host. What it finds is reported by the callbacks that it was made with; it knows neither
 * the session nor the ledger. Loop thread, except that buffers may be released in any thread. */
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

/* All are called in the loop thread, with `arg` of the configuration. None may close the stream. */
struct cw_worker_stream_events {
    /* An output has come; it is the callee's now. An error ends this connection: the worker sent
     * what makes no sense. */
    int (*output)(void *arg, struct cw_received *received, struct cw_err *err);
    void (*message)(void *arg); /* all outputs of a message were handed over */
    /* The connection broke, or could not be made (each failed attempt is reported, so that the
     * worker gets no leases for as long as it cannot be reached). false: the dispatcher cannot
     * be told now; cw_worker_stream_report tries again. */
    bool (*lost)(void *arg, uint64_t worker_id, const char *why);
    void (*found)(void *arg, uint64_t worker_id); /* a lost worker has answered */
    void (*changed)(void *arg);                   /* cw_worker_stream_is_up may differ */
    void (*no_memory)(void *arg,
                      const struct cw_err *err); /* for an output: the job cannot go on */
    /* Slots of shared memory wait to be sent back: call cw_worker_stream_flush soon. Any thread,
     * under a lock: it may only post to the loop. */
    void (*released)(void *arg);
};
struct cw_worker_stream_conf {
    const struct cw_worker_stream_events *events;
    void *arg;
    struct cw_loop *loop;
    struct cw_rpc *rpc;
    struct cw_recvpool *pool; /* memory for outputs that come by gRPC */
    const char *host_id;      /* of this host; "" = unknown */
    const char *job_id;
    uint64_t client_id;
    uint32_t consumer;
    bool shm;      /* shared memory may be used */
    bool keep_msg; /* sparse pipelines: bytes stay in the received message (struct cw_received) */
    uint64_t worker_id;
    const char *worker_address, *worker_host_id;
    /* Bytes of memory that the callee of events->output keeps with each output. */
    size_t entry_bytes;
    uint64_t limit; /* bytes of memory: see cw_worker_stream_set_limit */
};

/* Copies what it needs of conf, but for host_id, and connects. */
struct cw_worker_stream *
cw_worker_stream_new(const struct cw_worker_stream_conf *conf) CW_MUST_CHECK;
/* No more callbacks; buffers that the trainer holds stay valid. Frees the stream. */
void cw_worker_stream_close(struct cw_worker_stream *stream);
uint64_t cw_worker_stream_worker(const struct cw_worker_stream *stream);
const char *cw_worker_stream_address(const struct cw_worker_stream *stream);
bool cw_worker_stream_is_up(const struct cw_worker_stream *stream);
/* Whether the dispatcher lists the worker. One that is not listed (by a dispatcher that has just
 * started, or because the worker drains) is listened to for as long as the connection lasts, and
 * is not connected to again. */
void cw_worker_stream_set_listed(struct cw_worker_stream *stream, bool listed);
bool cw_worker_stream_is_over(const struct cw_worker_stream *stream); /* not listed, not up */
/* Bytes of memory that outputs of this worker may take: on the way, or buffered here. */
void cw_worker_stream_set_limit(struct cw_worker_stream *stream, uint64_t bytes);
/* Sends the credit and the slots that have gathered; little is kept back unless `all`. `held`
 * bytes of the limit are in use otherwise. */
void cw_worker_stream_flush(struct cw_worker_stream *stream, uint64_t held, bool all);
/* The dispatcher is connected again: reports the loss of this worker if it could not be reported,
 * or if the worker is still lost. */
void cw_worker_stream_report(struct cw_worker_stream *stream);
/* The trainer starves while the buffer is full of later outputs: grants a little beyond the
 * limit, so that what it waits for can come. */
void cw_worker_stream_overdraw(struct cw_worker_stream *stream);

#endif
