/* SPDX-License-Identifier: Apache-2.0 */
/* How far ahead a job is leased (its window), and how many items a worker should have (the target
 * of a share). Both follow from measurements, and neither influences the data. */
#include "dispatcher/model/model.h"

/* The number of bytes that are computed ahead while the rate of consumption is not known. */
#define AHEAD_BYTES (64u << 20)
#define AHEAD_S 2.0 /* The window contains what is consumed in this many seconds. */
#define WINDOW_MAX (1u << 20)
#define TARGET_MAX 8192
#define GROWTH 8

static uint64_t chosen_window(const struct cw_job *job, size_t threads)
{
    /* Trainers that advance in step all need a batch before one of them asks for another. */
    uint64_t least = job->layout.mode == CW_MODE_COORDINATED ? job->layout.consumers : 1;
    if (job->options->window > 0)
        return CW_MAX(CW_MIN(job->options->window, WINDOW_MAX), least);
    /* Each consumer has its own buffer; in a sparse job each consumer receives every item. */
    double parts = job->layout.to_all ? 1 : job->layout.consumers;
    double buffer = parts * (job->options->buffer_bytes > 0 ? (double)job->options->buffer_bytes
                                                            : (double)CW_BUFFER_DEFAULT);
    double items = 2 * (double)threads + 2 * parts;
    items = CW_MAX(items, job->consume_rate * AHEAD_S);
    /* The effect of a change of workers shows only when what was computed before it is consumed. So
     * a scaled job computes no more ahead than its workers need in order not to wait for each other
     * or for acknowledgements, even where they are only just enough. */
    bool timed = job->scaling && job->consume_rate > 0;
    if (timed && job->item_busy_ns > 0) {
        double lease_s = (double)job->d->options.lease_ms / 1000,
               give = (double)threads * 1e9 / job->item_busy_ns;
        items = CW_MAX(items, CW_MIN(give, 2 * job->consume_rate) * (AHEAD_S + lease_s / 2));
    }
    if (job->item_bytes > 0) {
        items = timed ? items : CW_MAX(items, AHEAD_BYTES / job->item_bytes);
        items = CW_MIN(items, buffer / job->item_bytes);
    }
    items = CW_MIN(items, WINDOW_MAX);
    return (uint64_t)CW_MAX(items, 2 * parts);
}

uint64_t cw_window_items(const struct cw_job *job, size_t threads)
{
    uint64_t items = chosen_window(job, threads);
    /* Only CW_EPOCHS_AHEAD epochs are open at a time. A client must not delay its acknowledgements
     * for a window that can never be reached. */
    return job->items > 0 && job->items < WINDOW_MAX ? CW_MIN(items, job->items * CW_EPOCHS_AHEAD)
                                                     : items;
}

/* The target of a new worker follows from the speed of the job's other workers; the first worker of
 * a job gets a small one. */
void cw_share_first_target(struct cw_share *share)
{
    double threads = share->worker->threads, target = 2 * threads;
    double lease_s = (double)share->job->d->options.lease_ms / 1000;
    if (share->job->item_ns > 0)
        target = CW_MAX(target, lease_s * 1e9 / share->job->item_ns);
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
    if (wall_ns > 0 && computed_n > 0)
        job->item_ns = mix(job->item_ns, (double)wall_ns / (double)computed_n);
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
    double want = rate * (double)job->d->options.lease_ms / 1000;
    /* The worker ran out of work although more was there, so it can do more than was measured. */
    if (share->todo_n == 0 && share->fill_complete)
        want = CW_MAX(want, 2 * (double)share->target);
    want = CW_MIN(want, GROWTH * (double)share->target);
    want = CW_MIN(CW_MAX(want, 2 * (double)share->worker->threads), TARGET_MAX);
    share->target = (uint64_t)want;
}
