/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what is kept twice for speed with its source. Builds with fault points do this at the
 * end of some loop iterations. */
#include "base/compiler.h"
#include "dispatcher/model/model.h"

#ifdef CW_FAULTS

#define EVERY 16 /* The check runs in one of this many loop iterations. */

static void check_share(const struct cw_share *share)
{
    uint64_t todo_n = 0;
    for (const struct cw_lease *lease = share->leases; lease; lease = lease->next)
        todo_n += cw_set_count(&lease->todo);
    CW_ASSERT(share->todo_n == todo_n);
}

/* An item is in the epoch's set `leased` exactly if a lease holds it. */
static void check_epoch(const struct cw_job *job, const struct cw_epoch *epoch)
{
    struct cw_set leased = {0};
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job)
        for (const struct cw_lease *lease = share->leases; lease; lease = lease->next)
            if (lease->epoch == epoch->number)
                cw_set_add_all(&leased, &lease->items);
    CW_ASSERT(cw_set_count(&leased) == cw_set_count(&epoch->leased));
    cw_set_fini(&leased);
}

static void check_job(const struct cw_job *job)
{
    uint32_t barred_n = 0;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job) {
        check_share(share);
        barred_n += share->barred;
    }
    CW_ASSERT(job->barred_n == barred_n);
    for (size_t i = 0; i < job->epochs_open; i++)
        check_epoch(job, job->epochs[i]);
}

void cw_check_derived(const struct cw_dispatcher *d)
{
    static unsigned cycles;
    if (cycles++ % EVERY != 0)
        return;
    for (const struct cw_job *job = d->jobs; job; job = job->next)
        check_job(job);
}

#else

void cw_check_derived(const struct cw_dispatcher *d)
{
    (void)d;
}

#endif
