/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what a job waits for, from what the session knows and from what the dispatcher has told.
 * The decision is a pure function of a view, which the session fills in. */
#ifndef CW_CLIENT_SESSION_WAITS_FOR_H
#define CW_CLIENT_SESSION_WAITS_FOR_H

#include <stddef.h>
#include "client/model/waits.h"

/* The stream to one worker. */
struct cw_waits_stream {
    uint64_t worker_id;
    const char *address;
    bool up;
    const char *why; /* Why it is lost; NULL if it is not, but may still be being made. */
};
struct cw_waits_view {
    const char *dispatcher;      /* The address. */
    bool connected;              /* There is a stream to the dispatcher. */
    bool begun;                  /* The dispatcher has welcomed this client once. */
    bool over;                   /* The job has ended or failed. */
    const struct cw_waits *away; /* Why there is no connection; kind NOTHING if it is not known. */
    const struct cw_waits *told; /* What the dispatcher said last. */
    int64_t began_ns;            /* When the session began. */
    int64_t starving_ns; /* Since when the trainer has nothing and nothing comes; 0: not so. */
    int64_t idle_ns;     /* Since when the trainer takes nothing of what is ready; 0: not so. */
    uint64_t ready, ready_bytes; /* The entries that are ready, and the bytes that are buffered. */
    uint64_t later;              /* The outputs that have come and are not next in order. */
    bool ordered;
    uint64_t epoch, item; /* Ordered jobs: what comes next. */
    const struct cw_waits_stream *streams;
    size_t streams_n;
};
void cw_waits_for(const struct cw_waits_view *view, struct cw_waits *ret_waits);

#endif
