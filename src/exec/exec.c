/* SPDX-License-Identifier: Apache-2.0 */
/* The thread pool. One lock guards the queues (fair_queue.h); a thread takes it twice for each run
 * of elements, which lasts about 0.1 ms. */
#include "exec/exec.h"

#include "base/call_note.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/run_delay.h"
#include "exec/exec_pool.h"
#include "exec/task.h"
#include <stdatomic.h>

#define RUN_NS 100000

/* what a thread has taken from the queues */
struct run {
    struct cw_exec_task *task;
    enum { RUN_BEGIN, RUN_ROWS, RUN_CANCEL } what;
    int64_t lo, hi;
    struct cw_row_way way; /* for rows; holds a reference to its plan */
    /* The time that was charged to its plan in advance; the rest is charged when the run is
     * done. */
    double expected_ns;
};

static struct cw_fair_flow *flow_of(const struct cw_exec_task *task)
{
    return &cw_plan_exec_of_all(task->plan)->flow;
}

static void shut(struct cw_exec *exec, struct cw_exec_task *task)
{
    if (task->state == CW_TASK_SHUT)
        return;
    task->state = CW_TASK_SHUT;
    cw_fair_queue_remove(&exec->queue, flow_of(task), task);
}

/* The number of rows that take about RUN_NS, from the measured time of the plan's rows; one row
 * while nothing was measured. */
static int64_t run_length(const struct cw_exec_task *task)
{
    uint64_t row_ns =
        atomic_load_explicit(&cw_plan_exec_of(task->way.plan)->row_ns, memory_order_relaxed);
    int64_t n = row_ns ? (int64_t)(RUN_NS / row_ns) : 1;
    return CW_MIN(CW_MAX(n, 1), task->rows - task->next_row);
}

static void learn(struct cw_plan *plan, int64_t ns, int64_t rows)
{
    _Atomic uint64_t *row_ns = &cw_plan_exec_of(plan)->row_ns;
    uint64_t old = atomic_load_explicit(row_ns, memory_order_relaxed);
    uint64_t now = (uint64_t)CW_MAX(ns / CW_MAX(rows, 1), 1);
    atomic_store_explicit(row_ns, old ? (3 * old + now + 3) / 4 : now, memory_order_relaxed);
}

/* Takes rows of an open task, and removes the task from its queue together with its last rows.
 * Called with the lock held. */
static void take_rows(struct cw_exec *exec, struct cw_exec_task *task, struct run *run)
{
    run->task = task;
    run->what = RUN_ROWS;
    run->way = task->way;
    (void)cw_plan_ref(run->way.plan);
    run->lo = task->next_row;
    run->hi = task->next_row = run->lo + run_length(task);
    uint64_t row_ns =
        atomic_load_explicit(&cw_plan_exec_of(task->way.plan)->row_ns, memory_order_relaxed);
    run->expected_ns = (double)row_ns * (double)(run->hi - run->lo);
    cw_fair_flow_spend(flow_of(task), run->expected_ns);
    if (task->next_row >= task->rows)
        shut(exec, task);
}

/* Finds work for a thread. Returns false if there is none. Called with the lock held. */
static bool find_run(struct cw_exec *exec, struct run *run)
{
    struct cw_exec_task *task = cw_fair_queue_next(&exec->queue);
    if (!task)
        return false;
    task->running++;
    cw_active_time_enter(&cw_plan_exec_of_all(task->plan)->active, cw_clock_ns());
    if (cw_stop_is_set(&task->stop)) {
        *run = (struct run){.task = task, .what = RUN_CANCEL};
        shut(exec, task);
    } else if (task->state == CW_TASK_OPEN) {
        take_rows(exec, task, run);
    } else {
        *run = (struct run){.task = task, .what = RUN_BEGIN};
        task->state = CW_TASK_BEGINNING;
    }
    return true;
}

/* Called with the lock held. */
static void link_task(struct cw_exec *exec, struct cw_exec_task *task)
{
    task->next_all = exec->all;
    if (exec->all)
        exec->all->prev_all = task;
    exec->all = task;
}

/* Called with the lock held. */
static void unlink_task(struct cw_exec *exec, struct cw_exec_task *task)
{
    if (task->prev_all)
        task->prev_all->next_all = task->next_all;
    else
        exec->all = task->next_all;
    if (task->next_all)
        task->next_all->prev_all = task->prev_all;
}

