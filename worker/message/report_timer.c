/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when the next Progress message is due. */
#include "worker/message/report_timer.h"

#include "base/clock.h"

#define SOON_MS 100
#define GATHER_MS 250 /* if the dispatcher says nothing else */
#define GATHER_MAX_MS 5000
/* The first counters of a job are due after so many elements, or so much time of threads. */
#define FIRST_COUNTS_N 1000
#define FIRST_COUNTS_NS INT64_C(100000000)

void cw_report_within(struct cw_worker_state *w, int64_t ms)
{
    int64_t at = cw_clock_ms() + ms;
    if (!w->session.attached || (cw_timer_is_active(w->report.soon) && w->report.soon_ms <= at))
        return;
    w->report.soon_ms = at;
    cw_timer_start(w->report.soon, ms, 0);
}

void cw_report_gather(struct cw_worker_state *w, uint32_t ms)
{
    w->report.gather_ms = ms > 0 ? CW_MAX(CW_MIN((int64_t)ms, GATHER_MAX_MS), SOON_MS) : GATHER_MS;
}

void cw_report_soon(struct cw_worker_state *w)
{
    cw_report_within(w, SOON_MS);
}

/* Returns the time until half of the pending items will be done, so that the dispatcher leases more
 * before the rest is. It is limited, since the dispatcher derives the size of leases from the rate
 * that it sees. */
static int64_t half_done_ms(const struct cw_worker_state *w)
{
    double ns = 0;
    for (size_t i = 0; i < w->jobs.n; i++) {
        const struct cw_wjob *job = w->jobs.list[i];
        uint64_t items = 0;
        for (size_t k = 0; k < job->leases_n; k++)
            items += cw_set_count(&job->leases[k].pending);
        ns += (double)items * (double)job->item_ns / (double)w->threads;
    }
    return (int64_t)CW_MAX(CW_MIN(ns / 2e6, (double)w->report.gather_ms), SOON_MS);
}

bool cw_report_counts_are_due(struct cw_wjob *job, uint64_t elements, int64_t ns)
{
    if (job->measured_n == UINT64_MAX)
        return false;
    job->measured_n += elements;
    job->measured_ns += ns;
    if (job->measured_n < FIRST_COUNTS_N && job->measured_ns < FIRST_COUNTS_NS)
        return false;
    job->measured_n = UINT64_MAX;
    return true;
}

void cw_report_done(struct cw_worker_state *w, struct cw_wepoch *epoch, const struct cw_wtask *task)
{
    cw_set_add(&epoch->done, task->exec.item, task->exec.item + 1);
    epoch->cpu_ns += (uint64_t)CW_MAX(task->exec.cpu_ns, (int64_t)0);
    epoch->wall_ns += (uint64_t)CW_MAX(task->exec.wall_ns, (int64_t)0);
    epoch->busy_ns += (uint64_t)CW_MAX(task->exec.busy_ns, (int64_t)0);
    epoch->bytes += task->batch->buf ? task->batch->buf->len : 0;
    epoch->elements += task->batch->elements;
    epoch->skipped += task->batch->skipped;
    epoch->shared += task->shared;
    if (!task->shared && cw_report_counts_are_due(task->job, task->batch->elements,
                                                  CW_MAX(task->exec.busy_ns, (int64_t)0))) {
        w->report.counts_due = true;
        cw_report_within(w, 0);
        return;
    }
    if (!cw_timer_is_active(w->report.soon))
        cw_report_within(w, half_done_ms(w));
}
