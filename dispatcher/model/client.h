/* SPDX-License-Identifier: Apache-2.0 */
/* A client: the stream of a trainer, which holds a consumer's place in a job or waits for it. */
#ifndef CW_DISPATCHER_MODEL_CLIENT_H
#define CW_DISPATCHER_MODEL_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include "cachew/v1/job.pb-c.h"

struct cw_dispatcher;
struct cw_job;
struct cw_stream;

struct cw_client_due {
    bool welcome;   /* to be welcomed when what that rests on is stored */
    bool admission; /* the place that it waits for has become free */
};
struct cw_client {
    uint32_t magic;
    struct cw_dispatcher *d;
    struct cw_client *next;
    struct cw_stream *stream;
    int64_t since_ms;
    Cachew__V1__ClientMessage *hello; /* kept until it is admitted; NULL before and after */
    uint64_t id;
    struct cw_job *job; /* NULL before hello */
    uint32_t consumer;
    uint64_t hello_epoch; /* where it stood when it said hello */
    bool admitted;        /* holds its place in the job */
    struct cw_client_due due;
    uint64_t welcome_seq; /* what its welcome rests on is stored when all up to here is */
    bool welcomed;
    bool failed; /* was told so; nothing it says counts */
    char *host_id;
    uint32_t max_local;        /* workers that it would start beside itself */
    uint32_t local_sent;       /* was asked for */
    uint32_t local_share;      /* of those that its job wants (placement.c) */
    uint64_t workers_sent_sum; /* sum over the list of workers that it has */
    int64_t place_wait_ms;     /* since when it waits for its place; 0 = it does not */
};

#endif
