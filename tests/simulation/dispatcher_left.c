/* SPDX-License-Identifier: Apache-2.0 */
/* What a dispatcher has left when all jobs have ended, read from its own state: in a dispatcher's
 * program, beside the product. Its address is learned when it loads its state (the linker leads
 * the call here). */
#include "dispatcher/cache/cache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/job/waits_for.h"

#include "dispatcher_state.h"
#include "kube/leader.h"
#include "sim.h"

__typeof__(cw_restore_all) __real_cw_restore_all, __wrap_cw_restore_all;

const struct cw_dispatcher *sim_dispatcher; /* main's variable */

int __wrap_cw_restore_all(struct cw_dispatcher *d, struct cw_err *err)
{
    sim_dispatcher = d;
    return __real_cw_restore_all(d, err);
}

/* No trainer waits for long although nothing explains it (the metric cachew_unexplained_waits_total),
 * whatever fails. */
__typeof__(cw_job_look_for_mistake) __real_cw_job_look_for_mistake, __wrap_cw_job_look_for_mistake;
void __wrap_cw_job_look_for_mistake(struct cw_job *job, int64_t now)
{
    __real_cw_job_look_for_mistake(job, now);
    if (job->d->counts.unexplained_waits > 0)
        sim_fail("a trainer of job %s has waited for long, and nothing explains it", job->id);
}

static const char *left_of(const struct cw_job *job)
{
    if (job->name[0] == '\0')
        return "a job without a name";
    if (job->clients || cw_job_has_clients(job))
        return "a client of a job";
    /* Its trainer was killed when it had everything, and had not said so. */
    if (job->status != CW_JOB_FINISHED)
        return NULL;
    if (job->epochs_open > 0)
        return "an epoch of a job that is over";
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job)
        if (share->leases || share->todo_n > 0)
            return "a lease of a job that is over";
    return NULL;
}

bool sim_dispatcher_serves(void)
{
    return sim_dispatcher != NULL;
}

bool sim_dispatcher_leads(void)
{
    return sim_dispatcher && sim_dispatcher->leader && cw_leader_holds(sim_dispatcher->leader);
}

bool sim_dispatcher_is_over(const char *job_id)
{
    const struct cw_job *job = cw_strmap_get(&sim_dispatcher->jobs_by_id, job_id);

    return !job || job->status == CW_JOB_FINISHED || job->status == CW_JOB_FAILED;
}

/* Nothing here allocates: it is asked in the world's context. */
const char *sim_dispatcher_left(void)
{
    const struct cw_dispatcher *d = sim_dispatcher;
    const char *left = NULL;
    size_t n = 0;

    for (const struct cw_job *job = d ? d->jobs : NULL; job && !left; job = job->next, n++)
        left = left_of(job);
    if (left || !d)
        return left;
    if (d->clients || d->clients_n > 0)
        return "a client";
    if (n != d->jobs_n || d->jobs_by_id.n != n)
        return "a job that is in one table only";
    return d->waiters ? "somebody who waits for what is stored" : NULL;
}

const char *sim_dispatcher_left_of_caches(bool detached)
{
    const struct cw_dispatcher *d = sim_dispatcher;

    if (!d || !detached)
        return NULL;
    if (cw_leaving_next(d, NULL))
        return "a cache whose files are deleted";
    for (const struct cw_cache_service *cache = d->caches; cache; cache = cache->next)
        if (cache->id != 0)
            return "a named cache";
    return NULL;
}
