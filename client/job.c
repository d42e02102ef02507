/* SPDX-License-Identifier: Apache-2.0 */
/* The trainer's side of a job: the loop of cachew_job_next, tokens, statistics. */
#include "client/model/job.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "client/model/public.h"
#include "client/session/session.h"
#include "wire/token.h"

int cw_job_check(const struct cachew_job *job, struct cw_err *err)
{
    if (!job || job->magic != CW_JOB_MAGIC)
        return cw_err_set(err, CW_E_STATE, "this is not an open job");
    return cw_client_check_pid(job->pid, err);
}

/* ---- the queue ---- */

void cw_job_push(struct cachew_job *job, struct cachew_batch *head, struct cachew_batch *tail)
{
    cw_mutex_lock(&job->mutex);
    if (job->tail)
        job->tail->next = head;
    else
        job->head = head;
    job->tail = tail;
    bool wake = job->waiting;
    job->waiting = false;
    cw_mutex_unlock(&job->mutex);
    if (wake)
        cw_cond_broadcast(&job->cond);
}

void cw_job_fail(struct cachew_job *job, const struct cw_err *err)
{
    cw_mutex_lock(&job->mutex);
    if (job->err.code == 0)
        job->err = *err;
    job->waiting = false;
    cw_mutex_unlock(&job->mutex);
    cw_cond_broadcast(&job->cond);
}

void cw_job_set_id(struct cachew_job *job, const char *id)
{
    char *old = atomic_exchange(&job->id, cw_mem_strdup(id));
    if (!old)
        return;
    job->old_ids = cw_mem_grow(job->old_ids, job->old_ids_n + 1, sizeof(*job->old_ids));
    job->old_ids[job->old_ids_n++] = old;
}

/* Waits until there is something, and takes all of it. 0, or an error. */
static int refill(struct cachew_job *job, int64_t timeout_ms, struct cw_err *err)
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
            rc = cw_err_set(err, CW_E_TIMEOUT, "no batch came within %lld ms%s%s",
                            (long long)timeout_ms, job->reason[0] ? ": " : "", job->reason);
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

void cw_job_kick(struct cachew_job *job)
{
    if (atomic_exchange_explicit(&job->kicked, 1, memory_order_acq_rel) == 0)
        cw_loop_post_node(job->client->loop, &job->kick_node);
}

/* ---- given out and consumed ---- */

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
    atomic_fetch_add_explicit(&counts->skipped, batch->data->skipped, memory_order_relaxed);
    atomic_fetch_add_explicit(&counts->bytes, bytes, memory_order_relaxed);
    job->unkicked_bytes += bytes;
    /* The last one of a sparse job: from now on the window counts from what has come, and the
     * dispatcher is to know it. */
    if (++job->unkicked_n >= atomic_load_explicit(&job->kick_n, memory_order_relaxed) ||
        (job->sparse && nothing_waits(job)) ||
        job->unkicked_bytes >= atomic_load_explicit(&job->kick_bytes, memory_order_relaxed)) {
        job->unkicked_n = job->unkicked_bytes = 0;
        cw_job_kick(job);
    }
}

static void note_end(struct cachew_job *job, const struct cachew_batch *end)
{
    job->pos = job->last_pos = end->after;
    cw_set_clear(&job->used);
    job->serial++;
    atomic_store_explicit(&job->given, job->serial, memory_order_release);
    atomic_store_explicit(&job->consumed, job->serial, memory_order_release);
    atomic_store_explicit(&job->counts.epoch, end->after.epoch, memory_order_relaxed);
    atomic_store_explicit(&job->counts.epoch_batches, 0, memory_order_relaxed);
    atomic_store_explicit(&job->counts.done_items, 0, memory_order_relaxed);
    job->over = job->epochs != 0 && end->after.epoch >= job->epochs;
    cw_job_kick(job);
}

int cachew_job_next(struct cachew_job *job, int64_t timeout_ms, struct cachew_batch **ret_batch,
                    struct cachew_error *error)
{
    struct cw_err err = {0};
    if (cw_job_check(job, &err) != 0)
        return cw_public_fail(error, &err);
    if (!ret_batch)
        return cw_public_set(error, CW_E_INVALID, "cachew_job_next: ret_batch must not be NULL");
    if (atomic_load_explicit(&job->cancelled, memory_order_relaxed))
        return cw_public_set(error, CW_E_CANCELLED, "the job was cancelled");
    note_consumed(job);
    if (job->over)
        return 0;
    int64_t asked_ns = cw_clock_ns();
    cw_measure_asked(&job->measure, asked_ns);
    bool waits = !job->taken;
    /* what it lacks may wait for what it has just consumed to be told */
    if (waits && nothing_waits(job))
        cw_job_kick(job);
    if (!job->taken && refill(job, timeout_ms, &err) != 0)
        return cw_public_fail(error, &err);
    if (!job->taken) /* woken by cachew_job_cancel */
        return cw_public_set(error, CW_E_CANCELLED, "the job was cancelled");
    struct cachew_batch *batch = job->taken;
    job->taken = batch->next;
    batch->next = NULL;
    if (!batch->end) {
        note_batch(job, batch);
        cw_measure_given(&job->measure, waits ? cw_clock_ns() : asked_ns);
        *ret_batch = batch;
        return 1;
    }
    note_end(job, batch);
    cw_measure_break(&job->measure);
    cachew_batch_release(batch);
    return 0;
}

