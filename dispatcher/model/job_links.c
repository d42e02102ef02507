/* SPDX-License-Identifier: Apache-2.0 */
/* A job is linked to its clients, and to the worker that prepares it; and the other way round. */
#include "base/mem.h"
#include "dispatcher/model/model.h"

static void join_due(struct cw_job *job)
{
    struct cw_dispatcher *d = job->d;
    if (job->due.is_listed)
        return;
    job->due.is_listed = true;
    job->next_due = NULL;
    if (!d->due_jobs)
        d->due_jobs_end = &d->due_jobs;
    *d->due_jobs_end = job;
    d->due_jobs_end = &job->next_due;
}

void cw_job_leases_due(struct cw_job *job)
{
    job->due.leases = true;
    join_due(job);
}

void cw_job_worker_list_due(struct cw_job *job)
{
    job->due.worker_list = job->d->due.job_lists = true;
    join_due(job);
}

/* A job that does not run is marked again when it does. */
static bool is_due(const struct cw_job *job)
{
    return job->due.worker_list || (job->due.leases && job->status == CW_JOB_RUNNING);
}

void cw_jobs_drop_due(struct cw_dispatcher *d, const struct cw_job *gone)
{
    struct cw_job **at = &d->due_jobs;
    while (*at) {
        struct cw_job *job = *at;
        if (job != gone && (gone || is_due(job))) {
            at = &job->next_due;
            continue;
        }
        job->due.is_listed = false;
        *at = job->next_due;
    }
    d->due_jobs_end = at;
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

struct cw_index_help *cw_job_add_index_help(struct cw_job *job, struct cw_worker *worker)
{
    struct cw_index_help *help = CW_NEW(struct cw_index_help);
    *help = (struct cw_index_help){
        .next = job->index_helps, .number = ++worker->d->index_helps_number, .worker = worker};
    job->index_helps = help;
    job->index_helps_n++;
    worker->index_helps_n++;
    return help;
}

struct cw_index_help **cw_job_find_index_help(struct cw_job *job, uint64_t number)
{
    struct cw_index_help **at = &job->index_helps;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    return *at ? at : NULL;
}

void cw_job_drop_index_help(struct cw_job *job, struct cw_index_help **at)
{
    struct cw_index_help *help = *at;
    *at = help->next;
    job->index_helps_n--;
    help->worker->index_helps_n--;
    cw_mem_free(help);
}

void cw_job_set_preparing(struct cw_job *job, struct cw_worker *worker)
{
    while (job->index_helps)
        cw_job_drop_index_help(job, &job->index_helps);
    if (job->preparing)
        job->preparing->preparing_n--;
    job->preparing = worker;
    if (worker)
        worker->preparing_n++;
}
