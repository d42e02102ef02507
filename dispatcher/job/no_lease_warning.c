/* SPDX-License-Identifier: Apache-2.0 */
/* Warns once in the log when a job has workers and nothing of it is leased for long, and says what
 * it waits for. */
#include "dispatcher/job/job.h"

#define NO_LEASE_MS 30000
#define NAMED_MAX 4

static bool has_leases(const struct cw_job *job)
{
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job) {
        if (share->leases)
            return true;
    }
    return false;
}

static bool has_all(const struct cw_job *job, const struct cw_consumer *consumer)
{
    return job->epochs_n > 0 && consumer->position.epoch >= job->epochs_n;
}

static void add_reason(struct cw_job *job, struct cw_str *out)
{
    const struct cw_epoch *first = cw_job_epoch(job, job->first_epoch);
    size_t named = 0;
    cw_str_addf(out,
                "items are leased up to %llu of epoch %llu, of which %llu is the lowest that is "
                "not consumed",
                (unsigned long long)cw_job_window_end(job), (unsigned long long)job->first_epoch,
                (unsigned long long)(first ? cw_epoch_lowest_unconsumed(first) : 0));
    for (uint32_t c = 0; c < job->layout.consumers && named < NAMED_MAX; c++) {
        const struct cw_consumer *consumer = &job->consumers[c];
        if (has_all(job, consumer) || (consumer->client && consumer->ready == 0))
            continue;
        named++;
        if (!consumer->client)
            cw_str_addf(out, "; consumer %u is away", c);
        else
            cw_str_addf(out, "; the trainer of consumer %u does not take what it has (%llu)", c,
                        (unsigned long long)consumer->ready);
    }
}

bool cw_job_lacks_leases(struct cw_job *job, struct cw_str *ret_reason)
{
    if (job->status != CW_JOB_RUNNING || job->workers_n == 0 || job->hold_until_ms > 0 ||
        has_leases(job) || !cw_job_trainer_waits(job))
        return false;
    add_reason(job, ret_reason);
    return true;
}

void cw_job_warn_no_lease(struct cw_job *job, int64_t now)
{
    struct cw_str reason = {0};
    if (!cw_job_lacks_leases(job, &reason)) {
        job->no_lease_ms = 0;
    } else if (job->no_lease_ms == 0) {
        job->no_lease_ms = now;
    } else if (job->no_lease_ms != INT64_MAX && now - job->no_lease_ms >= NO_LEASE_MS) {
        cw_log_warn(CW_LOG_MOD,
                    "job=%s name=%s nothing was leased for %d s, although it has %zu workers: %s",
                    job->id, job->name, NO_LEASE_MS / 1000, job->workers_n, reason.s);
        job->no_lease_ms = INT64_MAX; /* This value says that the warning was given. */
    }
    cw_str_fini(&reason);
}
