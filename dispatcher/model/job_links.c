/* SPDX-License-Identifier: Apache-2.0 */
/* A job is linked to its clients, and to the worker that prepares it; and the other way round. */
#include "base/mem.h"
#include "dispatcher/model/model.h"

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
