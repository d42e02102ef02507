/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of a job: its open epochs, what of them is written, and the position of a consumer. */
#include "dispatcher/autocache/autocache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include "dispatcher/message/message.h"
#include "trace/trace.h"

static void close_first_epoch(struct cw_job *job)
{
    cw_job_send_left_out(job, job->epochs[0]);
    cw_epoch_fini(job->epochs[0]);
    cw_mem_free(job->epochs[0]);
    for (size_t i = 1; i < job->epochs_open; i++)
        job->epochs[i - 1] = job->epochs[i];
    job->epochs_open--;
}

/* Whether a consumer may not have counted yet what was left out of the epoch, which would be
 * forgotten with it. A client that has passed the end of the epoch has counted all of it. */
static bool is_to_be_counted(const struct cw_job *job, const struct cw_epoch *epoch)
{
    if (epoch->skipped.n == 0 || job->layout.mode == CW_MODE_SHARED)
        return false;
    for (uint32_t c = 0; c < job->layout.consumers; c++)
        if (job->consumers[c].client_id != 0 && job->consumers[c].position.epoch <= epoch->number)
            return true;
    return false;
}

void cw_job_advance(struct cw_job *job)
{
    if (job->status != CW_JOB_RUNNING)
        return;
    bool moved = false;
    uint64_t before = job->first_epoch;
    while (job->epochs_open > 0 && job->items > 0 && cw_epoch_is_done(job->epochs[0]) &&
           !is_to_be_counted(job, job->epochs[0])) {
        close_first_epoch(job);
        job->first_epoch++;
        moved = true;
    }
    if (job->items == 0 && job->epochs_n > 0) {
        while (job->epochs_open > 0) /* A client has named items that are not there. */
            close_first_epoch(job);
        job->first_epoch = job->epochs_n;
    }
    if (job->epochs_n > 0 && job->first_epoch >= job->epochs_n) {
        job->status = CW_JOB_FINISHED;
        moved = job->d->due.assignment = true;
        cw_log_info(CW_LOG_MOD, "job=%s name=%s finished: %llu epochs of %llu items", job->id,
                    job->name, (unsigned long long)job->epochs_n, (unsigned long long)job->items);
    }
    if (!moved)
        return;
    cw_node_counters_halve(job->measured);
    cw_autocache_epochs_moved(job, before);
    cw_item_faults_forget(job, job->first_epoch);
    job->due.row = job->due.progress = true;
    cw_job_leases_due(job);
    if (job->status == CW_JOB_FINISHED)
        cw_job_flush(job);
}

void cw_job_flush(struct cw_job *job)
{
    if (!job->row_written)
        return;
    cw_job_store_usage(job, cw_clock_ms(), job->due.row);
    cw_telemetry_store_bad(job);
    if (job->due.row)
        cw_state_set_job(job->d->state, job->id, job->status, job->first_epoch, job->error_code,
                         job->error);
    job->due.row = false;
    for (size_t i = 0; job->due.progress && i < job->epochs_open; i++) {
        if (job->epochs[i]->dirty)
            cw_state_put_epoch(job->d->state, job->id, job->epochs[i]);
        job->epochs[i]->dirty = false;
    }
    job->due.progress = false;
    for (uint32_t c = 0; c < job->layout.consumers; c++) {
        struct cw_consumer *consumer = &job->consumers[c];
        if (consumer->position_dirty)
            cw_state_put_position(job->d->state, job->id, c, consumer->client_id,
                                  &consumer->position);
        consumer->position_dirty = false;
    }
}

/* What workers hold they will send to the next process. What they had sent to the last one and was
 * not acknowledged they hand back when its stream ends. So only items that were acknowledged and
 * not consumed must be freed here. */
void cw_job_release_consumer(struct cw_job *job, uint32_t consumer)
{
    for (size_t i = 0; i < job->epochs_open; i++) {
        struct cw_epoch *epoch = job->epochs[i];
        /* The worker would send the items to this consumer, who does not own them any more. */
        if (job->layout.mode == CW_MODE_SHARED) {
            struct cw_set owned = {0};
            cw_set_copy(&owned, &epoch->parts[consumer].owned);
            for (struct cw_share *share = job->shares; share; share = share->next_of_job)
                cw_lease_free(share, epoch->number, &owned, true);
            cw_set_fini(&owned);
        }
        if (cw_epoch_forget_received(epoch, consumer))
            epoch->dirty = true;
    }
    job->due.progress = true;
    cw_job_leases_due(job);
}

