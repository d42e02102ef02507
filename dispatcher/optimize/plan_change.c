/* SPDX-License-Identifier: Apache-2.0 */
/* How a plan comes into use: it is proposed, tried by one worker, stored, and sent to all. */
#include <string.h>
#include "dispatcher/cache/cache.h"
#include "dispatcher/message/message.h"
#include "dispatcher/optimize/plan_change.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/state/state.h"
#include "graph/check.h"
#include "graph/complete.h"
#include "rewrite/hoist.h"
#include "rewrite/order_check.h"
#include "rewrite/pin.h"

/* ---- checking ---- */

static int check_graph(const Cachew__V1__Graph *message, const struct cw_checked *written,
                       struct cw_checked **ret_checked, struct cw_err *err)
{
    struct cw_graph *graph = NULL, *completed = NULL;
    int rc = cw_wire_graph_from(message, &graph, err);
    if (rc == 0)
        rc = cw_graph_complete_like(graph, written->graph, &completed, err);
    if (rc == 0)
        rc = cw_graph_check(completed, ret_checked, err);
    cw_graph_unref(completed);
    cw_graph_unref(graph);
    return rc;
}

static int check_written(const struct cw_job *job, struct cw_checked **ret_checked,
                         struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    const struct cw_buf *packed = cw_job_graph(job);
    int rc = cw_wire_graph_unpack(packed->data, packed->len, &graph, err);
    if (rc == 0)
        rc = cw_graph_check(graph, ret_checked, err);
    cw_graph_unref(graph);
    return rc;
}

/* In the other order nodes are as they were written, or pinned (rewrite/pin.h), and operators of a zip's branches may
 * stand behind it (rewrite/hoist.h). */
static int check_either(const struct cw_checked *written, const struct cw_checked *other,
                        struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    struct cw_checked *pinned = NULL, *hoisted = NULL;
    int rc = cw_order_check(written, other, err);
    if (rc != 0 && cw_pin_graph(written, &graph, NULL) == 0 &&
        cw_graph_check(graph, &pinned, NULL) == 0 && cw_order_check(pinned, other, NULL) == 0)
        rc = 0;
    if (rc != 0 && written->graph->n == other->graph->n)
        hoisted = cw_hoist_like(written, other);
    if (rc != 0 && hoisted && cw_order_check(hoisted, other, NULL) == 0)
        rc = 0;
    cw_checked_unref(hoisted);
    cw_checked_unref(pinned);
    cw_graph_unref(graph);
    return rc;
}

/* Sets *ret_packed to the graph, if it is another order of the job's operators. */
static int check_order(const struct cw_job *job, const Cachew__V1__Graph *message,
                       struct cw_buf **ret_packed, struct cw_err *err)
{
    struct cw_checked *written = NULL, *other = NULL;
    int rc = check_written(job, &written, err);
    if (rc == 0)
        rc = check_graph(message, written, &other, err);
    if (rc == 0)
        rc = check_either(written, other, err);
    if (rc == 0)
        *ret_packed = cw_wire_graph_pack(other->graph);
    cw_checked_unref(written);
    cw_checked_unref(other);
    return rc;
}

static struct cw_hash hash_of(const struct cw_buf *graph)
{
    return cw_hash_bytes(graph->data, graph->len);
}

static bool was_dropped(const struct cw_job_plan *plan, const struct cw_buf *graph)
{
    struct cw_hash hash = hash_of(graph);
    for (size_t i = 0; i < CW_PLANS_DROPPED_MAX; i++)
        if (cw_hash_eq(plan->dropped[i], hash))
            return true;
    return false;
}

/* ---- from one state to the next ---- */

static void free_info(Cachew__V1__PlanInfo *info)
{
    if (info)
        cachew__v1__plan_info__free_unpacked(info, NULL);
}

