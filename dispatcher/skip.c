/* SPDX-License-Identifier: Apache-2.0 */
/* Items that somebody asked to leave out (`cachew skip`). They belong to the job, not to the epochs that are open: a trainer that goes
 * back to its last checkpoint must not meet them again. */
#include "dispatcher/dispatcher.h"

#define ASKED "skipped by request"

static struct cw_set *skips_of(struct cw_job *job, uint64_t epoch)
{
    for (size_t i = 0; i < job->skips_n; i++)
        if (job->skips[i].epoch == epoch)
            return &job->skips[i].items;
    CW_GROW(job->skips, job->skips_n, job->skips_cap);
    job->skips[job->skips_n] = (struct cw_job_skip){.epoch = epoch};
    return &job->skips[job->skips_n++].items;
}

void cw_job_skips_load(struct cw_job *job, uint64_t epoch, const struct cw_set *items)
{
    cw_set_add_all(skips_of(job, epoch), items);
    cw_job_skips_apply(job, cw_job_epoch(job, epoch));
}

void cw_job_skips_free(struct cw_job *job)
{
    for (size_t i = 0; i < job->skips_n; i++)
        cw_set_fini(&job->skips[i].items);
    cw_mem_free(job->skips);
}

/* Nothing of these is leased, and the epoch stays open even when it is done: who has it consumed will tell. */
void cw_job_skips_apply(struct cw_job *job, struct cw_epoch *epoch)
{
    struct cw_set fresh = {0};
    for (size_t i = 0; epoch && i < job->skips_n; i++) {
        const struct cw_set *items = &job->skips[i].items;
        for (size_t k = 0; job->skips[i].epoch == epoch->number && k < items->n; k++)
            cw_epoch_skip(epoch, items->v[k].lo, items->v[k].hi, &fresh);
    }
    if (fresh.n > 0) {
        job->skipped_items += cw_set_count(&fresh);
        job->progress_dirty = true;
        cw_job_tell_skipped(job, epoch->number, &fresh, ASKED);
    }
    cw_set_fini(&fresh);
}

/* How many of [lo, hi) the trainer has consumed; those left out before do not count. */
static uint64_t count_consumed(struct cw_job *job, uint64_t number, uint64_t lo, uint64_t hi)
{
    const struct cw_epoch *epoch = cw_job_epoch(job, number);
    struct cw_set range = {0};
    cw_set_add(&range, lo, hi);
    if (epoch)
        cw_set_keep(&range, &epoch->consumed);
    else if (number >= job->first_epoch)
        cw_set_clear(&range);
    for (size_t i = 0; epoch && i < epoch->skipped.n; i++)
        cw_set_remove(&range, epoch->skipped.v[i].lo, epoch->skipped.v[i].hi);
    uint64_t n = cw_set_count(&range);
    cw_set_fini(&range);
    return n;
}

uint64_t cw_job_skip_for_good(struct cw_job *job, uint64_t number, uint64_t lo, uint64_t hi)
{
    uint64_t consumed = count_consumed(job, number, lo, hi);
    struct cw_set *items = skips_of(job, number);
    cw_set_add(items, lo, hi);
    cw_state_put_left_out(job->d->state, job->id, number, items);
    cw_job_skip(job, number, lo, hi, ASKED);
    return consumed;
}
