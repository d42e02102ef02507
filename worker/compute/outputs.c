/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of several jobs. Each job may fill its share of the budget, and what others do not use
 * may be used by the rest, so a job whose trainer stands still takes nothing from them. A job that
 * was alone may use all of it; when another job comes, the first one hands back the outputs that it
 * needs last, and they are computed again later. */
#include "worker/compute/outputs.h"

#include "base/log.h"
#include "base/mem.h"
#include "worker/message/to_dispatcher.h"
#include "worker/model/budget.h"

void cw_output_release(struct cw_wjob *job, struct cw_output *output)
{
    if (--output->copies > 0)
        return;
    job->queued_n--;
    job->bytes -= output->held;
    job->worker->memory.bytes -= output->held;
    cw_memory_freed(job->worker);
    cw_wjob_release_item(job, output->epoch, output->item);
    cw_output_free(output);
}

struct dropped {
    struct cw_wjob *job;
    uint64_t epoch;
    const struct cw_set *items;
};

static bool drop_listed(void *arg, struct cw_output *output)
{
    const struct dropped *d = arg;
    if (output->epoch != d->epoch || !cw_set_has(d->items, output->item))
        return false;
    cw_output_release(d->job, output);
    return true;
}

void cw_outputs_drop(struct cw_wjob *job, uint64_t epoch, const struct cw_set *items)
{
    struct dropped d = {job, epoch, items};
    for (uint32_t i = 0; i < job->consumers && job->queued_n > 0; i++)
        cw_outq_filter(&job->queues[i], drop_listed, &d);
}

void cw_outputs_clear(struct cw_wjob *job)
{
    for (uint32_t i = 0; i < job->consumers; i++) {
        struct cw_outq *q = &job->queues[i];
        while (q->n > 0)
            cw_output_release(job, q->v[--q->n]);
        cw_mem_free(q->v);
        *q = (struct cw_outq){0};
    }
}

/* Returns the output that the client needs last, or NULL if none is queued. */
static struct cw_output *last_output(const struct cw_wjob *job)
{
    struct cw_output *last = NULL;
    for (uint32_t c = 0; c < job->consumers; c++) {
        const struct cw_outq *q = &job->queues[c];
        for (size_t i = 0; i < q->n; i++)
            if (!last || cw_item_before(last->epoch, last->item, q->v[i]->epoch, q->v[i]->item))
                last = q->v[i];
    }
    return last;
}

/* Returns the job that exceeds its share the most. Jobs whose items go to all consumers are left
 * out, since some consumers may have an output already. */
static struct cw_wjob *find_greedy(const struct cw_worker_state *w)
{
    struct cw_wjob *worst = NULL;
    double most = 1;
    for (size_t i = 0; i < w->jobs.n; i++) {
        struct cw_wjob *job = w->jobs.list[i];
        double fill = (double)job->bytes / CW_MAX((double)cw_budget_of(job), 1.0);
        if (fill > most && job->queued_n > 0 && !job->to_all) {
            most = fill;
            worst = job;
        }
    }
    return worst;
}

bool cw_outputs_make_room(struct cw_worker_state *w, size_t bytes)
{
    size_t freed = 0;
    while (freed < bytes && !w->drain.active) {
        struct cw_wjob *job = find_greedy(w);
        const struct cw_output *last = job ? last_output(job) : NULL;
        if (!last)
            return false;
        uint64_t epoch = last->epoch, item = last->item;
        freed += last->held;
        cw_log_debug("worker", "job=%s has more than its part of the memory: item %llu goes back",
                     job->id, (unsigned long long)item);
        struct cw_set one = {0};
        cw_set_add(&one, item, item + 1);
        cw_outputs_drop(job, epoch, &one);
        cw_set_fini(&one);
        cw_report_hand_back_item(w, job->id, epoch, item);
    }
    return freed >= bytes;
}
