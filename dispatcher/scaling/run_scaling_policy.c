/* SPDX-License-Identifier: Apache-2.0 */
/* Which policy decides about a job's workers, what it is shown, and where it goes on after a
 * restart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dispatcher/scaling/scaling_int.h"
#include "dispatcher/state/state.h"

#define LITTLE 0.05 /* assign.c uses the same part of a worker's time. */

static const char *wanted_policy(const struct cw_job *job)
{
    const char *own = job->options->autoscale;
    return own && own[0] ? own : job->d->options.autoscale;
}

static bool is_off(const char *policy)
{
    return !policy || strcmp(policy, "off") == 0;
}

/* Finds the policy, and has it check its argument. */
static int check(int (*find)(const char *, const struct cw_scale_policy **, const char **,
                             struct cw_err *),
                 const char *policy, struct cw_err *err)
{
    const struct cw_scale_policy *found;
    const char *argument;
    struct cw_scale_window window = {.seconds = 1, .batches = 1, .remote = 1};
    struct cw_scale_available available = {.remote = 1};
    struct cw_scale_options options = {0};
    struct cw_scale_state state = {0};
    struct cw_policy_decision decision = {0};
    if (!policy || !policy[0] || is_off(policy))
        return 0;
    int rc = find(policy, &found, &argument, err);
    if (rc == 0)
        rc = found->decide(&window, &available, &options, argument, &state, &decision, err);
    cw_policy_decision_fini(&decision);
    return rc;
}

int cw_scaling_check(const char *policy, struct cw_err *err)
{
    return check(cw_autoscale_find, policy, err);
}

int cw_placement_check(const char *policy, struct cw_err *err)
{
    return check(cw_autoplace_find, policy, err);
}

static struct cw_scale_options make_options(const struct cw_job *job)
{
    const struct cw_options *o = &job->d->options;
    const Cachew__V1__JobOptions *own = job->options;
    /* Without a provisioner the fleet is as large as the number of workers that have come. */
    bool fixed = o->provisioner && o->provisioner->fixed;
    return (struct cw_scale_options){
        .min_workers = CW_MAX(own->min_workers, 1u),
        .max_workers = own->max_workers > 0 ? own->max_workers
                       : fixed              ? 0
                                            : (double)o->max_workers,
        .max_stall = own->max_stall > 0 ? own->max_stall : o->max_stall,
        .client_price = own->client_price > 0 ? own->client_price : o->client_price,
        .worker_price = o->worker_price};
}

/* Returns the policy that decides about the job now; NULL if there is none. */
static const struct cw_scale_policy *choose(const struct cw_job *job, const char **ret_argument)
{
    const struct cw_scale_policy *policy = NULL;
    const char *place = cw_placement_policy(job), *scale = wanted_policy(job);
    /* A stored policy may be unknown, because another version stored it. The job then uses the
     * dispatcher's. */
    if (!is_off(place) && cw_autoplace_find(place, &policy, ret_argument, NULL) == 0)
        return policy;
    return !is_off(scale) && cw_autoscale_find(scale, &policy, ret_argument, NULL) == 0 ? policy
                                                                                        : NULL;
}

/* `anew`: the policy's argument has changed, so it is set again even if it is the same policy. */
static void begin(struct cw_job *job, bool anew)
{
    const char *argument = NULL;
    const struct cw_scale_policy *policy = choose(job, &argument);
    struct cw_scaling *s = job->scaling;
    if (s && policy == s->policy && !anew)
        return;
    cw_job_worker_list_due(job);
    if (!policy) {
        cw_scaling_free(job);
        cw_job_leases_due(job);
        return;
    }
    if (!s)
        job->scaling = s = CW_NEW(struct cw_scaling);
    double target = CW_MAX(s->target, 1);
    *s = (struct cw_scaling){.policy = policy,
                             .argument = argument,
                             .options = make_options(job),
                             .target = target,
                             .local_target = s->local_target};
}

void cw_scaling_begin(struct cw_job *job)
{
    begin(job, false);
}

