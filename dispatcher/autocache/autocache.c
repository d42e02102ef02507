/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/autocache/autocache_int.h"

#include <string.h>

#include "policies/standing.h"

#define UNDECIDED_MS 250

/* ---- the service of the dispatcher ---- */

void cw_autocache_open(struct cw_dispatcher *d)
{
    d->autocache = CW_NEW(struct cw_autocache_service);
}

void cw_autocache_start(struct cw_dispatcher *d)
{
    if (!d->autocache)
        return;
    d->autocache->benchmarks = true;
    if (d->cache)
        (void)cw_store_speed_of(d->cache);
}

void cw_autocache_close(struct cw_dispatcher *d)
{
    if (!d->autocache)
        return;
    cw_store_speeds_free(d->autocache);
    cw_profiles_free(d->autocache);
    cw_mem_free(cw_steal(&d->autocache));
}

void cw_autocache_worker_gone(struct cw_worker *worker)
{
    if (worker->d->autocache)
        cw_store_speeds_forget(worker);
}

/* ---- reports of workers ---- */

void cw_autocache_take_counts(struct cw_worker *worker, const Cachew__V1__Progress *progress)
{
    struct cw_dispatcher *d = worker->d;
    if (!d->autocache)
        return;
    cw_store_speeds_add(worker, progress, cw_clock_ms());
    for (size_t i = 0; i < progress->n_counts; i++) {
        struct cw_job *job = cw_strmap_get(&d->jobs_by_id, progress->counts[i]->job_id);
        struct cw_autocache_job *decider = job ? cw_autocache_of(job) : NULL;
        if (decider)
            decider->ask_due = decider->ask_due || !decider->has_decision;
    }
}

/* ---- the controller of one job ---- */

struct cw_autocache_job *cw_autocache_of(struct cw_job *job)
{
    struct cw_dispatcher *d = job->d;
    /* Its cache was detached: what was measured with it is of no use to another one. */
    if (job->autocache && job->autocache->cache_id != (job->cache ? job->cache->id : UINT64_MAX)) {
        cw_autocache_free(job);
        job->plan.decides_cache = false;
        cw_job_set_cached_node(job, NULL);
        cw_node_counters_forget_hits(job->measured);
    }
    if (job->autocache || !job->cache || !d->autocache || !job->info ||
        job->info->n_cacheable == 0 || job->info->n_cacheable != job->graph->n_nodes ||
        job->info->n_cacheable > CW_POLICY_NODES_MAX)
        return job->autocache;
    struct cw_autocache_job *decider = CW_NEW(struct cw_autocache_job);
    struct cw_err err = {0};
    decider->job = job;
    decider->cache_id = job->cache->id;
    decider->option =
        job->options->autocache[0] != '\0' ? job->options->autocache : d->options.autocache;
    decider->current = CW_POLICY_NONE;
    decider->node_ns = CW_NEW_ARRAY(double, job->info->n_cacheable);
    decider->epoch = job->first_epoch;
    decider->began_ms = cw_clock_ms();
    decider->epoch_is_steady = cw_job_epoch_done(job) <= 0 && job->no_client_ms == 0;
    decider->ask_due = true;
    (void)cw_job_measured(job);
    if (cw_autocache_find(decider->option, &decider->policy, &decider->argument, &err) < 0) {
        cw_log_warn(CW_LOG_MOD, "job=%s name=%s: %s", job->id, job->name, err.msg);
        decider->failed = true;
    }
    job->autocache = decider;
    cw_profile_begin(decider);
    return decider;
}

void cw_autocache_free(struct cw_job *job)
{
    struct cw_autocache_job *decider = cw_steal(&job->autocache);
    if (!decider)
        return;
    cw_mem_free(decider->prior_job);
    cw_mem_free(decider->node_ns);
    cw_mem_free(decider);
}

/* The policy cannot decide for this job. If the job itself named the policy, that is its user's
 * mistake and the code is returned. The dispatcher's own option is meant for other jobs as well, so
 * nothing happens. */
static int refuse(struct cw_autocache_job *decider, const struct cw_err *err)
{
    struct cw_job *job = decider->job;
    decider->failed = true;
    cw_autofree char *reason = cw_mem_printf("Nothing is cached by policy: %s.", err->msg);
    const struct cw_state_decision decision = {
        .kind = "autocache", .policy = decider->option, .reason = reason};
    cw_decision_record(job->d, job, &decision);
    return job->options->autocache[0] != '\0' ? err->code : 0;
}

static bool is_new_decision(const struct cw_autocache_job *decider,
                            const struct cw_policy_decision *d)
{
    /* An equal decision is new if it follows a measured epoch and predicts another time. */
    bool other = cw_standing_side(&cw_standing_epoch, d->epoch_ns, decider->predicted_ns) != 0;
    return !decider->has_decision || decider->current != d->node ||
           (other && d->epoch_ns > 0 && decider->epoch_ns > 0);
}

