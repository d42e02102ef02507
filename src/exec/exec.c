/* SPDX-License-Identifier: Apache-2.0 */
/* The pool. One lock guards the queue; it is taken twice for a run of elements, which lasts about
 * 0.1 ms. */
#include "exec/exec.h"

#include "base/clock.h"
#include "base/mem.h"
#include "exec/task.h"
#include <stdatomic.h>

#define RUN_NS 100000
/* What a thread keeps between elements: some decoded photographs. */
#define ARENA_KEEP_BYTES ((size_t)8 << 20)

struct cw_exec {
    struct cw_mutex mutex;
    struct cw_cond cond;
    struct cw_exec_task *first,
        *last;     /* lock: the queue: begun items with rows left, then those not begun */
    bool stopping; /* lock */
    size_t threads_n;
    struct cw_thread *threads;
};

/* What a thread found to do. */
struct job {
    struct cw_exec_task *task;
    bool begin; /* or cancel, when the task is cancelled */
    int64_t lo, hi;
};

static void enqueue(struct cw_exec *exec, struct cw_exec_task *task)
{
    task->prev = exec->last;
    if (exec->last)
        exec->last->next = task;
    else
        exec->first = task;
    exec->last = task;
}

static void dequeue(struct cw_exec *exec, struct cw_exec_task *task)
{
    if (task->prev)
        task->prev->next = task->next;
    else
        exec->first = task->next;
    if (task->next)
        task->next->prev = task->prev;
    else
        exec->last = task->prev;
    task->next = task->prev = NULL;
}

static void shut(struct cw_exec *exec, struct cw_exec_task *task)
{
    if (task->state == CW_TASK_SHUT)
        return;
    task->state = CW_TASK_SHUT;
    dequeue(exec, task);
}

/* About RUN_NS of rows, by what rows of this plan took so far; one while nothing is known. */
static int64_t run_length(const struct cw_exec_task *task)
{
    uint64_t row_ns = atomic_load_explicit(&cw_share_of(task->plan)->row_ns, memory_order_relaxed);
    int64_t n = row_ns ? (int64_t)(RUN_NS / row_ns) : 1;
    return CW_MIN(CW_MAX(n, 1), task->rows - task->next_row);
}

static void learn(struct cw_plan *plan, int64_t ns, int64_t rows)
{
    _Atomic uint64_t *row_ns = &cw_share_of(plan)->row_ns;
    uint64_t old = atomic_load_explicit(row_ns, memory_order_relaxed);
    uint64_t now = (uint64_t)CW_MAX(ns / CW_MAX(rows, 1), 1);
    atomic_store_explicit(row_ns, old ? (3 * old + now + 3) / 4 : now, memory_order_relaxed);
}

/* Rows of an open task; it leaves the queue with its last one. Lock held. */
static void take_rows(struct cw_exec *exec, struct cw_exec_task *task, struct job *job)
{
    job->task = task;
    job->begin = false;
    job->lo = task->next_row;
    job->hi = task->next_row = job->lo + run_length(task);
    if (task->next_row >= task->rows)
        shut(exec, task);
}

/* Lock held. */
static bool find_job(struct cw_exec *exec, struct job *job)
{
    for (struct cw_exec_task *task = exec->first; task; task = task->next) {
        if (task->state == CW_TASK_BEGINNING)
            continue;
        task->running++;
        if (task->state == CW_TASK_OPEN) {
            take_rows(exec, task, job);
            return true;
        }
        job->task = task;
        job->begin = true;
        if (task->cancelled)
            shut(exec, task);
        else
            task->state = CW_TASK_BEGINNING;
        return true;
    }
    return false;
}

static void end_task(struct cw_exec_task *task, struct cw_batch *batch, const struct cw_err *err)
{
    struct cw_exec_item *item = task->item;
    item->wall_ns = task->begin_ns ? cw_clock_ns() - task->begin_ns : 0;
    item->task = NULL;
    cw_task_free(task);
    item->done(item, batch, err);
}

/* The thread that leaves a shut task last finishes it. Lock held on entry, not on return. */
static void leave(struct cw_exec *exec, struct cw_exec_task *task, struct cw_arena *arena,
                  int64_t cpu_begin)
{
    bool last = --task->running == 0 && task->state == CW_TASK_SHUT;
    task->item->cpu_ns += cw_clock_thread_cpu_ns() - cpu_begin;
    cw_mutex_unlock(&exec->mutex);
    if (!last)
        return;
    struct cw_err err = {0};
    int64_t begin = cw_clock_thread_cpu_ns();
    struct cw_work *work = cw_work_get(task->plan, arena, task->item->epoch);
    struct cw_batch *batch = cw_task_finish(task, work, &err);
    cw_work_put(work);
    task->item->cpu_ns += cw_clock_thread_cpu_ns() - begin;
    end_task(task, batch, &err);
}

