/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/scaling/scaling_int.h"

#define LEAST_BATCHES 10
/* A demand window that is this many times as long as usual is used even if it has only two
 * batches. */
#define LONG_WINDOWS 5

static void begin_window(const struct cw_job *job, int64_t now)
{
    job->scaling->begin_ms = now;
    cw_demand_begin(job, &job->scaling->sums);
}

void cw_scaling_measured(struct cw_job *job, const Cachew__V1__Ack *ack)
{
    struct cw_scaling *s = job->scaling;
    const Cachew__V1__Measure *m = ack->measure;
    if (!s || !m)
        return;
    cw_demand_add(&s->sums, m, ack->ready);
}

/* Whether the present workers give next to nothing, compared with others before them. */
static bool is_starved(const struct cw_job *job, int64_t now)
{
    const struct cw_scaling *s = job->scaling;
    int64_t age = now - s->begin_ms;
    if (age < job->d->options.scale_window_ms +
                  cw_ack_interval_ms(job->d) || /* what has come is told later */
        !cw_job_trainer_waits(job))
        return false;
    double before = cw_scale_given_before(&s->state, s->target, s->local_target);
    return before * (double)age / 1e3 >= CW_SCALE_STARVED * ((double)s->sums.batches + 0.5);
}

/* Completes a window in which a trainer still waits for a batch, which counts as half a one. What its
 * workers have told of themselves is that of the workers before, so it is taken from what they gave. */
static void count_waiting(const struct cw_scaling *s, int64_t now, struct cw_scale_window *w)
{
    double age = (double)(now - s->begin_ms) / 1e3, busy = w->seconds * (1 - w->wait_share);
    w->batches = CW_MAX(w->batches, CW_SCALE_WAITED_FOR);
    w->wait_share = s->sums.ns > 0 ? 1 - CW_MIN(busy / age, 1) : 1;
    w->seconds = age;
    w->rate = w->batches / age / CW_MAX(w->remote + w->local, 1);
}

static bool is_full(const struct cw_scaling *s, const struct cw_options *o, int64_t now)
{
    int64_t age = now - s->begin_ms;
    return (age >= o->scale_window_ms && s->sums.batches >= LEAST_BATCHES) ||
           (age >= LONG_WINDOWS * o->scale_window_ms && s->sums.batches >= 2);
}

static void decide(struct cw_job *job, bool starved, int64_t now)
{
    struct cw_scaling *s = job->scaling;
    struct cw_policy_decision decision = {0};
    struct cw_err err = {0};
    struct cw_scale_window window = cw_demand_window(job, &s->sums, s->begin_ms, now);
    if (starved)
        count_waiting(s, now, &window);
    struct cw_scale_inputs inputs;
    cw_scaling_inputs(job, &window, &inputs);
    s->last = window;
    begin_window(job, now);
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
    cw_policy_decision_fini(&decision);
}

static void tick_job(struct cw_job *job, int64_t now)
{
    struct cw_scaling *s = job->scaling;
    if (s && s->policy->at_once && job->status == CW_JOB_RUNNING &&
        s->state.remote + s->state.local < 1)
        decide(job, false, now);
    if (!s || job->status != CW_JOB_RUNNING || !cw_job_has_clients(job) ||
        !cw_scaling_is_settled(job, now)) {
        if (s)
            begin_window(job, now);
        return;
    }
    bool starved = is_starved(job, now);
    if (starved || is_full(s, &job->d->options, now))
        decide(job, starved, now);
}

/* Returns how many local workers the job should have. If there can be no remote worker, it is at
 * least one, so that the job can begin. */
static uint32_t local_wanted(const struct cw_job *job)
{
    const struct cw_scaling *s = job->scaling;
    if (!s || !s->policy->places || !cw_job_has_clients(job))
        return 0;
    return s->local_target < 1 && cw_workers_possible(job->d) < 1 ? 1 : (uint32_t)s->local_target;
}

void cw_scaling_tick(struct cw_dispatcher *d, int64_t now)
{
    bool placing = cw_placement_is_used(d);
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        tick_job(job, now);
        if (placing)
            cw_placement_carry_out(job, local_wanted(job), now);
    }
    if (placing)
        cw_placement_tick(d);
    cw_provision_set_wanted(d, cw_scaling_assign(d, now), now);
}
