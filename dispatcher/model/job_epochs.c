/* SPDX-License-Identifier: Apache-2.0 */
/* Changes to the open epochs of a job: they are opened, their items get owners, and items are
 * skipped because somebody asked for it. */
#include "dispatcher/model/model.h"

void cw_job_set_owner(struct cw_job *job, struct cw_epoch *epoch, uint32_t consumer,
                      const struct cw_set *items)
{
    struct cw_set *owned = &epoch->parts[consumer].owned;
    uint64_t before = cw_set_count(owned);
    cw_set_add_all(owned, items);
    if (cw_set_count(owned) != before)
        epoch->dirty = job->due.progress = true;
}

struct cw_set *cw_job_skips_of(struct cw_job *job, uint64_t epoch)
{
    for (size_t i = 0; i < job->skips_n; i++)
        if (job->skips[i].epoch == epoch)
            return &job->skips[i].items;
    CW_GROW(job->skips, job->skips_n, job->skips_cap);
    job->skips[job->skips_n] = (struct cw_job_skip){.epoch = epoch};
    return &job->skips[job->skips_n++].items;
}

bool cw_job_skips_full(const struct cw_job *job, uint64_t epoch)
{
    for (size_t i = 0; i < job->skips_n; i++)
        if (job->skips[i].epoch == epoch)
            return job->skips[i].items.n >= CW_SKIPPED_RUNS_MAX;
    return job->skips_n >= CW_SKIPPED_EPOCHS_MAX;
}

void cw_job_skips_load(struct cw_job *job, uint64_t epoch, const struct cw_set *items)
{
    cw_set_add_all(cw_job_skips_of(job, epoch), items);
    cw_job_skips_apply(job, cw_job_epoch(job, epoch));
}

void cw_job_skips_free(struct cw_job *job)
{
    for (size_t i = 0; i < job->skips_n; i++)
        cw_set_fini(&job->skips[i].items);
    cw_mem_free(job->skips);
}

/* Skipped items are never leased. An epoch that is done because of them stays open; whoever
 * consumes its last item closes it. */
void cw_job_skips_apply(struct cw_job *job, struct cw_epoch *epoch)
{
    struct cw_set fresh = {0};
    if (job->info && job->info->sparse)
        return;
    for (size_t i = 0; epoch && i < job->skips_n; i++) {
        if (job->skips[i].epoch == epoch->number)
            cw_epoch_skip(epoch, &job->skips[i].items, &fresh);
    }
    if (fresh.n > 0) {
        job->skipped_items += cw_set_count(&fresh);
        job->due.progress = true;
        cw_set_add_all(&epoch->skipped_unsent, &fresh);
        job->d->due.left_out = true;
    }
    cw_set_fini(&fresh);
}

struct cw_epoch *cw_job_open_epoch(struct cw_job *job, uint64_t number)
{
    if (number < job->first_epoch || number - job->first_epoch >= CW_EPOCHS_AHEAD ||
        (job->epochs_n > 0 && number >= job->epochs_n))
        return NULL;
    while (number - job->first_epoch >= job->epochs_open) {
        struct cw_epoch *epoch = CW_NEW(struct cw_epoch);
        cw_epoch_init(epoch, job->first_epoch + job->epochs_open, job->items, &job->layout);
        CW_GROW(job->epochs, job->epochs_open, job->epochs_cap);
        job->epochs[job->epochs_open++] = epoch;
        cw_job_skips_apply(job, epoch);
    }
    return job->epochs[number - job->first_epoch];
}

static void reopen_one(struct cw_job *job)
{
    struct cw_epoch *epoch = CW_NEW(struct cw_epoch);
    cw_epoch_init(epoch, job->first_epoch - 1, job->items, &job->layout);
    for (uint32_t c = 0; c < job->layout.consumers; c++)
        cw_epoch_reset(epoch, c, job->items, NULL);
    CW_GROW(job->epochs, job->epochs_open, job->epochs_cap);
    for (size_t i = job->epochs_open++; i > 0; i--)
        job->epochs[i] = job->epochs[i - 1];
    job->epochs[0] = epoch;
    job->first_epoch--;
}

bool cw_job_reopen_epochs(struct cw_job *job, uint64_t number)
{
    if (number < job->first_epoch && job->first_epoch - number + job->epochs_open > CW_EPOCHS_AHEAD)
        return false;
    while (number < job->first_epoch)
        reopen_one(job);
    return true;
}
