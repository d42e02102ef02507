/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a job: the order in which its operators are computed. It never changes a batch, so it
 * may change at any time (optimize/plan_change.h). */
#ifndef CW_DISPATCHER_MODEL_JOB_PLAN_H
#define CW_DISPATCHER_MODEL_JOB_PLAN_H

#include "base/buf.h"
#include "base/hash.h"
#include "cachew/v1/graph.pb-c.h"

#define CW_PLANS_DROPPED_MAX 16 /* so many graphs that were dropped are remembered */
#define CW_PLAN_TRIES_MAX 3     /* so many workers may be lost while they try a plan */

struct cw_job_plan {
    uint64_t number; /* of the plan that workers use; 0: the written order from the beginning */
    struct cw_buf *graph; /* its pipeline, packed; NULL: the written order */
    /* What a worker says of its nodes; NULL: it is the written order, or no worker has said it yet. */
    Cachew__V1__PlanInfo *info;
    /* Whether the plan also says what is cached: the job's cached_node is one of this order, and no
     * policy of autocache/ is asked. */
    bool decides_cache;
    uint64_t last; /* the highest number that was given */
    /* The plan that comes next, with number `last`: it is tried by one worker, then stored, then used
     * by all. */
    bool is_next;
    struct cw_buf *next;             /* its pipeline, packed; NULL: the written order */
    Cachew__V1__PlanInfo *next_info; /* as `info` */
    bool next_decides_cache;
    char *next_cached; /* the node that is cached then; NULL: none */
    uint64_t tried_by; /* the id of the worker that tries it; 0: none does */
    unsigned tries_n;  /* workers that have begun to try it */
    bool is_good;      /* it was tried, and is used when all writes up to after_seq are stored */
    uint64_t after_seq;
    char *error; /* why the last plan that failed was dropped; NULL: none was */
    struct cw_hash dropped[CW_PLANS_DROPPED_MAX];
    size_t dropped_at; /* where the next one is remembered */
    uint64_t made_n, changed_n, dropped_n;
    /* What an element of the source takes threads: as the last plan that was found says, and as measured
     * since it is used; 0: not known. */
    double predicted_ns, measured_ns;
};

#endif
