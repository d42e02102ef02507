/* SPDX-License-Identifier: Apache-2.0 */
/* What failed items and changed files mean for the job: it goes on, or it fails. */
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"

void cw_job_blame_items(struct cw_share *share)
{
    cw_autofree char *why = NULL;
    int code = share->todo_n > 0 ? cw_item_faults_died(share, &why) : 0;
    if (code != 0)
        cw_job_fail(share->job, code, why);
}

void cw_job_item_failed(struct cw_job *job, const struct cw_worker *worker,
                        const Cachew__V1__ItemFailed *failed)
{
    cw_autofree char *why = NULL;
    int code = cw_item_faults_failed(job, worker, failed, &why);
    if (code < 0)
        cw_job_fail(job, code, why);
    else if (code > 0)
        cw_log_warn(CW_LOG_MOD, "job=%s worker=%s epoch=%llu item=%llu is computed again: %s",
                    job->id, worker->address, (unsigned long long)failed->epoch,
                    (unsigned long long)failed->item, failed->error);
}

void cw_job_other_files_seen(struct cw_share *share, const char *error, int64_t now)
{
    struct cw_job *job = share->job;
    if (!share->barred)
        cw_log_warn(CW_LOG_MOD,
                    "job=%s worker=%s sees other files than the job was prepared with, and gets no "
                    "more of it: %s",
                    job->id, share->worker->address, error);
    cw_other_files_seen(share, error, now);
    /* In a shared job the worker hands back the items that it cannot compute, one by one. The
     * others may be on their way to a consumer. */
    if (job->layout.mode != CW_MODE_SHARED)
        cw_lease_free_all(share, true);
    cw_job_judge_files(job, now);
}

void cw_job_judge_files(struct cw_job *job, int64_t now)
{
    cw_autofree char *why = cw_other_files_judge(job, now);
    if (why)
        cw_job_fail(job, CW_E_OTHER_FILE, why);
}

void cw_job_operator_died(struct cw_job *job, const Cachew__V1__Died *died)
{
    cw_autofree char *why = NULL;
    if (job->status != CW_JOB_RUNNING && job->status != CW_JOB_PREPARING)
        return;
    int code = cw_item_faults_operator_died(job, died, &why);
    if (code < 0)
        cw_job_fail(job, code, why);
    else if (code > 0)
        cw_log_warn(CW_LOG_MOD, "job=%s a worker died, and it is tried again: %s", job->id,
                    died->text);
}
