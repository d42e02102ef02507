/* SPDX-License-Identifier: Apache-2.0 */
/* Submits items to exec: as many of each job as keep the threads busy, since exec divides the
 * threads' time among jobs (src/exec/fair_queue.h). A job whose client does not read fills its
 * share of the budget (model/budget.h) and then stops. A job with nothing in progress always gets
 * one item, and so does a job whose next item comes before everything that it has queued, since its
 * client may wait for just that item. */
#include "worker/compute/tasks.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "trace/trace.h"
#include "worker/cache/cache_job.h"
#include "worker/compute/batch_alloc.h"
#include "worker/compute/memory_short.h"
#include "worker/compute/outputs.h"
#include "worker/compute/read_ahead.h"
#include "worker/compute/thread_use_count.h"
#include "worker/message/report_timer.h"
#include "worker/message/to_dispatcher.h"
#include "worker/model/budget.h"

#define IN_HAND_BYTES ((size_t)2 << 10)

/* Called by an exec thread or, for a batch that was kept, by the loop thread. */
static void on_item_done(struct cw_exec_item *exec, struct cw_batch *batch,
                         const struct cw_err *err)
{
    struct cw_wtask *task = exec->arg;
    struct cw_worker_state *w = task->job->worker;
    /* Large batches are sent by the thread that has made them, if it can; small ones that gather
     * share messages. */
    bool in_slot = batch && batch->buf && batch->buf->tag != 0;
    task->batch = batch;
    if (!batch)
        task->error = cw_mem_dup(err, sizeof(*err));
    struct cw_wtask *head = atomic_load_explicit(&w->done, memory_order_relaxed);
    do
        task->done_next = head;
    while (!atomic_compare_exchange_weak_explicit(&w->done, &head, task, memory_order_acq_rel,
                                                  memory_order_relaxed));
    if (head) /* else the loop thread has emptied the list, so the node can be posted again */
        return;
    if (in_slot)
        cw_loop_run_node(w->loop, &w->done_node);
    else
        cw_loop_post_node(w->loop, &w->done_node);
}

static void task_link(struct cw_wjob *job, struct cw_wtask *task)
{
    task->next = job->tasks;
    if (task->next)
        task->next->prev = task;
    job->tasks = task;
    job->tasks_n++;
    job->worker->tasks_n++;
}

static void task_unlink(struct cw_wjob *job, struct cw_wtask *task)
{
    if (task->prev)
        task->prev->next = task->next;
    else
        job->tasks = task->next;
    if (task->next)
        task->next->prev = task->prev;
    job->tasks_n--;
    job->worker->tasks_n--;
}

/* Starts a task. Its result comes from exec, from another job's task, or from the kept batches, and
 * always through the list of finished tasks. */
static void start(struct cw_wjob *job, struct cw_wtask *task)
{
    struct cw_worker_state *w = job->worker;
    switch (cw_dedup_ask(&w->dedup, job->function, &job->member, task)) {
    case CW_DEDUP_WAIT:
        job->waiting_n++;
        break;
    case CW_DEDUP_KEPT:
        task->shared = true;
        on_item_done(&task->exec, cw_steal(&task->batch), NULL);
        break;
    case CW_DEDUP_COMPUTE:
    default:
        task->exec.plan = job->plan; /* exec takes references of its own */
        cw_wcache_job_begun(job, task);
        cw_exec_submit(w->exec, &task->exec);
    }
}

/* Returns the memory of one more item until it is an output: its task here and in exec, and the
 * head of its batch. */
static size_t in_hand_bytes(const struct cw_wjob *job)
{
    return job->item_bytes + IN_HAND_BYTES;
}

static void submit(struct cw_wjob *job, uint64_t epoch, uint64_t item)
{
    struct cw_worker_state *w = job->worker;
    struct cw_wtask *task = CW_NEW(struct cw_wtask);
    task->job = job;
    cw_wlease_take_item(job, epoch, item, task);
    task->ahead = cw_wahead_take(job, epoch, item);
    task->began_ms = cw_clock_ms();
    task->traced_ns = cw_trace_has(task->exec.item) ? cw_clock_ns() : 0;
    task->bytes = in_hand_bytes(job);
    job->bytes += task->bytes;
    w->memory.bytes += task->bytes;
    task_link(job, task);
    task->exec.bad = job->skip_bad ? CW_BAD_SKIP : CW_BAD_FAIL;
    task->exec.alloc = cw_wtask_batch_alloc;
    task->exec.alloc_arg = w;
    task->exec.done = on_item_done;
    task->exec.arg = task;
    task->exec.whose = job->id;
    start(job, task);
}