static void fail_task(struct cw_exec_task *task, const struct cw_err *err)
{
    task->failed_row = -1;
    task->err = *err;
}

/* Lock held on entry, not on return. */
static void begin_task(struct cw_exec *exec, struct cw_exec_task *task, struct cw_arena *arena)
{
    struct cw_err err = {0};
    if (task->cancelled) {
        cw_mutex_unlock(&exec->mutex);
        cw_err_set(&err, CW_E_CANCELLED, "cancelled");
        end_task(task, NULL, &err);
        return;
    }
    cw_mutex_unlock(&exec->mutex);
    int64_t cpu = cw_clock_thread_cpu_ns();
    task->begin_ns = cw_clock_ns();
    int rc = cw_task_begin(task, &err);
    cw_mutex_lock(&exec->mutex);
    if (rc < 0)
        fail_task(task, &err);
    task->state = CW_TASK_OPEN;
    if (rc < 0 || task->rows <= 0)
        shut(exec, task);
    else
        cw_cond_broadcast(&exec->cond);
    leave(exec, task, arena, cpu);
}

/* Lock not held. */
static void run_rows(struct cw_exec *exec, const struct job *job, struct cw_arena *arena)
{
    struct cw_exec_task *task = job->task;
    int64_t cpu = cw_clock_thread_cpu_ns(), wall = cw_clock_ns();
    struct cw_work *work = cw_work_get(task->plan, arena, task->item->epoch);
    cw_task_run(task, work, job->lo, job->hi);
    cw_work_put(work);
    learn(task->plan, cw_clock_ns() - wall, job->hi - job->lo);
    cw_mutex_lock(&task->mutex);
    bool failed = task->failed_row != INT64_MAX; /* rows before the failed one are taken already */
    cw_mutex_unlock(&task->mutex);
    cw_mutex_lock(&exec->mutex);
    if (failed)
        shut(exec, task);
    leave(exec, task, arena, cpu);
}

static void thread_main(void *arg)
{
    struct cw_exec *exec = arg;
    struct cw_arena *arena = cw_arena_new(ARENA_KEEP_BYTES);
    cw_mutex_lock(&exec->mutex);
    for (;;) {
        struct job job;
        if (!find_job(exec, &job)) {
            if (exec->stopping && !exec->first)
                break;
            cw_cond_wait(&exec->cond, &exec->mutex);
            continue;
        }
        if (job.begin) {
            begin_task(exec, job.task, arena);
        } else {
            cw_mutex_unlock(&exec->mutex);
            run_rows(exec, &job, arena);
        }
        cw_mutex_lock(&exec->mutex);
    }
    cw_cond_broadcast(
        &exec->cond); /* the others may wait for the last task that this thread ended */
    cw_mutex_unlock(&exec->mutex);
    cw_arena_free(arena);
}

struct cw_exec *cw_exec_new(size_t threads)
{
    struct cw_exec *exec = CW_NEW(struct cw_exec);
    cw_mutex_init(&exec->mutex);
    cw_cond_init(&exec->cond);
    exec->threads_n = CW_MAX(threads, 1);
    exec->threads = CW_NEW_ARRAY(struct cw_thread, exec->threads_n);
    for (size_t i = 0; i < exec->threads_n; i++)
        cw_thread_start(&exec->threads[i], "exec", thread_main, exec);
    return exec;
}

static void cancel(struct cw_exec *exec, const struct cw_plan *plan, bool stop)
{
    cw_mutex_lock(&exec->mutex);
    exec->stopping = exec->stopping || stop;
    for (struct cw_exec_task *task = exec->first; task; task = task->next)
        if (task->state == CW_TASK_NEW && (!plan || task->plan == plan))
            task->cancelled = true;
    cw_cond_broadcast(&exec->cond);
    cw_mutex_unlock(&exec->mutex);
}

void cw_exec_cancel(struct cw_exec *exec, struct cw_plan *plan)
{
    cancel(exec, plan, false);
}

void cw_exec_free(struct cw_exec *exec)
{
    if (!exec)
        return;
    cancel(exec, NULL, true);
    for (size_t i = 0; i < exec->threads_n; i++)
        cw_thread_join(&exec->threads[i]);
    cw_cond_fini(&exec->cond);
    cw_mutex_fini(&exec->mutex);
    cw_mem_free(exec->threads);
    cw_mem_free(exec);
}

void cw_exec_submit(struct cw_exec *exec, struct cw_exec_item *item)
{
    struct cw_exec_task *task = cw_task_new(item);
    cw_mutex_lock(&exec->mutex);
    task->cancelled = exec->stopping;
    enqueue(exec, task);
    cw_cond_signal(&exec->cond);
    cw_mutex_unlock(&exec->mutex);
}
