/* SPDX-License-Identifier: Apache-2.0 */
/* Up to which item a job is leased. In a dense job an item is a batch, so a window beyond the
 * lowest unconsumed item is enough. A batch of a sparse job may span more items than any window,
 * and all of them stay unconsumed until the batch is full. So for the next batch the window begins
 * at what was received. */
#include "dispatcher/model/model.h"

/* If a consumer has more finished batches waiting than this, another consumer is behind, and the
 * job waits for that one. Trainers that advance in step differ by one batch, and by one more for
 * each epoch whose last step not all of them have. */
#define READY_MAX 16

/* A consumer that is away holds the others back: they may get a step of all consumers and a window
 * more than it has. */
static bool is_ahead(const struct cw_window_consumer *consumer,
                     const struct cw_window_consumer *away, size_t n)
{
    return consumer->epoch != away->epoch ? consumer->epoch > away->epoch
                                          : consumer->batches >= away->batches + n;
}

static bool is_before(const struct cw_window_consumer *a, const struct cw_window_consumer *b)
{
    return a->epoch != b->epoch ? a->epoch < b->epoch : a->batches < b->batches;
}

uint64_t cw_window_end(uint64_t unconsumed, uint64_t window,
                       const struct cw_window_consumer *consumers, size_t n)
{
    uint64_t end = unconsumed + window, cap = UINT64_MAX;
    const struct cw_window_consumer *away = NULL; /* The absent consumer that is furthest behind. */
    for (size_t i = 0; i < n; i++) {
        if (consumers[i].present && consumers[i].ready > READY_MAX)
            return end;
        if (consumers[i].present)
            continue;
        cap = CW_MIN(cap, consumers[i].received);
        if (!away || is_before(&consumers[i], away))
            away = &consumers[i];
    }
    for (size_t i = 0; i < n; i++) {
        const struct cw_window_consumer *consumer = &consumers[i];
        if (!consumer->present || consumer->ready > 0)
            continue;
        bool capped = away && is_ahead(consumer, away, n);
        end = CW_MAX(end, (capped ? CW_MIN(consumer->received, cap) : consumer->received) + window);
    }
    return end;
}

/* Returns the first item that the consumer has not received, counted from the beginning of the
 * first open epoch. */
static uint64_t first_unreceived(const struct cw_job *job, uint32_t consumer)
{
    for (size_t i = 0; i < job->epochs_open; i++) {
        uint64_t item = cw_epoch_first_unreceived(job->epochs[i], consumer);
        if (item < job->items)
            return i * job->items + item;
    }
    return job->epochs_open * job->items;
}

uint64_t cw_job_window_end(struct cw_job *job)
{
    /* In a shared job the consumers' own buffers are the limit, so that a slow consumer does not
     * hold the others back. */
    if (job->layout.mode == CW_MODE_SHARED)
        return 2 * job->items;
    struct cw_epoch *first = cw_job_open_epoch(job, job->first_epoch);
    uint64_t unconsumed = first ? cw_epoch_lowest_unconsumed(first) : 0;
    if (!job->info->sparse)
        return unconsumed + job->window;
    struct cw_window_consumer *consumers =
        CW_NEW_ARRAY(struct cw_window_consumer, job->layout.consumers);
    for (uint32_t c = 0; c < job->layout.consumers; c++) {
        const struct cw_consumer *slot = &job->consumers[c];
        consumers[c] =
            (struct cw_window_consumer){first_unreceived(job, c), slot->ready, slot->position.epoch,
                                        slot->position.batches, slot->client != NULL};
    }
    uint64_t end = cw_window_end(unconsumed, job->window, consumers, job->layout.consumers);
    cw_mem_free(consumers);
    return end;
}
