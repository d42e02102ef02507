/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a consumer can be given a batch now, read from the dispatcher's own sets: in its program,
 * beside the product. Not more is asked of it than it promises, whatever window it has chosen. */
#include "dispatcher/model/model.h"
#include "dispatcher_state.h"

/* Items are counted from the beginning of the first open epoch. The window is at least what the job
 * has asked for; if it has not, a step of all consumers. */
static uint64_t window_end(const struct cw_job *job)
{
    uint64_t window = CW_MAX((uint64_t)job->options->window, (uint64_t)job->layout.consumers);

    return cw_epoch_lowest_unconsumed(job->epochs[0]) + window;
}

static uint64_t next_of(const struct cw_job *job, uint32_t consumer)
{
    uint64_t base = 0;

    for (size_t i = 0; i < job->epochs_open; i++, base += job->items) {
        uint64_t next = cw_epoch_next_of(job->epochs[i], consumer);
        if (next < job->items)
            return base + next;
    }
    return base;
}

/* An item that is nobody else's. A consumer that waits for the end of an epoch, since the rest of it is
 * the others', is given nothing of the next one. */
static bool is_there(const struct cw_job *job, uint32_t consumer)
{
    bool is_past = job->consumers[consumer].position.epoch > job->first_epoch;
    uint64_t end = is_past ? window_end(job) : CW_MIN(window_end(job), job->items);

    for (uint64_t i = cw_epoch_lowest_unconsumed(job->epochs[0]); i < end; i++) {
        if (i / job->items >= job->epochs_open)
            return true;
        const struct cw_epoch *epoch = job->epochs[i / job->items];
        bool others = cw_set_has(&epoch->consumed, i % job->items);
        for (uint32_t c = 0; c < job->layout.consumers; c++)
            others =
                others || (c != consumer && cw_set_has(&epoch->parts[c].owned, i % job->items));
        if (!others)
            return true;
    }
    return false;
}

bool sim_dispatcher_can_take(const char *job_id, uint32_t consumer)
{
    const struct cw_job *job = cw_strmap_get(&sim_dispatcher->jobs_by_id, job_id);

    if (!job || job->status != CW_JOB_RUNNING || !job->consumers[consumer].client ||
        job->epochs_open == 0 || job->items == 0)
        return true; /* it is told so, or welcomed, or there is all */
    if (job->layout.mode == CW_MODE_SHARED)
        return is_there(job, consumer);
    /* In a sparse job a batch may need more items than the window has: who is last gets it. */
    if (job->layout.to_all)
        return next_of(job, consumer) == cw_epoch_lowest_unconsumed(job->epochs[0]);
    return next_of(job, consumer) < window_end(job);
}