/* Whether the item comes before everything that its job computes or has queued. */
static bool is_lowest(const struct cw_wjob *job, uint64_t epoch, uint64_t item)
{
    for (const struct cw_wtask *t = job->tasks; t; t = t->next)
        if (!t->revoked && cw_item_before(t->exec.epoch, t->exec.item, epoch, item))
            return false;
    for (uint32_t i = 0; i < job->consumers; i++) {
        const struct cw_output *first = cw_outq_first(&job->queues[i]);
        if (first && cw_item_before(first->epoch, first->item, epoch, item))
            return false;
    }
    return true;
}

enum may {
    MAY_NOT,
    MAY,
    /* may begin once other jobs, which exceed their shares, have handed outputs back */
    MAY_WITH_ROOM
};

/* Whether an item of the job may begin, and which that is. */
static enum may may_submit(struct cw_wjob *job, size_t used, uint64_t *ret_epoch,
                           uint64_t *ret_item)
{
    const struct cw_worker_state *w = job->worker;
    if (job->state != CW_WJOB_READY || job->leases_n == 0 || !cw_wcache_job_may_begin(job) ||
        !cw_wahead_next(job, ret_epoch, ret_item))
        return MAY_NOT;
    if (job->bytes == 0)
        return MAY;
    bool within = job->bytes + in_hand_bytes(job) <= cw_budget_of(job);
    if (within && used + in_hand_bytes(job) <= cw_budget(w))
        return MAY;
    if (is_lowest(job, *ret_epoch, *ret_item))
        return MAY;
    return within ? MAY_WITH_ROOM : MAY_NOT;
}

/* Submits the items that may begin. Returns how many bytes must be freed for the next item of a job
 * that has less than its share. */
static size_t submit_all(struct cw_worker_state *w, size_t streams)
{
    size_t refused = 0, room = 0;
    uint64_t epoch = 0, item = 0;
    while (refused < w->jobs.n && !w->memory.waits) {
        struct cw_wjob *job = w->jobs.list[w->jobs.next++ % w->jobs.n];
        enum may may = cw_wjob_has_enough(job)
                           ? MAY_NOT
                           : may_submit(job, w->memory.bytes + streams, &epoch, &item);
        if (may == MAY) {
            submit(job, epoch, item);
            refused = 0;
            continue;
        }
        refused++;
        if (may == MAY_WITH_ROOM)
            room = CW_MAX(room, in_hand_bytes(job));
    }
    size_t wanted = w->memory.bytes + streams + room;
    return room > 0 && wanted > cw_budget(w) ? wanted - cw_budget(w) : 0;
}

void cw_tasks_pump(struct cw_worker_state *w)
{
    size_t streams = cw_budget_stream_bytes(w) + cw_wahead_bytes(), room;
    /* Batches that are kept for other jobs may use what is left of the budget. */
    cw_dedup_trim(&w->dedup, cw_budget(w) - CW_MIN(w->memory.bytes + streams, cw_budget(w)));
    cw_wahead_fill(w);
    do
        room = submit_all(w, streams);
    while (room > 0 && cw_outputs_make_room(w, room));
    cw_wahead_fill(w);
    cw_wthread_use_look(w);
}

static void keep_output(struct cw_wjob *job, struct cw_wtask *task)
{
    /* it is unchanged if another job's task has made the batch */
    task->batch->epoch = task->exec.epoch;
    task->batch->item = task->exec.item;
    struct cw_output *output = cw_output_new(cw_steal(&task->batch), task->lease);
    output->client_id = task->client_id;
    job->item_bytes = CW_MAX(job->item_bytes, output->held);
    job->bytes += output->held;
    job->worker->memory.bytes += output->held;
    job->queued_n++;
    cw_memory_made(job->worker, output->held);
    uint32_t lo = job->to_all ? 0 : task->consumer,
             hi = job->to_all ? job->consumers : task->consumer + 1;
    output->copies = hi - lo;
    for (uint32_t i = lo; i < hi; i++)
        cw_outq_push(&job->queues[i], output);
}

static void finish_task(struct cw_worker_state *w, struct cw_wtask *task);

/* Finishes a task that waited for another job's task. If that one failed, or its job was forgotten,
 * this task computes the item itself. */
static void finish_waiter(struct cw_worker_state *w, struct cw_wtask *task, struct cw_batch *batch)
{
    task->job->waiting_n--;
    if (!batch && !task->revoked && !w->closing) {
        start(task->job, task);
        return;
    }
    task->shared = batch != NULL;
    if (batch)
        task->batch = cw_batch_ref(batch);
    finish_task(w, task);
}

