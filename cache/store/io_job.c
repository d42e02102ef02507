/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of a store: their queues, their references, and what happens when one ends. */
#include "cache/store/io_job.h"
#include <stdio.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

void cw_store_queue_push(struct cw_store_queue *queue, struct cw_store_job *job)
{
    job->next = NULL;
    if (queue->tail)
        queue->tail->next = job;
    else
        queue->head = job;
    queue->tail = job;
}
void cw_store_queue_pop(struct cw_store_queue *queue)
{
    struct cw_store_job *job = queue->head;

    queue->head = job->next;
    if (!queue->head)
        queue->tail = NULL;
    job->next = NULL;
}
static void unlink_from(struct cw_store_job **head, struct cw_store_job *job)
{
    for (; *head; head = &(*head)->next)
        if (*head == job) {
            *head = job->next;
            job->next = NULL;
            return;
        }
}
unsigned cw_store_job_pieces_left(const struct cw_store_job *job)
{
    return job->call ? 1 : (unsigned)((job->n - job->taken + CW_STORE_PIECE - 1) / CW_STORE_PIECE);
}
bool cw_store_job_is_queued(const struct cw_store_job *job)
{
    return job->state == CW_STORE_JOB_QUEUED ||
           (job->state == CW_STORE_JOB_RUNNING && !job->call && job->taken < job->n);
}
static void unlink_job(struct cw_store *store, struct cw_store_job *job)
{
    struct cw_store_queue *queue = job->call ? &store->calls : &store->reads;

    if (!cw_store_job_is_queued(job)) {
        unlink_from(&store->running, job);
        return;
    }
    store->wanted -= cw_store_job_pieces_left(job);
    unlink_from(&queue->head, job);
    queue->tail = queue->head;
    while (queue->tail && queue->tail->next)
        queue->tail = queue->tail->next;
}

/* ---- life of a job ---- */

struct cw_store_job *cw_store_job_new(struct cw_store *store, cw_store_call_fn *call,
                                      const char *name)
{
    struct cw_store_job *job = CW_NEW(struct cw_store_job);

    job->store = store;
    job->call = call;
    job->refs = 1;
    if (name)
        snprintf(job->name, sizeof(job->name), "%s", name);
    return job;
}
/* Frees a job. Called without the lock. on_io_thread: the caller is an I/O thread, which may
 * block. */
static void free_job(struct cw_store_job *job, bool on_io_thread)
{
    if (job->release)
        job->release(job, on_io_thread);
    if (job->has_left)
        job->read->left(job->read);
    cw_buf_unref(job->pieces);
    cw_mem_free(job);
}
void cw_store_job_unref_on(struct cw_store_job *job, bool on_io_thread)
{
    struct cw_store *store = job->store;

    cw_mutex_lock(&store->lock);
    bool is_last = --job->refs == 0;
    cw_mutex_unlock(&store->lock);
    if (is_last)
        free_job(job, on_io_thread);
}
void cw_store_job_unref(struct cw_store_job *job)
{
    if (job)
        cw_store_job_unref_on(job, false);
}

void cw_store_job_notify_locked(struct cw_store_job *job)
{
    struct cw_store *store = job->store;
    struct cw_store_read *read = job->read;
    int rc = job->rc;

    job->is_notified = true;
    if (job->waiter)
        cw_cond_signal(job->waiter);
    if (read) {
        cw_store_meter_end(&store->reading, job->n, rc, cw_clock_ns());
        if (rc < 0)
            read->err = job->why;
        cw_mutex_unlock(&store->lock);
        read->done(read, rc);
        cw_mutex_lock(&store->lock);
    }
    if (--job->refs > 0)
        return;
    cw_mutex_unlock(&store->lock);
    free_job(job, false);
    cw_mutex_lock(&store->lock);
}
void cw_store_unavailable_locked(struct cw_store *store)
{
    cw_log_debug("store", "%s is away: %s", store->url.text, store->breaker.why.msg);
    cw_cond_signal(&store->timer);
}
int cw_store_call_try(struct cw_store_job *job)
{
    return job->store->ops->try(job->store->self, &job->err);
}
/* Derives from the result whether the store is available. Called with the lock held. */
static void note_result(const struct cw_store_job *job)
{
    struct cw_store *store = job->store;
    struct cw_store_breaker *breaker = &store->breaker;
    int64_t now = cw_clock_ns();

    if (job->call != cw_store_call_try || !job->is_unattended) {
        if (cw_store_breaker_note(breaker, job->rc, &job->why, now))
            cw_store_unavailable_locked(store);
    } else if (cw_store_breaker_tried(breaker, job->rc, &job->why, now)) {
        store->is_open = true;
        cw_log_debug("store", "%s is back", store->url.text);
    }
}
void cw_store_job_end_locked(struct cw_store_job *job, int rc)
{
    struct cw_store *store = job->store;

    if (job->state == CW_STORE_JOB_ENDED)
        return;
    unlink_job(store, job);
    job->state = CW_STORE_JOB_ENDED;
    job->rc = rc;
    store->stuck += (unsigned)job->inside;
    note_result(job);
    if (job->copying == 0)
        cw_store_job_notify_locked(job);
}

void cw_store_job_cancel_locked(struct cw_store_job *job)
{
    cw_store_job_end_locked(job,
                            cw_err_set(&job->why, CW_E_CANCELLED, "store %s: %s%scancelled",
                                       job->store->url.text, job->name, *job->name ? ": " : ""));
}

/* ---- waiting, progress ---- */

int cw_store_job_wait(struct cw_store_job *job, struct cw_cond *waiter, struct cw_err *err)
{
    struct cw_store *store = job->store;

    cw_mutex_lock(&store->lock);
    while (!job->is_notified)
        cw_cond_wait(waiter, &store->lock);
    job->waiter = NULL;
    cw_mutex_unlock(&store->lock);
    if (job->rc < 0 && err)
        *err = job->why;
    return job->rc;
}
void cw_store_job_progress(struct cw_store_job *job)
{
    struct cw_store *store = job->store;

    cw_mutex_lock(&store->lock);
    job->deadline_ns = cw_clock_ns() + store->url.timeout_ns;
    cw_mutex_unlock(&store->lock);
}
bool cw_store_job_is_ended(struct cw_store_job *job)
{
    cw_mutex_lock(&job->store->lock);
    bool is_ended = job->state == CW_STORE_JOB_ENDED;
    cw_mutex_unlock(&job->store->lock);
    return is_ended;
}
void cw_store_jobs_drop(struct cw_store *store)
{
    for (struct cw_store_job *job; (job = store->calls.head);) {
        cw_store_queue_pop(&store->calls);
        free_job(job, true);
    }
}
