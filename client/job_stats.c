/* SPDX-License-Identifier: Apache-2.0 */
/* cachew_job_stats: the counters of a job. */
#include <stdatomic.h>
#include <string.h>
#include "client/model/client_job.h"
#include "client/model/public.h"

static uint64_t load(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static double epoch_share(const struct cachew_job *job)
{
    if (job->over)
        return 1.0;
    if (job->mine == 0)
        return 0.0;
    double share = (double)load(&job->counts.done_items) / (double)job->mine;
    return CW_MIN(share, 1.0);
}

int cachew_job_stats(const struct cachew_job *job, struct cachew_job_stats *ret_stats)
{
    if (!ret_stats || cw_client_job_check(job, NULL) != 0)
        return CACHEW_E_STATE;
    size_t size = ret_stats->struct_size;
    if (size < sizeof(size_t) || size > 64 * sizeof(struct cachew_job_stats))
        return CACHEW_E_INVALID;
    const struct cw_job_counts *c = &job->counts;
    uint64_t given = atomic_load_explicit(&job->given, memory_order_relaxed),
             pushed = load(&c->pushed);
    struct cachew_job_stats stats = {.struct_size = size,
                                     .batches = load(&c->batches),
                                     .elements = load(&c->elements),
                                     .bytes = load(&c->bytes),
                                     .skipped = load(&c->skipped),
                                     .epoch = load(&c->epoch),
                                     .epoch_batches = load(&c->epoch_batches),
                                     .epoch_items = job->sparse ? -1 : (int64_t)job->mine,
                                     .epoch_elements = job->elements,
                                     .epoch_done = epoch_share(job),
                                     .duplicates = load(&c->duplicates),
                                     .shm_batches = load(&c->shm_batches),
                                     .grpc_batches = load(&c->grpc_batches),
                                     .copies = load(&c->copies),
                                     .wait_ns = load(&c->wait_ns),
                                     .buffered_bytes = load(&c->buffered_bytes),
                                     .buffered_batches = pushed > given ? pushed - given : 0,
                                     .workers =
                                         atomic_load_explicit(&c->workers, memory_order_relaxed),
                                     .lost_items = load(&c->lost_items),
                                     .reconnects = load(&c->reconnects)};
    memcpy(ret_stats, &stats, CW_MIN(size, sizeof(stats)));
    return 0;
}