int cachew_job_done(const struct cachew_job *job)
{
    return job && job->magic == CW_JOB_MAGIC && job->over;
}

void cachew_job_cancel(struct cachew_job *job)
{
    if (cw_job_check(job, NULL) != 0)
        return;
    cw_mutex_lock(&job->mutex);
    atomic_store_explicit(&job->cancelled, 1, memory_order_relaxed);
    job->waiting = false;
    /* under the lock: the trainer may close the job as soon as it is awake */
    cw_cond_broadcast(&job->cond);
    cw_mutex_unlock(&job->mutex);
}

const char *cachew_job_id(const struct cachew_job *job)
{
    return job && job->magic == CW_JOB_MAGIC ? job->id : "";
}

/* ---- tokens ---- */

/* Unordered: everything below the first item that is missing, and the runs beyond it. Items of
 * other consumers count as consumed up to where this one stands: all of them see the same step. */
static void token_unordered(const struct cachew_job *job, bool with_last, struct cw_token *token)
{
    uint64_t step = job->mode == CW_MODE_COORDINATED ? job->consumers : 1,
             mine = job->mode == CW_MODE_COORDINATED ? job->consumer : 0;
    struct cw_set used = {0};
    cw_set_copy(&used, &job->used);
    if (with_last && job->last_pending)
        cw_set_add(&used, job->last_item, job->last_item + 1);
    uint64_t item = job->pos.item;
    if (step > 1)
        item = item / step * step;
    while (cw_set_has(&used, item + mine))
        item = step > 1 ? item + step : cw_set_first_absent(&used, item);
    token->item = token->batches = CW_MIN(item, job->items);
    cw_set_remove(&used, 0, token->item);
    token->beyond = used;
}

int cachew_job_token(struct cachew_job *job, int with_last, void *ret_token, size_t cap,
                     size_t *ret_bytes, struct cachew_error *error)
{
    struct cw_err err = {0};
    if (cw_job_check(job, &err) != 0)
        return cw_public_fail(error, &err);
    if (!ret_token || !ret_bytes)
        return cw_public_set(error, CW_E_INVALID,
                             "cachew_job_token: ret_token and ret_bytes must not be NULL");
    if (job->mode == CW_MODE_SHARED)
        return cw_public_set(
            error, CW_E_UNSUPPORTED,
            "a shared consumer has no place of its own in the epoch: start the job with a name, "
            "and it goes on where all its consumers stand");
    const struct cw_pos *pos = with_last ? &job->last_pos : &job->pos;
    struct cw_token token = {
        .fingerprint = job->fingerprint,
        .pipeline_sum = job->pipeline_sum,
        .files_sum = job->files_sum,
        .identity = job->identity,
        .seed = job->seed,
        .epoch = pos->epoch,
        .item = pos->item,
        .row = pos->row,
        .rows = pos->rows,
        .batches = pos->batches,
        .mode = job->mode,
        .consumers = job->consumers,
        .to_come = (uint32_t)(pos->floor > pos->batches ? pos->floor - pos->batches : 0)};
    if (job->unordered && !job->sparse)
        token_unordered(job, with_last != 0, &token);
    int rc = cw_token_encode(&token, ret_token, cap, ret_bytes, &err);
    cw_token_fini(&token);
    return rc == 0 ? 0 : cw_public_fail(error, &err);
}

/* ---- statistics ---- */

static uint64_t load(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static double epoch_share(const struct cachew_job *job)
{
    if (job->over)
        return 1.0;
    if (job->mine == 0)
        return 0.0;
    double share = (double)load(&job->counts.done_items) / (double)job->mine;
    return CW_MIN(share, 1.0);
}

int cachew_job_stats(const struct cachew_job *job, struct cachew_job_stats *ret_stats)
{
    if (!ret_stats || cw_job_check(job, NULL) != 0)
        return CACHEW_E_STATE;
    size_t size = ret_stats->struct_size;
    if (size < sizeof(size_t) || size > 64 * sizeof(struct cachew_job_stats))
        return CACHEW_E_INVALID;
    const struct cw_job_counts *c = &job->counts;
    uint64_t given = atomic_load_explicit(&job->given, memory_order_relaxed),
             pushed = load(&c->pushed);
    struct cachew_job_stats stats = {.struct_size = size,
                                     .batches = load(&c->batches),
                                     .elements = load(&c->elements),
                                     .bytes = load(&c->bytes),
                                     .skipped = load(&c->skipped),
                                     .epoch = load(&c->epoch),
                                     .epoch_batches = load(&c->epoch_batches),
                                     .epoch_items = job->sparse ? -1 : (int64_t)job->mine,
                                     .epoch_elements = job->elements,
                                     .epoch_done = epoch_share(job),
                                     .duplicates = load(&c->duplicates),
                                     .shm_batches = load(&c->shm_batches),
                                     .grpc_batches = load(&c->grpc_batches),
                                     .copies = load(&c->copies),
                                     .wait_ns = load(&c->wait_ns),
                                     .buffered_bytes = load(&c->buffered_bytes),
                                     .buffered_batches = pushed > given ? pushed - given : 0,
                                     .workers =
                                         atomic_load_explicit(&c->workers, memory_order_relaxed),
                                     .lost_items = load(&c->lost_items),
                                     .reconnects = load(&c->reconnects)};
    memcpy(ret_stats, &stats, CW_MIN(size, sizeof(stats)));
    return 0;
}
