/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/model/model.h"

#include <math.h>
#include "base/mem.h"

struct seen {
    struct cw_thread_use use;
    uint64_t busy_ns, active_ns;
};

void cw_thread_use_sums_fini(struct cw_thread_use_sums *sums)
{
    cw_map_fini_free(&sums->workers);
}

static struct cw_thread_use totals_of(const Cachew__V1__ThreadUse *use)
{
    return (struct cw_thread_use){
#define GET(field, words) .field = (double)use->field,
        CW_THREAD_USES(GET)
#undef GET
    };
}

/* Returns by how much a total has grown; if it is smaller than before, it began again at zero. */
static double growth(double now, double before)
{
    return now >= before ? now - before : now;
}

static struct seen *seen_of(struct cw_job *job, const struct cw_worker *worker,
                            const Cachew__V1__ThreadUse *use)
{
    struct seen *seen = cw_map_get(&job->threads.workers, worker->id);
    if (seen)
        return seen;
    seen = CW_NEW(struct seen);
    /* An earlier dispatcher has seen these totals. */
    if (worker->counted_before)
        *seen = (struct seen){totals_of(use), use->busy, use->active};
    (void)cw_map_set(&job->threads.workers, worker->id, seen);
    return seen;
}

static void take(struct cw_job *job, const struct cw_worker *worker,
                 const Cachew__V1__ThreadUse *use)
{
    struct seen *seen = seen_of(job, worker, use);
    struct cw_thread_use now = totals_of(use), *last = &seen->use, grown;
#define GROW(field, words) grown.field = growth(now.field, last->field);
    CW_THREAD_USES(GROW)
#undef GROW
    if (!cw_job_trainer_waits(job)) {
        grown.trainer += grown.lease;
        grown.lease = 0;
    }
#define ADD(field, words) job->threads.total.field += grown.field;
    CW_THREAD_USES(ADD)
#undef ADD
    job->threads.busy_ns += cw_counter_delta(&seen->busy_ns, use->busy);
    job->threads.active_ns += cw_counter_delta(&seen->active_ns, use->active);
    *last = now;
}

double cw_thread_use_inside(const struct cw_thread_use_sums *sums)
{
    return sums->active_ns > 0 ? fmax(sums->busy_ns / sums->active_ns, 1) : 0;
}

void cw_thread_use_take(struct cw_worker *worker, const Cachew__V1__Progress *progress)
{
    for (size_t i = 0; i < progress->n_threads; i++) {
        struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, progress->threads[i]->job_id);
        if (job)
            take(job, worker, progress->threads[i]);
    }
}

struct cw_thread_use cw_thread_use_shares(const struct cw_thread_use *now,
                                          const struct cw_thread_use *before)
{
    struct cw_thread_use shares;
    double all = 0;
#define DIFFER(field, words) all += shares.field = now->field - before->field;
    CW_THREAD_USES(DIFFER)
#undef DIFFER
#define DIVIDE(field, words) shares.field = all > 0 ? round(1e3 * shares.field / all) / 1e3 : 0;
    CW_THREAD_USES(DIVIDE)
#undef DIVIDE
    return shares;
}