static void run_again(struct cw_job *job)
{
    job->due.row = true;
    if (job->status == CW_JOB_FINISHED && job->first_epoch < job->epochs_n) {
        job->status = CW_JOB_RUNNING;
        job->forgotten = false;
        job->d->due.assignment = true;
        cw_job_leases_due(job);
    }
}

static void restart_epochs_at(struct cw_job *job, uint64_t epoch)
{
    while (job->epochs_open > 0)
        close_first_epoch(job);
    cw_state_clear_progress(job->d->state, job->id);
    job->first_epoch = job->epochs_n > 0 ? CW_MIN(epoch, job->epochs_n) : epoch;
    run_again(job);
}

/* The only consumer, or the first of several that has a place at all: the job stands where its token
 * says. Any other moves only its own items, also in epochs that were over: the rest stands as it is,
 * since another may join without a token. When that is too far back all go there: they had one
 * checkpoint. True: all go there. */
static bool go_to_epoch(struct cw_job *job, uint64_t epoch)
{
    /* The rows of epochs that are over are dropped before these are opened again, without the items
     * that were left out: else such items would come back with the next dispatcher. */
    if (job->due.row)
        cw_job_flush(job);
    if (job->layout.consumers == 1 || !cw_job_had_clients(job) ||
        !cw_job_reopen_epochs(job, epoch)) {
        restart_epochs_at(job, epoch);
        return true;
    }
    run_again(job);
    return false;
}

void cw_job_resume_at(struct cw_job *job, uint32_t consumer, const struct cw_token *token)
{
    cw_job_release_consumer(job, consumer);
    if (!token)
        return;
    cw_lease_free_job(job);
    bool all = go_to_epoch(job, token->epoch);
    for (uint32_t c = 0; c < job->layout.consumers; c++) {
        if (!all && c != consumer)
            continue;
        job->consumers[c].position = (struct cw_state_position){
            token->epoch, token->item, token->row, token->rows, token->batches};
        job->consumers[c].position_dirty = true;
    }
    for (uint64_t n = job->first_epoch; n < token->epoch && n - job->first_epoch < CW_EPOCHS_AHEAD;
         n++) {
        struct cw_epoch *past = cw_job_open_epoch(job, n);
        if (past)
            cw_epoch_reset(past, consumer, past->items, NULL);
    }
    struct cw_epoch *epoch = cw_job_open_epoch(job, token->epoch);
    if (epoch && all)
        cw_epoch_start_at(epoch, token->item);
    for (uint32_t c = 0; epoch && c < job->layout.consumers; c++)
        if (all || c == consumer)
            cw_epoch_reset(epoch, c, token->item, c == consumer ? &token->beyond : NULL);
    for (uint64_t n = token->epoch + 1; n < job->first_epoch + job->epochs_open; n++)
        cw_epoch_reset(cw_job_epoch(job, n), consumer, 0, NULL);
    for (size_t i = 0; i < job->epochs_open; i++)
        cw_job_skips_apply(job, job->epochs[i]);
    job->due.progress = true;
}

uint64_t cw_job_skip(struct cw_job *job, uint64_t number, const struct cw_set *items,
                     const char *reason)
{
    struct cw_epoch *epoch = cw_job_open_epoch(job, number);
    if (!epoch)
        return 0;
    struct cw_set fresh = {0};
    cw_epoch_skip(epoch, items, &fresh);
    uint64_t n = cw_set_count(&fresh);
    if (n > 0) {
        for (struct cw_share *share = job->shares; share; share = share->next_of_job)
            cw_lease_free(share, number, &fresh, true);
        job->skipped_items += n;
        job->due.progress = true;
        cw_job_leases_due(job);
        cw_job_send_skipped(job, number, &fresh, reason);
        cw_job_advance(job);
    }
    cw_set_fini(&fresh);
    return n;
}
