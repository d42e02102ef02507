/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the plan that threads serve next, by start-time fair queueing. The pool's lock is
 * held. */
#include "exec/fair_queue.h"

#include "exec/task.h"

/* The time for which a plan is served before another one may be chosen. Changing plans costs
 * processor cache misses; trainers do not notice the delay. */
#define TURN_NS 1e6
/* The most credit that an idle plan can have; it allows its next item to come a little late. */
#define CREDIT_NS 1e8

static double weight_of(const struct cw_fair_flow *turn)
{
    return turn->weight > 0 ? turn->weight : 1;
}

void cw_fair_flow_spend(struct cw_fair_flow *turn, double ns)
{
    turn->spent += ns / weight_of(turn);
}

static void begin(struct cw_fair_queue *turns, struct cw_fair_flow *turn)
{
    double least = turns->clock - CREDIT_NS / weight_of(turn);
    if (turn->spent < least)
        turn->spent = least;
    turn->prev = NULL;
    turn->next = turns->first;
    if (turn->next)
        turn->next->prev = turn;
    turns->first = turn;
}

static void end(struct cw_fair_queue *turns, struct cw_fair_flow *turn)
{
    if (turn->prev)
        turn->prev->next = turn->next;
    else
        turns->first = turn->next;
    if (turn->next)
        turn->next->prev = turn->prev;
    turn->next = turn->prev = NULL;
    if (turns->current == turn)
        turns->current = NULL;
}

void cw_fair_queue_add(struct cw_fair_queue *turns, struct cw_fair_flow *turn,
                       struct cw_exec_task *task)
{
    if (!turn->first)
        begin(turns, turn);
    task->next = NULL;
    task->prev = turn->last;
    if (turn->last)
        turn->last->next = task;
    else
        turn->first = task;
    turn->last = task;
}

void cw_fair_queue_remove(struct cw_fair_queue *turns, struct cw_fair_flow *turn,
                          struct cw_exec_task *task)
{
    if (task->prev)
        task->prev->next = task->next;
    else
        turn->first = task->next;
    if (task->next)
        task->next->prev = task->prev;
    else
        turn->last = task->prev;
    task->next = task->prev = NULL;
    if (!turn->first)
        end(turns, turn);
}

static struct cw_exec_task *takeable(const struct cw_fair_flow *turn)
{
    struct cw_exec_task *task = turn->first;
    while (task && task->state == CW_TASK_BEGINNING)
        task = task->next;
    return task;
}

struct cw_exec_task *cw_fair_queue_next(struct cw_fair_queue *turns)
{
    struct cw_fair_flow *best =
        turns->current && turns->current->spent < turns->until ? turns->current : NULL;
    struct cw_exec_task *task = best ? takeable(best) : NULL;
    if (task)
        return task;
    for (struct cw_fair_flow *turn = turns->first; turn; turn = turn->next) {
        struct cw_exec_task *first = !task || turn->spent < best->spent ? takeable(turn) : NULL;
        if (!first)
            continue;
        best = turn;
        task = first;
    }
    if (task) {
        turns->current = best;
        turns->until = best->spent + TURN_NS / weight_of(best);
        turns->clock = best->spent > turns->clock ? best->spent : turns->clock;
    }
    return task;
}