void cw_scaling_client_joined(struct cw_job *job, uint32_t local_now)
{
    cw_scaling_begin(job);
    struct cw_scaling *s = job->scaling;
    if (s && s->policy->places && s->local_target < local_now && s->state.history_n == 0)
        s->local_target = local_now;
}

void cw_scaling_keep_worker(struct cw_job *job, struct cw_worker *worker)
{
    if (cw_job_uses_all_workers(job) || !cw_worker_serves_any_job(worker))
        return;
    struct cw_share *share = cw_share_get(job, worker);
    share->assigned = true;
    share->assigned_done_n = share->done_n;
    cw_job_worker_list_due(job);
}

void cw_scaling_free(struct cw_job *job)
{
    cw_mem_free(job->scaling);
    job->scaling = NULL;
}

const char *cw_scaling_kind(const struct cw_job *job)
{
    return job->scaling->policy->places ? "autoplace" : "autoscale";
}

char *cw_scaling_choice(const struct cw_job *job, const struct cw_policy_decision *decision)
{
    return job->scaling->policy->places
               ? cw_mem_printf("%.0f remote, %.0f local", decision->remote, decision->local)
               : cw_mem_printf("%.0f worker%s", decision->remote, decision->remote == 1 ? "" : "s");
}

struct last {
    uint64_t id;
    double remote, local;
};

static int on_decision(void *arg, const struct cw_state_decision *row, struct cw_err *err)
{
    struct last *last = arg;
    (void)err;
    if (row->id > last->id)
        *last = (struct last){row->id, row->remote, row->local};
    return 1;
}

void cw_scaling_restore(struct cw_job *job)
{
    static const char *const kinds[] = {"autoscale", "autoplace"};
    struct last last = {0};
    struct cw_err err = {0};
    for (size_t i = 0; job->scaling && i < CW_ARRAY_LEN(kinds); i++) {
        const struct cw_state_decision_query query = {.job = job->id, .kind = kinds[i], .limit = 1};
        if (cw_state_find_decisions(job->d->state, &query, on_decision, &last, &err) < 0)
            cw_log_warn(CW_LOG_MOD, "job=%s begins with one worker: %s", job->id, err.msg);
    }
    if (last.remote + last.local < 1)
        return;
    job->scaling->target = last.remote;
    job->scaling->local_target = last.local;
    if (job->scaling->policy->at_once)
        return;
    job->scaling->state.remote = last.remote;
    job->scaling->state.local = last.local;
}

/* Returns how many of the wanted remote workers the job gets because there are no more, others have
 * them, or its tenant may have no more; 0 if it gets all. */
static double granted_of(const struct cw_job *job)
{
    const struct cw_dispatcher *d = job->d;
    double wants = cw_scaling_wants(job), limit = (double)cw_job_max_workers(job),
           granted = job->granted;
    bool no_more = d->provision.kind->fixed || (double)d->common_n >= cw_workers_possible(d) ||
                   granted >= limit;
    return no_more && granted > 0 && granted < wants ? ceil(fmax(granted - LITTLE, LITTLE)) : 0;
}

void cw_scaling_inputs(const struct cw_job *job, const struct cw_scale_window *window,
                       struct cw_scale_inputs *ret_inputs)
{
    *ret_inputs = (struct cw_scale_inputs){.window = *window,
                                           .available = {.remote = cw_workers_possible(job->d),
                                                         .local = cw_placement_max_local(job),
                                                         .granted = granted_of(job)},
                                           .options = job->scaling->options,
                                           .state = job->scaling->state};
    ret_inputs->options.max_local = ret_inputs->available.local;
    if (job->d->provision.has_price)
        ret_inputs->options.worker_price = job->d->provision.price;
}

void cw_scaling_record(const struct cw_job *job, const struct cw_policy_decision *decision,
                       const struct cw_scale_inputs *inputs)
{
    CW_STR_AUTO text = {0};
    cw_autofree char *choice = cw_scaling_choice(job, decision);
    cw_scale_inputs_print(inputs, &text);
    const char *policy =
        job->scaling->policy->places ? cw_placement_policy(job) : wanted_policy(job);
    const struct cw_state_decision row =
        cw_decision_row(cw_scaling_kind(job), policy, choice, decision, cw_str_text(&text));
    cw_decision_record(job->d, job, &row);
}

