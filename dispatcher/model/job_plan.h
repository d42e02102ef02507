/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a job: the order in which its operators are computed. It never changes a batch, so it
 * may change at any time (optimize/plan_change.h). */
#ifndef CW_DISPATCHER_MODEL_JOB_PLAN_H
#define CW_DISPATCHER_MODEL_JOB_PLAN_H

#include "base/buf.h"
#include "base/hash.h"

#define CW_PLANS_DROPPED_MAX 16 /* so many graphs that were dropped are remembered */
#define CW_PLAN_TRIES_MAX 3     /* so many workers may be lost while they try a plan */

struct cw_job_plan {
    uint64_t number; /* of the plan that workers use; 0: the written order from the beginning */
    struct cw_buf *graph; /* its pipeline, packed; NULL: the written order */
    uint64_t last;        /* the highest number that was given */
    /* The plan that comes next, with number `last`: it is tried by one worker, then stored, then used
     * by all. */
    bool is_next;
    struct cw_buf *next; /* its pipeline, packed; NULL: the written order */
    uint64_t tried_by;   /* the id of the worker that tries it; 0: none does */
    unsigned tries_n;    /* workers that have begun to try it */
    bool is_good;        /* it was tried, and is used when all writes up to after_seq are stored */
    uint64_t after_seq;
    char *error; /* why the last plan that failed was dropped; NULL: none was */
    struct cw_hash dropped[CW_PLANS_DROPPED_MAX];
    size_t dropped_at; /* where the next one is remembered */
    uint64_t made_n, changed_n, dropped_n;
};

#endif
