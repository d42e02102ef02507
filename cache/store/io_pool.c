/* SPDX-License-Identifier: Apache-2.0 */
/* The I/O threads of a store, which carry out its jobs, and the timer thread, which ends jobs that
 * take too long. */
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "cache/store/io_job.h"

/* How long the closing of an interrupted store waits for threads that are inside of a call. */
#define INTERRUPTED_NS ((int64_t)1000000000)

/* ---- I/O threads ---- */

static void begin(struct cw_store *store, struct cw_store_job *job)
{
    job->state = CW_STORE_JOB_RUNNING;
    job->deadline_ns = store->taken_ns + store->url.timeout_ns;
    if (job->call) {
        job->next = store->running;
        store->running = job;
    }
    if (job->deadline_ns < store->timer_at_ns)
        cw_cond_signal(&store->timer);
}
/* Takes the next piece of the read at the head of the queue. The read stays there until its last
 * piece was taken. */
static size_t take_piece(struct cw_store *store, struct cw_store_job *job, size_t *ret_at)
{
    size_t n = CW_MIN(job->n - job->taken, CW_STORE_PIECE);

    if (job->state == CW_STORE_JOB_QUEUED)
        begin(store, job);
    *ret_at = job->taken;
    job->taken += n;
    job->deadline_ns = store->taken_ns + store->url.timeout_ns;
    if (job->taken == job->n) {
        cw_store_queue_pop(&store->reads);
        job->next = store->running;
        store->running = job;
    }
    if (store->url.read_rate)
        store->read_next_ns = CW_MAX(store->read_next_ns, store->taken_ns) +
                              (int64_t)((double)n * 1e9 / (double)store->url.read_rate);
    return n;
}
/* Waits for work, and takes a call, or a piece of a read (*ret_n bytes at *ret_at). Returns NULL
 * when the store stops. Called with the lock held. */
static struct cw_store_job *take(struct cw_store *store, size_t *ret_at, size_t *ret_n)
{
    for (;;) {
        int64_t now = cw_clock_ns();
        struct cw_store_job *job = store->calls.head;
        if (job) {
            store->taken_ns = now;
            store->wanted--;
            cw_store_queue_pop(&store->calls);
            begin(store, job);
            return job;
        }
        job = store->reads.head;
        if (job && store->read_next_ns <= now) {
            store->taken_ns = now;
            store->wanted--;
            *ret_n = take_piece(store, job, ret_at);
            return job;
        }
        if (store->stopping && !job)
            return NULL;
        store->idle++;
        if (job)
            cw_cond_wait_until(&store->work, &store->lock, store->read_next_ns);
        else
            cw_cond_wait(&store->work, &store->lock);
        store->idle--;
    }
}
/* Notes that this thread is back from the call that it made for the job. Returns false if the job had
 * ended before, so that the thread was counted as stuck until now. Called with the lock held. */
static bool come_back(struct cw_store_job *job)
{
    bool is_in_time = job->state != CW_STORE_JOB_ENDED;

    job->inside--;
    job->store->stuck -= !is_in_time;
    return is_in_time;
}
/* Copies to the caller what was read into the thread's own memory (nothing is to be copied if it
 * was read to its destination), unless the job has ended. Called without the lock. */
static void hand_over(struct cw_store_job *job, size_t at, const uint8_t *p, size_t n, int rc,
                      const struct cw_err *err)
{
    struct cw_store *store = job->store;

    cw_mutex_lock(&store->lock);
    bool is_in_time = come_back(job);
    if (!is_in_time || rc < 0) {
        if (is_in_time) {
            job->why = *err;
            cw_store_job_end_locked(job, rc);
        }
        cw_mutex_unlock(&store->lock);
        return;
    }
    job->copying++;
    cw_mutex_unlock(&store->lock);
    if (p != job->dst + at)
        memcpy(job->dst + at, p, n);
    cw_mutex_lock(&store->lock);
    job->copying--;
    job->done += n;
    job->deadline_ns = cw_clock_ns() + store->url.timeout_ns;
    if (job->state == CW_STORE_JOB_ENDED) {
        if (job->copying == 0)
            cw_store_job_notify_locked(job);
    } else if (job->done == job->n) {
        cw_store_job_end_locked(job, 0);
    }
    cw_mutex_unlock(&store->lock);
}
static void run_piece(struct cw_store_job *job, size_t at, size_t n, void **buffer)
{
    struct cw_store *store = job->store;
    struct cw_err err = {0};
    int rc = 0;

    if (store->url.latency_ns && at == 0)
        cw_clock_sleep_ns(store->url.latency_ns);
    bool is_direct = job->has_left && !job->is_past;
    if (!is_direct && !*buffer)
        *buffer = cw_mem_try_pages(CW_STORE_PIECE + 2 * CW_MEM_PAGE);
    uint64_t offset = job->offset + at;
    uint8_t *to = is_direct ? job->dst + at : *buffer;
    if (!to)
        rc = cw_err_set(&err, CW_E_NOMEM, "store %s: no memory to read", store->url.text);
    else if (job->is_past)
        rc = store->ops->read_past(job->file->own, offset, to += offset % CW_MEM_PAGE, n, &err);
    else
        rc = store->ops->read(job->file->own, offset, to, n, &err);
    hand_over(job, at, to, n, rc, &err);
}
static void run_call(struct cw_store_job *job)
{
    struct cw_store *store = job->store;

    if (job->has_latency && store->url.latency_ns)
        cw_clock_sleep_ns(store->url.latency_ns);
    int rc = job->call(job);
    cw_mutex_lock(&store->lock);
    if (come_back(job)) {
        job->why = job->err;
        cw_store_job_end_locked(job, rc);
    }
    cw_mutex_unlock(&store->lock);
}
/* Runs what was taken. */
static void run(struct cw_store_job *job, size_t at, size_t n, void **buffer)
{
    if (job->call)
        run_call(job);
    else
        run_piece(job, at, n, buffer);
    cw_store_job_unref_on(job, true);
}
/* Ends a thread. The last thread of a store that was closed before frees the store. Called with the
 * lock held, which it gives up. */