static void carry_out(struct cw_autocache_job *decider, const struct cw_autocache_view *view,
                      struct cw_policy_decision *d)
{
    struct cw_job *job = decider->job;
    const char *choice = d->node == CW_POLICY_NONE ? "" : view->nodes[d->node].name;
    CW_STR_AUTO inputs = {0};
    if (decider->prior_job && d->epoch_ns > 0)
        cw_str_addf(&d->reason, " It begins with what job %s of this pipeline measured.",
                    decider->prior_job);
    cw_autocache_snapshot_print(&view->s, &inputs);
    const struct cw_state_decision row =
        cw_decision_row("autocache", decider->option, choice, d, cw_str_text(&inputs));
    cw_decision_record(job->d, job, &row);
    if (decider->current != d->node || !decider->has_decision) {
        decider->epoch_is_steady = decider->epoch_is_steady && decider->current == d->node;
        decider->cached_at_begin = 0;
    }
    decider->has_decision = true;
    decider->current = d->node;
    decider->predicted_ns = d->epoch_ns;
    decider->epoch_ns = 0;
    if (d->epoch_ns > 0)
        cw_mem_free(cw_steal(&decider->prior_job));
    cw_profile_put(decider);
    cw_job_set_cached_node(job, *choice ? choice : NULL);
    cw_fault_point("dispatcher.decision");
}

static int ask_policy(struct cw_autocache_job *decider, int64_t now, struct cw_err *err)
{
    struct cw_autocache_view view;
    struct cw_policy_decision decision = {0};
    int refused = 0;
    decider->ask_due = false;
    decider->last_asked_ms = now;
    cw_autocache_view_init(decider, &view);
    if (cw_store_is_benchmarking(decider->job->cache, now))
        view.s.elements_measured = 0;
    int rc = decider->policy->decide(&view.s, decider->argument, &decision, err);
    if (rc < 0)
        refused = refuse(decider, err);
    else if (decision.decided && is_new_decision(decider, &decision))
        carry_out(decider, &view, &decision);
    else if (decision.decided && decider->predicted_ns <= 0)
        /* The new prediction is for the present workers. */
        decider->predicted_ns = decision.epoch_ns;
    decider->ask_due = rc == 0 && !decision.decided;
    cw_policy_decision_fini(&decision);
    cw_autocache_view_fini(&view);
    return refused;
}

/* The job's plan says what is cached. Should it say so no more, all begins anew. */
static void yield(struct cw_autocache_job *decider)
{
    decider->has_decision = decider->epoch_is_steady = false;
    decider->current = CW_POLICY_NONE;
    decider->predicted_ns = 0;
    decider->ask_due = true;
}

int cw_autocache_tick(struct cw_job *job, int64_t now, struct cw_err *err)
{
    if (job->status != CW_JOB_RUNNING || job->hold_until_ms != 0)
        return 0;
    struct cw_autocache_job *decider = cw_autocache_of(job);
    if (!decider || decider->failed || cw_job_epochs_left(job) <= 0)
        return 0;
    if (job->plan.decides_cache) {
        yield(decider);
        return 0;
    }
    bool changed = cw_autocache_detect_changes(decider, now);
    if (changed || (decider->ask_due && now - decider->last_asked_ms >= UNDECIDED_MS))
        return ask_policy(decider, now, err);
    return 0;
}

/* After a restart the last decision in state.db holds, if the same policy made it. */
static int on_decision(void *arg, const struct cw_state_decision *row, struct cw_err *err)
{
    (void)err;
    struct cw_job *job = cw_strmap_get(&((struct cw_dispatcher *)arg)->jobs_by_id, row->job);
    struct cw_autocache_job *decider = job ? cw_autocache_of(job) : NULL;
    if (!decider)
        return 0;
    decider->has_decision = strcmp(row->policy, decider->option) == 0;
    decider->predicted_ns = decider->has_decision ? row->predicted_ns : 0;
    decider->current = CW_POLICY_NONE;
    for (size_t i = 0; decider->has_decision && i < job->info->n_cacheable; i++) {
        if (row->choice[0] != '\0' && strcmp(job->info->cacheable[i]->node, row->choice) == 0 &&
            job->info->cacheable[i]->why_not[0] == '\0')
            decider->current = i;
    }
    decider->has_decision =
        decider->has_decision && (decider->current != CW_POLICY_NONE || row->choice[0] == '\0');
    decider->epoch_is_steady = false;
    cw_job_set_cached_node(job, decider->current == CW_POLICY_NONE
                                    ? NULL
                                    : job->info->cacheable[decider->current]->node);
    return 0;
}

static int on_profile(void *arg, const char *key, const char *job, const char *inputs,
                      struct cw_err *err)
{
    (void)err;
    if (strchr(key, ':') == NULL) /* The others are of plans (optimize/plan_profiles.c). */
        cw_profile_load(arg, key, job, inputs);
    return 0;
}

int cw_autocache_restore(struct cw_dispatcher *d, struct cw_err *err)
{
    return d->autocache
               ? cw_state_load_decisions(d->state, "autocache", on_profile, on_decision, d, err)
               : 0;
}
