/* SPDX-License-Identifier: Apache-2.0 */
/* When the plan of a running job is made anew, and whether another plan is worth a change. The plan
 * itself is found elsewhere (optimizer.h), and when a plan is refuted and gives way is cw_standing_cost (standing.h). Pure functions:
 * time and measurements are arguments. */
#ifndef CW_POLICIES_REPLAN_H
#define CW_POLICIES_REPLAN_H

#include <stdint.h>

#include "policies/optimize.h"

#define CW_REPLAN_FIRST_S 2 /* the first look comes so long after the first measurement, */
#define CW_REPLAN_FIRST_ELEMENTS 1000 /* or after so many elements of the source */
#define CW_REPLAN_PAUSE_S 10          /* between two looks, at least */
#define CW_REPLAN_BARRED_WINDOWS 30   /* what brought nothing is left alone for so long, */
#define CW_REPLAN_BARRED_AGAIN 60     /* and from the second time on */
#define CW_REPLAN_BARRED_MAX 8

/* A node of the chain: what one call of it costs a thread, the share of its elements that passes, and the
 * bytes of the fields that it writes (0: not known). */
struct cw_replan_node {
    double call_ns, keep, bytes;
};
/* What a plan goes by besides the costs of operators. */
struct cw_replan_means {
    double workers;
    double worker_price;
    double room;    /* bytes of the cache that elements may take; < 0: no limit, or no cache */
    double step_ns; /* the trainer's own time for a batch; 0: not known */
};
/* What was measured since the job uses its present plan. */
struct cw_replan_view {
    double now_s, window_s; /* the time, and how long a window is */
    double elements;        /* of the source */
    double element_ns;      /* time of threads that one of them took, all in all */
    bool is_enough;         /* each node that does work was timed */
    bool has_cache_moved;   /* what is cached has changed, so the plan must go by it at once */
    struct cw_replan_means means;
    uint64_t epoch;
    size_t n;
    struct cw_replan_node nodes[CW_OPTIMIZE_NODES_MAX]; /* in the written order */
};
enum cw_replan_why {
    CW_REPLAN_NOT,     /* nothing is to be looked at */
    CW_REPLAN_FIRST,   /* the job has no plan of its own measurements yet */
    CW_REPLAN_EPOCH,   /* an epoch is over */
    CW_REPLAN_REFUTED, /* costs are not those that the plan was made of, or it brought nothing */
    CW_REPLAN_CACHE,   /* what is cached has changed */
    CW_REPLAN_NAMED,   /* not by a look: the job's options name a plan */
    CW_REPLAN_MEANS,   /* workers, room in the cache or prices are others */
};
struct cw_replan {
    bool has_begun, has_looked;
    double began_s, looked_s,
        window_s; /* the first measurement, the last look, the present window */
    uint64_t epoch;
    unsigned windows_n, odd_n;
    bool is_refuted;
    /* What the plan was made of. */
    size_t n;
    struct cw_replan_node basis[CW_OPTIMIZE_NODES_MAX];
    struct cw_replan_means means; /* at the last look */
    /* The last change, until it is judged. */
    uint64_t order;
    double before_ns; /* 0: there is nothing to judge */
    unsigned judged_at;
    struct cw_replan_barred {
        uint64_t order;
        unsigned until, times;
    } barred[CW_REPLAN_BARRED_MAX];
    size_t barred_n;
};

/* Says whether a plan is to be made now, and why. To be called now and then, several times a window. */
enum cw_replan_why cw_replan_look(struct cw_replan *state, const struct cw_replan_view *view);
/* Whether a plan that takes then_ns is worth leaving the present one, which takes now_ns. `order` stands
 * for the order of the other one (a hash of it). */
bool cw_replan_takes(const struct cw_replan *state, uint64_t order, double now_ns, double then_ns);
/* A look was taken, and the plan stays: basis is what it is made of now. Bytes are taken from what is
 * measured next. */
void cw_replan_stays(struct cw_replan *state, const struct cw_replan_node *basis, size_t n);
/* The job has gone over to another plan, which is made of `basis`. before_ns: what an element took before;
 * 0: it was not measured. */
void cw_replan_changed(struct cw_replan *state, const struct cw_replan_view *view, uint64_t order,
                       double before_ns, const struct cw_replan_node *basis, size_t n);
/* The plan cannot be had, so it is left alone for a while. */
void cw_replan_bar(struct cw_replan *state, uint64_t order);

#endif
