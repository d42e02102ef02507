/* SPDX-License-Identifier: Apache-2.0 */
/* A plan that is being opened, or parts of an index that are made for another worker: what runs on a
 * thread of its own. Shared by job/plan_loader.c, which has the threads, and job/index_leases.c. */
#ifndef CW_WORKER_JOB_LOADING_H
#define CW_WORKER_JOB_LOADING_H

#include <stdatomic.h>

#include "base/thread.h"
#include "worker/model/state.h"

struct cw_windex_help;
struct cw_index_parts;

struct cw_loading {
    struct cw_loading *next; /* next in the list of waiting, or of running ones */
    struct cw_worker_state *worker;
    struct cw_thread thread;
    struct cw_loop_node node;
    char *job_id;
    uint64_t serial;
    bool prepare;
    bool skip_bad; /* of a preparation */
    bool unwanted; /* the result is not wanted any more */
    bool orphan;   /* the stream on which it was requested has ended */
    int64_t began_ms;
    struct cw_stop *stop;
    /* input of the thread */
    struct cw_graph *graph;
    struct cw_graph *as_written; /* `graph` is a relaxed order of it, which is tried; else NULL */
    uint64_t seed;
    uint64_t source_store; /* as in cw_source_use_store */
    uint32_t reader;       /* as in cw_source_root_read_as */
    struct cw_buf *manifest_in;
    /* a plan in another order is opened beside this one; holds a reference, or is NULL */
    struct cw_plan *written;
    /* result of the thread */
    bool was_completed; /* `graph` became another one */
    struct cw_plan *plan;
    struct cw_buf *manifest_out;
    struct cw_str relaxed; /* what was seen of the relaxed order */
    bool relaxed_refused;  /* `graph` and `plan` are the written ones */
    struct cw_err error;
    /* of a preparation: with whom its indices are made, and the numbers that wait for parts
     * (job/index_leases.c) */
    struct cw_index_parts *parts;
    struct cw_loop_node parts_node;
    _Atomic bool parts_posted;
    uint64_t *asks;
    size_t asks_n, asks_cap;
    uint32_t others;
    /* parts of an index are made for another worker; NULL: a plan is opened */
    struct cw_windex_help *help;
};

/* ---- relaxed_order.c ---- */
/* Tries the relaxed order of a pipeline that is prepared, if it is one. If it is not to be used (`relaxed_refused`) the
 * written pipeline is to be opened in its place. Fails with CANCELLED if the stop flag is set. */
int cw_loading_try_relaxed(struct cw_loading *loading) CW_MUST_CHECK;

#endif
