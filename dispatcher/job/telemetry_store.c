/* SPDX-License-Identifier: Apache-2.0 */
/* What people read of a job is stored with what it has used, and goes on behind a restart of the
 * dispatcher. */
#include "dispatcher/job/telemetry.h"
#include "dispatcher/state/state.h"

#include <string.h>

/* Stored in this order: never change it; new ones come behind the last, before the nodes' only
 * with a step of state_schema.c. */
enum {
    RECOMPUTED,
    HEDGED,
    SHARED,
    SKIPPED,
    SKIPPED_ITEMS,
    BATCHES,
    TAKEN_BYTES,
    COPIES,
    TRAINER_NS,
    WAIT_NS,
    FIXED_N = 16
};
#define OF_NODE 5 /* of each node: elements, hits, CPU time, time, bytes */

/* Of `counts`, which are all 0; returns how many there are. */
static size_t gather(const struct cw_job *job, uint64_t *counts)
{
    counts[RECOMPUTED] = job->recomputed;
    counts[HEDGED] = job->hedged;
    counts[SHARED] = job->shared;
    counts[SKIPPED] = job->skipped;
    counts[SKIPPED_ITEMS] = job->skipped_items;
    size_t n = FIXED_N;
    const struct cw_telemetry *watch = job->telemetry;
    if (watch) {
        counts[BATCHES] = watch->all.batches;
        counts[TAKEN_BYTES] = watch->all.bytes;
        counts[COPIES] = watch->all.copies;
        counts[TRAINER_NS] = watch->all.ns;
        counts[WAIT_NS] = watch->all.wait_ns;
    }
    for (size_t i = 0; watch && i < watch->nodes.n && n + OF_NODE <= CW_STATE_COUNTS_MAX; i++) {
        const struct cw_node_sums *m = &watch->nodes.nodes[i];
        const double sums[OF_NODE] = {m->elements, m->hits, m->cpu_ns, m->wall_ns, m->bytes};
        for (size_t k = 0; k < OF_NODE; k++)
            counts[n++] = (uint64_t)sums[k];
    }
    return n;
}

/* Which counts are stored is remembered by their hash: they are compared often, and there may be
 * many. */
static struct cw_hash hash_of(const uint64_t *counts, size_t n)
{
    return cw_hash_bytes(counts, n * sizeof(counts[0]));
}

bool cw_telemetry_is_changed(const struct cw_job *job)
{
    uint64_t counts[CW_STATE_COUNTS_MAX] = {0};
    size_t n = gather(job, counts);
    static const uint64_t nothing[FIXED_N];
    if (!job->telemetry || !job->telemetry->is_stored)
        return n > FIXED_N || memcmp(counts, nothing, sizeof(nothing)) != 0;
    return !cw_hash_eq(job->telemetry->stored, hash_of(counts, n));
}

void cw_telemetry_store(struct cw_job *job)
{
    uint64_t counts[CW_STATE_COUNTS_MAX] = {0};
    size_t n = gather(job, counts);
    struct cw_telemetry *watch = cw_telemetry_of(job);
    cw_state_put_counts(job->d->state, job->id, counts, n);
    watch->stored = hash_of(counts, n);
    watch->is_stored = true;
}

void cw_telemetry_restore(struct cw_job *job, const uint64_t *counts, size_t n)
{
    if (n < FIXED_N)
        return;
    job->recomputed = counts[RECOMPUTED];
    job->hedged = counts[HEDGED];
    job->shared = counts[SHARED];
    job->skipped = counts[SKIPPED];
    job->skipped_items = counts[SKIPPED_ITEMS];
    struct cw_telemetry *watch = cw_telemetry_of(job);
    watch->restored = true;
    watch->all.batches = counts[BATCHES];
    watch->all.bytes = counts[TAKEN_BYTES];
    watch->all.copies = counts[COPIES];
    watch->all.ns = counts[TRAINER_NS];
    watch->all.wait_ns = counts[WAIT_NS];
    watch->stored = hash_of(counts, n);
    watch->is_stored = true;
    size_t nodes = job->info ? job->info->n_cacheable : 0;
    if (n <= FIXED_N || nodes == 0)
        return;
    cw_node_counters_init(&watch->nodes, nodes);
    for (size_t i = 0; i < nodes && FIXED_N + (i + 1) * OF_NODE <= n; i++) {
        const uint64_t *v = &counts[FIXED_N + i * OF_NODE];
        watch->nodes.nodes[i] = (struct cw_node_sums){(double)v[0], (double)v[1], (double)v[2],
                                                      (double)v[3], (double)v[4]};
        watch->nodes.all_hits += (double)v[1];
    }
}