/* Whether a task that found no memory is begun again, because other items have the memory. */
static bool is_begun_again(struct cw_wjob *job, struct cw_wtask *task)
{
    return task->error->code == CW_E_NOMEM && !job->worker->closing && cw_memory_retry(job, task);
}

/* Tells of a traced item that it was computed here, or why not. */
static void trace_task(const struct cw_worker_state *w, const struct cw_wtask *task)
{
    cw_trace_add(&(struct cw_trace_span){
        .job = task->job->id,
        .epoch = task->exec.epoch,
        .item = task->exec.item,
        .name = task->shared ? "share" : "compute",
        .begin_ns = task->traced_ns,
        .end_ns = cw_clock_ns(),
        .error = task->batch   ? NULL
                 : task->error ? task->error->msg
                               : "it was not wanted any more",
        .key = "cachew.worker",
        .text = w->address,
        .number_key = {"cachew.cpu_ns", task->batch ? "cachew.bytes" : NULL},
        .number = {(uint64_t)task->exec.cpu_ns, task->batch ? cw_batch_held(task->batch) : 0}});
}

static void finish_task(struct cw_worker_state *w, struct cw_wtask *task)
{
    struct cw_wjob *job = task->job;
    if (task->traced_ns != 0)
        trace_task(w, task);
    struct cw_wtask *waiters = cw_dedup_made(&w->dedup, task), *next;
    for (; waiters; waiters = next) {
        next = waiters->wait_next;
        finish_waiter(w, waiters, task->batch);
    }
    task_unlink(job, task);
    cw_wcache_job_done(job, task);
    w->report.computed = true;
    job->bytes -= task->bytes;
    w->memory.bytes -= task->bytes;
    cw_memory_freed(w);
    /* For an item that waits (for storage, or in the operator sleep) the CPU time would be too
     * small. */
    int64_t item_ns = CW_MAX(task->exec.cpu_ns, task->exec.wall_ns);
    if (item_ns > 0)
        job->item_ns = job->item_ns ? (7 * job->item_ns + item_ns) / 8 : item_ns;
    if (!task->revoked && task->batch) {
        struct cw_wepoch *epoch = cw_wjob_epoch(job, task->exec.epoch);
        cw_report_done(w, epoch, task);
        if (job->show_n > 0)
            cw_report_elements(w, job, task->batch);
        keep_output(job, task);
    } else if (!task->revoked && task->error && task->error->code != CW_E_CANCELLED &&
               !is_begun_again(job, task)) {
        cw_report_failed(w, job, task->lease, task->exec.epoch, task->exec.item, task->error);
        cw_wjob_release_item(job, task->exec.epoch, task->exec.item);
    }
    cw_ahead_free(task->ahead);
    cw_batch_unref(task->batch);
    cw_mem_free(task->error);
    cw_mem_free(task);
    if (job->forgotten && job->tasks_n == 0)
        job->release(job);
}

void cw_tasks_collect(struct cw_worker_state *w)
{
    cw_fault_point("worker.collect");
    struct cw_wtask *list = atomic_exchange_explicit(&w->done, NULL, memory_order_acq_rel),
                    *oldest = NULL;
    while (list) {
        struct cw_wtask *next = list->done_next;
        list->done_next = oldest;
        oldest = list;
        list = next;
    }
    while (oldest) {
        struct cw_wtask *next = oldest->done_next;
        finish_task(w, oldest);
        oldest = next;
    }
}

/* Cancels a task whose job does not want the result any more. Its computation ends, unless another
 * job waits for it. Returns whether it ends. */
static bool cancel(struct cw_wtask *task)
{
    task->revoked = true;
    if (cw_dedup_is_awaited(task))
        return false;
    cw_exec_cancel(task->job->worker->exec, &task->exec);
    return true;
}

bool cw_tasks_cancel_all(struct cw_wjob *job)
{
    bool all = true;
    for (struct cw_wtask *t = job->tasks; t; t = t->next)
        all &= cancel(t);
    return all;
}

void cw_tasks_replan(struct cw_wjob *job)
{
    for (struct cw_wtask *t = job->tasks; t; t = t->next)
        cw_exec_replan(job->worker->exec, &t->exec, job->plan);
}

void cw_tasks_revoke(struct cw_wjob *job, uint64_t epoch, const struct cw_set *items)
{
    for (struct cw_wtask *t = job->tasks; t; t = t->next)
        if (!t->revoked && t->exec.epoch == epoch && cw_set_has(items, t->exec.item)) {
            (void)cancel(t);
            cw_wjob_release_item(job, epoch, t->exec.item);
        }
}
