/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry is stored with the job's use, so it goes on after a restart of the dispatcher. */
#include "dispatcher/job/telemetry.h"
#include "dispatcher/state/state.h"

#include <string.h>

/* The numbers are stored in this order, which never changes. New ones are added after the last, or,
 * with a new step of state_schema.c, before those of the nodes. */
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
    BAD_GONE,   /* cw_bad_report.gone */
    BAD_CLIENT, /* cw_bad_report.tellers[0] */
    BAD_N,
    TELLERS_AT, /* where those of other consumers begin, behind the nodes; 0: there are none */
    FIXED_N = 16
};
/* The count of numbers that are stored per node: elements, hits, CPU time, wall time, bytes. */
#define OF_NODE 5
/* Of a teller: consumer, client_id, n. */
#define OF_TELLER 3

/* Adds what consumers but the first have told of bad elements. There is room for dozens of them; what
 * further ones have told is lost if their processes end while the dispatcher is away. */
static size_t gather_tellers(const struct cw_bad_report *report, uint64_t *counts, size_t n)
{
    for (size_t c = 1; c < report->tellers_n && n + OF_TELLER <= CW_STATE_COUNTS_MAX; c++) {
        const struct cw_bad_teller *teller = &report->tellers[c];
        if (teller->n == 0)
            continue;
        counts[TELLERS_AT] = counts[TELLERS_AT] > 0 ? counts[TELLERS_AT] : n;
        counts[n++] = c;
        counts[n++] = teller->client_id;
        counts[n++] = teller->n;
    }
    return n;
}

size_t cw_telemetry_counts(const struct cw_job *job, uint64_t *counts)
{
    counts[RECOMPUTED] = job->recomputed;
    counts[HEDGED] = job->hedged;
    counts[SHARED] = job->shared;
    counts[SKIPPED] = job->skipped;
    counts[SKIPPED_ITEMS] = job->skipped_items;
    size_t n = FIXED_N;
    const struct cw_telemetry *telemetry = job->telemetry;
    if (telemetry) {
        counts[BATCHES] = telemetry->all.batches;
        counts[TAKEN_BYTES] = telemetry->all.bytes;
        counts[COPIES] = telemetry->all.copies;
        counts[TRAINER_NS] = telemetry->all.ns;
        counts[WAIT_NS] = telemetry->all.wait_ns;
        counts[BAD_GONE] = telemetry->bad.gone;
    }
    if (telemetry && telemetry->bad.tellers_n > 0) {
        counts[BAD_CLIENT] = telemetry->bad.tellers[0].client_id;
        counts[BAD_N] = telemetry->bad.tellers[0].n;
    }
    for (size_t i = 0;
         telemetry && job->measured && i < job->measured->n && n + OF_NODE <= CW_STATE_COUNTS_MAX;
         i++) {
        const struct cw_node_sums *m = &job->measured->total[i];
        const double sums[OF_NODE] = {m->elements, m->hits, m->cpu_ns, m->wall_ns, m->bytes};
        for (size_t k = 0; k < OF_NODE; k++)
            counts[n++] = (uint64_t)sums[k];
    }
    return telemetry ? gather_tellers(&telemetry->bad, counts, n) : n;
}

/* The counts are compared often and may be many, so the hash of the stored ones is kept. */
static struct cw_hash hash_of(const uint64_t *counts, size_t n)
{
    return cw_hash_bytes(counts, n * sizeof(counts[0]));
}

bool cw_telemetry_is_changed(const struct cw_job *job)
{
    uint64_t counts[CW_STATE_COUNTS_MAX] = {0};
    size_t n = cw_telemetry_counts(job, counts);
    static const uint64_t nothing[FIXED_N];
    if (!job->telemetry || !job->telemetry->is_stored)
        return n > FIXED_N || memcmp(counts, nothing, sizeof(nothing)) != 0;
    return !cw_hash_eq(job->telemetry->stored, hash_of(counts, n));
}

void cw_telemetry_store(struct cw_job *job)
{
    uint64_t counts[CW_STATE_COUNTS_MAX] = {0};
    size_t n = cw_telemetry_counts(job, counts);
    struct cw_telemetry *telemetry = cw_telemetry_of(job);
    cw_state_put_counts(job->d->state, job->id, counts, n);
    telemetry->stored = hash_of(counts, n);
    telemetry->is_stored = true;
    telemetry->bad.stored_n = cw_bad_report_n(&telemetry->bad);
}

void cw_telemetry_store_bad(struct cw_job *job)
{
    const struct cw_telemetry *telemetry = job->telemetry;
    if (telemetry && cw_bad_report_n(&telemetry->bad) != telemetry->bad.stored_n)
        cw_telemetry_store(job);
}

static void restore_bad(struct cw_job *job, const uint64_t *counts, size_t n)
{
    struct cw_bad_report *report = &job->telemetry->bad;
    report->gone = counts[BAD_GONE];
    if (counts[BAD_N] > 0) {
        cw_bad_report_make_room(report, 1);
        report->tellers[0] = (struct cw_bad_teller){counts[BAD_CLIENT], counts[BAD_N]};
    }
    for (size_t i = counts[TELLERS_AT]; i > 0 && n >= OF_TELLER && i <= n - OF_TELLER;
         i += OF_TELLER) {
        if (counts[i] >= CW_CONSUMERS_MAX)
            continue;
        cw_bad_report_make_room(report, (size_t)counts[i] + 1);
        report->tellers[counts[i]] = (struct cw_bad_teller){counts[i + 1], counts[i + 2]};
    }
    report->stored_n = cw_bad_report_n(report);
}

static void restore_nodes(struct cw_job *job, const uint64_t *counts, size_t n)
{
    size_t nodes = job->info ? job->info->n_cacheable : 0;
    if (n <= FIXED_N || nodes == 0)
        return;
    struct cw_node_counters *measured = cw_job_measured(job);
    for (size_t i = 0; i < nodes && FIXED_N + (i + 1) * OF_NODE <= n; i++) {
        const uint64_t *v = &counts[FIXED_N + i * OF_NODE];
        measured->total[i] = (struct cw_node_sums){.elements = (double)v[0],
                                                   .hits = (double)v[1],
                                                   .cpu_ns = (double)v[2],
                                                   .wall_ns = (double)v[3],
                                                   .bytes = (double)v[4]};
        measured->all_hits += (double)v[1];
    }
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
    struct cw_telemetry *telemetry = cw_telemetry_of(job);
    telemetry->restored = true;
    telemetry->all.batches = counts[BATCHES];
    telemetry->all.bytes = counts[TAKEN_BYTES];
    telemetry->all.copies = counts[COPIES];
    telemetry->all.ns = counts[TRAINER_NS];
    telemetry->all.wait_ns = counts[WAIT_NS];
    restore_bad(job, counts, n);
    telemetry->stored = hash_of(counts, n);
    telemetry->is_stored = true;
    restore_nodes(job, counts, counts[TELLERS_AT] > 0 ? CW_MIN(counts[TELLERS_AT], n) : n);
}
