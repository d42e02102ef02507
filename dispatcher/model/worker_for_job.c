/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about a worker and a job together: whether the worker serves the job, whether a share
 * is in use. They change nothing but counts that are derived from these answers. */
#include <string.h>

#include "dispatcher/model/model.h"

bool cw_worker_is_usable(const struct cw_worker *worker)
{
    return worker->said_hello && !worker->draining && !worker->retiring && !worker->leaving &&
           !worker->failed;
}

bool cw_worker_serves_any_job(const struct cw_worker *worker)
{
    return cw_worker_is_usable(worker) && worker->only_job[0] == '\0';
}

void cw_worker_recount(struct cw_worker *worker)
{
    worker->d->common_n -= worker->counted;
    worker->counted = cw_worker_serves_any_job(worker);
    worker->d->common_n += worker->counted;
}

bool cw_worker_serves(const struct cw_worker *worker, const struct cw_job *job)
{
    return cw_worker_is_usable(worker) &&
           (worker->only_job[0] == '\0' || strcmp(worker->only_job, job->id) == 0) &&
           cw_job_uses_worker(job, worker) && !cw_other_files_is_barred(job, worker) &&
           cw_worker_has_operators(worker, job, NULL);
}

bool cw_job_uses_worker(const struct cw_job *job, const struct cw_worker *worker)
{
    if (cw_job_uses_all_workers(job) || worker->only_job[0] != '\0')
        return true;
    const struct cw_share *share = cw_share_find(job, worker);
    return share && share->assigned;
}

const struct cw_worker *cw_serving_next(struct cw_serving *serving)
{
    const struct cw_job *job = serving->job;
    const bool begins = !serving->worker;
    if (cw_job_uses_all_workers(job)) {
        const struct cw_worker *w = begins ? job->d->workers : serving->worker->next;
        while (w && !cw_worker_serves(w, job))
            w = w->next;
        return serving->worker = w;
    }
    const struct cw_share *share = begins ? job->shares : serving->share->next_of_job;
    while (share && !cw_share_serves(share))
        share = share->next_of_job;
    serving->share = share;
    return serving->worker = share ? share->worker : NULL;
}

bool cw_job_wants_workers(const struct cw_job *job)
{
    return job->status == CW_JOB_RUNNING && job->no_client_ms == 0;
}

uint64_t cw_job_max_workers(const struct cw_job *job)
{
    uint64_t own = job->options->max_workers > 0 ? job->options->max_workers : CW_NO_LIMIT;
    return CW_MIN(own, job->tenant->limits.max_workers);
}

bool cw_job_uses_all_workers(const struct cw_job *job)
{
    return !job->scaling && cw_job_max_workers(job) == CW_NO_LIMIT;
}

struct cw_share *cw_share_find(const struct cw_job *job, const struct cw_worker *worker)
{
    return cw_map_get(&job->shares_by_worker, worker->id);
}

bool cw_share_serves(const struct cw_share *share)
{
    const struct cw_worker *w = share->worker;
    bool its = w->only_job[0] != '\0' ? strcmp(w->only_job, share->job->id) == 0
                                      : share->assigned || cw_job_uses_all_workers(share->job);
    return its && cw_worker_is_usable(w) && !share->barred &&
           cw_worker_has_operators(w, share->job, NULL);
}

bool cw_share_is_used(const struct cw_share *share)
{
    return cw_job_wants_workers(share->job) && cw_share_serves(share);
}

double cw_share_slice(const struct cw_share *share)
{
    return share->slice > 0 ? share->slice : 1;
}

double cw_workers_possible(const struct cw_dispatcher *d)
{
    const struct cw_provision *p = &d->provision;
    double most = p->kind->fixed ? (double)d->common_n : (double)d->options.max_workers;
    return p->limits ? CW_MIN(most, p->possible) : most;
}

bool cw_job_fetches_from(const struct cw_job *job, const struct cw_worker *worker)
{
    if (!worker->said_hello)
        return false;
    if (worker->only_job[0] != '\0')
        return strcmp(worker->only_job, job->id) == 0;
    if (cw_job_uses_all_workers(job))
        return true;
    const struct cw_share *share = cw_share_find(job, worker);
    return share && (share->assigned || share->leases);
}

bool cw_other_files_is_barred(const struct cw_job *job, const struct cw_worker *worker)
{
    const struct cw_share *share = job->barred_n > 0 ? cw_share_find(job, worker) : NULL;
    return share && share->barred;
}

bool cw_job_may_prepare(const struct cw_worker *worker, const struct cw_job *job)
{
    bool its = cw_worker_serves_any_job(worker) ||
               (cw_worker_is_usable(worker) && strcmp(worker->only_job, job->id) == 0);
    return its && cw_worker_has_operators(worker, job, NULL);
}