static void leave(struct cw_store *store)
{
    bool is_last = --store->alive == 0 && store->was_abandoned;

    cw_cond_broadcast(&store->quiet);
    cw_mutex_unlock(&store->lock);
    if (is_last)
        store->on_last_thread(store);
}
static void io_thread(void *arg)
{
    struct cw_store *store = arg;
    void *buffer = NULL;
    size_t at = 0, n = 0;

    cw_mutex_lock(&store->lock);
    store->idle--; /* the thread was counted as idle when it was started */
    for (struct cw_store_job *job; (job = take(store, &at, &n));) {
        job->refs++;
        job->inside++;
        cw_mutex_unlock(&store->lock);
        run(job, at, n, &buffer);
        cw_mutex_lock(&store->lock);
    }
    cw_mem_free(buffer);
    leave(store);
}

/* Starts threads for the jobs that wait. Called with the lock held. */
static void start_threads(struct cw_store *store)
{
    unsigned most = CW_MIN(CW_STORE_THREADS + store->stuck, CW_STORE_THREADS_MAX);

    while (store->wanted > store->idle && store->threads_n < most && !store->stopping) {
        store->idle++;
        store->alive++;
        cw_thread_start(&store->threads[store->threads_n++], "cachew-store", io_thread, store);
    }
}

/* ---- the timer ---- */

static int64_t deadline_of(const struct cw_store *store, const struct cw_store_job *job)
{
    int64_t from = store->taken_ns;

    if (!cw_store_job_is_queued(job) || job->inside > 0)
        return job->deadline_ns;
    if (!job->call)
        /* time spent waiting for the throttle does not count */
        from = CW_MAX(from, store->read_next_ns);
    return CW_MAX(job->deadline_ns, from + store->url.timeout_ns);
}
/* Returns the job whose deadline is next, among those that run and the first one of each queue.
 * Called with the lock held. */
static struct cw_store_job *find_first(struct cw_store *store, int64_t *ret_at_ns)
{
    struct cw_store_job *const heads[] = {store->calls.head, store->reads.head};
    struct cw_store_job *first = NULL;

    *ret_at_ns = INT64_MAX;
    for (struct cw_store_job *job = store->running; job; job = job->next)
        if (job->deadline_ns < *ret_at_ns) {
            *ret_at_ns = job->deadline_ns;
            first = job;
        }
    for (size_t i = 0; i < CW_ARRAY_LEN(heads); i++)
        if (heads[i] && deadline_of(store, heads[i]) < *ret_at_ns) {
            *ret_at_ns = deadline_of(store, heads[i]);
            first = heads[i];
        }
    return first;
}
/* Returns a queued job that must be refused. While the store is unavailable, only jobs whose result
 * nobody waits for stay in the queues. */
static struct cw_store_job *find_refused(struct cw_store *store)
{
    for (struct cw_store_job *job = store->calls.head; job; job = job->next)
        if (!job->is_unattended)
            return job;
    return store->reads.head;
}
static void start_try(struct cw_store *store)
{
    struct cw_store_job *job = cw_store_job_new(store, cw_store_call_try, NULL);

    job->is_unattended = true;
    cw_mutex_unlock(&store->lock);
    cw_store_job_start(job);
    cw_store_job_unref(job);
    cw_mutex_lock(&store->lock);
}
/* Ends one job that is due. Returns false if there was none; then *ret_at_ns is the time when to
 * look again. Called with the lock held. */
