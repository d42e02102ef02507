/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/scaling.h"

#include <string.h>

#include "dispatcher/provision.h"

#define SETTLE_ROUNDS 2      /* after a change: what is leased must be consumed so often before its effect can be seen in order */
#define SETTLE_LEASES 8      /* but it is not waited for longer than so many leases take */
#define LEAST_BATCHES 10
#define LONG_WINDOWS 5       /* times the usual length: then two batches do */

static const char *wanted_policy(const struct cw_job *job)
{
    const char *own = job->options->autoscale;
    return own && own[0] ? own : job->d->options.autoscale;
}

static bool is_off(const char *policy)
{
    return !policy || strcmp(policy, "off") == 0;
}

int cw_scaling_check(const char *policy, struct cw_err *err)
{
    const struct cw_scale_policy *found;
    const char *argument;
    struct cw_scale_window window = {.seconds = 1, .batches = 1, .remote = 1};
    struct cw_scale_available available = {.remote = 1};
    struct cw_scale_options options = {0};
    struct cw_scale_state state = {0};
    struct cw_scale_decision decision = {0};
    if (!policy || !policy[0] || is_off(policy))
        return 0;
    int rc = cw_autoscale_find(policy, &found, &argument, err);
    if (rc == 0) /* it checks its argument */
        rc = found->decide(&window, &available, &options, argument, &state, &decision, err);
    cw_scale_decision_fini(&decision);
    return rc;
}

void cw_scaling_begin(struct cw_job *job)
{
    const char *policy = wanted_policy(job);
    if (is_off(policy))
        return;
    struct cw_scaling *s = CW_NEW(struct cw_scaling);
    if (cw_autoscale_find(policy, &s->policy, &s->argument, NULL) != 0) {
        cw_mem_free(s);
        return; /* stored by another version: it uses what there is */
    }
    const struct cw_options *o = &job->d->options;
    s->options = (struct cw_scale_options){.min_workers = 1, .max_workers = (double)o->max_workers, .max_stall = o->max_stall, .fixed_quirks = true};
    s->target = 1;
    job->scaling = s;
}

void cw_scaling_free(struct cw_job *job)
{
    cw_mem_free(job->scaling);
    job->scaling = NULL;
}

static void begin_window(struct cw_scaling *s, int64_t now)
{
    s->begin_ms = now;
    s->batches = s->ns = s->wait_ns = s->queue_n = 0;
    s->step_batches = s->step_sum = s->queue_sum = 0;
}

void cw_scaling_measured(struct cw_job *job, const Cachew__V1__Ack *ack)
{
    struct cw_scaling *s = job->scaling;
    const Cachew__V1__Measure *m = ack->measure;
    if (!s || !m)
        return;
    s->batches += m->batches;
    s->ns += m->ns;
    s->wait_ns += CW_MIN(m->wait_ns, m->ns);
    if (m->step_ns > 0) {
        s->step_sum += (double)m->step_ns * (double)m->batches;
        s->step_batches += (double)m->batches;
    }
    s->queue_sum += (double)ack->ready;
    s->queue_n++;
}

bool cw_scaling_uses(const struct cw_job *job, const struct cw_worker *worker)
{
    if (!job->scaling || worker->only_job[0])
        return true;
    for (const struct cw_share *share = worker->shares; share; share = share->next_of_worker)
        if (share->job == job)
            return share->assigned;
    return false;
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

/* Batches come in order, so a new worker shows only when what the others had in hand is consumed, and then what was leased meanwhile. */
static bool is_settled(struct cw_job *job, int64_t now)
{
    struct cw_scaling *s = job->scaling;
    if (s->settling == 0 || now - s->changed_ms >= SETTLE_LEASES * job->d->options.lease_ms)
        return true;
    if (s->serving_n < s->assigned_n || consumed_to(job) < s->settle_at)
        return false;
    s->settle_at = leased_to(job);
    return --s->settling == 0;
}

static bool is_full(const struct cw_scaling *s, const struct cw_options *o, int64_t now)
{
    int64_t age = now - s->begin_ms;
    return (age >= o->scale_window_ms && s->batches >= LEAST_BATCHES) || (age >= LONG_WINDOWS * o->scale_window_ms && s->batches >= 2);
}

/* Batches a second of one worker of the job when nothing holds it up, and the CPU that its workers use. */
static void measure_workers(const struct cw_job *job, struct cw_scale_window *window)
{
    double threads = 0, cpu = 0, n = 0;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job) {
        if (!share->assigned)
            continue;
        threads += share->worker->threads;
        cpu += share->worker->cpu_share;
        n++;
    }
    window->remote = n;
    window->cpu = n > 0 ? cpu / n : 0;
    window->rate = n > 0 && job->item_ns > 0 ? threads / n * 1e9 / job->item_ns : 0;
}

static struct cw_scale_window take_window(const struct cw_job *job, int64_t now)
{
    const struct cw_scaling *s = job->scaling;
    double consumers = job->layout.to_all ? 1 : job->layout.consumers;
    struct cw_scale_window w = {.at_s = (double)now / 1e3,
                                .seconds = (double)(now - s->begin_ms) / 1e3,
                                .batches = (double)s->batches / (job->layout.to_all ? job->layout.consumers : 1),
                                .wait_share = s->ns > 0 ? (double)s->wait_ns / (double)s->ns : 0,
                                .queue = s->queue_n > 0 ? s->queue_sum / (double)s->queue_n : 0,
                                .step_s = s->step_batches > 0 ? s->step_sum / s->step_batches / 1e9 / consumers : 0};
    measure_workers(job, &w);
    return w;
}

static void decide(struct cw_job *job, int64_t now)
{
    struct cw_scaling *s = job->scaling;
    struct cw_dispatcher *d = job->d;
    struct cw_scale_available available = {.remote = cw_provision_possible(d)};
    struct cw_scale_decision decision = {0};
    struct cw_err err = {0};
    s->last = take_window(job, now);
    s->windows_n++;
    begin_window(s, now);
    if (s->last.remote < 1)
        return;
    int rc = s->policy->decide(&s->last, &available, &s->options, s->argument, &s->state, &decision, &err);
    if (rc < 0)
        cw_log_error(CW_LOG_MOD, "job=%s autoscale %s: %s", job->id, s->policy->name, err.msg);
    else if (decision.remote != s->target) {
        s->decisions_n++;
        cw_log_info(CW_LOG_MOD, "job=%s autoscale %s: %.0f workers, now %.0f: %s", job->id, s->policy->name, decision.remote, s->last.remote,
                    cw_str_text(&decision.reason));
        s->target = decision.remote;
    }
    cw_scale_decision_fini(&decision);
}

static void tick_job(struct cw_job *job, int64_t now)
{
    struct cw_scaling *s = job->scaling;
    if (!s || job->status != CW_JOB_RUNNING || !cw_job_has_clients(job) || !is_settled(job, now)) {
        if (s)
            begin_window(s, now);
        return;
    }
    if (is_full(s, &job->d->options, now))
        decide(job, now);
}

void cw_scaling_tick(struct cw_dispatcher *d, int64_t now)
{
    for (struct cw_job *job = d->jobs; job; job = job->next)
        tick_job(job, now);
    cw_provision_want(d, cw_scaling_assign(d, now), now);
}