static void forget_next(struct cw_job_plan *plan)
{
    plan->next = cw_buf_unref(plan->next);
    free_info(cw_steal(&plan->next_info));
    cw_mem_free(cw_steal(&plan->next_cached));
    plan->next_decides_cache = false;
    plan->is_next = plan->is_good = false;
    plan->tried_by = 0;
    plan->tries_n = 0;
}

/* The plan is good: it is stored, and then used. */
static void store(struct cw_job *job)
{
    cw_state_put_plan(job->d->state, job->id, job->plan.last, job->plan.next);
    job->plan.is_good = job->d->due.stored_plans = true;
    job->plan.after_seq = cw_state_seq(job->d->state);
}

/* Takes the references. */
static void begin_next(struct cw_job *job, struct cw_job_plan_made made)
{
    forget_next(&job->plan);
    job->plan.is_next = true;
    job->plan.next = made.graph ? cw_buf_ref(made.graph) : NULL;
    job->plan.next_decides_cache = made.decides_cache;
    job->plan.next_cached = made.cached ? cw_mem_strdup(made.cached) : NULL;
    job->plan.last++;
    job->plan.made_n++;
    if (made.graph)
        cw_job_plan_tick(job);
    else
        store(job);
}

/* Tells why a plan is dropped. Takes the reason. */
static void tell_dropped(struct cw_job *job, char *why)
{
    job->plan.dropped_n++;
    cw_mem_free(job->plan.error);
    job->plan.error = why;
    cw_log_warn(CW_LOG_MOD, "job=%s name=%s: %s; it is dropped", job->id, job->name, why);
}

/* The graph itself is to blame, so it is not tried again. */
static void remember_dropped(struct cw_job_plan *plan, const struct cw_buf *graph)
{
    plan->dropped[plan->dropped_at++ % CW_PLANS_DROPPED_MAX] = hash_of(graph);
}

static void drop(struct cw_job *job, const struct cw_worker *worker, const struct cw_buf *graph,
                 const Cachew__V1__PlanOpened *opened)
{
    remember_dropped(&job->plan, graph);
    tell_dropped(job, cw_mem_printf("worker %s cannot open plan %llu: %.300s", worker->address,
                                    (unsigned long long)opened->number, opened->error));
}

static bool has_job(const struct cw_share *share)
{
    return share->spec_sent && cw_worker_is_usable(share->worker);
}

static bool may_try(const struct cw_share *share)
{
    return has_job(share) && share->worker->job_plans;
}

bool cw_job_plan_is_known(const struct cw_job *job)
{
    bool has_workers = false, knows = false;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job) {
        has_workers = has_workers || has_job(share);
        knows = knows || may_try(share);
    }
    return knows || !has_workers;
}

static struct cw_worker *tries(const struct cw_job *job)
{
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job)
        if (share->worker->id == job->plan.tried_by && may_try(share))
            return share->worker;
    return NULL;
}

/* Returns whether the plan was dropped because no worker will say whether it is good. */
static bool gave_up(struct cw_job *job)
{
    struct cw_job_plan *plan = &job->plan;
    if (plan->tries_n == CW_PLAN_TRIES_MAX) {
        remember_dropped(plan, plan->next);
        tell_dropped(job, cw_mem_printf("%d workers were lost while they tried plan %llu",
                                        CW_PLAN_TRIES_MAX, (unsigned long long)plan->last));
    } else if (!cw_job_plan_is_known(job)) {
        tell_dropped(job,
                     cw_mem_printf("no worker of the job knows plans, so none can try plan %llu",
                                   (unsigned long long)plan->last));
    } else {
        return false;
    }
    forget_next(plan);
    return true;
}

void cw_job_plan_tick(struct cw_job *job)
{
    if (!job->plan.is_next || job->plan.is_good || tries(job))
        return;
    job->plan.tried_by = 0;
    if (gave_up(job))
        return;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job) {
        if (!may_try(share))
            continue;
        job->plan.tried_by = share->worker->id;
        job->plan.tries_n++;
        cw_worker_send_plan(share->worker, job, true);
        return;
    }
}

