/* SPDX-License-Identifier: Apache-2.0 */
/* The trainer's side of a job: cachew_job_next, and what it records about each batch that it gives
 * out. */
#include "client/model/client_job.h"

#include <stdatomic.h>
#include "base/clock.h"
#include "client/model/public.h"

static void note_consumed(struct cachew_job *job)
{
    if (!job->last_pending)
        return;
    job->last_pending = false;
    if (job->unordered && !job->sparse)
        cw_set_add(&job->used, job->last_item, job->last_item + 1);
    else
        job->pos = job->last_pos;
    atomic_store_explicit(&job->consumed, job->serial, memory_order_release);
    if (job->sparse)
        atomic_store_explicit(&job->counts.done_items, job->pos.item, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&job->counts.done_items, 1, memory_order_relaxed);
}

static bool nothing_waits(const struct cachew_job *job)
{
    return atomic_load_explicit(&job->counts.pushed, memory_order_relaxed) == job->serial;
}

static void note_bad(struct cachew_job *job, uint64_t epoch, uint64_t number, uint64_t n,
                     struct cw_bad_list *list)
{
    cw_bad_list_unref(job->last_bad.list);
    job->last_bad = (struct cw_job_bad){epoch, number, n, cw_bad_list_ref(list)};
    atomic_fetch_add_explicit(&job->counts.skipped, n, memory_order_relaxed);
}

static void note_batch(struct cachew_job *job, const struct cachew_batch *batch)
{
    struct cw_job_counts *counts = &job->counts;
    uint64_t bytes = batch->data->buf ? batch->data->buf->len : 0;
    job->last_pending = true;
    job->last_pos = batch->after;
    job->last_item = batch->item;
    atomic_store_explicit(&job->given, ++job->serial, memory_order_release);
    atomic_fetch_add_explicit(&counts->batches, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counts->epoch_batches, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counts->elements, batch->data->elements, memory_order_relaxed);
    note_bad(job, batch->epoch, batch->number, batch->data->skipped, batch->data->bad);
    atomic_fetch_add_explicit(&counts->bytes, bytes, memory_order_relaxed);
    job->unkicked_bytes += bytes;
    /* A sparse job has given out its last finished batch. The dispatcher may now count the window
     * from what was received, so it must be told. */
    if (++job->unkicked_n >= atomic_load_explicit(&job->kick_n, memory_order_relaxed) ||
        (job->sparse && nothing_waits(job)) ||
        job->unkicked_bytes >= atomic_load_explicit(&job->kick_bytes, memory_order_relaxed)) {
        job->unkicked_n = job->unkicked_bytes = 0;
        cw_client_job_kick(job);
    }
}

static void note_end(struct cachew_job *job, const struct cachew_batch *end)
{
    job->pos = job->last_pos = end->after;
    cw_set_clear(&job->used);
    note_bad(job, end->epoch, end->number, end->end_skipped, end->end_bad);
    job->serial++;
    atomic_store_explicit(&job->given, job->serial, memory_order_release);
    atomic_store_explicit(&job->consumed, job->serial, memory_order_release);
    atomic_store_explicit(&job->counts.epoch, end->after.epoch, memory_order_relaxed);
    atomic_store_explicit(&job->counts.epoch_batches, 0, memory_order_relaxed);
    atomic_store_explicit(&job->counts.done_items, 0, memory_order_relaxed);
    job->over = job->epochs != 0 && end->after.epoch >= job->epochs;
    cw_client_job_kick(job);
}

int cachew_job_next(struct cachew_job *job, int64_t timeout_ms, struct cachew_batch **ret_batch,
                    struct cachew_error *error)
{
    struct cw_err err = {0};
    if (ret_batch)
        *ret_batch = NULL;
    if (cw_client_job_check(job, &err) != 0)
        return cw_public_fail(error, &err);
    if (!ret_batch)
        return cw_public_set(error, CW_E_INVALID, "cachew_job_next: ret_batch must not be NULL");
    if (atomic_load_explicit(&job->cancelled, memory_order_relaxed))
        return cw_public_set(error, CW_E_CANCELLED, "the job was cancelled");
    note_consumed(job);
    if (job->over)
        return 0;
    int64_t asked_ns = cw_clock_ns();
    cw_trainer_measure_asked(&job->measure, asked_ns);
    bool waits = !job->taken;
    /* The dispatcher may lease no more before it is told what was consumed just now. */
    if (waits && nothing_waits(job))
        cw_client_job_kick(job);
    if (!job->taken && cw_client_job_take(job, timeout_ms, &err) != 0)
        return cw_public_fail(error, &err);
    if (!job->taken) /* No batch came: cachew_job_cancel has woken this thread. */
        return cw_public_set(error, CW_E_CANCELLED, "the job was cancelled");
    struct cachew_batch *batch = job->taken;
    job->taken = batch->next;
    batch->next = NULL;
    if (!batch->end) {
        note_batch(job, batch);
        cw_trainer_measure_given(&job->measure, waits ? cw_clock_ns() : asked_ns);
        cw_client_job_lower(job);
        *ret_batch = batch;
        return 1;
    }
    note_end(job, batch);
    cw_client_job_lower(job);
    cw_trainer_measure_break(&job->measure);
    cachew_batch_release(batch);
    return 0;
}

int cachew_job_done(const struct cachew_job *job)
{
    return job && job->magic == CW_JOB_MAGIC && job->over;
}

void cachew_job_cancel(struct cachew_job *job)
{
    if (cw_client_job_check(job, NULL) != 0)
        return;
    cw_mutex_lock(&job->mutex);
    atomic_store_explicit(&job->cancelled, 1, memory_order_relaxed);
    job->waiting = false;
    cw_client_job_raise(job);
    /* The lock is held, because the trainer may close the job as soon as it is awake. */
    cw_cond_broadcast(&job->cond);
    cw_mutex_unlock(&job->mutex);
}

const char *cachew_job_id(const struct cachew_job *job)
{
    return job && job->magic == CW_JOB_MAGIC ? job->id : "";
}
