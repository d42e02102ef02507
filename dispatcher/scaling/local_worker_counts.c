/* SPDX-License-Identifier: Apache-2.0 */
/* How many workers run on the hosts of a job's trainers: which policy decides, what the clients are
 * asked to start, and which local workers are drained. */
#include "dispatcher/access/access.h"
#include "dispatcher/message/message.h"
#include "dispatcher/scaling/scaling_int.h"

#include <string.h>

const char *cw_placement_policy(const struct cw_job *job)
{
    const Cachew__V1__JobOptions *own = job->options;
    if (cw_placement_max_local(job) == 0)
        return "off";
    if (own->autoplace[0] != '\0')
        return own->autoplace;
    /* A job that names a policy for the number of its workers wants no placement. */
    return own->autoscale[0] != '\0' ? "off" : job->d->options.autoplace;
}

/* Returns whether the client can start local workers for the job. A client that waits for its job
 * to be prepared counts, since a local worker may be the one that prepares it. */
static bool can_start_local(const struct cw_client *client)
{
    return !client->failed && client->max_local > 0;
}

uint32_t cw_placement_max_local(const struct cw_job *job)
{
    uint32_t n = 0;
    for (const struct cw_client *client = job->clients; client; client = client->next_of_job)
        if (can_start_local(client))
            n += client->max_local;
    return n;
}

static void ask_client(struct cw_client *client, uint32_t n)
{
    if (client->local_sent == n)
        return;
    client->local_sent = n;
    Cachew__V1__LocalWorkers local = CACHEW__V1__LOCAL_WORKERS__INIT;
    local.job_id = client->job->id;
    local.workers = n;
    char credential[CW_CREDENTIAL_BYTES];
    cw_access_job_credential(client->job, credential);
    if (cw_access_is_on(client->d))
        local.credential = credential;
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_LOCAL_WORKERS;
    command.local_workers = &local;
    cw_client_send(client, &command);
    cw_log_info(CW_LOG_MOD, "job=%s client=%s is asked for %u local workers", client->job->id,
                cw_stream_peer(client->stream), n);
}

/* Divides the number evenly: each round gives one worker to every client that may have one more. */
static void share_out(struct cw_job *job, uint32_t wanted)
{
    uint32_t left = CW_MIN(wanted, cw_placement_max_local(job));
    for (struct cw_client *client = job->clients; client; client = client->next_of_job)
        client->local_share = 0;
    while (left > 0) {
        for (struct cw_client *client = job->clients; client && left > 0;
             client = client->next_of_job) {
            if (!can_start_local(client) || client->local_share >= client->max_local)
                continue;
            client->local_share++;
            left--;
        }
    }
    for (struct cw_client *client = job->clients; client; client = client->next_of_job)
        if (can_start_local(client))
            ask_client(client, client->local_share);
}

/* Returns whether the worker is a local one, and usable. A local worker serves one job alone, and
 * has its share of it from its hello on. */
static bool is_local(const struct cw_share *share)
{
    return cw_worker_is_usable(share->worker) && share->worker->only_job[0] != '\0';
}

/* Returns how many workers the clients on this host were asked for. */
static uint32_t asked_on_host(const struct cw_job *job, const char *host_id)
{
    uint32_t n = 0;
    for (const struct cw_client *client = job->clients; client; client = client->next_of_job)
        if (can_start_local(client) && strcmp(client->host_id, host_id) == 0)
            n += client->local_share;
    return n;
}

static uint32_t running_on_host(const struct cw_job *job, const char *host_id)
{
    uint32_t n = 0;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job)
        n += is_local(share) && strcmp(share->worker->host_id, host_id) == 0;
    return n;
}

static void drain_surplus(struct cw_job *job)
{
    for (struct cw_share *share = job->shares; share; share = share->next_of_job)
        if (is_local(share) && running_on_host(job, share->worker->host_id) >
                                   asked_on_host(job, share->worker->host_id))
            cw_worker_retire(share->worker);
}

/* Local workers that have come count as the job's from now on. */
static void count_local_workers(struct cw_job *job, int64_t now)
{
    for (struct cw_share *share = job->shares; share; share = share->next_of_job) {
        if (!is_local(share) || share->assigned)
            continue;
        share->assigned = true;
        share->assigned_done_n = share->done_n;
        cw_scaling_changed(job, now);
        cw_job_leases_due(job);
    }
}

bool cw_placement_is_used(const struct cw_dispatcher *d)
{
    for (const struct cw_client *client = d->clients; client; client = client->next)
        if (client->max_local > 0)
            return true;
    for (const struct cw_worker *w = d->workers; w; w = w->next)
        if (w->said_hello && w->only_job[0] != '\0')
            return true;
    return false;
}

void cw_placement_carry_out(struct cw_job *job, uint32_t wanted, int64_t now)
{
    bool places = job->scaling && job->scaling->policy->places;
    if (!places && cw_placement_max_local(job) == 0)
        return;
    share_out(job, wanted); /* The job is not placed any more, so this asks for 0 workers. */
    drain_surplus(job);
    if (places)
        count_local_workers(job, now);
}

void cw_placement_tick(struct cw_dispatcher *d)
{
    for (struct cw_worker *w = d->workers; w; w = w->next)
        if (cw_worker_is_usable(w) && w->only_job[0] != '\0' &&
            !cw_strmap_get(&d->jobs_by_id, w->only_job))
            cw_worker_retire(w);
}