/* Whether another plan may be proposed now. One that nobody tries yet, because the job has no worker,
 * makes way for it. */
static int check_time(struct cw_job *job, struct cw_err *err)
{
    if (job->status != CW_JOB_RUNNING)
        return cw_err_set(err, CW_E_STATE, "the job is not running");
    if (job->plan.is_next && (job->plan.is_good || job->plan.tried_by != 0))
        return cw_err_set(err, CW_E_STATE, "plan %llu is on its way",
                          (unsigned long long)job->plan.last);
    return 0;
}

static int check_dropped(const struct cw_job *job, const struct cw_buf *graph, struct cw_err *err)
{
    if (was_dropped(&job->plan, graph))
        return cw_err_set(err, CW_E_INVALID, "this order was dropped before: %s", job->plan.error);
    return cw_job_plan_is_known(job)
               ? 0
               : cw_err_set(err, CW_E_UNSUPPORTED, "no worker of the job knows plans");
}

static uint64_t replace_next(struct cw_job *job, struct cw_job_plan_made made)
{
    if (job->plan.is_next)
        tell_dropped(job, cw_mem_printf("another plan came before a worker could try plan %llu",
                                        (unsigned long long)job->plan.last));
    begin_next(job, made);
    return job->plan.last;
}

int cw_job_plan_propose(struct cw_job *job, const Cachew__V1__Graph *graph, uint64_t *ret_number,
                        struct cw_err *err)
{
    struct cw_buf *packed = NULL;
    int rc = check_time(job, err);
    if (rc == 0 && graph)
        rc = check_order(job, graph, &packed, err);
    if (rc == 0 && graph)
        rc = check_dropped(job, packed, err);
    if (rc == 0)
        *ret_number = replace_next(job, (struct cw_job_plan_made){.graph = packed});
    cw_buf_unref(packed);
    return rc;
}

int cw_job_plan_propose_made(struct cw_job *job, struct cw_job_plan_made made, uint64_t *ret_number,
                             struct cw_err *err)
{
    int rc = check_time(job, err);
    if (rc == 0 && made.graph)
        rc = check_dropped(job, made.graph, err);
    if (rc == 0)
        *ret_number = replace_next(job, made);
    return rc;
}

/* What a worker says of the plan that is open there; NULL: nothing that could be of use. */
static Cachew__V1__PlanInfo *take_info(const struct cw_job *job,
                                       const Cachew__V1__PlanOpened *opened)
{
    struct cw_plan_info checked = {0};
    if (!opened->info || opened->info->n_cacheable != job->graph->n_nodes ||
        cw_wire_info_from(opened->info, &checked, NULL) != 0)
        return NULL;
    cw_wire_info_fini(&checked);
    struct cw_buf *packed = cw_wire_pack(&opened->info->base);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, packed->len, packed->data);
    cw_buf_unref(packed);
    return info;
}

/* A worker has opened the plan that is used, of which a dispatcher that has just started knows the graph
 * alone. */
static void learn(struct cw_job *job, const Cachew__V1__PlanOpened *opened)
{
    if (job->plan.info || opened->code != 0 || !job->plan.graph ||
        opened->number != job->plan.number)
        return;
    job->plan.info = take_info(job, opened);
    cw_job_cache_changed(job);
}

void cw_job_plan_opened(struct cw_worker *worker, const Cachew__V1__PlanOpened *opened)
{
    struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, opened->job_id);
    struct cw_job_plan *plan = job ? &job->plan : NULL;
    if (!plan || job->status != CW_JOB_RUNNING || !cw_share_find(job, worker))
        return; /* who has nothing to do with the job says nothing of it */
    learn(job, opened);
    if (plan->is_next && !plan->is_good && plan->tried_by == worker->id &&
        opened->number == plan->last) {
        if (opened->code == 0) {
            free_info(plan->next_info);
            plan->next_info = take_info(job, opened);
            store(job);
            return;
        }
        drop(job, worker, plan->next, opened);
        forget_next(plan);
    } else if (opened->code != 0 && plan->graph && opened->number == plan->number) {
        /* It has the plan before. All go back to the written order, which each of them has. */
        drop(job, worker, plan->graph, opened);
        begin_next(job, (struct cw_job_plan_made){0});
    }
}

