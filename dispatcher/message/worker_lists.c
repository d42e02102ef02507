/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of the workers from which clients fetch. A list is sent when it has changed. Jobs that use all
 * workers have the same one, but for those with workers of their own: it is made and packed once for all
 * of them, when the fleet has changed. What changes for one job costs nothing for others. */
#include "dispatcher/message/message.h"

#include "base/hash.h"

/* The list of all workers that serve any job. */
struct cw_fleet_list {
    uint64_t generation, sum;
    bool others;            /* There are also workers that serve one job alone. */
    struct cw_buf *command; /* packed */
};

/* A list is known by a sum, which does not depend on the order. */
static uint64_t add_to_sum(uint64_t sum, const struct cw_worker *worker)
{
    return sum + cw_mix64(worker->id + (uint64_t)worker->since_ms) + 1;
}

static struct cw_buf *pack_list(uint64_t generation, struct cw_worker *const *serving, size_t n)
{
    Cachew__V1__WorkerInfo *infos = CW_NEW_ARRAY(Cachew__V1__WorkerInfo, n + 1);
    Cachew__V1__WorkerInfo **list = CW_NEW_ARRAY(Cachew__V1__WorkerInfo *, n + 1);
    for (size_t i = 0; i < n; i++) {
        cachew__v1__worker_info__init(&infos[i]);
        infos[i].worker_id = serving[i]->id;
        infos[i].address = serving[i]->address;
        infos[i].host_id = serving[i]->host_id;
        list[i] = &infos[i];
    }
    Cachew__V1__Workers workers = CACHEW__V1__WORKERS__INIT;
    workers.n_workers = n;
    workers.workers = list;
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    command.generation = generation;
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_WORKERS;
    command.workers = &workers;
    struct cw_buf *buf = cw_wire_pack(&command.base);
    cw_mem_free(list);
    cw_mem_free(infos);
    return buf;
}

static void send_list(struct cw_client *client, struct cw_buf *command, uint64_t sum, bool again)
{
    if (again || sum != client->workers_sent_sum)
        cw_stream_send(client->stream, &command, 1);
    client->workers_sent_sum = sum;
}

/* ---- the fleet ---- */

void cw_fleet_list_drop(struct cw_dispatcher *d)
{
    struct cw_fleet_list *list = cw_steal(&d->fleet_list);
    if (list)
        cw_buf_unref(list->command);
    cw_mem_free(list);
}

void cw_fleet_changed(struct cw_worker *worker)
{
    struct cw_dispatcher *d = worker->d;
    struct cw_job *only = cw_strmap_get(&d->jobs_by_id, worker->only_job);
    if (only)
        cw_job_worker_list_due(only);
    cw_fleet_list_drop(d);
    d->due.worker_lists = true;
}

static struct cw_fleet_list *fleet_list(struct cw_dispatcher *d)
{
    struct cw_fleet_list *list = d->fleet_list;
    if (list && list->generation == d->generation)
        return list;
    cw_fleet_list_drop(d);
    d->fleet_list = list = CW_NEW(struct cw_fleet_list);
    list->generation = d->generation;
    struct cw_worker **serving = CW_NEW_ARRAY(struct cw_worker *, d->workers_n + 1);
    size_t n = 0;
    for (struct cw_worker *worker = d->workers; worker; worker = worker->next) {
        if (!worker->said_hello)
            continue;
        list->others = list->others || worker->only_job[0] != '\0';
        if (worker->only_job[0] != '\0')
            continue;
        list->sum = add_to_sum(list->sum, worker);
        serving[n++] = worker;
    }
    list->command = pack_list(d->generation, serving, n);
    cw_mem_free(serving);
    return list;
}

/* ---- of one job ---- */

/* Lists the job's workers. The caller frees the list. */
static struct cw_worker **list_workers(const struct cw_job *job, size_t *ret_n)
{
    struct cw_worker **serving = CW_NEW_ARRAY(struct cw_worker *, job->d->workers_n + 1);
    if (cw_job_uses_all_workers(job)) {
        for (struct cw_worker *worker = job->d->workers; worker; worker = worker->next)
            if (cw_job_fetches_from(job, worker))
                serving[(*ret_n)++] = worker;
    } else {
        for (struct cw_share *share = job->shares; share; share = share->next_of_job)
            if (cw_job_fetches_from(job, share->worker))
                serving[(*ret_n)++] = share->worker;
    }
    return serving;
}

static bool has_own_workers(const struct cw_job *job)
{
    for (const struct cw_worker *worker = job->d->workers; worker; worker = worker->next)
        if (worker->only_job[0] != '\0' && cw_job_fetches_from(job, worker))
            return true;
    return false;
}

static bool has_list_of_fleet(const struct cw_job *job)
{
    return cw_job_uses_all_workers(job) && !(fleet_list(job->d)->others && has_own_workers(job));
}

/* To `only`, or to all clients of the job that are welcomed. */
static void send_lists(struct cw_job *job, struct cw_client *only, bool again)
{
    size_t n = 0;
    struct cw_buf *command = NULL;
    uint64_t sum = 0;
    job->lists_all = cw_job_uses_all_workers(job);
    if (has_list_of_fleet(job)) {
        command = cw_buf_ref(fleet_list(job->d)->command);
        sum = fleet_list(job->d)->sum;
    } else {
        struct cw_worker **serving = list_workers(job, &n);
        for (size_t i = 0; i < n; i++)
            sum = add_to_sum(sum, serving[i]);
        command = pack_list(job->d->generation, serving, n);
        cw_mem_free(serving);
    }
    for (struct cw_client *client = only ? only : job->clients; client;
         client = only ? NULL : client->next_of_job)
        if (only || client->welcomed)
            send_list(client, command, sum, again);
    cw_buf_unref(command);
}

void cw_client_send_workers(struct cw_client *client, bool again)
{
    send_lists(client->job, client, again);
}

void cw_clients_send_worker_lists(struct cw_dispatcher *d)
{
    if (!d->due.worker_lists && !d->due.job_lists)
        return;
    if (cw_fault_rare("dispatcher.list_late"))
        return;
    for (struct cw_job *job = d->due_jobs; job; job = job->next_due) {
        if (job->due.worker_list && job->clients)
            send_lists(job, NULL, false);
        job->due.worker_list = false;
    }
    for (struct cw_job *job = d->due.worker_lists ? d->jobs : NULL; job; job = job->next)
        if (job->clients && cw_job_uses_all_workers(job))
            send_lists(job, NULL, false);
    d->due.worker_lists = d->due.job_lists = false;
}
