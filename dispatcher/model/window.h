/* SPDX-License-Identifier: Apache-2.0 */
/* How far ahead of its consumers a job is computed (window), and how much of it a worker has in hand (target). */
#ifndef CW_DISPATCHER_MODEL_WINDOW_H
#define CW_DISPATCHER_MODEL_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cachew/v1/fleet.pb-c.h"

struct cw_job;
struct cw_share;

/* ---- window.c: how far ahead, and how much at a time ---- */
uint64_t cw_window_items(const struct cw_job *job, size_t threads);
void cw_share_first_target(struct cw_share *share);
/* done_n: items in done */
void cw_share_retarget(struct cw_share *share, const Cachew__V1__Progress__Done *done,
                       uint64_t done_n, int64_t now);

/* ---- window_end.c: up to where items are leased ---- */
/* One consumer of a sparse job. Items are counted from the beginning of the first open epoch. */
struct cw_window_consumer {
    uint64_t received; /* the first item that it has not received */
    uint64_t ready;    /* finished batches that wait for its trainer, as last told; not known = 0 */
    uint64_t epoch, batches; /* where it stands: the next batch of all consumers */
    bool here;               /* somebody holds its place */
};

/* The end of the window of a sparse job: a window beyond the lowest unconsumed item; and for
 * each consumer that has no finished batch a window beyond what it has received; but of one that
 * is ahead by a step of all consumers not further than a window beyond what one that is away has
 * received, and not while one has many batches waiting. */
uint64_t cw_window_end(uint64_t unconsumed, uint64_t window,
                       const struct cw_window_consumer *places, size_t n);
uint64_t cw_job_window_end(struct cw_job *job); /* of any job, from its sets */

#endif
