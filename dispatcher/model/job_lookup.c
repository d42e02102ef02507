/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a job by its id or name, and looks up what belongs to it: clients, tenant, an open epoch, a
 * node, and how far it is. Nothing is changed. */
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

struct cw_buf *cw_job_graph(const struct cw_job *job)
{
    return job->completed_packed ? job->completed_packed : job->graph_packed;
}

static size_t bytes_of(const struct cw_buf *buf)
{
    return buf ? buf->len : 0;
}

int cw_jobs_room(const struct cw_dispatcher *d, size_t more, struct cw_err *err)
{
    uint64_t bytes = more;
    for (const struct cw_job *job = d->jobs; job; job = job->next)
        bytes +=
            bytes_of(job->graph_packed) + bytes_of(job->completed_packed) + bytes_of(job->manifest);
    if (d->options.max_jobs_bytes == 0 || bytes <= d->options.max_jobs_bytes)
        return 0;
    return cw_err_set(err, CW_E_LIMIT,
                      "the pipelines and lists of files of all jobs would take %llu bytes, of %llu "
                      "(--max-jobs-bytes): remove jobs that are over, or name fewer files",
                      (unsigned long long)bytes, (unsigned long long)d->options.max_jobs_bytes);
}

bool cw_job_has_clients(const struct cw_job *job)
{
    return job->clients != NULL;
}

bool cw_job_trainer_waits(const struct cw_job *job)
{
    for (uint32_t c = 0; c < job->layout.consumers; c++) {
        if (job->consumers[c].client && job->consumers[c].ready == 0)
            return true;
    }
    return false;
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
