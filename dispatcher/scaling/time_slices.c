/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of which worker's time belongs to a job, so that its parts add up to its fair share.
 * The share of each job is spread over its workers. Then two steps alternate until both fit: if a
 * worker has too much to do, the parts of all its jobs are reduced; if a job has too little, its
 * parts on all its workers are raised (iterative proportional fitting: Deming and Stephan, 1940).
 * Workers are sent the parts of their jobs and divide threads and memory by them. What one job does
 * not use the others get. */
#include "dispatcher/message/message.h"
#include "dispatcher/scaling/scaling_int.h"

#include <math.h>

#define ROUNDS 40
#define NEAR 0.01
#define LEAST 1e-3 /* Each job gets at least this part of a worker's time. */
/* A job that has lost the worker gets this part for what the worker still holds of it, since the
 * job's trainer may be waiting for just that. */
#define LEAVING 0.5
#define CHANGE_SENT 0.02 /* A change of a worker's part of time that is smaller is not sent. */

static bool is_divided(const struct cw_share *share)
{
    return share->worker->only_job[0] == '\0' && cw_share_is_used(share);
}

double cw_time_slices_of_worker(const struct cw_worker *w)
{
    double sum = 0;
    for (const struct cw_share *share = w->shares; share; share = share->next_of_worker)
        sum += is_divided(share) ? share->worker_time : 0;
    return sum;
}

double cw_time_slices_of_job(const struct cw_job *job)
{
    double sum = 0;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job)
        sum += is_divided(share) ? share->worker_time : 0;
    return sum;
}

static void spread(struct cw_job *job)
{
    double n = 0;
    for (struct cw_worker *w =
             cw_job_uses_all_workers(job) && cw_job_wants_workers(job) ? job->d->workers : NULL;
         w; w = w->next)
        if (cw_worker_serves_any_job(w))
            (void)cw_share_get(job, w);
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job)
        n += is_divided(share);
    for (struct cw_share *share = job->shares; share; share = share->next_of_job)
        share->worker_time = is_divided(share) ? job->granted / n : 0;
}

static bool limit_workers(struct cw_dispatcher *d)
{
    bool any = false;
    for (struct cw_worker *w = d->workers; w; w = w->next) {
        double sum = cw_time_slices_of_worker(w);
        if (sum <= 1 + NEAR)
            continue;
        any = true;
        for (struct cw_share *share = w->shares; share; share = share->next_of_worker)
            share->worker_time /= sum;
    }
    return any;
}

static void raise_jobs(struct cw_dispatcher *d)
{
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        double sum = cw_time_slices_of_job(job);
        for (struct cw_share *share = job->shares; sum > 0 && sum < job->granted && share;
             share = share->next_of_job)
            share->worker_time *= job->granted / sum;
    }
}

/* Returns the part of a job whose fair share needs none of the worker's time. */
static double slice_without_time(const struct cw_share *share)
{
    if (share->worker->only_job[0] != '\0')
        return 1;
    return cw_job_wants_workers(share->job) ? LEAVING : LEAST;
}

static void send_slices(struct cw_worker *w)
{
    size_t n = 0;
    bool news = false;
    for (const struct cw_share *share = w->shares; share; share = share->next_of_worker) {
        n += share->spec_sent;
        news = news || (share->spec_sent && fabs(share->slice - share->slice_sent) > CHANGE_SENT);
    }
    if (!news)
        return;
    cw_autofree Cachew__V1__JobPart *rows = CW_NEW_ARRAY(Cachew__V1__JobPart, n);
    cw_autofree Cachew__V1__JobPart **list = CW_NEW_ARRAY(Cachew__V1__JobPart *, n);
    Cachew__V1__Parts parts = CACHEW__V1__PARTS__INIT;
    parts.parts = list;
    for (struct cw_share *share = w->shares; share; share = share->next_of_worker) {
        if (!share->spec_sent)
            continue;
        Cachew__V1__JobPart *row = &rows[parts.n_parts];
        cachew__v1__job_part__init(row);
        row->job_id = share->job->id;
        row->part = share->slice_sent = share->slice;
        list[parts.n_parts++] = row;
    }
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_PARTS;
    command.parts = &parts;
    cw_worker_send(w, &command);
}

void cw_time_slices_make(struct cw_dispatcher *d)
{
    for (struct cw_job *job = d->jobs; job; job = job->next)
        spread(job);
    for (int i = 0; i < ROUNDS && limit_workers(d); i++)
        raise_jobs(d);
    (void)limit_workers(d);
    for (struct cw_worker *w = d->workers; w; w = w->next) {
        double sum = 0;
        for (const struct cw_share *share = w->shares; share; share = share->next_of_worker)
            sum += is_divided(share) ? CW_MAX(share->worker_time, LEAST) : 0;
        for (struct cw_share *share = w->shares; share; share = share->next_of_worker)
            share->slice = is_divided(share) ? CW_MAX(share->worker_time, LEAST) / sum
                                             : slice_without_time(share);
        send_slices(w);
    }
}
