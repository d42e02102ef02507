/* SPDX-License-Identifier: Apache-2.0 */
/* How many items a worker should have to compute of a job: the target of a share. It follows from
 * measurements, and does not influence the data. */
#include "dispatcher/model/model.h"

#define TARGET_MAX 8192
#define FIRST_S 0.1 /* A new worker may be much slower than the others, which would wait for it. */
#define GROWTH 8    /* A target grows at most by this factor at a time. */

/* The target of a new worker follows from the speed of the job's other workers; the first worker of
 * a job gets a small one. */
void cw_share_first_target(struct cw_share *share)
{
    double threads = share->worker->threads, target = 2 * threads;
    double lease_s = CW_MAX(FIRST_S, 2 * (double)cw_report_interval_ms(share->job->d) / 1000);
    if (share->job->item_ns > 0)
        target = CW_MAX(target, threads * lease_s * 1e9 / share->job->item_ns);
    share->target = (uint64_t)CW_MIN(target, TARGET_MAX);
}

static double mix(double old, double fresh)
{
    return old > 0 ? old + (fresh - old) / 4 : fresh;
}

void cw_share_retarget(struct cw_share *share, const Cachew__V1__Progress__Done *done,
                       uint64_t done_n, int64_t now)
{
    struct cw_job *job = share->job;
    uint64_t computed_n = done_n - CW_MIN(done->shared, done_n), wall_ns = done->wall_ns,
             bytes = done->bytes;
    /* Items without rows count as well, although they need no memory. */
    job->item_bytes = CW_MAX(mix(job->item_bytes, (double)bytes / (double)done_n), 1);
    if (wall_ns > 0 && computed_n > 0) {
        const double ns = (double)wall_ns / (double)computed_n;
        job->item_ns = mix(job->item_ns, ns);
        /* What was measured long ago counts no more when the worker is tried again and is faster. */
        const bool is_faster = share->tried && ns < share->item_ns;
        share->item_ns = is_faster ? ns : mix(share->item_ns, ns);
        share->tried = share->tried && !is_faster;
    }
    if (done->busy_ns > 0 && computed_n > 0)
        job->item_busy_ns = mix(job->item_busy_ns, (double)done->busy_ns / (double)computed_n);
    /* Another job of the same function computes all items, so nothing was measured. */
    if (job->item_ns <= 0)
        job->item_ns = job->next_same_function->item_ns;
    /* The rate is the one that was observed while the worker was busy, or what the time of one item
     * promises, if that is more. */
    int64_t took_ms = share->done_ms > 0 ? CW_MAX(now - share->done_ms, 1) : 0;
    if (took_ms > 0)
        share->rate = mix(share->rate, (double)done_n * 1000 / (double)took_ms);
    share->done_ms = now;
    double rate = share->rate;
    if (wall_ns > 0)
        rate = CW_MAX(rate, (double)computed_n * 1e9 / (double)wall_ns);
    double want = rate * (double)cw_lease_work_ms(job->d) / 1000;
    /* The worker ran out of work although more was there, so it can do more than was measured. */
    if (share->todo_n == 0 && share->fill_complete)
        want = CW_MAX(want, 2 * (double)share->target);
    want = CW_MIN(want, GROWTH * (double)share->target);
    want = CW_MIN(CW_MAX(want, 2 * (double)share->worker->threads), TARGET_MAX);
    share->target = (uint64_t)want;
}
