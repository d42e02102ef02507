/* SPDX-License-Identifier: Apache-2.0 */
/* The pool. One lock guards the queues (turns.h); it is taken twice for a run of elements, which lasts
 * about 0.1 ms. */
#include "exec/exec.h"

#include "base/clock.h"
#include "base/mem.h"
#include "exec/task.h"
#include "exec/throttle.h"
#include <stdatomic.h>

#define RUN_NS 100000
/* What a thread keeps between elements: some decoded photographs. */
#define ARENA_KEEP_BYTES ((size_t)8 << 20)

struct cw_exec {
    struct cw_mutex mutex;
    struct cw_cond cond;
    struct cw_turns turns; /* lock: the queues of plans */
    bool stopping;         /* lock */
    struct cw_throttle throttle; /* lock */
    size_t threads_n;
    struct cw_thread *threads;
};

/* What a thread found to do. */
struct job {
    struct cw_exec_task *task;
    bool begin; /* or cancel, when the task is cancelled */
    int64_t lo, hi;
    double expected_ns; /* its plan's turn was charged that much: the rest when it is done */
};

static struct cw_turn *turn_of(const struct cw_exec_task *task)
{
    return &cw_share_of(task->plan)->turn;
}

static void shut(struct cw_exec *exec, struct cw_exec_task *task)
{
    if (task->state == CW_TASK_SHUT)
        return;
    task->state = CW_TASK_SHUT;
    cw_turns_dequeue(&exec->turns, turn_of(task), task);
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
    uint64_t row_ns = atomic_load_explicit(&cw_share_of(task->plan)->row_ns, memory_order_relaxed);
    job->expected_ns = (double)row_ns * (double)(job->hi - job->lo);
    cw_turn_spend(turn_of(task), job->expected_ns);
    if (task->next_row >= task->rows)
        shut(exec, task);
}

/* Lock held. */
static bool find_job(struct cw_exec *exec, struct job *job)
{
    struct cw_exec_task *task = cw_turns_next(&exec->turns);
    if (!task)
        return false;
    task->running++;
    if (task->state == CW_TASK_OPEN) {
        take_rows(exec, task, job);
        return true;
    }
    *job = (struct job){.task = task, .begin = true};
    if (task->cancelled)
        shut(exec, task);
    else
        task->state = CW_TASK_BEGINNING;
    return true;
}

static void end_task(struct cw_exec_task *task, struct cw_batch *batch, const struct cw_err *err)
{
    struct cw_exec_item *item = task->item;
    item->wall_ns = task->begin_ns ? cw_clock_ns() - task->begin_ns : 0;
    item->task = NULL;
    cw_task_free(task);
    item->done(item, batch, err);
}

/* Thread time that so much CPU time costs: under a limit also the time in which the threads may not work, whether it is reached now or not. */
static int64_t at_least(const struct cw_exec *exec, int64_t busy_ns, int64_t cpu_ns)
{
    if (exec->throttle.cpus <= 0)
        return busy_ns;
    return CW_MAX(busy_ns, (int64_t)((double)cpu_ns * (double)exec->threads_n / exec->throttle.cpus));
}

/* The thread that leaves a shut task last finishes it. Lock held on entry, not on return. */
static void leave(struct cw_exec *exec, struct cw_exec_task *task, struct cw_arena *arena,
                  int64_t cpu_begin, int64_t busy_ns)
{
    bool last = --task->running == 0 && task->state == CW_TASK_SHUT;
    int64_t used = cw_clock_thread_cpu_ns() - cpu_begin;
    task->item->cpu_ns += used;
    task->item->busy_ns += at_least(exec, busy_ns, used);
    cw_throttle_spend(&exec->throttle, used);
    cw_mutex_unlock(&exec->mutex);
    if (!last)
        return;
    struct cw_err err = {0};
    int64_t begin = cw_clock_thread_cpu_ns();
    struct cw_work *work = cw_work_get(task->plan, arena, task->item->epoch);
    struct cw_batch *batch = cw_task_finish(task, work, &err);
    cw_work_put(work);
    used = cw_clock_thread_cpu_ns() - begin;
    task->item->cpu_ns += used;
    task->item->busy_ns += at_least(exec, used, used);
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
    int64_t busy_ns = cw_clock_ns() - task->begin_ns;
    cw_mutex_lock(&exec->mutex);
    cw_turn_spend(turn_of(task), (double)busy_ns);
    if (rc < 0)
        fail_task(task, &err);
    task->state = CW_TASK_OPEN;
    if (rc < 0 || task->rows <= 0)
        shut(exec, task);
    else
        cw_cond_broadcast(&exec->cond);
    leave(exec, task, arena, cpu, busy_ns);
}

/* Lock not held. */
static void run_rows(struct cw_exec *exec, const struct job *job, struct cw_arena *arena)
{
    struct cw_exec_task *task = job->task;
    int64_t cpu = cw_clock_thread_cpu_ns(), wall = cw_clock_ns();
    struct cw_work *work = cw_work_get(task->plan, arena, task->item->epoch);
    cw_task_run(task, work, job->lo, job->hi);
    cw_work_put(work);
    wall = cw_clock_ns() - wall;
    learn(task->plan, wall, job->hi - job->lo);
    cw_mutex_lock(&task->mutex);
    bool failed = task->failed_row != INT64_MAX; /* rows before the failed one are taken already */
    cw_mutex_unlock(&task->mutex);
    cw_mutex_lock(&exec->mutex);
    cw_turn_spend(turn_of(task), (double)wall - job->expected_ns);
    if (failed)
        shut(exec, task);
    leave(exec, task, arena, cpu, wall);
}

static void thread_main(void *arg)
{
    struct cw_exec *exec = arg;
    struct cw_arena *arena = cw_arena_new(ARENA_KEEP_BYTES);
    cw_mutex_lock(&exec->mutex);
    for (;;) {
        struct job job;
        int64_t until = cw_throttle_until(&exec->throttle);
        if (until && !exec->stopping) {
            (void)cw_cond_wait_until(&exec->cond, &exec->mutex, until);
            continue;
        }
        if (!find_job(exec, &job)) {
            if (exec->stopping && !exec->turns.first)
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

void cw_exec_limit_cpu(struct cw_exec *exec, double cpus)
{
    cw_mutex_lock(&exec->mutex);
    cw_throttle_init(&exec->throttle, cpus, cw_clock_ns());
    cw_mutex_unlock(&exec->mutex);
}

static void cancel(struct cw_exec *exec, const struct cw_plan *plan, bool stop)
{
    cw_mutex_lock(&exec->mutex);
    exec->stopping = exec->stopping || stop;
    for (struct cw_turn *turn = exec->turns.first; turn; turn = turn->next)
        for (struct cw_exec_task *task = turn->first; task; task = task->next)
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
    cw_turns_enqueue(&exec->turns, turn_of(task), task);
    cw_cond_signal(&exec->cond);
    cw_mutex_unlock(&exec->mutex);
}

void cw_exec_weigh(struct cw_exec *exec, struct cw_plan *plan, double weight)
{
    cw_mutex_lock(&exec->mutex);
    cw_share_of(plan)->turn.weight = weight;
    cw_mutex_unlock(&exec->mutex);
}