bool cw_scaling_may_jump(const struct cw_job *job)
{
    return job->scaling && !job->scaling->policy->places &&
           strcmp(job->scaling->policy->name, "auto") == 0;
}

void cw_scaling_jump(struct cw_job *job, unsigned workers)
{
    struct cw_scaling *s = job->scaling;
    if (!cw_scaling_may_jump(job) || workers < 1 || (unsigned)s->target == workers)
        return;
    struct cw_policy_decision decision = {.remote = workers};
    struct cw_scale_inputs inputs;
    cw_scaling_inputs(job, &s->last, &inputs);
    cw_str_addf(&decision.reason, "the new plan needs %u worker%s instead of %.0f", workers,
                workers == 1 ? "" : "s", s->target);
    s->target = workers;
    s->state = (struct cw_scale_state){.remote = workers};
    cw_scaling_record(job, &decision, &inputs);
    cw_scaling_changed(job, cw_clock_ms());
    cw_policy_decision_fini(&decision);
}

/* protobuf-c stores an absent text as the constant protobuf_c_empty_string, which must not be
 * freed. */
static void set_text(char **text, const char *value)
{
    if (*text != protobuf_c_empty_string)
        cw_mem_free(*text);
    *text = cw_mem_strdup(value);
}

static void record_change(struct cw_job *job, const char *before)
{
    const bool places = job->scaling && job->scaling->policy->places;
    struct cw_policy_decision now = {.remote = job->scaling ? job->scaling->target : 0,
                                     .local = job->scaling ? job->scaling->local_target : 0};
    cw_autofree char *choice =
        job->scaling ? cw_scaling_choice(job, &now) : cw_mem_strdup("all workers");
    const char *policy = places ? cw_placement_policy(job) : wanted_policy(job);
    cw_str_addf(&now.reason, "by request the policy is %s from now on; it was %s", policy, before);
    const struct cw_state_decision row =
        cw_decision_row(places ? "autoplace" : "autoscale", policy, choice, &now, "");
    cw_decision_record(job->d, job, &row);
    cw_policy_decision_fini(&now);
}

/* A policy that needs no measurement decides at once. */
static void ask_at_once(struct cw_job *job)
{
    struct cw_scaling *s = job->scaling;
    const struct cw_scale_window none = {0};
    struct cw_scale_inputs inputs;
    struct cw_policy_decision decision = {0};
    if (!s || !s->policy->at_once)
        return;
    cw_scaling_inputs(job, &none, &inputs);
    if (s->policy->decide(&none, &inputs.available, &inputs.options, s->argument, &s->state,
                          &decision, NULL) == 0) {
        s->target = decision.remote;
        s->local_target = decision.local;
    }
    cw_policy_decision_fini(&decision);
}

int cw_scaling_change(struct cw_job *job, const char *policy, bool place, struct cw_err *err)
{
    int rc = place ? cw_placement_check(policy, err) : cw_scaling_check(policy, err);
    if (rc != 0)
        return rc;
    if (place && !is_off(policy) && cw_job_has_clients(job) && cw_placement_max_local(job) == 0)
        return cw_err_set(err, CW_E_STATE,
                          "no trainer of this job allows workers beside it (--local-workers)");
    const bool placed = job->scaling && job->scaling->policy->places;
    cw_autofree char *before =
        cw_mem_strdup(placed ? cw_placement_policy(job) : wanted_policy(job));
    set_text(place ? &job->options->autoplace : &job->options->autoscale, policy);
    if (!place) /* A placement policy would take precedence over the new policy. */
        set_text(&job->options->autoplace, "off");
    begin(job, true);
    if (job->scaling)
        cw_scaling_changed(job, cw_clock_ms());
    ask_at_once(job);
    record_change(job, before);
    return 0;
}
