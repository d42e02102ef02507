/* SPDX-License-Identifier: Apache-2.0 */
/* dispatcher/state/state_writer.c with SIM_PLANTED_DELETES: of a transaction that failed only what
 * it would have written is tried again, not what it would have deleted. */
#include "dispatcher/state/state_int.h"
#include "planted.h"

static bool deletes(const struct cw_state_op *op)
{
    return op->which == CW_STATE_DROP_PROGRESS || op->which == CW_STATE_CLEAR_PROGRESS ||
           op->which == CW_STATE_REMOVE_JOB || op->which == CW_STATE_REMOVE_WORKER;
}

static struct cw_state_queue *without_deletes(struct cw_state_queue *batch)
{
    for (struct cw_state_op *op = batch->first, *next; sim_planted() == SIM_PLANTED_DELETES && op;
         op = next) {
        next = op->next;
        if (!deletes(op))
            continue;
        *(op->prev ? &op->prev->next : &batch->first) = op->next;
        *(op->next ? &op->next->prev : &batch->last) = op->prev;
        batch->n--;
        if (op->key && cw_strmap_get(&batch->by_key, op->key) == op)
            (void)cw_strmap_remove(&batch->by_key, op->key);
        cw_state_op_free(op);
    }
    return batch;
}

#define cw_state_queue_prepend(queue, batch) cw_state_queue_prepend(queue, without_deletes(batch))
#include "dispatcher/state/state_writer.c"
