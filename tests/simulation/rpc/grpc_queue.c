/* SPDX-License-Identifier: Apache-2.0 */
/* Completion queues: one fibre waits in grpc_completion_queue_next, as gRPC's pump does. Nothing
 * here lets other fibres run but that one's waiting, so that what the network does with the calls
 * of an actor is one step. */
#include "simulation/rpc/grpc_int.h"

struct event {
    struct event *next;
    void *tag;
    bool ok;
};
struct grpc_completion_queue {
    struct event *head, **tail;
    size_t coming;
    bool shutdown;
    struct sim_fibre *waiting;
};

grpc_completion_queue *grpc_completion_queue_create_for_next(void *reserved)
{
    (void)reserved;
    grpc_completion_queue *queue = CW_NEW(grpc_completion_queue);
    queue->tail = &queue->head;
    return queue;
}

static void wake(grpc_completion_queue *queue)
{
    if (queue->waiting)
        sim_wake(queue->waiting);
    queue->waiting = NULL;
}

void queue_begin(grpc_completion_queue *queue)
{
    CW_ASSERT(!queue->shutdown);
    queue->coming++;
}

void queue_push(grpc_completion_queue *queue, void *tag, bool ok)
{
    struct event *event = CW_NEW(struct event);
    event->tag = tag;
    event->ok = ok;
    *queue->tail = event;
    queue->tail = &event->next;
    queue->coming--;
    wake(queue);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue *queue, gpr_timespec deadline,
                                      void *reserved)
{
    (void)reserved;
    CW_ASSERT(deadline.tv_sec == INT64_MAX);
    while (!queue->head && !(queue->shutdown && queue->coming == 0)) {
        queue->waiting = sim_fibre_self();
        sim_block(SIM_NEVER);
    }
    struct event *event = queue->head;
    if (!event)
        return (grpc_event){.type = GRPC_QUEUE_SHUTDOWN};
    queue->head = event->next;
    if (!queue->head)
        queue->tail = &queue->head;
    grpc_event result = {.type = GRPC_OP_COMPLETE, .success = event->ok, .tag = event->tag};
    cw_mem_free(event);
    return result;
}

void grpc_completion_queue_shutdown(grpc_completion_queue *queue)
{
    queue->shutdown = true;
    wake(queue);
}

void grpc_completion_queue_destroy(grpc_completion_queue *queue)
{
    CW_ASSERT(queue->shutdown && !queue->head);
    cw_mem_free(queue);
}

void batch_done(struct batch **p, bool ok)
{
    struct batch *batch = *p;
    *p = NULL;
    if (!batch)
        return;
    batch->ok &= ok;
    if (--batch->left > 0)
        return;
    queue_push(batch->queue, batch->tag, batch->ok);
    cw_mem_free(batch);
}