/* The thread works on the task's plan no more. Called with the lock held. */
static void leave_plan(const struct cw_exec_task *task)
{
    cw_active_time_leave(&cw_plan_exec_of_all(task->plan)->active, cw_clock_ns());
}

static void end_task(struct cw_exec *exec, struct cw_exec_task *task, struct cw_batch *batch,
                     const struct cw_err *err)
{
    struct cw_exec_item *item = task->item;
    item->wall_ns = task->begin_ns ? cw_clock_ns() - task->begin_ns : 0;
    cw_mutex_lock(&exec->mutex);
    unlink_task(exec, task);
    leave_plan(task);
    item->task = NULL;
    cw_mutex_unlock(&exec->mutex);
    cw_exec_task_leave_plans(task);
    /* First the batch goes on its way. To give back the memory of many rows takes longer. */
    item->done(item, batch, err);
    cw_exec_task_free(task);
}

/* Returns the thread time that corresponds to this CPU time. Under a CPU limit it includes the time
 * for which threads have to pause, whether the limit is reached now or not. */
static int64_t at_least(const struct cw_exec *exec, int64_t busy_ns, int64_t cpu_ns)
{
    if (exec->throttle.cpus <= 0)
        return busy_ns;
    return CW_MAX(busy_ns,
                  (int64_t)((double)cpu_ns * (double)exec->threads_n / exec->throttle.cpus));
}

static void add(_Atomic uint64_t *sum, int64_t ns)
{
    (void)atomic_fetch_add_explicit(sum, (uint64_t)CW_MAX(ns, (int64_t)0), memory_order_relaxed);
}

/* Adds a thread's time to that of the plan's function. */
static void note_spent(struct cw_plan *plan, int64_t cpu_ns, int64_t busy_ns)
{
    struct cw_plan_exec *share = cw_plan_exec_of_all(plan);
    add(&share->cpu_ns, cpu_ns);
    add(&share->busy_ns, CW_MAX(busy_ns, cpu_ns));
}

/* Adds to the plan's time what this thread has waited for the store of a cache since `before`
 * (cw_cache_thread_wait_ns). */
static void note_store(struct cw_plan *plan, uint64_t before)
{
    uint64_t waited = cw_cache_thread_wait_ns() - before;
    if (waited > 0)
        add(&cw_plan_exec_of_all(plan)->store_ns, (int64_t)waited);
}

/* Finishes a task: makes its batch, or reports its error. */
static struct cw_batch *finish(const struct cw_exec *exec, struct cw_exec_task *task,
                               struct cw_arena *arena, struct cw_err *err)
{
    if (task->failed_row != INT64_MAX) {
        *err = task->err;
        return NULL;
    }
    int64_t begin = cw_clock_thread_cpu_ns();
    cw_call_at_item(task->item->whose, task->item->epoch, task->item->item);
    struct cw_thread_context *work =
        cw_thread_context_get(task->plan, arena, task->item->epoch, &task->stop);
    struct cw_batch *batch = cw_exec_task_finish(task, work, err);
    cw_thread_context_put(work);
    cw_call_at_job(NULL);
    int64_t used = cw_clock_thread_cpu_ns() - begin;
    task->item->cpu_ns += used;
    task->item->busy_ns += at_least(exec, used, used);
    note_spent(task->plan, used, used);
    return batch;
}

/* Ends a thread's work on a task. If it is the last thread, and the task has no rows left, it
 * finishes the task. Called with the lock held, which it gives up. */
static void leave(struct cw_exec *exec, struct cw_exec_task *task, struct cw_arena *arena,
                  int64_t cpu_begin, int64_t busy_ns)
{
    cw_call_at_job(NULL); /* the item, and what it says of its job, may be gone soon */
    bool last = --task->running == 0 && task->state == CW_TASK_SHUT;
    int64_t used = cw_clock_thread_cpu_ns() - cpu_begin;
    task->item->cpu_ns += used;
    task->item->busy_ns += at_least(exec, busy_ns, used);
    note_spent(task->plan, used, busy_ns);
    cw_throttle_spend(&exec->throttle, used);
    if (!last)
        leave_plan(task);
    cw_mutex_unlock(&exec->mutex);
    if (!last)
        return;
    struct cw_err err = {0};
    struct cw_batch *batch = finish(exec, task, arena, &err);
    end_task(exec, task, batch, &err);
}

