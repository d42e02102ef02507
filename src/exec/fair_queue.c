/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the plan that threads serve next, by start-time fair queueing. The pool's lock is
 * held. */
#include "exec/fair_queue.h"

#include "exec/task.h"

/* The time for which a plan is served before another one may be chosen. Changing plans costs
 * processor cache misses; trainers do not notice the delay. */
#define SERVE_NS 1e6
/* The most credit that an idle plan can have; it allows its next item to come a little late. */
#define CREDIT_NS 1e8

static double weight_of(const struct cw_fair_flow *flow)
{
    return flow->weight > 0 ? flow->weight : 1;
}

void cw_fair_flow_spend(struct cw_fair_flow *flow, double ns)
{
    flow->spent += ns / weight_of(flow);
}

static void begin(struct cw_fair_queue *queue, struct cw_fair_flow *flow)
{
    double least = queue->clock - CREDIT_NS / weight_of(flow);
    if (flow->spent < least)
        flow->spent = least;
    flow->prev = NULL;
    flow->next = queue->first;
    if (flow->next)
        flow->next->prev = flow;
    queue->first = flow;
}

static void end(struct cw_fair_queue *queue, struct cw_fair_flow *flow)
{
    if (flow->prev)
        flow->prev->next = flow->next;
    else
        queue->first = flow->next;
    if (flow->next)
        flow->next->prev = flow->prev;
    flow->next = flow->prev = NULL;
    if (queue->current == flow)
        queue->current = NULL;
}

void cw_fair_queue_add(struct cw_fair_queue *queue, struct cw_fair_flow *flow,
                       struct cw_exec_task *task)
{
    if (!flow->first)
        begin(queue, flow);
    task->next = NULL;
    task->prev = flow->last;
    if (flow->last)
        flow->last->next = task;
    else
        flow->first = task;
    flow->last = task;
}

void cw_fair_queue_remove(struct cw_fair_queue *queue, struct cw_fair_flow *flow,
                          struct cw_exec_task *task)
{
    if (task->prev)
        task->prev->next = task->next;
    else
        flow->first = task->next;
    if (task->next)
        task->next->prev = task->prev;
    else
        flow->last = task->prev;
    task->next = task->prev = NULL;
    if (!flow->first)
        end(queue, flow);
}

static struct cw_exec_task *takeable(const struct cw_fair_flow *flow)
{
    struct cw_exec_task *task = flow->first;
    while (task && task->state == CW_TASK_BEGINNING)
        task = task->next;
    return task;
}

struct cw_exec_task *cw_fair_queue_next(struct cw_fair_queue *queue)
{
    struct cw_fair_flow *best =
        queue->current && queue->current->spent < queue->until ? queue->current : NULL;
    struct cw_exec_task *task = best ? takeable(best) : NULL;
    if (task)
        return task;
    for (struct cw_fair_flow *flow = queue->first; flow; flow = flow->next) {
        struct cw_exec_task *first = !task || flow->spent < best->spent ? takeable(flow) : NULL;
        if (!first)
            continue;
        best = flow;
        task = first;
    }
    if (task) {
        queue->current = best;
        queue->until = best->spent + SERVE_NS / weight_of(best);
        queue->clock = best->spent > queue->clock ? best->spent : queue->clock;
    }
    return task;
}
