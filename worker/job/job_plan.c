/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the plan of a job that runs. The written pipeline decides what the items are, and stays open;
 * a plan is another order of its operators, which is opened beside it. Rows that are not begun go over
 * to the new plan, also those of items in hand, and the old plan is freed with the last row that it was
 * begun for. */
#include "worker/job/job_plan.h"

#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "wire/wire.h"
#include "worker/cache/cache_job.h"
#include "worker/compute/tasks.h"
#include "worker/job/plan_loader.h"
#include "worker/message/to_dispatcher.h"

static void use_plan(struct cw_wjob *job, struct cw_plan *plan, uint64_t number)
{
    struct cw_plan *old = job->plan;
    job->plan = cw_plan_ref(plan);
    job->plan_number = number;
    cw_wcache_job_replanned(job, old);
    cw_tasks_replan(job);
    cw_plan_unref(old);
    cw_log_info("worker", "job=%s is computed by plan %llu%s", job->id, (unsigned long long)number,
                plan == job->written ? ", the written order" : "");
    cw_fault_point("worker.replanned");
}

static void forget_next(struct cw_wjob *job)
{
    cw_graph_unref(job->next_plan.graph);
    cw_plan_unref(job->next_plan.plan);
    job->next_plan = (struct cw_wjob_plan){0};
}

/* Uses what is open, if it may be. */
static void use_next(struct cw_wjob *job)
{
    struct cw_wjob_plan *next = &job->next_plan;
    if (!next->plan || next->only_try)
        return;
    use_plan(job, next->plan, next->number);
    forget_next(job);
}

void cw_wjob_plan_begin(struct cw_wjob *job)
{
    struct cw_wjob_plan *next = &job->next_plan;
    if (next->number == 0 || next->plan || next->open_serial != 0)
        return;
    if (next->graph)
        cw_loader_open_beside(job, next->graph);
    else
        cw_wjob_plan_opened(job, cw_plan_ref(job->written), NULL);
}

void cw_wjob_plan_opened(struct cw_wjob *job, struct cw_plan *plan, const struct cw_err *error)
{
    struct cw_wjob_plan *next = &job->next_plan;
    next->open_serial = 0;
    next->plan = plan;
    next->failed = !plan;
    cw_report_plan_opened(job->worker, job->id, next->number, plan, plan ? NULL : error);
    if (!plan)
        cw_log_warn("worker", "job=%s goes on with plan %llu: plan %llu cannot be opened: %s",
                    job->id, (unsigned long long)job->plan_number, (unsigned long long)next->number,
                    error->msg);
    use_next(job);
}

/* The plan has come before: it is in use, open, being opened, or was refused. */
static void given_again(struct cw_wjob *job, const Cachew__V1__JobPlan *message)
{
    struct cw_wjob_plan *next = &job->next_plan;
    static const struct cw_err REFUSED = {.code = CW_E_INVALID, .msg = "it was refused before"};
    bool is_next = next->number == message->number;
    if (is_next)
        next->only_try = next->only_try && message->only_try;
    if (!is_next || next->plan || next->failed)
        cw_report_plan_opened(job->worker, job->id, message->number,
                              is_next ? next->plan : job->plan,
                              is_next && next->failed ? &REFUSED : NULL);
    use_next(job);
}

static bool is_same_graph(const struct cw_graph *a, const struct cw_graph *b)
{
    if (!a || !b)
        return a == b;
    struct cw_buf *x = cw_wire_graph_pack(a), *y = cw_wire_graph_pack(b);
    bool same = x->len == y->len && memcmp(x->data, y->data, x->len) == 0;
    cw_buf_unref(x);
    cw_buf_unref(y);
    return same;
}

/* Whether the plan has come before. A dispatcher that has not stored a plan before it died gives the same
 * number to another one, so that the number alone does not tell. */
static bool is_known(const struct cw_wjob *job, uint64_t number, const struct cw_graph *graph)
{
    if (job->next_plan.number == 0)
        return number == job->plan_number;
    return number == job->next_plan.number && is_same_graph(graph, job->next_plan.graph);
}

const char *cw_wjob_plan_given(struct cw_worker_state *w, const Cachew__V1__JobPlan *message)
{
    struct cw_wjob *job = cw_wjob_get(w, message->job_id);
    struct cw_graph *graph = NULL;
    if (!job || message->number == 0)
        return NULL;
    if (message->graph && cw_wire_graph_from(message->graph, &graph, NULL) != 0)
        return "it sent a plan that is no pipeline";
    if (is_known(job, message->number, graph)) {
        cw_graph_unref(graph);
        given_again(job, message);
        return NULL;
    }
    forget_next(job);
    job->next_plan = (struct cw_wjob_plan){
        .number = message->number, .graph = graph, .only_try = message->only_try};
    if (job->state == CW_WJOB_READY)
        cw_wjob_plan_begin(job);
    return NULL;
}

void cw_wjob_plan_free(struct cw_wjob *job)
{
    forget_next(job);
    cw_plan_unref(job->plan);
    cw_plan_unref(job->written);
}
