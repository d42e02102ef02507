/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of ready batches between the client's loop thread and the trainer's, and how each
 * side wakes the other. */
#include "client/model/client_job.h"

#include <stdatomic.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"

int cw_client_job_check(const struct cachew_job *job, struct cw_err *err)
{
    if (!job || job->magic != CW_JOB_MAGIC)
        return cw_err_set(err, CW_E_STATE, "this is not an open job");
    return cw_client_check_pid(job->pid, err);
}

void cw_client_job_raise(struct cachew_job *job)
{
    uint64_t one = 1;
    if (!job->has_fd || job->fd_is_ready)
        return;
    ssize_t n = write(job->fd, &one, sizeof(one));
    CW_ASSERT(n == (ssize_t)sizeof(one)); /* The counter was 0. */
    job->fd_is_ready = true;
}

void cw_client_job_lower(struct cachew_job *job)
{
    uint64_t one;
    if (!job->has_fd || job->taken || job->over)
        return;
    cw_mutex_lock(&job->mutex);
    if (job->fd_is_ready && !job->head && job->err.code == 0 &&
        !atomic_load_explicit(&job->cancelled, memory_order_relaxed)) {
        ssize_t n = read(job->fd, &one, sizeof(one));
        CW_ASSERT(n == (ssize_t)sizeof(one)); /* The counter was 1. */
        job->fd_is_ready = false;
    }
    cw_mutex_unlock(&job->mutex);
}

void cw_client_job_push(struct cachew_job *job, struct cachew_batch *head,
                        struct cachew_batch *tail)
{
    cw_mutex_lock(&job->mutex);
    if (job->tail)
        job->tail->next = head;
    else
        job->head = head;
    job->tail = tail;
    bool wake = job->waiting;
    job->waiting = false;
    cw_client_job_raise(job);
    cw_mutex_unlock(&job->mutex);
    if (wake)
        cw_cond_broadcast(&job->cond);
}

void cw_client_job_fail(struct cachew_job *job, const struct cw_err *err)
{
    cw_mutex_lock(&job->mutex);
    if (job->err.code == 0)
        job->err = *err;
    job->waiting = false;
    cw_client_job_raise(job);
    cw_mutex_unlock(&job->mutex);
    cw_cond_broadcast(&job->cond);
}

void cw_client_job_set_id(struct cachew_job *job, const char *id)
{
    char *old = atomic_exchange(&job->id, cw_mem_strdup(id));
    if (!old)
        return;
    job->old_ids = cw_mem_grow(job->old_ids, job->old_ids_n + 1, sizeof(*job->old_ids));
    job->old_ids[job->old_ids_n++] = old;
}

/* The job's mutex is locked. */
static int fail_late(const struct cachew_job *job, int64_t timeout_ms, struct cw_err *err)
{
    char waits[CW_WAITS_TEXT_BYTES + 40];
    cw_waits_print(&job->waits, cw_clock_ns(), waits);
    return cw_err_set(err, CW_E_TIMEOUT, "no batch came within %lld ms%s", (long long)timeout_ms,
                      waits);
}

int cw_client_job_take(struct cachew_job *job, int64_t timeout_ms, struct cw_err *err)
{
    int64_t begin = 0, deadline = 0;
    int rc = 0;
    cw_mutex_lock(&job->mutex);
    while (!job->head && job->err.code == 0 &&
           !atomic_load_explicit(&job->cancelled, memory_order_relaxed)) {
        if (begin == 0) {
            begin = cw_clock_ns();
            deadline =
                timeout_ms < 0 ? 0 : begin + CW_MIN(timeout_ms, INT64_MAX / 4000000) * 1000000;
        }
        job->waiting = true;
        if (timeout_ms < 0) {
            cw_cond_wait(&job->cond, &job->mutex);
        } else if (!cw_cond_wait_until(&job->cond, &job->mutex, deadline) && !job->head) {
            rc = fail_late(job, timeout_ms, err);
            break;
        }
    }
    job->waiting = false;
    if (job->head) {
        job->taken = job->head;
        job->head = job->tail = NULL;
        rc = 0;
    } else if (rc == 0) {
        *err = job->err;
        rc = err->code;
    }
    cw_mutex_unlock(&job->mutex);
    if (begin)
        atomic_fetch_add_explicit(&job->counts.wait_ns, (uint64_t)(cw_clock_ns() - begin),
                                  memory_order_relaxed);
    return rc;
}

void cw_client_job_kick(struct cachew_job *job)
{
    if (atomic_exchange_explicit(&job->kicked, 1, memory_order_acq_rel) == 0)
        cw_loop_post_node(job->client->loop, &job->kick_node);
}
