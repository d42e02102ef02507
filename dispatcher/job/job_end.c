/* SPDX-License-Identifier: Apache-2.0 */
/* How a job ends: it fails, or it is removed; and its workers forget it. */
#include "dispatcher/cache/cache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include "dispatcher/message/message.h"
#include "dispatcher/scaling/scaling.h"

void cw_job_send_forget(struct cw_job *job, const char *reason)
{
    if (job->preparing)
        cw_worker_forget_job(job->preparing, job->id, reason);
    cw_job_index_forget(job, reason);
    cw_job_set_preparing(job, NULL);
    for (struct cw_share *share = job->shares; share; share = share->next_of_job) {
        if (!share->has_job)
            continue;
        cw_worker_forget_job(share->worker, job->id, reason);
        share->spec_sent = share->has_job = false;
        cw_cache_unsubscribe(share->worker);
    }
    job->forgotten = true;
}

void cw_job_remove(struct cw_job *job, const char *reason)
{
    cw_log_info(CW_LOG_MOD, "job=%s name=%s removed: %s", job->id, job->name, reason);
    cw_job_send_forget(job, reason);
    cw_accounting_retire(job);
    if (job->row_written)
        cw_state_remove_job(job->d->state, job->id);
    cw_job_free(job);
}

/* A failed job stays failed. With a code of what passes, such as a server of sources that a worker could not
 * reach, clients would take it for one of their connection, and come back for ever. */
static int final_code(int code)
{
    if (code >= 0)
        return CW_E_INTERNAL;
    return cw_err_is_retryable(code) ? CW_E_IO : code;
}

void cw_job_fail(struct cw_job *job, int code, const char *msg)
{
    if (job->status == CW_JOB_FAILED)
        return;
    job->status = CW_JOB_FAILED;
    job->d->due.assignment = true;
    job->error_code = final_code(code);
    cw_mem_free(job->error);
    job->error = cw_mem_strdup(msg);
    cw_log_error(CW_LOG_MOD, "job=%s name=%s failed: %s", job->id, job->name, job->error);
    cw_lease_free_job(job);
    cw_job_send_forget(job, job->error);
    job->due.row = true;
    cw_job_flush(job);
    job->d->due.failed_jobs = true;
}