/* ---- using ---- */

/* Keys of nodes that a plan moves are known from the worker that tried it. */
static bool may_be_cached(const struct cw_job *job, const char *node)
{
    const Cachew__V1__PlanInfo *info = job->plan.graph ? job->plan.info : job->info;
    for (size_t i = 0; node && info && i < info->n_cacheable; i++)
        if (strcmp(info->cacheable[i]->node, node) == 0)
            return info->cacheable[i]->why_not[0] == '\0';
    return !node && info;
}

bool cw_job_plan_set_cached(struct cw_job *job, const char *node)
{
    if (!may_be_cached(job, node))
        return false;
    job->plan.decides_cache = true;
    cw_job_set_cached_node(job, node);
    cw_job_cache_changed(job);
    return true;
}

/* The plan that begins says what is cached, or leaves it to the policies of autocache/. Without a plan that
 * said it before, these go on with the node that they have chosen. */
static void use_cache(struct cw_job *job)
{
    struct cw_job_plan *plan = &job->plan;
    bool decided = plan->decides_cache;
    plan->decides_cache = plan->next_decides_cache;
    if (plan->decides_cache && !may_be_cached(job, plan->next_cached)) {
        cw_log_info(CW_LOG_MOD, "job=%s name=%s: plan %llu cannot say what is cached", job->id,
                    job->name, (unsigned long long)plan->number);
        plan->decides_cache = false;
    }
    if (plan->decides_cache || decided)
        cw_job_set_cached_node(job, plan->decides_cache ? plan->next_cached : NULL);
    cw_job_cache_changed(job);
}

static void use(struct cw_job *job)
{
    struct cw_job_plan *plan = &job->plan;
    cw_buf_unref(plan->graph);
    free_info(plan->info);
    plan->graph = cw_steal(&plan->next);
    plan->info = cw_steal(&plan->next_info);
    plan->number = plan->last;
    plan->changed_n++;
    cw_node_counters_begin_plan(job->measured);
    job->item_busy_ns = 0;
    if (job->scaling)
        cw_scaling_changed(job, cw_clock_ms());
    for (struct cw_share *share = job->shares; share; share = share->next_of_job)
        if (share->spec_sent)
            cw_worker_send_plan(share->worker, job, false);
    use_cache(job);
    forget_next(plan);
    cw_log_info(CW_LOG_MOD, "job=%s name=%s: plan %llu is used%s", job->id, job->name,
                (unsigned long long)plan->number, plan->graph ? "" : ", the written order");
    cw_fault_point("dispatcher.replanned");
}

void cw_job_plans_use_stored(struct cw_dispatcher *d)
{
    bool left = false;
    for (struct cw_job *job = d->due.stored_plans ? d->jobs : NULL; job; job = job->next) {
        if (job->plan.is_good && job->status == CW_JOB_RUNNING &&
            cw_state_is_stored(d->state, job->plan.after_seq))
            use(job);
        left = left || job->plan.is_good;
    }
    d->due.stored_plans = left;
}

void cw_job_plan_restore(struct cw_job *job, uint64_t number, const void *graph, size_t n)
{
    job->plan.number = job->plan.last = number;
    job->plan.graph = n > 0 ? cw_buf_copy(graph, n) : NULL;
}

void cw_job_plan_free(struct cw_job *job)
{
    forget_next(&job->plan);
    cw_buf_unref(job->plan.graph);
    free_info(job->plan.info);
    cw_mem_free(job->plan.error);
}