static bool tick(struct cw_store *store, int64_t now, int64_t *ret_at_ns)
{
    struct cw_store_job *job = find_first(store, ret_at_ns);

    if (job && *ret_at_ns <= now) {
        cw_store_job_end_locked(job, cw_err_set(&job->why, CW_E_TIMEOUT,
                                                "store %s: %s%sno answer within %lld ms",
                                                store->url.text, job->name, *job->name ? ": " : "",
                                                (long long)(store->url.timeout_ns / 1000000)));
        start_threads(store);
        return true;
    }
    if (store->breaker.is_unavailable && (job = find_refused(store))) {
        cw_store_job_end_locked(
            job, cw_store_breaker_refuse(&store->breaker, store->url.text, now, &job->why));
        return true;
    }
    if (!cw_store_breaker_may_try(&store->breaker, now, ret_at_ns))
        return false;
    start_try(store);
    return true;
}
static void timer_thread(void *arg)
{
    struct cw_store *store = arg;

    cw_mutex_lock(&store->lock);
    while (!store->stopping) {
        int64_t at_ns = INT64_MAX;
        if (tick(store, cw_clock_ns(), &at_ns))
            continue;
        store->timer_at_ns = at_ns;
        if (at_ns == INT64_MAX)
            cw_cond_wait(&store->timer, &store->lock);
        else
            cw_cond_wait_until(&store->timer, &store->lock, at_ns);
        store->timer_at_ns = 0;
    }
    leave(store);
}

/* ---- for the rest of the store ---- */

void cw_store_job_start(struct cw_store_job *job)
{
    struct cw_store *store = job->store;

    cw_mutex_lock(&store->lock);
    job->refs++;
    job->state = CW_STORE_JOB_QUEUED;
    job->deadline_ns = cw_clock_ns() + store->url.timeout_ns;
    cw_store_queue_push(job->call ? &store->calls : &store->reads, job);
    unsigned pieces = cw_store_job_pieces_left(job);
    store->wanted += pieces;
    if (!store->timer_thread.started) {
        store->alive++;
        cw_thread_start(&store->timer_thread, "cachew-store-t", timer_thread, store);
    }
    start_threads(store);
    if (pieces == 1)
        cw_cond_signal(&store->work);
    else
        cw_cond_broadcast(&store->work);
    if (job->deadline_ns < store->timer_at_ns)
        cw_cond_signal(&store->timer);
    if (store->is_interrupted && !job->is_unattended)
        cw_store_job_cancel_locked(job);
    cw_mutex_unlock(&store->lock);
}
int cw_store_job_run(struct cw_store_job *job, struct cw_err *err)
{
    struct cw_store *store = job->store;
    struct cw_cond waiter;

    if (!store->has_threads) {
        int rc = job->call(job);
        if (rc < 0 && err)
            *err = job->err;
        return rc;
    }
    cw_cond_init(&waiter);
    job->waiter = &waiter;
    cw_store_job_start(job);
    int rc = cw_store_job_wait(job, &waiter, err);
    cw_cond_fini(&waiter);
    return rc;
}
int cw_store_try(struct cw_store *store, struct cw_err *err)
{
    struct cw_store_job *job = cw_store_job_new(store, cw_store_call_try, NULL);
    int rc = cw_store_job_run(job, err);

    cw_store_job_unref(job);
    return rc;
}
static void each_thread(struct cw_store *store, void (*fn)(struct cw_thread *thread))
{
    fn(&store->timer_thread);
    for (size_t i = 0; i < store->threads_n; i++)
        fn(&store->threads[i]);
}
void cw_store_threads_stop(struct cw_store *store)
{
    cw_mutex_lock(&store->lock);
    int64_t longest_ns = store->is_interrupted ? INTERRUPTED_NS : store->url.timeout_ns;
    int64_t deadline_ns = cw_clock_ns() + CW_MIN(longest_ns, store->url.timeout_ns);
    store->stopping = true;
    cw_cond_broadcast(&store->work);
    cw_cond_signal(&store->timer);
    while (store->alive > 0 && cw_cond_wait_until(&store->quiet, &store->lock, deadline_ns))
        ;
    /* Some threads are stuck in a call: the last of them frees the store. */
    bool is_left = store->alive > 0;
    if (is_left)
        each_thread(store, cw_thread_detach);
    store->was_abandoned = is_left;
    cw_mutex_unlock(&store->lock);
    if (is_left)
        return;
    each_thread(store, cw_thread_join);
    store->on_last_thread(store);
}
