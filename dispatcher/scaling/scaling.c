/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/scaling/scaling.h"

#include "dispatcher/scaling/placement.h"
#include "dispatcher/scaling/provisioner.h"

/* after a change: what is leased must be consumed so often before its effect can be seen in
 * order */
#define SETTLE_ROUNDS 2
#define SETTLE_LEASES 8 /* but it is not waited for longer than so many leases take */
#define LEAST_BATCHES 10
#define LONG_WINDOWS 5 /* times the usual length: then two batches do */

static void begin_window(struct cw_scaling *s, int64_t now)
{
    s->begin_ms = now;
    s->sums = (struct cw_trainer_sums){0};
}

void cw_scaling_measured(struct cw_job *job, const Cachew__V1__Ack *ack)
{
    struct cw_scaling *s = job->scaling;
    const Cachew__V1__Measure *m = ack->measure;
    if (!s || !m)
        return;
    cw_trainer_add(&s->sums, m, ack->ready);
}

bool cw_scaling_uses(const struct cw_job *job, const struct cw_worker *worker)
{
    if (cw_job_is_everywhere(job) || worker->only_job[0] != '\0')
        return true;
    const struct cw_share *share = cw_share_find(job, worker);
    return share && share->assigned;
}

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

/* Batches come in order, so a new worker shows only when what the others had in hand is
 * consumed, and then what was leased meanwhile. */
static bool is_settled(struct cw_job *job, int64_t now)
{
    struct cw_scaling *s = job->scaling;
    if (s->settling == 0 || now - s->changed_ms >= SETTLE_LEASES * job->d->options.lease_ms)
        return true;
    if (s->serving_n < s->assigned_n + s->local_n || consumed_to(job) < s->settle_at)
        return false;
    s->settle_at = leased_to(job);
    return --s->settling == 0;
}

static bool is_full(const struct cw_scaling *s, const struct cw_options *o, int64_t now)
{
    int64_t age = now - s->begin_ms;
    return (age >= o->scale_window_ms && s->sums.batches >= LEAST_BATCHES) ||
           (age >= LONG_WINDOWS * o->scale_window_ms && s->sums.batches >= 2);
}

static void decide(struct cw_job *job, int64_t now)
{
    struct cw_scaling *s = job->scaling;
    struct cw_scale_decision decision = {0};
    struct cw_err err = {0};
    const struct cw_scale_window window = cw_trainer_window(job, &s->sums, s->begin_ms, now);
    struct cw_scale_inputs inputs;
    cw_scaling_inputs(job, &window, &inputs);
    s->last = window;
    begin_window(s, now);
    cw_log_debug(CW_LOG_MOD,
                 "job=%s window seconds=%.3f batches=%.0f wait_share=%.3f queue=%.1f step_s=%.6f "
                 "rate=%.3f cpu=%.2f remote=%.0f local=%.0f",
                 job->id, s->last.seconds, s->last.batches, s->last.wait_share, s->last.queue,
                 s->last.step_s, s->last.rate, s->last.cpu, s->last.remote, s->last.local);
    if (s->last.remote + s->last.local < 1 && !s->policy->at_once)
        return;
    int rc = s->policy->decide(&s->last, &inputs.available, &inputs.options, s->argument, &s->state,
                               &decision, &err);
    if (rc < 0) {
        cw_log_error(CW_LOG_MOD, "job=%s %s: %s", job->id, s->policy->name, err.msg);
    } else if (decision.remote != s->target || decision.local != s->local_target) {
        s->target = decision.remote;
        s->local_target = decision.local;
        cw_scaling_record(job, &decision, &inputs);
    }
    cw_scale_decision_fini(&decision);
}

static void tick_job(struct cw_job *job, int64_t now)
{
    struct cw_scaling *s = job->scaling;
    if (s && s->policy->at_once && job->status == CW_JOB_RUNNING &&
        s->state.remote + s->state.local < 1)
        decide(job, now);
    if (!s || job->status != CW_JOB_RUNNING || !cw_job_has_clients(job) || !is_settled(job, now)) {
        if (s)
            begin_window(s, now);
        return;
    }
    if (is_full(s, &job->d->options, now))
        decide(job, now);
}

/* Nobody else could begin the work: one local worker does. */
static uint32_t local_wanted(const struct cw_job *job)
{
    const struct cw_scaling *s = job->scaling;
    if (!s || !s->policy->places || !cw_job_has_clients(job))
        return 0;
    return s->local_target < 1 && cw_provision_possible(job->d) < 1 ? 1 : (uint32_t)s->local_target;
}

void cw_scaling_tick(struct cw_dispatcher *d, int64_t now)
{
    bool placing = cw_placing_is_used(d);
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        tick_job(job, now);
        if (placing)
            cw_placing_carry_out(job, local_wanted(job), now);
    }
    if (placing)
        cw_placing_tick(d);
    cw_provision_want(d, cw_scaling_assign(d, now), now);
}
