/* SPDX-License-Identifier: Apache-2.0 */
/* cachew_job_fd: a descriptor that is readable while cachew_job_next would not wait. */
#include <errno.h>
#include <sys/eventfd.h>
#include "client/model/client_job.h"
#include "client/model/public.h"

int cachew_job_fd(struct cachew_job *job, struct cachew_error *error)
{
    struct cw_err err = {0};
    if (cw_client_job_check(job, &err) != 0)
        return cw_public_fail(error, &err);
    if (job->has_fd)
        return job->fd;
    cw_mutex_lock(&job->mutex);
    job->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    job->has_fd = job->fd >= 0;
    if (!job->has_fd)
        cw_err_errno(&err, errno, "cachew_job_fd: no descriptor");
    cw_client_job_raise(job);
    cw_mutex_unlock(&job->mutex);
    cw_client_job_lower(job); /* unless there is something */
    return err.code != 0 ? cw_public_fail(error, &err) : job->fd;
}
