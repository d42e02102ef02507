/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the best plan of a job by what was measured of it: graphs and numbers in, a graph and its reasons
 * out. It touches nothing of the job, so it is run on a thread beside the loop. */
#ifndef CW_DISPATCHER_OPTIMIZE_PLAN_SEARCH_H
#define CW_DISPATCHER_OPTIMIZE_PLAN_SEARCH_H

#include "dispatcher/model/node_counters.h"
#include "dispatcher/optimize/operator_costs.h"
#include "base/buf.h"
#include "policies/cost_line.h"
#include "policies/optimizer.h"
#include "policies/replan.h"

/* What is in the cache already, behind a node of the written or of the present order. */
struct cw_plan_records {
    char *node;
    bool of_written;
    double records;
};
/* What is asked. The search owns all of it. */
struct cw_plan_question {
    const struct cw_optimizer *policy;
    char *order; /* a plan that is wanted, as JSON (rewrite/plan_file.h); NULL: the policy's */
    struct cw_buf *written, *present; /* pipelines, packed; present NULL: the written order */
    /* What each node of the written pipeline has cost under the present plan; NULL: `profile` says it. */
    struct cw_cost_measured *measured;
    size_t measured_n;
    struct cw_filter_shares filters; /* the same of sets of filters */
    bool apart;                      /* operators are called one by one */
    char *profile;                   /* of an earlier job of the pipeline, as JSON; NULL: none */
    /* Of operators of other pipelines, where nothing was measured of this one. */
    struct cw_operator_costs costs;
    char *cached;           /* the node behind which the job's elements are cached; NULL: none */
    bool cached_is_of_plan; /* in the present order; else in the written one */
    /* Whether the plan may say what is cached. Without it operators stay on their side of `cached`. */
    bool has_store;
    struct cw_optimize_store store;
    struct cw_plan_records records[CW_OPTIMIZE_CACHED_MAX];
    size_t records_n;
    double elements, epochs;
    double busy_ns;          /* of threads for an element, measured in all; 0: not known */
    double workers, threads; /* now; of a worker */
    double cores;            /* of a worker; 0: not known */
    double workers_max;      /* as many may be chosen; 0: their number stays */
    double step_ns;          /* the trainer's own time for a batch; 0: not known */
    double worker_price, trainer_price; /* an hour */
    double store_price;                 /* of a GB in the cache, an hour */
    bool least_money;                   /* the least money is looked for, and not the least time */
};
struct cw_plan_answer {
    int rc; /* or why nothing could be found, which err says */
    struct cw_err err;
    bool lacks_costs; /* not all operators are known from other pipelines */
    bool is_fixed;    /* no two nodes of the pipeline may change sides */
    bool is_other;    /* another order or cache than the present one is best */
    bool is_other_order;
    bool
        is_wanted; /* whatever it saves: a plan that is named, or that of another policy than auto */
    bool decides_cache;     /* `cached` holds */
    char *cached;           /* the node behind which elements are to be cached; NULL: none */
    unsigned workers;       /* that the plan needs; 0: not asked for */
    bool is_illegal;        /* the present order has nodes on the wrong side of the cached one */
    struct cw_buf *graph;   /* the other order, packed; NULL: the written one */
    uint64_t order;         /* a hash of it and of the cached node */
    double now_ns, then_ns; /* what an element of the source takes threads, over all epochs */
    double epoch_ns;        /* of a later epoch, with the workers that the plan needs */
    /* How long all epochs take with the present workers; or what they cost, if that is to be least. */
    double now_total, then_total;
    /* What each node of the chain costs by either order, in the written order; and which node of the job's pipeline it
     * is. */
    size_t n, nodes[CW_OPTIMIZE_NODES_MAX];
    struct cw_replan_node now[CW_OPTIMIZE_NODES_MAX], then[CW_OPTIMIZE_NODES_MAX];
    char *choice;     /* the other order, for people */
    char *candidates; /* plans that were not taken, a line each */
    char *inputs;     /* the problem, as JSON */
    char *profile;    /* what was measured, as a profile in JSON */
};
struct cw_plan_search {
    struct cw_plan_question question;
    struct cw_plan_answer answer;
};
/* In the words of a choice, what comes before the name of the cached node. */
#define CW_PLAN_CHOICE_CACHED "; cached: "
/* Sets the answer. */
void cw_plan_search_run(struct cw_plan_search *search);
/* Frees a search; NULL is accepted. */
void cw_plan_search_free(struct cw_plan_search *search);

#endif
