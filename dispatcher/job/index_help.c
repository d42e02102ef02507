/* SPDX-License-Identifier: Apache-2.0 */
/* While a job is prepared, other workers make parts of its sources' indices. The preparing worker owns
 * the parts. It is offered workers, each under a number, and leases them parts; here it is only known
 * who has which number. Nobody waits for them: what does not come back is made by the preparing worker. */
#include "base/fault.h"
#include "dispatcher/cache/cache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/message/message.h"

#include <string.h>

#define HELPS_MAX 64 /* workers that make parts of one job's index */

static bool may_help(const struct cw_worker *worker, const struct cw_job *job)
{
    return worker != job->preparing && worker->index_parts && cw_job_may_prepare(worker, job);
}

static bool is_offered(const struct cw_job *job, const struct cw_worker *worker)
{
    const struct cw_index_help *help = worker->index_helps_n > 0 ? job->index_helps : NULL;
    while (help && help->worker != worker)
        help = help->next;
    return help != NULL;
}

static void offer(struct cw_job *job, struct cw_worker *worker)
{
    const struct cw_index_help *help = cw_job_add_index_help(job, worker);
    Cachew__V1__IndexAsk ask = CACHEW__V1__INDEX_ASK__INIT;
    ask.job_id = job->id;
    ask.number = help->number;
    ask.others = (uint32_t)job->index_helps_n;
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_INDEX_ASK;
    command.index_ask = &ask;
    cw_worker_send(job->preparing, &command);
}

void cw_job_index_offer(struct cw_job *job)
{
    struct cw_worker *worker = job->d->workers;
    if (!job->preparing || !job->preparing->index_parts)
        return;
    for (; worker && job->index_helps_n < HELPS_MAX; worker = worker->next)
        if (may_help(worker, job) && !is_offered(job, worker))
            offer(job, worker);
}

static void send_made(struct cw_job *job, Cachew__V1__IndexMade *made)
{
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_INDEX_MADE;
    command.index_made = made;
    cw_worker_send(job->preparing, &command);
}

/* Tells the preparing worker that nothing comes back of a lease. */
static void send_lost(struct cw_job *job, uint64_t number)
{
    static char gone[] = "the worker is gone";
    Cachew__V1__IndexMade made = CACHEW__V1__INDEX_MADE__INIT;
    made.job_id = job->id;
    made.number = number;
    made.code = CW_E_UNAVAILABLE;
    made.error = gone;
    send_made(job, &made);
}

void cw_job_index_lease(struct cw_worker *worker, Cachew__V1__IndexLease *lease)
{
    struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, lease->job_id);
    if (!job || job->preparing != worker)
        return;
    struct cw_index_help **at = cw_job_find_index_help(job, lease->number);
    if (!at || (*at)->leased) {
        send_lost(job, lease->number);
        return;
    }
    (*at)->leased = true;
    Cachew__V1__CacheStore store, *sent = lease->store;
    char *sent_tenant = lease->tenant;
    lease->store = cw_job_cache_store(job, &store);
    lease->tenant = job->tenant->name;
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_INDEX_LEASE;
    command.index_lease = lease;
    cw_worker_send((*at)->worker, &command);
    lease->store = sent;
    lease->tenant = sent_tenant;
    cw_fault_point("dispatcher.index_lease");
}

void cw_job_index_made(struct cw_worker *worker, Cachew__V1__IndexMade *made)
{
    struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, made->job_id);
    struct cw_index_help **at = job ? cw_job_find_index_help(job, made->number) : NULL;
    if (!at || (*at)->worker != worker || !(*at)->leased || !job->preparing)
        return;
    cw_job_drop_index_help(job, at);
    send_made(job, made);
    if (made->code == 0)
        cw_job_index_offer(job);
}

void cw_job_index_worker_gone(struct cw_worker *worker)
{
    for (struct cw_job *job = worker->d->jobs; job && worker->index_helps_n > 0; job = job->next)
        for (struct cw_index_help **at = &job->index_helps; *at;) {
            if ((*at)->worker != worker) {
                at = &(*at)->next;
                continue;
            }
            if ((*at)->leased && job->preparing)
                send_lost(job, (*at)->number);
            cw_job_drop_index_help(job, at);
        }
}

void cw_job_index_forget(struct cw_job *job, const char *reason)
{
    for (const struct cw_index_help *help = job->index_helps; help; help = help->next)
        if (help->leased)
            cw_worker_forget_job(help->worker, job->id, reason);
}
