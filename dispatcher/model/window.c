/* SPDX-License-Identifier: Apache-2.0 */
/* How far ahead a job is leased: the size of its window. It follows from measurements, and does not
 * influence the data. */
#include "dispatcher/model/model.h"

/* The number of bytes that are computed ahead while the rate of consumption is not known. */
#define AHEAD_BYTES (64u << 20)
#define AHEAD_S 2.0 /* The window contains what is consumed in this many seconds. */

/* In a large fleet it is more: items are leased for longer, and acknowledged later. */
static double ahead_s(const struct cw_dispatcher *d)
{
    return AHEAD_S + (double)cw_pace_longer_ms(d) / 1000;
}

static uint64_t chosen_window(const struct cw_job *job, size_t threads)
{
    /* Trainers that advance in step all need a batch before one of them asks for another. */
    uint64_t least = job->layout.mode == CW_MODE_COORDINATED ? job->layout.consumers : 1;
    if (job->options->window > 0)
        return CW_MAX(CW_MIN(job->options->window, CW_WINDOW_MAX), least);
    /* Each consumer has its own buffer; in a sparse job each consumer receives every item. */
    double parts = job->layout.to_all ? 1 : job->layout.consumers;
    double buffer = parts * (job->options->buffer_bytes > 0 ? (double)job->options->buffer_bytes
                                                            : (double)CW_BUFFER_DEFAULT);
    double items = 2 * (double)threads + 2 * parts;
    items = CW_MAX(items, job->consume_rate * ahead_s(job->d));
    /* The effect of a change of workers shows only when what was computed before it is consumed. So
     * a scaled job computes no more ahead than its workers need in order not to wait for each other
     * or for acknowledgements, even where they are only just enough. */
    bool timed = job->scaling && job->consume_rate > 0;
    if (timed && job->item_busy_ns > 0) {
        double lease_s = (double)cw_lease_work_ms(job->d) / 1000,
               give = (double)threads * 1e9 / job->item_busy_ns;
        items =
            CW_MAX(items, CW_MIN(give, 2 * job->consume_rate) * (ahead_s(job->d) + lease_s / 2));
    }
    if (job->item_bytes > 0) {
        items = timed ? items : CW_MAX(items, AHEAD_BYTES / job->item_bytes);
        items = CW_MIN(items, buffer / job->item_bytes);
    }
    items = CW_MIN(items, CW_WINDOW_MAX);
    return (uint64_t)CW_MAX(items, 2 * parts);
}

uint64_t cw_window_items(const struct cw_job *job, size_t threads)
{
    uint64_t items = chosen_window(job, threads);
    /* Only CW_EPOCHS_AHEAD epochs are open at a time. A client must not delay its acknowledgements
     * for a window that can never be reached. */
    return job->items > 0 && job->items < CW_WINDOW_MAX
               ? CW_MIN(items, job->items * CW_EPOCHS_AHEAD)
               : items;
}
