/* SPDX-License-Identifier: Apache-2.0 */
/* A client: one stream from a trainer to the dispatcher. It holds a consumer slot of a job, or
 * waits for one. */
#ifndef CW_DISPATCHER_MODEL_CLIENT_H
#define CW_DISPATCHER_MODEL_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include "cachew/v1/job.pb-c.h"

struct cw_ack_turns;
struct cw_client_pipeline;
struct cw_dispatcher;
struct cw_inbox;
struct cw_job;
struct cw_stream;
struct cw_welcome;

struct cw_client_due {
    /* The client's welcome is to be sent as soon as everything that the welcome relies on is
     * stored. */
    bool welcome;
    bool rest; /* The client is not told yet of all that will not come, or not welcomed yet. */
    /* The consumer slot that the client waits for has become free: its admission is tried again. */
    bool admission;
};
struct cw_client {
    uint32_t magic;
    struct cw_dispatcher *d;
    struct cw_client *next;        /* of the dispatcher */
    struct cw_client *next_of_job; /* of its job */
    struct cw_stream *stream;
    /* Who this is (access/access.h); NULL: there are no tokens. The stream owns it. */
    const struct cw_caller *caller;
    int64_t since_ms;
    /* The client's hello. It is kept from its arrival until the client is admitted; NULL
     * otherwise. */
    Cachew__V1__ClientMessage *hello;
    bool hello_is_large; /* It was unpacked by the thread, which also frees it. */
    /* An acknowledgement that is being taken, in several iterations of the loop; NULL otherwise. */
    Cachew__V1__ClientMessage *ack;
    struct cw_ack_turns *ack_turns; /* how far that is, or the hello (session/ack_turns.h) */
    /* The pipeline of `hello`, packed and checked (session/client_pipeline.h); NULL if it has
     * none. */
    struct cw_client_pipeline *pipeline;
    struct cw_inbox *inbox; /* What came and is not handled yet (session/inbox.h). */
    uint64_t id;
    /* The job that the client belongs to (cw_job_add_client); NULL until its hello was accepted. */
    struct cw_job *job;
    uint32_t consumer;
    uint64_t hello_epoch; /* The epoch at which the client stood when it sent its hello. */
    bool admitted;        /* The client holds its consumer slot. */
    bool was_here; /* It held the slot before, and was welcomed: nothing new has to be stored. */
    bool knows;    /* It was welcomed before, and knows what it has consumed. */
    struct cw_welcome *welcome; /* how far its welcome is (message/welcome.c) */
    struct cw_client_due due;
    /* The welcome may be sent when all writes up to this number are stored (cw_state_seq). */
    uint64_t welcome_seq;
    bool welcomed;
    bool failed; /* The client was sent an error. Its further messages are ignored. */
    char *host_id;
    /* The number of local workers that the client would start on its own host. */
    uint32_t max_local;
    uint32_t local_sent; /* The number of local workers that the client was last asked to start. */
    /* The client's part of the local workers that its job wants (scaling/local_worker_counts.c). */
    uint32_t local_share;
    /* A checksum of the list of workers that the client was sent last. */
    uint64_t workers_sent_sum;
    /* The time since which the client waits for its consumer slot; 0 if it does not wait. */
    int64_t place_wait_ms;
    int64_t
        waits_sent_ms; /* When the client was last told what it waits for; 0 if it waits no more. */
};

#endif
