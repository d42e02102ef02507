/* SPDX-License-Identifier: Apache-2.0 */
/* Items that somebody asked to skip (`cachew skip`). They belong to the job and not to its open
 * epochs, because a trainer that goes back to its last checkpoint must not get them again. In a
 * sparse job they are batches, which only the clients know: their rows are computed and sent like
 * all others, and the clients drop them. */
#include "dispatcher/job/job.h"
#include "dispatcher/message/message.h"

/* Returns how many items of [lo, hi) the trainer has consumed, without those that were skipped
 * before. */
static uint64_t count_consumed(struct cw_job *job, uint64_t number, uint64_t lo, uint64_t hi)
{
    const struct cw_epoch *epoch = cw_job_epoch(job, number);
    struct cw_set range = {0};
    cw_set_add(&range, lo, hi);
    if (epoch)
        cw_set_intersect(&range, &epoch->consumed);
    else if (number >= job->first_epoch)
        cw_set_clear(&range);
    if (epoch)
        cw_set_remove_all(&range, &epoch->skipped);
    uint64_t n = cw_set_count(&range);
    cw_set_fini(&range);
    return n;
}

/* Returns how many of the numbers below x belong to consumer c of n. */
static uint64_t count_dealt(uint64_t x, uint64_t c, uint64_t n)
{
    return x > c ? (x - c - 1) / n + 1 : 0;
}

/* In a sparse job a consumer has consumed the batches before its position. */
static uint64_t count_consumed_batches(const struct cw_job *job, uint64_t number,
                                       const struct cw_set *batches)
{
    uint64_t n = 0, consumers = job->layout.consumers;
    for (uint64_t c = 0; c < consumers; c++) {
        const struct cw_state_position *at = &job->consumers[c].position;
        bool whole = number < job->first_epoch || number < at->epoch;
        uint64_t end = whole ? UINT64_MAX : number == at->epoch ? at->batches : 0;
        for (size_t i = 0; i < batches->n && batches->v[i].lo < end; i++)
            n += count_dealt(CW_MIN(batches->v[i].hi, end), c, consumers) -
                 count_dealt(batches->v[i].lo, c, consumers);
    }
    return n;
}

uint64_t cw_job_max_batches(const struct cw_job *job)
{
    const Cachew__V1__PlanInfo *info = job->info;
    double rows = (double)job->items * (double)CW_MAX(info->chunk, 1);
    uint64_t most = rows < 0x1p62 ? (uint64_t)rows : UINT64_MAX / 4,
             size = info->join_batch > 0 ? (uint64_t)info->join_batch : 1;
    if (info->join_take >= 0)
        most = CW_MIN(most, (uint64_t)info->join_take);
    return most > 0 ? (most - 1) / size + 1 : 0;
}

uint64_t cw_job_skip_batches(struct cw_job *job, uint64_t number, uint64_t lo, uint64_t hi)
{
    struct cw_set *all = cw_job_skips_of(job, number), fresh = {0};
    cw_set_add(&fresh, lo, hi);
    cw_set_remove_all(&fresh, all);
    uint64_t consumed = count_consumed_batches(job, number, &fresh);
    job->skipped_items += cw_set_count(&fresh);
    job->due.progress = true;
    cw_set_fini(&fresh);
    cw_set_add(all, lo, hi);
    cw_state_put_left_out(job->d->state, job->id, number, all);
    cw_job_send_skipped_batches(job, number, all);
    return consumed;
}

uint64_t cw_job_skip_on_request(struct cw_job *job, uint64_t number, uint64_t lo, uint64_t hi)
{
    uint64_t consumed = count_consumed(job, number, lo, hi);
    struct cw_set *items = cw_job_skips_of(job, number);
    cw_set_add(items, lo, hi);
    cw_state_put_left_out(job->d->state, job->id, number, items);
    struct cw_set range = {0};
    cw_set_add(&range, lo, hi);
    cw_job_skip(job, number, &range, CW_SKIPPED_BY_REQUEST);
    cw_set_fini(&range);
    return consumed;
}
