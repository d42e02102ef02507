/* SPDX-License-Identifier: Apache-2.0 */
/* Whose item a thread goes on with. Each plan has a queue of its items, in the order submitted;
 * threads go to the plan that was given the least time for its weight (start-time fair queueing:
 * Goyal, Vin and Cheng, 1996), so items that are many, large or slow hold up no other plan's,
 * but for one run of rows a thread. Who had nothing to do saves up very little. All of it under
 * the pool's lock. */
#ifndef CW_EXEC_FAIR_QUEUE_H
#define CW_EXEC_FAIR_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct cw_exec_task;
struct cw_fair_flow {                  /* of a plan; zeroed = weight 1, nothing queued */
    struct cw_fair_flow *next, *prev;  /* of the pool: plans with something queued */
    struct cw_exec_task *first, *last; /* begun items with rows left, then those not begun */
    double weight;                     /* 0 = 1 */
    double spent;                      /* thread time, for its weight */
};
struct cw_fair_queue { /* of a pool */
    struct cw_fair_flow *first;
    struct cw_fair_flow *current; /* goes on until it has spent `until` */
    double until;
    double clock; /* what whoever was chosen last had spent then */
};

void cw_fair_queue_add(struct cw_fair_queue *turns, struct cw_fair_flow *turn,
                       struct cw_exec_task *task);
void cw_fair_queue_remove(struct cw_fair_queue *turns, struct cw_fair_flow *turn,
                          struct cw_exec_task *task);
/* The item to go on with: not one that another thread is beginning. NULL = there is none. */
struct cw_exec_task *cw_fair_queue_next(struct cw_fair_queue *turns);
/* Of the time that threads took for it. */
void cw_fair_flow_spend(struct cw_fair_flow *turn, double ns);

#endif
