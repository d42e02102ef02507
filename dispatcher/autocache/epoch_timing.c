/* SPDX-License-Identifier: Apache-2.0 */
/* How long epochs take. An epoch counts only if it was measured from beginning to end with the same
 * workers, the same cached node, and a trainer at work. */
#include <math.h>
#include "dispatcher/autocache/autocache_int.h"
#include "policies/standing.h"

/* An epoch was read from the cache if this fraction of the records was there when it began. */
#define FULL_SHARE 0.95
#define TRAINER_BATCHES 1000.0 /* Above this number of batches, older ones count half. */
#define SOON_DONE 0.05         /* A smaller part of an epoch says nothing about its length. */

static double share_of_current(const struct cw_autocache_job *decider)
{
    const struct cw_job *job = decider->job;
    if (decider->current == CW_POLICY_NONE)
        return 0;
    const Cachew__V1__Cacheable *c = job->info->cacheable[decider->current];
    double elements = c->whole ? (double)job->items : (double)job->info->elements;
    double records = c->ids > 0 && !c->whole && (elements <= 0 || (double)c->ids < elements)
                         ? (double)c->ids
                         : elements;
    return records > 0 ? fmin(1, cw_autocache_cached_records(job, decider->current) / records) : 0;
}

static double mean(double before, double now)
{
    return before > 0 ? (before + now) / 2 : now;
}

static void note_length(struct cw_autocache_job *decider, double ns)
{
    if (decider->current == CW_POLICY_NONE)
        decider->compute_ns = mean(decider->compute_ns, ns);
    else if (decider->cached_at_begin >= FULL_SHARE && decider->job->cache &&
             !decider->job->cache->unavailable)
        decider->node_ns[decider->current] = mean(decider->node_ns[decider->current], ns);
    else
        return;
    decider->epoch_ns = decider->has_decision ? ns : 0;
}

void cw_autocache_epochs_moved(struct cw_job *job, uint64_t before)
{
    struct cw_autocache_job *decider = job->autocache;
    if (!decider)
        return;
    int64_t now = cw_clock_ms();
    if (decider->epoch_is_steady && !job->plan.decides_cache && decider->epoch == before &&
        job->first_epoch == before + 1)
        note_length(decider, (double)(now - decider->began_ms) * 1e6);
    decider->epoch_is_steady = job->first_epoch == before + 1 && job->no_client_ms == 0;
    decider->epoch = job->first_epoch;
    decider->began_ms = now;
    decider->cached_at_begin = share_of_current(decider);
    decider->ask_due = true;
    cw_profile_put(decider);
}

void cw_autocache_ack(struct cw_job *job, const Cachew__V1__Measure *measure)
{
    struct cw_autocache_job *decider = job->autocache;
    if (!decider || !measure || measure->batches == 0 || measure->ns < measure->wait_ns)
        return;
    double n = (double)measure->batches;
    /* The median step does not contain the trainer's pauses to validate or to save. */
    decider->trainer_ns += measure->step_ns > 0 ? n * (double)measure->step_ns
                                                : (double)(measure->ns - measure->wait_ns);
    decider->trainer_batches += n;
    if (decider->trainer_batches > TRAINER_BATCHES) {
        decider->trainer_ns /= 2;
        decider->trainer_batches /= 2;
    }
}

/* If the job has other workers, what was measured of whole epochs is not true any more. */
static bool detect_other_workers(struct cw_autocache_job *decider)
{
    double threads = 0;
    struct cw_serving serving = {.job = decider->job};
    for (const struct cw_worker *worker; (worker = cw_serving_next(&serving));)
        threads += worker->threads;
    if (threads == decider->threads || threads <= 0)
        return false;
    bool changed = decider->threads > 0;
    decider->threads = threads;
    if (!changed)
        return false;
    decider->epoch_is_steady = false;
    decider->epoch_ns = decider->compute_ns = 0;
    for (size_t i = 0; i < decider->job->measured->n; i++)
        decider->node_ns[i] = 0;
    decider->predicted_ns = 0; /* The last prediction was made for another number of workers. */
    return true;
}

/* If an epoch that is read from the cache takes much longer than predicted, the policy is asked
 * before it ends. */
static bool detect_long_epoch(struct cw_autocache_job *decider, int64_t now)
{
    double done = cw_job_epoch_done(decider->job), so_far = (double)(now - decider->began_ms) * 1e6;
    bool steady = decider->has_decision && decider->epoch_is_steady && decider->predicted_ns > 0 &&
                  (decider->current == CW_POLICY_NONE || decider->cached_at_begin >= FULL_SHARE);
    if (!steady || done < SOON_DONE ||
        cw_standing_side(&cw_standing_epoch, so_far, decider->predicted_ns) <= 0 ||
        now - decider->last_asked_ms < 1000)
        return false;
    decider->epoch_ns = so_far / done;
    return true;
}

bool cw_autocache_detect_changes(struct cw_autocache_job *decider, int64_t now)
{
    struct cw_job *job = decider->job;
    if (job->no_client_ms != 0 || job->no_worker_ms != 0)
        decider->epoch_is_steady = false;
    bool workers = detect_other_workers(decider);
    return detect_long_epoch(decider, now) || workers;
}
