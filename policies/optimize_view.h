/* SPDX-License-Identifier: Apache-2.0 */
/* What is behind the numbers of a plan (optimize.h), for people: what each operator of it costs, what an
 * epoch asks for, which plans were not taken, and what another one would bring if something were
 * otherwise. Pure functions. */
#ifndef CW_POLICIES_OPTIMIZE_VIEW_H
#define CW_POLICIES_OPTIMIZE_VIEW_H

#include "policies/optimize.h"

/* An operator at a place of the plan's order, in an epoch in which all is computed. */
struct cw_optimize_row {
    double rows_in, rows; /* elements of an epoch that come to it, and that come out */
    double bytes;         /* of one that comes out */
    double ns, cpu_ns;    /* of one that comes in: time of a thread, and of the processor */
    double call_ns;       /* the same of a call for one element, whether or not it is called so */
    double share;         /* of all threads' time, 0 to 1 */
    bool is_folded; /* it is not called: the next operator does its work, or it has no effect */
    bool by_batch;  /* it is called for many elements at once */
};
void cw_optimize_rows(const struct cw_optimize_problem *problem,
                      const struct cw_optimize_plan *plan, struct cw_optimize_row *ret_rows);

/* A later epoch. */
struct cw_optimize_epoch {
    double bound_ns[CW_BOUNDS_N]; /* how long each of what may decide takes; 0: it has no limit */
    double cpu_ns;                /* of all workers */
    double network_bytes;         /* from remote workers */
    double money;
};
void cw_optimize_epoch(const struct cw_optimize_problem *problem,
                       const struct cw_optimize_plan *plan, struct cw_optimize_epoch *ret_epoch);

/* ---- plans that were not taken ---- */

#define CW_REJECTED_MAX 10

enum cw_rejected_kind {
    CW_REJECTED_WRITTEN,  /* the written order, with the best cache and workers for it */
    CW_REJECTED_NO_CACHE, /* the best plan without a cache */
    CW_REJECTED_CACHE,    /* this plan with the cache elsewhere (cw_optimize_cached_name) */
    CW_REJECTED_SWAPPED,  /* this plan with `a`, which comes first, behind `b` */
    CW_REJECTED_WORKERS   /* this plan with one worker more or less */
};
struct cw_optimize_rejected {
    enum cw_rejected_kind kind;
    size_t a, b; /* places of the written order */
    struct cw_optimize_plan plan;
};
/* Lists the plans around the given one, the best first, at most CW_REJECTED_MAX; fixed_workers: none has
 * other workers. Returns how many. */
size_t cw_optimize_rejected(const struct cw_optimize_problem *problem,
                            const struct cw_optimize_plan *plan, bool fixed_workers,
                            struct cw_optimize_rejected *ret_list);

/* ---- what if ---- */

#define CW_WHAT_IF_MAX 8
#define CW_WHAT_IF_CACHE_BYTES 10e9

enum cw_what_if_kind {
    CW_WHAT_IF_WORKER_MORE,
    CW_WHAT_IF_WORKER_LESS,
    CW_WHAT_IF_CACHE,   /* 10 GB of it more */
    CW_WHAT_IF_TRAINER, /* twice as fast */
    CW_WHAT_IF_HALF,    /* the operator `op` at half its cost */
    CW_WHAT_IF_RELAXED, /* only types and shapes are kept */
    CW_WHAT_IF_CUT /* what stands behind `op` runs beside the trainer, with its order as it is */
};
struct cw_what_if {
    enum cw_what_if_kind kind;
    size_t op; /* a place of the written order */
    struct cw_optimize_plan plan;
    struct cw_optimize_epoch epoch;
    double beside_cpu_ns; /* CUT: CPU time of an epoch that moves to the trainer's host */
};
/* Plans each case by the same search; those without sense (no trainer's step is known) are left out.
 * relaxed: the problem with the relaxed constraints; NULL: not asked for. Returns how many. */
size_t cw_optimize_what_if(const struct cw_optimize_problem *problem,
                           const struct cw_optimize_problem *relaxed,
                           const struct cw_optimize_plan *plan, struct cw_what_if *ret_list);

#endif