static void fail_task(struct cw_exec_task *task, const struct cw_err *err)
{
    task->failed_row = -1;
    task->err = *err;
}

/* Begins a task. Called with the lock held, which it gives up. */
static void begin_task(struct cw_exec *exec, struct cw_exec_task *task, struct cw_arena *arena)
{
    struct cw_err err = {0};
    cw_mutex_unlock(&exec->mutex);
    int64_t cpu = cw_clock_thread_cpu_ns();
    uint64_t waited = cw_cache_thread_wait_ns();
    task->begin_ns = cw_clock_ns();
    cw_call_at_item(task->item->whose, task->item->epoch, task->item->item);
    cw_plan_read_for(task->plan);
    int rc = cw_exec_task_begin(task, &err);
    note_store(task->plan, waited);
    int64_t busy_ns = cw_clock_ns() - task->begin_ns;
    cw_mutex_lock(&exec->mutex);
    cw_fair_flow_spend(flow_of(task), (double)busy_ns);
    if (rc < 0)
        fail_task(task, &err);
    task->state = CW_TASK_OPEN;
    if (rc < 0 || task->rows <= 0)
        shut(exec, task);
    else
        cw_cond_broadcast(&exec->cond);
    cw_exec_task_replan_begun(task);
    leave(exec, task, arena, cpu, busy_ns);
}

/* Computes the rows that were taken. Called without the lock. */
static void run_rows(struct cw_exec *exec, const struct run *run, struct cw_arena *arena)
{
    struct cw_exec_task *task = run->task;
    cw_call_at_item(task->item->whose, task->item->epoch, task->item->item);
    int64_t cpu = cw_clock_thread_cpu_ns(), wall = cw_clock_ns();
    uint64_t waited = cw_cache_thread_wait_ns();
    struct cw_thread_context *work =
        cw_thread_context_get(run->way.plan, arena, task->item->epoch, &task->stop);
    cw_exec_task_run(task, work, &run->way, run->lo, run->hi);
    cw_thread_context_put(work);
    wall = cw_clock_ns() - wall;
    note_store(run->way.plan, waited);
    learn(run->way.plan, wall, run->hi - run->lo);
    cw_plan_unref(run->way.plan);
    cw_mutex_lock(&task->mutex);
    /* the rows below the failed one were taken before it */
    bool failed = task->failed_row != INT64_MAX;
    cw_mutex_unlock(&task->mutex);
    cw_mutex_lock(&exec->mutex);
    cw_fair_flow_spend(flow_of(task), (double)wall - run->expected_ns);
    if (failed)
        shut(exec, task);
    leave(exec, task, arena, cpu, wall);
}

/* Cancels a task, of which other threads may still compute rows. Called with the lock held, which
 * it gives up. */
static void cancel_task(struct cw_exec *exec, struct cw_exec_task *task, struct cw_arena *arena)
{
    cw_exec_task_cancel(task);
    leave(exec, task, arena, cw_clock_thread_cpu_ns(), 0);
}

/* Brings exec->time up to date, except for delay_ns. Called with the lock held. */
static void count_time(struct cw_exec *exec)
{
    int64_t now = cw_clock_ns();
    uint64_t passed = (uint64_t)(now - exec->counted_ns);
    exec->time.idle_ns += exec->idle_n * passed;
    exec->time.paused_ns += exec->paused_n * passed;
    exec->counted_ns = now;
}

/* Waits until there may be work or, if `until` is not 0, until then at the latest, for the CPU
 * limit. Called with the lock held. */
static void wait_idle(struct cw_exec *exec, int64_t until)
{
    size_t *waiting = until ? &exec->paused_n : &exec->idle_n;
    count_time(exec);
    ++*waiting;
    if (until)
        (void)cw_cond_wait_until(&exec->cond, &exec->mutex, until);
    else
        cw_cond_wait(&exec->cond, &exec->mutex);
    count_time(exec);
    --*waiting;
}

