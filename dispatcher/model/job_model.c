/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs in the model: finding one by its name, its clients and its tenant, its open epochs, and the
 * items that were skipped by request. */
#include <math.h>
#include <string.h>

#include "dispatcher/model/model.h"

/* A job without a last epoch is expected to run for this many more epochs. */
#define ENDLESS_EPOCHS 10.0

struct cw_job *cw_job_find_named(struct cw_dispatcher *d, const char *name)
{
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        bool over = (job->status == CW_JOB_FAILED && !job->stored) ||
                    (job->status == CW_JOB_FINISHED && job->consumers[0].bye);
        if (!over && job->name[0] != '\0' && strcmp(job->name, name) == 0)
            return job;
    }
    return NULL;
}

struct cw_job *cw_job_find(struct cw_dispatcher *d, const char *id_or_name)
{
    struct cw_job *job = cw_strmap_get(&d->jobs_by_id, id_or_name);
    if (!job)
        job = cw_job_find_named(d, id_or_name);
    bool past = !job && id_or_name[0] != '\0';
    for (struct cw_job *other = past ? d->jobs : NULL; other; other = other->next)
        if (strcmp(other->name, id_or_name) == 0 && (!job || other->created_ms > job->created_ms))
            job = other;
    return job;
}

bool cw_job_has_clients(const struct cw_job *job)
{
    return job->clients != NULL;
}

void cw_job_add_client(struct cw_job *job, struct cw_client *client)
{
    client->job = job;
    client->next_of_job = job->clients;
    job->clients = client;
}

void cw_job_remove_client(struct cw_client *client)
{
    struct cw_client **at = &client->job->clients;
    while (*at != client)
        at = &(*at)->next_of_job;
    *at = client->next_of_job;
    client->next_of_job = NULL;
    client->job = NULL;
}

void cw_job_set_preparing(struct cw_job *job, struct cw_worker *worker)
{
    if (job->preparing)
        job->preparing->preparing_n--;
    job->preparing = worker;
    if (worker)
        worker->preparing_n++;
}

bool cw_job_had_clients(const struct cw_job *job)
{
    for (uint32_t c = 0; c < job->layout.consumers; c++)
        if (job->consumers[c].client_id != 0)
            return true;
    return false;
}

const char *cw_job_tenant(const struct cw_job *job)
{
    return job->tenant->name;
}

struct cw_epoch *cw_job_epoch(struct cw_job *job, uint64_t number)
{
    if (number < job->first_epoch || number - job->first_epoch >= job->epochs_open)
        return NULL;
    return job->epochs[number - job->first_epoch];
}

size_t cw_job_node(const struct cw_job *job, const char *name, size_t near)
{
    size_t n = job->info->n_cacheable;
    for (size_t i = 0; i < n; i++)
        if (strcmp(job->info->cacheable[(near + i) % n]->node, name) == 0)
            return (near + i) % n;
    return n;
}

double cw_job_epochs_left(const struct cw_job *job)
{
    if (job->epochs_n == 0)
        return ENDLESS_EPOCHS;
    double left = (double)job->epochs_n - (double)CW_MIN(job->first_epoch, job->epochs_n);
    return fmax(0, left - cw_job_epoch_done(job));
}

double cw_job_epoch_done(const struct cw_job *job)
{
    if (job->epochs_open == 0 || job->items == 0)
        return 0;
    return (double)cw_set_count(&job->epochs[0]->consumed) / (double)job->items;
}

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
        const struct cw_set *items = &job->skips[i].items;
        for (size_t k = 0; job->skips[i].epoch == epoch->number && k < items->n; k++)
            cw_epoch_skip(epoch, items->v[k].lo, items->v[k].hi, &fresh);
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
