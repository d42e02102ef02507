/* SPDX-License-Identifier: Apache-2.0 */
/* Weighted fair queueing of plans. Each plan has a queue of its items, in the order submitted,
 * and threads serve the plan that has had the least time for its weight (start-time fair
 * queueing: Goyal, Vin and Cheng, 1996). So a plan with many, large or slow items delays the
 * others by at most one run of rows per thread. A plan that was idle accumulates very little
 * credit. The pool's lock guards everything here. */
#ifndef CW_EXEC_FAIR_QUEUE_H
#define CW_EXEC_FAIR_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct cw_exec_task;
/* The queue of one plan. Zeroed: its weight is 1, and nothing is queued. */
struct cw_fair_flow {
    /* neighbours in the list of the plans that have something queued */
    struct cw_fair_flow *next, *prev;
    /* items that have rows left: first those that were begun, then the others */
    struct cw_exec_task *first, *last;
    double weight; /* 0 means 1 */
    double spent;  /* thread time divided by weight, in ns */
};
/* the queues of one pool */
struct cw_fair_queue {
    struct cw_fair_flow *first;
    struct cw_fair_flow *current; /* the plan that is served until its `spent` reaches `until` */
    double until;
    double clock; /* virtual time: `spent` of the plan that was chosen last */
};

void cw_fair_queue_add(struct cw_fair_queue *queue, struct cw_fair_flow *flow,
                       struct cw_exec_task *task);
void cw_fair_queue_remove(struct cw_fair_queue *queue, struct cw_fair_flow *flow,
                          struct cw_exec_task *task);
/* Returns the item to work on, never one that another thread is beginning; NULL if there is
 * none. */
struct cw_exec_task *cw_fair_queue_next(struct cw_fair_queue *queue);
/* Charges thread time to the plan. */
void cw_fair_flow_spend(struct cw_fair_flow *flow, double ns);

#endif
