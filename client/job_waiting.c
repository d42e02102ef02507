/* SPDX-License-Identifier: Apache-2.0 */
/* cachew_job_waiting: what a job waits for. */
#include "base/clock.h"
#include "client/model/client_job.h"
#include "client/model/public.h"

int cachew_job_waiting(const struct cachew_job *job, struct cachew_waiting *ret_waiting)
{
    if (!ret_waiting || cw_client_job_check(job, NULL) != 0)
        return CACHEW_E_STATE;
    size_t size = ret_waiting->struct_size;
    if (size < sizeof(size_t) || size > 64 * sizeof(struct cachew_waiting))
        return CACHEW_E_INVALID;
    struct cw_mutex *mutex = (struct cw_mutex *)(uintptr_t)&job->mutex;
    cw_mutex_lock(mutex);
    struct cw_waits waits = job->waits;
    cw_mutex_unlock(mutex);
    cw_waits_tell(&waits, cw_clock_ns(), ret_waiting);
    return 0;
}
