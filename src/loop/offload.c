/* SPDX-License-Identifier: Apache-2.0 */
/* Work for a thread beside the loop. */
#include "loop/offload.h"

#include "base/mem.h"
#include "base/thread.h"

struct cw_offload_queue {
    struct cw_loop *loop;
    const char *name;
    struct cw_thread thread;
    /* The mutex guards the fields below. */
    struct cw_mutex mutex;
    struct cw_cond cond;
    struct cw_offload *first, **end;
    bool stop;
};

struct call {
    struct cw_offload work;
    cw_loop_fn *fn;
    void *arg;
};

static struct cw_offload *take(struct cw_offload_queue *queue)
{
    cw_mutex_lock(&queue->mutex);
    while (!queue->first && !queue->stop)
        cw_cond_wait(&queue->cond, &queue->mutex);
    struct cw_offload *work = queue->first;
    if (work) {
        queue->first = work->next;
        if (!queue->first)
            queue->end = &queue->first;
    }
    cw_mutex_unlock(&queue->mutex);
    return work;
}

static void work_on(void *arg)
{
    struct cw_offload_queue *queue = arg;
    for (struct cw_offload *work; (work = take(queue)) != NULL;) {
        /* Without `done` the work does not outlive run. */
        cw_loop_fn *done = work->done;
        work->run(work->arg);
        if (done) {
            work->node.fn = done;
            work->node.arg = work->arg;
            cw_loop_post_node(queue->loop, &work->node);
        }
    }
}

struct cw_offload_queue *cw_offload_queue_new(struct cw_loop *loop, const char *name)
{
    struct cw_offload_queue *queue = CW_NEW(struct cw_offload_queue);
    queue->loop = loop;
    queue->name = name;
    queue->end = &queue->first;
    cw_mutex_init(&queue->mutex);
    cw_cond_init(&queue->cond);
    return queue;
}

void cw_offload_add(struct cw_offload_queue *queue, struct cw_offload *work)
{
    work->next = NULL;
    cw_mutex_lock(&queue->mutex);
    *queue->end = work;
    queue->end = &work->next;
    cw_cond_signal(&queue->cond);
    cw_mutex_unlock(&queue->mutex);
    if (!queue->thread.started)
        cw_thread_start(&queue->thread, queue->name, work_on, queue);
}

static void run_call(void *arg)
{
    struct call *call = arg;
    call->fn(call->arg);
    cw_mem_free(call);
}

void cw_offload_call(struct cw_offload_queue *queue, cw_loop_fn *fn, void *arg)
{
    struct call *call = CW_NEW(struct call);
    *call = (struct call){.work = {.run = run_call, .arg = call}, .fn = fn, .arg = arg};
    cw_offload_add(queue, &call->work);
}

void cw_offload_queue_free(struct cw_offload_queue *queue)
{
    if (!queue)
        return;
    cw_mutex_lock(&queue->mutex);
    queue->stop = true;
    cw_cond_signal(&queue->cond);
    cw_mutex_unlock(&queue->mutex);
    cw_thread_join(&queue->thread);
    cw_cond_fini(&queue->cond);
    cw_mutex_fini(&queue->mutex);
    cw_mem_free(queue);
}
