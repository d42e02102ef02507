/* SPDX-License-Identifier: Apache-2.0 */
/* How far ahead of its consumers a job is leased (its window), and how many items a worker should
 * have to compute (the target of a share). */
#ifndef CW_DISPATCHER_MODEL_WINDOW_H
#define CW_DISPATCHER_MODEL_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cachew/v1/fleet.pb-c.h"

struct cw_dispatcher;
struct cw_job;
struct cw_share;

/* ---- window.c ---- */
uint64_t cw_window_items(const struct cw_job *job, size_t threads);

/* ---- share_target.c ---- */
/* Gives a new share its first target. */
void cw_share_first_target(struct cw_share *share);
/* Updates the target of the share from a report of completed items. done_n is their number. */
void cw_share_retarget(struct cw_share *share, const Cachew__V1__Progress__Done *done,
                       uint64_t done_n, int64_t now);

/* ---- window_end.c ---- */
/* One consumer of a sparse job. Items are counted from the beginning of the first open epoch. */
struct cw_window_consumer {
    uint64_t received; /* The first item that the consumer has not received. */
    /* The number of finished batches that wait for its trainer, as reported last; 0 if it is not
     * known. */
    uint64_t ready;
    /* The consumer's position: the epoch, and the number of the next batch in it, counted over all
     * consumers. */
    uint64_t epoch, batches;
    bool present; /* A client holds the consumer slot. */
};

/* Returns the end of the window of a sparse job. It is a window beyond the lowest unconsumed item.
 * A consumer without finished batches moves it to a window beyond what that consumer has received.
 * If a consumer is away, one that is ahead of it by a step of all consumers moves it no further
 * than a window beyond what the absent one has received. It is not moved while one consumer has
 * many batches waiting. */
uint64_t cw_window_end(uint64_t unconsumed, uint64_t window,
                       const struct cw_window_consumer *consumers, size_t n);
/* Returns the end of the window of any job, from its sets. */
uint64_t cw_job_window_end(struct cw_job *job);

#endif
