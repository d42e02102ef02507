/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that a client cannot reach: a host name that its host does not know, a firewall, a broken
 * link between two hosts. Such a worker gets no items that this client is to receive, and keeps
 * those of other clients. The client goes on trying, and reports each failure; so a worker counts
 * as unreachable until it is found, or until nothing was reported for a while. Loop thread. */
#ifndef CW_DISPATCHER_MODEL_UNREACHABLE_H
#define CW_DISPATCHER_MODEL_UNREACHABLE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/interval.h"

struct cw_job;
struct cw_share;
struct cw_worker;

/* The time for which a report counts. An attempt of a client (10 s) and its pause before it
 * (2 s) are shorter than this. */
#define CW_UNREACHABLE_MS 20000

/* One consumer that cannot reach the worker of a share. */
struct cw_unreachable {
    struct cw_unreachable *next;
    uint32_t consumer;
    int64_t since_ms, until_ms; /* Since when, and until when the last report counts. */
    char *why;                  /* What the client reported last. */
};

/* The client of the consumer reports that it cannot reach the worker. Returns whether it could until
 * now. */
bool cw_unreachable_add(struct cw_share *share, uint32_t consumer, const char *why, int64_t now);
/* The client reaches the worker, or another client has taken its place. */
void cw_unreachable_remove(struct cw_share *share, uint32_t consumer);
void cw_unreachable_forget(struct cw_share *share); /* Forgets the share, which is being removed. */

/* Returns the report of the consumer, or NULL if its client reaches the worker. */
const struct cw_unreachable *cw_unreachable_find(const struct cw_share *share, uint32_t consumer,
                                                 int64_t now);
/* Returns any report that counts; NULL if everybody reaches the worker. */
const struct cw_unreachable *cw_unreachable_any(const struct cw_share *share, int64_t now);
/* Returns whether the worker can compute nothing for the job: some consumer that gets every item
 * cannot reach it, or none of those that are there can. */
bool cw_unreachable_bars(const struct cw_share *share, int64_t now);
/* Cuts the run, whose items are for `consumer` if the job is shared, to its first part that the
 * worker may get. Returns false if it may get none of it. */
bool cw_unreachable_allow(const struct cw_share *share, uint32_t consumer, int64_t now,
                          struct cw_interval *run);

#endif