static void thread_main(void *arg)
{
    struct cw_exec *exec = arg;
    struct cw_arena *arena = cw_arena_new(CW_EXEC_KEEP_BYTES);
    struct cw_exec_scratch scratch = {.arena = arena};
    cw_io_thread_computes();
    cw_mutex_lock(&exec->mutex);
    exec->ids[exec->ids_n++] = cw_run_delay_thread();
    for (;;) {
        struct run run;
        cw_exec_tidy(exec, &scratch);
        int64_t until = cw_throttle_until(&exec->throttle);
        if (until && !exec->stopping) {
            wait_idle(exec, until);
            continue;
        }
        if (!find_run(exec, &run)) {
            if (exec->stopping && !exec->queue.first)
                break;
            wait_idle(exec, 0);
            continue;
        }
        if (run.what == RUN_CANCEL) {
            cancel_task(exec, run.task, arena);
        } else if (run.what == RUN_BEGIN) {
            begin_task(exec, run.task, arena);
        } else {
            cw_mutex_unlock(&exec->mutex);
            run_rows(exec, &run, arena);
        }
        cw_mutex_lock(&exec->mutex);
    }
    /* The other threads may sleep until the last task is finished, which this thread has done. */
    cw_cond_broadcast(&exec->cond);
    cw_mutex_unlock(&exec->mutex);
    cw_arena_free(arena);
    cw_call_thread_end();
}

struct cw_exec *cw_exec_new(size_t threads)
{
    struct cw_exec *exec = CW_NEW(struct cw_exec);
    cw_mutex_init(&exec->mutex);
    cw_cond_init(&exec->cond);
    exec->threads_n = CW_MAX(threads, 1);
    exec->threads = CW_NEW_ARRAY(struct cw_thread, exec->threads_n);
    exec->ids = CW_NEW_ARRAY(int, exec->threads_n);
    exec->counted_ns = cw_clock_ns();
    exec->keep = CW_EXEC_KEEP_BYTES;
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

void cw_exec_cancel(struct cw_exec *exec, struct cw_exec_item *item)
{
    cw_mutex_lock(&exec->mutex);
    if (item->task)
        cw_stop_set(&item->task->stop);
    cw_mutex_unlock(&exec->mutex);
}

static void stop(struct cw_exec *exec)
{
    cw_mutex_lock(&exec->mutex);
    exec->stopping = true;
    for (struct cw_exec_task *task = exec->all; task; task = task->next_all)
        cw_stop_set(&task->stop);
    cw_cond_broadcast(&exec->cond);
    cw_mutex_unlock(&exec->mutex);
}

void cw_exec_free(struct cw_exec *exec)
{
    if (!exec)
        return;
    stop(exec);
    for (size_t i = 0; i < exec->threads_n; i++)
        cw_thread_join(&exec->threads[i]);
    cw_cond_fini(&exec->cond);
    cw_mutex_fini(&exec->mutex);
    cw_mem_free(exec->threads);
    cw_mem_free(exec->ids);
    cw_mem_free(exec);
}

void cw_exec_submit(struct cw_exec *exec, struct cw_exec_item *item)
{
    struct cw_exec_task *task = cw_exec_task_new(item);
    cw_mutex_lock(&exec->mutex);
    if (exec->stopping)
        cw_stop_set(&task->stop);
    link_task(exec, task);
    cw_fair_queue_add(&exec->queue, flow_of(task), task);
    cw_cond_signal(&exec->cond);
    cw_mutex_unlock(&exec->mutex);
}

void cw_exec_replan(struct cw_exec *exec, struct cw_exec_item *item, struct cw_plan *plan)
{
    cw_mutex_lock(&exec->mutex);
    struct cw_plan *old = item->task ? cw_exec_task_replan(item->task, plan) : NULL;
    cw_mutex_unlock(&exec->mutex);
    cw_plan_unref(old);
}

void cw_exec_weigh(struct cw_exec *exec, struct cw_plan *plan, double weight)
{
    cw_mutex_lock(&exec->mutex);
    cw_plan_exec_of_all(plan)->flow.weight = weight;
    cw_mutex_unlock(&exec->mutex);
}

void cw_exec_thread_time(struct cw_exec *exec, bool delay, struct cw_exec_thread_time *ret_time)
{
    uint64_t delay_ns = 0;
    cw_mutex_lock(&exec->mutex);
    count_time(exec);
    size_t n = exec->ids_n;
    *ret_time = exec->time;
    cw_mutex_unlock(&exec->mutex);
    /* Entries are never changed once they are counted. */
    for (size_t i = 0; delay && i < n; i++)
        delay_ns += cw_run_delay_ns(exec->ids[i]);
    ret_time->delay_ns = delay_ns;
}
