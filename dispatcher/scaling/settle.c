/* SPDX-License-Identifier: Apache-2.0 */
/* After the workers of a job, or its plan, have changed: how long it takes until measurements show it. */
#include "dispatcher/scaling/scaling_int.h"

/* The number of times that everything that is leased must be consumed after a change before its
 * effect can be seen. */
#define SETTLE_ROUNDS 2
/* The effect of a change is waited for no longer than this many leases take. */
#define SETTLE_LEASES 8

static uint64_t consumed_to(const struct cw_job *job)
{
    uint64_t lowest = job->epochs_open > 0 ? cw_epoch_lowest_unconsumed(job->epochs[0]) : 0;
    return job->first_epoch * job->items + lowest;
}

static uint64_t leased_to(const struct cw_job *job)
{
    uint64_t to = consumed_to(job);
    for (size_t e = 0; e < job->epochs_open; e++) {
        const struct cw_set *leased = &job->epochs[e]->leased;
        if (leased->n > 0)
            to = CW_MAX(to, job->epochs[e]->number * job->items + leased->v[leased->n - 1].hi);
    }
    return to;
}

void cw_scaling_changed(struct cw_job *job, int64_t now)
{
    struct cw_scaling *s = job->scaling;
    s->changed_ms = now;
    s->settling = SETTLE_ROUNDS;
    s->settle_at = leased_to(job);
}

/* Batches are consumed in order. So a new worker shows only when what the others held is consumed,
 * and then what was leased meanwhile. */
bool cw_scaling_is_settled(struct cw_job *job, int64_t now)
{
    struct cw_scaling *s = job->scaling;
    if (s->settling == 0 || now - s->changed_ms >= SETTLE_LEASES * cw_lease_work_ms(job->d))
        return true;
    if (s->serving_n < job->assigned_n + s->local_n || consumed_to(job) < s->settle_at)
        return false;
    s->settle_at = leased_to(job);
    return --s->settling == 0;
}
