/* SPDX-License-Identifier: Apache-2.0 */
/* How a plan comes into use: it is proposed, tried by one worker, stored, and sent to all. */
#include "dispatcher/message/message.h"
#include "dispatcher/optimize/plan_change.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/state/state.h"
#include "graph/check.h"
#include "rewrite/order_check.h"
#include "rewrite/pin.h"

/* ---- checking ---- */

static int check_graph(const Cachew__V1__Graph *message, struct cw_checked **ret_checked,
                       struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    int rc = cw_wire_graph_from(message, &graph, err);
    if (rc == 0)
        rc = cw_graph_check(graph, ret_checked, err);
    cw_graph_unref(graph);
    return rc;
}

static int check_written(const struct cw_job *job, struct cw_checked **ret_checked,
                         struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    int rc = cw_wire_graph_unpack(job->graph_packed->data, job->graph_packed->len, &graph, err);
    if (rc == 0)
        rc = cw_graph_check(graph, ret_checked, err);
    cw_graph_unref(graph);
    return rc;
}

/* In the other order nodes are as they were written, or pinned (rewrite/pin.h). */
static int check_either(const struct cw_checked *written, const struct cw_checked *other,
                        struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    struct cw_checked *pinned = NULL;
    int rc = cw_order_check(written, other, err);
    if (rc != 0 && cw_pin_graph(written, &graph, NULL) == 0 &&
        cw_graph_check(graph, &pinned, NULL) == 0 && cw_order_check(pinned, other, NULL) == 0)
        rc = 0;
    cw_checked_unref(pinned);
    cw_graph_unref(graph);
    return rc;
}

/* Sets *ret_packed to the graph, if it is another order of the job's operators. */
static int check_order(const struct cw_job *job, const Cachew__V1__Graph *message,
                       struct cw_buf **ret_packed, struct cw_err *err)
{
    struct cw_checked *written = NULL, *other = NULL;
    int rc = check_graph(message, &other, err);
    if (rc == 0)
        rc = check_written(job, &written, err);
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

static void forget_next(struct cw_job_plan *plan)
{
    plan->next = cw_buf_unref(plan->next);
    plan->is_next = plan->is_good = false;
    plan->tried_by = 0;
}

/* The plan is good: it is stored, and then used. */
static void store(struct cw_job *job)
{
    cw_state_put_plan(job->d->state, job->id, job->plan.last, job->plan.next);
    job->plan.is_good = true;
    job->plan.after_seq = cw_state_seq(job->d->state);
}

static void begin_next(struct cw_job *job, struct cw_buf *graph)
{
    forget_next(&job->plan);
    job->plan.is_next = true;
    job->plan.next = graph;
    job->plan.last++;
    job->plan.made_n++;
    if (graph)
        cw_job_plan_tick(job);
    else
        store(job);
}

static void drop(struct cw_job *job, const struct cw_worker *worker, const struct cw_buf *graph,
                 const Cachew__V1__PlanOpened *opened)
{
    struct cw_job_plan *plan = &job->plan;
    plan->dropped[plan->dropped_at++ % CW_PLANS_DROPPED_MAX] = hash_of(graph);
    plan->dropped_n++;
    cw_mem_free(plan->error);
    plan->error = cw_mem_printf("worker %s cannot open plan %llu: %.300s", worker->address,
                                (unsigned long long)opened->number, opened->error);
    cw_log_warn(CW_LOG_MOD, "job=%s name=%s: %s; it is dropped", job->id, job->name, plan->error);
}

static bool may_try(const struct cw_share *share)
{
    return share->spec_sent && share->worker->job_plans && cw_worker_is_usable(share->worker);
}

static struct cw_worker *tries(const struct cw_job *job)
{
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job)
        if (share->worker->id == job->plan.tried_by && may_try(share))
            return share->worker;
    return NULL;
}

void cw_job_plan_tick(struct cw_job *job)
{
    if (!job->plan.is_next || job->plan.is_good || tries(job))
        return;
    job->plan.tried_by = 0;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job) {
        if (!may_try(share))
            continue;
        job->plan.tried_by = share->worker->id;
        cw_worker_send_plan(share->worker, job, true);
        return;
    }
}

int cw_job_plan_propose(struct cw_job *job, const Cachew__V1__Graph *graph, uint64_t *ret_number,
                        struct cw_err *err)
{
    struct cw_buf *packed = NULL;
    if (job->status != CW_JOB_RUNNING)
        return cw_err_set(err, CW_E_STATE, "the job is not running");
    if (job->plan.is_next)
        return cw_err_set(err, CW_E_STATE, "plan %llu is on its way",
                          (unsigned long long)job->plan.last);
    int rc = graph ? check_order(job, graph, &packed, err) : 0;
    if (rc != 0)
        return rc;
    if (packed && was_dropped(&job->plan, packed)) {
        cw_buf_unref(packed);
        return cw_err_set(err, CW_E_INVALID, "this order was dropped before: %s", job->plan.error);
    }
    begin_next(job, packed);
    *ret_number = job->plan.last;
    return 0;
}

void cw_job_plan_opened(struct cw_worker *worker, const Cachew__V1__PlanOpened *opened)
{
    struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, opened->job_id);
    struct cw_job_plan *plan = job ? &job->plan : NULL;
    if (!plan || job->status != CW_JOB_RUNNING)
        return;
    if (plan->is_next && !plan->is_good && plan->tried_by == worker->id &&
        opened->number == plan->last) {
        if (opened->code == 0) {
            store(job);
            return;
        }
        drop(job, worker, plan->next, opened);
        forget_next(plan);
    } else if (opened->code != 0 && plan->graph && opened->number == plan->number) {
        /* It has the plan before. All go back to the written order, which each of them has. */
        drop(job, worker, plan->graph, opened);
        begin_next(job, NULL);
    }
}

/* ---- using ---- */

static void use(struct cw_job *job)
{
    struct cw_job_plan *plan = &job->plan;
    cw_buf_unref(plan->graph);
    plan->graph = cw_steal(&plan->next);
    plan->number = plan->last;
    plan->changed_n++;
    forget_next(plan);
    if (job->scaling)
        cw_scaling_changed(job, cw_clock_ms());
    for (struct cw_share *share = job->shares; share; share = share->next_of_job)
        if (share->spec_sent)
            cw_worker_send_plan(share->worker, job, false);
    cw_log_info(CW_LOG_MOD, "job=%s name=%s: plan %llu is used%s", job->id, job->name,
                (unsigned long long)plan->number, plan->graph ? "" : ", the written order");
    cw_fault_point("dispatcher.replanned");
}

void cw_job_plans_use_stored(struct cw_dispatcher *d)
{
    for (struct cw_job *job = d->jobs; job; job = job->next)
        if (job->plan.is_good && job->status == CW_JOB_RUNNING &&
            cw_state_is_stored(d->state, job->plan.after_seq))
            use(job);
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
    cw_mem_free(job->plan.error);
}
