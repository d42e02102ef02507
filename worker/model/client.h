/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of a client, as the other modules see it. Loop thread. */
#ifndef CW_WORKER_MODEL_CLIENT_H
#define CW_WORKER_MODEL_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "auth/secret.h"
#include "base/interval.h"
#include "base/map.h"
#include "rpc/rpc.h"

#define CW_WCLIENTS_MAX 1024
/* Bytes that may be queued in a stream. Further outputs wait in the worker, where they can be
 * revoked. */
#define CW_WCLIENT_STREAM_LOW ((size_t)1 << 20)

struct cw_worker_state;
struct cw_wjob;

struct cw_epoch_set {
    uint64_t epoch;
    struct cw_set items;
};
struct cw_wclient {
    uint32_t magic; /* CW_WCLIENT_MAGIC; asserted where a callback gets the struct as a void * */
    struct cw_worker_state *worker;
    struct cw_wclient *prev, *next; /* neighbours in the list worker->clients */
    struct cw_stream *stream;
    char *job_id;        /* NULL before its FetchHello has come */
    struct cw_wjob *job; /* NULL while the worker does not have the job */
    /* The secret of the job that the client has shown; 0 bytes: none. */
    unsigned char secret[CW_SECRET_BYTES];
    size_t secret_n;
    uint64_t client_id;
    uint32_t consumer;
    int64_t credit; /* bytes that may still be sent; negative after a large output */
    bool sent_any;
    uint64_t last_epoch, last_item; /* the highest output that was sent */
    /* items that were sent, and that the dispatcher has not reported as received yet */
    struct cw_epoch_set *sent;
    size_t sent_n, sent_cap;
    /* The fields below belong to serve/shm_transport.c. */
    bool shm_offered, shm_answered, shm_ok;
    bool shm_outputs;          /* it reads messages from the socket */
    uint64_t shm_token;        /* a client proves with it that a connection is its own */
    int64_t shm_offered_ms;    /* cw_clock_ms */
    int shm_fd;                /* socket for descriptors and messages; -1: none */
    struct cw_map slots_known; /* a set of slot ids: those of which the client has the descriptor */
    struct cw_map slots_held;  /* maps slot ids to the cw_buf that is lent to the client */
};
#define CW_WCLIENT_MAGIC 0x57434c49u

#endif
