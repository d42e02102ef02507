/* SPDX-License-Identifier: Apache-2.0 */
/* cedar's optimizer as it was published (Zhao et al., "cedar: Optimized and Unified Machine Learning
 * Input Data Pipelines", PVLDB 18(2), 2024, and its source of October 2024): the cost model, and the
 * passes in their order with their constants. It plans a chain of operators by the statistics that
 * cedar's own profiler writes; docs/optimizing.md has the formulas. Pure functions. */
#ifndef CW_POLICIES_CEDAR_H
#define CW_POLICIES_CEDAR_H

#include <stdbool.h>
#include "base/err.h"

#define CW_CEDAR_OPS_MAX 62
#define CW_CEDAR_ORDERS_MAX 1000000 /* so many orders are looked at one by one */

enum cw_cedar_backend { CW_CEDAR_RAY, CW_CEDAR_SMP, CW_CEDAR_BACKENDS };

/* One operator of the chain, which goes from the source to the output. */
struct cw_cedar_op {
    int64_t id; /* cedar numbers operators from the output (0) back to the source */
    bool is_source, is_fixed, is_random, is_fusable, is_offloadable, is_fusable_source;
    uint64_t depends_on; /* bit i: the operator at place i of the chain */
    double latency;      /* of the profile; the unit does not matter */
    double in_bytes, out_bytes;
    /* Elements a second of the whole chain with this operator alone on the backend; 0: not measured. */
    double moved_throughput[CW_CEDAR_BACKENDS];
};
struct cw_cedar_chain {
    struct cw_cedar_op ops[CW_CEDAR_OPS_MAX];
    size_t n;
    double throughput;                   /* elements a second as written, on one core */
    bool has_backend[CW_CEDAR_BACKENDS]; /* whether anything was measured on it */
    double read_latency;                 /* of a cache, seconds a byte; 0: not measured */
};
struct cw_cedar_options {
    unsigned cpus;     /* at the trainer's host; at least 1 */
    double samples;    /* elements of an epoch; 0: not known, nothing is cached */
    double free_bytes; /* room for a cache; INFINITY: no limit */
    bool no_offload, no_reorder, no_fusion, no_parallelism, with_caching;
};

/* Operators next to each other in the order that run together on a backend. */
struct cw_cedar_offload {
    size_t first, n;       /* places in the order */
    unsigned scale;        /* actors or processes */
    unsigned submit_batch; /* elements that travel together; 0: the backend has no such number */
};
struct cw_cedar_plan {
    double orders;                  /* how many orders the constraints allow */
    bool is_complete;               /* all of them were looked at in cedar's enumeration */
    bool is_least;                  /* no order is cheaper */
    size_t order[CW_CEDAR_OPS_MAX]; /* places of the chain, from the source to the output */
    size_t n;
    double base_ms;   /* an element in the written order, on one core */
    double order_ms;  /* in the best order */
    double cached_ms; /* with the cache, if there is one; else order_ms */
    double plan_ms;   /* with everything */
    bool has_cache;
    size_t cache_after;            /* a place in the order */
    unsigned workers;              /* copies of the pipeline */
    enum cw_cedar_backend backend; /* of the offloads; CW_CEDAR_BACKENDS: none was chosen */
    struct cw_cedar_offload offloads[CW_CEDAR_OPS_MAX];
    size_t offloads_n;
    bool is_source_fused; /* all operators became one with the source */
};

/* Refuses a chain that cedar would refuse: the message names the operator by its id. */
int cw_cedar_check(const struct cw_cedar_chain *chain, struct cw_err *err);
/* Plans a chain that was checked. */
void cw_cedar_plan(const struct cw_cedar_chain *chain, const struct cw_cedar_options *options,
                   struct cw_cedar_plan *ret_plan);

#endif
