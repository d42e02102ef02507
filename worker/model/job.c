/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about a job, and its records of epochs. */
#include "worker/model/job.h"

#include <string.h>

#include "base/mem.h"
#include "worker/model/state.h"

/* Exec gets as many items as keep its threads busy for this time, and at most so many. */
#define AHEAD_NS 4000000
#define AHEAD_MAX 1024

struct cw_wjob *cw_wjob_get(const struct cw_worker_state *w, const char *id)
{
    return cw_strmap_get(&w->jobs.by_id, id);
}

bool cw_wjob_has_enough(const struct cw_wjob *job)
{
    size_t threads = job->worker->threads, ahead = 2 * threads;
    if (job->item_ns > 0)
        ahead += CW_MIN((size_t)(AHEAD_NS / job->item_ns) * threads, (size_t)AHEAD_MAX);
    return job->tasks_n - job->waiting_n >= ahead;
}

uint32_t cw_wjob_consumer(const struct cw_wjob *job, uint64_t item)
{
    return job->consumers > 1 && !job->to_all ? (uint32_t)(item % job->consumers) : 0;
}

struct cw_wepoch *cw_wjob_epoch(struct cw_wjob *job, uint64_t epoch)
{
    size_t i = job->epochs_n;
    while (i > 0 && job->epochs[i - 1].epoch >= epoch) {
        if (job->epochs[i - 1].epoch == epoch)
            return &job->epochs[i - 1];
        i--;
    }
    /* Epochs of which nothing is left are removed. */
    for (size_t k = 0; k < job->epochs_n;) {
        struct cw_wepoch *e = &job->epochs[k];
        if (e->held.n > 0 || e->done.n > 0) {
            k++;
            continue;
        }
        cw_set_fini(&e->held);
        cw_set_fini(&e->done);
        memmove(e, e + 1, (--job->epochs_n - k) * sizeof(*e));
        if (k < i)
            i--;
    }
    CW_GROW(job->epochs, job->epochs_n, job->epochs_cap);
    memmove(&job->epochs[i + 1], &job->epochs[i], (job->epochs_n++ - i) * sizeof(job->epochs[0]));
    job->epochs[i] = (struct cw_wepoch){.epoch = epoch};
    return &job->epochs[i];
}

void cw_wjob_release_item(struct cw_wjob *job, uint64_t epoch, uint64_t item)
{
    cw_set_remove(&cw_wjob_epoch(job, epoch)->held, item, item + 1);
}
