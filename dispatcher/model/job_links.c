/* SPDX-License-Identifier: Apache-2.0 */
/* A job is linked to its clients, and to the worker that prepares it; and the other way round. */
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

void cw_job_set_preparing(struct cw_job *job, struct cw_worker *worker)
{
    if (job->preparing)
        job->preparing->preparing_n--;
    job->preparing = worker;
    if (worker)
        worker->preparing_n++;
}
