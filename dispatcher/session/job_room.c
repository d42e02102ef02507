/* SPDX-License-Identifier: Apache-2.0 */
/* Room for a new job: how many there may be, and how much memory what they are made of may take. Jobs that are
 * over, and that nobody uses, make room for it. */
#include "dispatcher/session/job_room.h"

#include "dispatcher/session/session.h"

static bool is_active(const struct cw_job *job)
{
    return job->status == CW_JOB_PREPARING || job->status == CW_JOB_RUNNING;
}

/* The oldest one that is over and that nobody uses; NULL: there is none. */
static struct cw_job *oldest_idle(const struct cw_dispatcher *d)
{
    struct cw_job *job = d->jobs;
    while (job && (is_active(job) || cw_job_has_clients(job)))
        job = job->next;
    return job;
}

static int make_bytes(struct cw_dispatcher *d, size_t bytes, struct cw_err *err)
{
    struct cw_err ignored = {0};
    while (cw_jobs_room(d, bytes, &ignored) != 0) {
        struct cw_job *idle = oldest_idle(d);
        if (!idle)
            return cw_jobs_room(d, bytes, err);
        cw_clients_end_job(idle, "newer jobs need its room");
    }
    return 0;
}

int cw_job_room_make(struct cw_dispatcher *d, size_t bytes, struct cw_err *err)
{
    size_t active = 0;
    for (const struct cw_job *job = d->jobs; job; job = job->next)
        active += is_active(job);
    if (active >= d->options.max_jobs)
        return cw_err_set(err, CW_E_LIMIT, "the dispatcher is full: it has %zu jobs (--max-jobs)",
                          active);
    int rc = make_bytes(d, bytes, err);
    struct cw_job *idle = oldest_idle(d);
    if (rc == 0 && d->jobs_n >= d->options.max_jobs + 100 && idle)
        cw_clients_end_job(idle, "newer jobs need its place");
    return rc;
}
