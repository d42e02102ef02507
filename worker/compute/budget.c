/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of several jobs: each may fill its part of the budget, and what others do not use lies
 * idle, so that a job whose trainer stands still takes no room from the rest. A job that was
 * alone may have all of it; when another comes, what the first needs last goes back to the
 * dispatcher, and is computed again when its time comes. */
#include "worker/model/state.h"

#include "base/log.h"

size_t cw_budget(const struct cw_worker *w)
{
    size_t own = w->budget - cw_wcache_reserved(w); /* the cache has the rest */
    return w->allowed ? CW_MIN(own, w->allowed) : own;
}

size_t cw_budget_of(const struct cw_wjob *job)
{
    const struct cw_worker *w = job->worker;
    double parts = 0;
    for (size_t i = 0; i < w->turn_n; i++)
        if (w->turn[i] == job || w->turn[i]->leases_n > 0 || w->turn[i]->bytes > 0)
            parts += w->turn[i]->part;
    return (size_t)((double)cw_budget(w) * (parts > 0 ? job->part / parts : 1));
}

/* What the client asks for last; NULL when nothing is queued. */
static struct cw_output *last_output(const struct cw_wjob *job)
{
    struct cw_output *last = NULL;
    for (uint32_t c = 0; c < job->consumers; c++) {
        const struct cw_outq *q = &job->queues[c];
        for (size_t i = 0; i < q->n; i++)
            if (!last || cw_outq_before(last->epoch, last->item, q->v[i]->epoch, q->v[i]->item))
                last = q->v[i];
    }
    return last;
}

/* Of an item that goes to all consumers some may have it already. */
static struct cw_wjob *find_greedy(const struct cw_worker *w)
{
    struct cw_wjob *worst = NULL;
    double most = 1;
    for (size_t i = 0; i < w->turn_n; i++) {
        struct cw_wjob *job = w->turn[i];
        double fill = (double)job->bytes / CW_MAX((double)cw_budget_of(job), 1.0);
        if (fill > most && job->queued_n > 0 && !job->to_all) {
            most = fill;
            worst = job;
        }
    }
    return worst;
}

bool cw_budget_make_room(struct cw_worker *w, size_t bytes)
{
    size_t freed = 0;
    while (freed < bytes && !w->draining) {
        struct cw_wjob *job = find_greedy(w);
        const struct cw_output *last = job ? last_output(job) : NULL;
        if (!last)
            return false;
        struct cw_set item = {0};
        uint64_t epoch = last->epoch;
        freed += last->held;
        cw_set_add(&item, last->item, last->item + 1);
        cw_log_debug("worker", "job=%s has more than its part of the memory: item %llu goes back",
                     job->id, (unsigned long long)last->item);
        cw_outq_revoke(job, epoch, last->item, last->item + 1);
        cw_report_hand_back(w, job->id, epoch, &item);
        cw_set_fini(&item);
    }
    return freed >= bytes;
}
