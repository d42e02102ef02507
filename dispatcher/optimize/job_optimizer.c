/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/optimize/job_optimizer.h"

#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dispatcher/optimize/plan_change.h"
#include "dispatcher/optimize/plan_question.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/state/state.h"
#include "graph/check.h"
#include "loop/offload.h"
#include "policies/text.h"
#include "rewrite/profile.h"
#include "wire/wire.h"

#define ALIKE 0.01 /* plans whose time differs by less are alike in it */

struct cw_job_optimizer {
    bool once;    /* one look is enough */
    bool is_over; /* nothing is to be found for this job any more */
    bool has_asked_profile, is_searching;
    struct cw_replan state;
    size_t chain_n;                      /* nodes of the chain; 0: not known yet */
    size_t chain[CW_OPTIMIZE_NODES_MAX]; /* by place: the node of the pipeline */
    bool *surveyed; /* by node of the pipeline: a survey knows what it keeps, so it is not called */
    char *cached;   /* the cached node that the last look went by; NULL: none */
    bool leaves_cache;            /* a plan that was to place it could not: policies do */
    struct cw_replan_means means; /* as of means_ms; once a window is often enough */
    int64_t means_ms;
    /* The plan that was found and is on its way, with its number; 0: none is. */
    uint64_t number;
    struct cw_plan_search *search;
    bool is_used; /* it is used already: the order stayed, and other elements are cached */
    enum cw_replan_why why;
    double before_ns; /* what an element took by the plan before; 0: it was not measured */
};

/* A search on its way through the thread. It outlives its job. */
struct planning {
    struct cw_offload work;
    struct cw_dispatcher *d;
    char *job_id;
    uint64_t plan; /* the number of the job's plan when it began */
    enum cw_replan_why why;
    double before_ns;
    struct cw_plan_search *search;
};

/* ---- options ---- */

static const char *policy_of(const struct cw_job *job)
{
    const char *own = job->options->optimize, *usual = job->d->options.optimize;
    return own && own[0] ? own : usual ? usual : "off";
}

static bool is_once(const char *policy)
{
    return strcmp(policy, "auto") != 0;
}

void cw_job_optimizer_stop(struct cw_job *job)
{
    if (job->options->optimize != protobuf_c_empty_string)
        cw_mem_free(job->options->optimize);
    job->options->optimize = cw_mem_strdup("off");
    cw_job_optimizer_free(job);
}

/* ---- what was measured ---- */

/* Finds the filters of which there is a survey. Checking a very large pipeline would take the loop's thread too long:
 * none are found in it. */
static bool *find_surveyed(const struct cw_job *job)
{
    const struct cw_buf *packed = cw_job_graph(job);
    bool *surveyed = CW_NEW_ARRAY(bool, job->graph->n_nodes + 1);
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    if (packed->len <= CW_CHECK_REQUEST_MAX &&
        cw_wire_graph_unpack(packed->data, packed->len, &graph, NULL) == 0 &&
        cw_graph_check(graph, &checked, NULL) == 0)
        for (size_t i = 0; i < CW_MIN(graph->n, job->graph->n_nodes); i++)
            surveyed[i] = checked->nodes[i].surveyed || checked->nodes[i].folded;
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return surveyed;
}

/* Nodes that do no work need not be timed. */
static bool is_timed(const struct cw_job *job, size_t node, const struct cw_cost_measured *cost)
{
    const struct cw_op *op = cw_op_find(job->info->cacheable[node]->op);
    return !op || !cw_cost_profile_needs(op) || job->optimizer->surveyed[node] ||
           cost->sums.timed >= CW_PLAN_TIMED_MIN;
}

static double keep_of(const struct cw_cost_measured *cost)
{
    double keep = cost->elements > 0 ? 1 - cost->sums.dropped / cost->elements : 1;
    return CW_MIN(CW_MAX(keep, 0), 1);
}

static bool has_cache_moved(const struct cw_job *job)
{
    const char *now = job->cached_node ? job->cached_node : "";
    const char *then = job->optimizer->cached ? job->optimizer->cached : "";
    return job->plan.graph && !job->plan.decides_cache && strcmp(now, then) != 0;
}

static struct cw_replan_means means_of(struct cw_job *job, int64_t now)
{
    struct cw_job_optimizer *o = job->optimizer;
    if (o->means_ms == 0 || now - o->means_ms >= job->d->options.scale_window_ms) {
        o->means_ms = now;
        cw_plan_means(job, !o->leaves_cache, &o->means);
    }
    return o->means;
}

static void make_view(struct cw_job *job, int64_t now, struct cw_replan_view *ret_view)
{
    const struct cw_node_counters *measured = job->measured;
    size_t n = measured ? measured->n : 0, chain_n = CW_MIN(job->optimizer->chain_n, n);
    double sum_ns = 0;
    *ret_view = (struct cw_replan_view){.now_s = (double)now / 1e3,
                                        .window_s = (double)job->d->options.scale_window_ms / 1e3,
                                        .is_enough = n > 0,
                                        .has_cache_moved = has_cache_moved(job),
                                        .means = means_of(job, now),
                                        .epoch = job->first_epoch,
                                        .n = chain_n};
    for (size_t i = 0; i < n; i++) {
        const struct cw_cost_measured cost = cw_plan_cost_of(job, i);
        ret_view->elements = CW_MAX(ret_view->elements, cost.elements);
        ret_view->is_enough = ret_view->is_enough && is_timed(job, i, &cost);
        sum_ns += cw_cost_made(&cost) * CW_MAX(cost.wall_ns, cost.cpu_ns);
    }
    for (size_t i = 0; i < chain_n; i++) {
        const struct cw_cost_measured cost = cw_plan_cost_of(job, job->optimizer->chain[i]);
        ret_view->nodes[i] = (struct cw_replan_node){.call_ns = cw_cost_call_ns(&cost),
                                                     .keep = keep_of(&cost),
                                                     .bytes = cw_cost_out_bytes(&cost)};
    }
    ret_view->element_ns = ret_view->elements > 0 ? sum_ns / ret_view->elements : 0;
}

/* ---- asking ---- */

static void run(void *arg) /* On the thread. */
{
    cw_plan_search_run(((struct planning *)arg)->search);
}

static void on_found(void *arg);

/* Which costs a search goes by, besides those that this job has measured. */
struct costs {
    const char *profile; /* of the pipeline; NULL: see below */
    bool by_operators;   /* of operators of other pipelines; else those of this job */
};

static void ask(struct cw_job *job, enum cw_replan_why why, double before_ns, struct costs costs)
{
    struct cw_job_optimizer *o = job->optimizer;
    struct planning *planning = CW_NEW(struct planning);
    planning->d = job->d;
    planning->job_id = cw_mem_strdup(job->id);
    planning->plan = job->plan.number;
    planning->why = why;
    planning->before_ns = before_ns;
    planning->search =
        costs.by_operators
            ? cw_plan_question_make_by_operators(job, policy_of(job), !o->leaves_cache)
            : cw_plan_question_make(job, policy_of(job), costs.profile, !o->leaves_cache);
    if (why == CW_REPLAN_NAMED)
        planning->search->question.order = cw_mem_strdup(job->options->plan);
    planning->work = (struct cw_offload){.run = run, .done = on_found, .arg = planning};
    o->is_searching = true;
    cw_mem_free(o->cached);
    o->cached = job->cached_node ? cw_mem_strdup(job->cached_node) : NULL;
    if (job->d->planner) {
        cw_offload_add(job->d->planner, &planning->work);
        return;
    }
    run(planning); /* In tests. */
    on_found(planning);
}

/* ---- taking ---- */

/* Has the plan used, or tried if its order is another one. Returns false if it cannot be had. */
static bool propose(struct cw_job *job, const struct cw_plan_answer *answer)
{
    struct cw_job_optimizer *o = job->optimizer;
    const struct cw_job_plan_made made = {
        .graph = answer->graph, .decides_cache = answer->decides_cache, .cached = answer->cached};
    struct cw_err err = {0};
    if (!answer->is_other_order) {
        o->is_used = cw_job_plan_set_cached(job, answer->cached);
        o->leaves_cache = !o->is_used;
        return o->is_used;
    }
    if (cw_job_plan_propose_made(job, made, &o->number, &err) == 0)
        return true;
    cw_log_debug(CW_LOG_MOD, "job=%s: a better plan cannot be had: %s", job->id, err.msg);
    o->number = 0;
    return false;
}

static bool takes(const struct cw_job_optimizer *o, const struct cw_plan_answer *answer, double now,
                  double then)
{
    return cw_replan_takes(&o->state, answer->order, now, then);
}

/* A plan is worth a change if it saves time (or money), or, where that is alike, the work of threads. */
static bool is_worth_it(const struct cw_job_optimizer *o, const struct cw_plan_answer *answer)
{
    bool alike = answer->then_total <= answer->now_total * (1 + ALIKE);
    return answer->is_other && (answer->is_illegal || answer->is_wanted ||
                                takes(o, answer, answer->now_total, answer->then_total) ||
                                (alike && takes(o, answer, answer->now_ns, answer->then_ns)));
}

static bool has_cache(const struct cw_plan_search *search)
{
    return search->question.cached || search->answer.cached;
}

static void change(struct cw_job *job, struct planning *planning)
{
    struct cw_job_optimizer *o = job->optimizer;
    const struct cw_plan_answer *answer = &planning->search->answer;
    if (!propose(job, answer)) {
        cw_replan_bar(&o->state, answer->order);
        cw_replan_stays(&o->state, answer->now, answer->n);
        return;
    }
    o->search = planning->search;
    o->why = planning->why;
    /* What a cache brings shows in later epochs only. */
    o->before_ns = has_cache(planning->search) ? 0 : planning->before_ns;
}

/* Returns whether the search is kept, because its plan is on its way. */
static bool take(struct cw_job *job, struct planning *planning)
{
    struct cw_job_optimizer *o = job->optimizer;
    const struct cw_plan_search *search = planning->search;
    const struct cw_plan_answer *answer = &search->answer;
    /* It is planned when the job has measured enough, where not all is known before. */
    if (answer->lacks_costs)
        return false;
    if (answer->rc != 0 && search->question.profile && job->options->profile[0] == '\0') {
        /* Another version may have kept it. */
        cw_log_info(CW_LOG_MOD, "job=%s name=%s: what an earlier job has measured is of no use: %s",
                    job->id, job->name, answer->err.msg);
        return false;
    }
    o->is_over = o->once || answer->rc != 0 || answer->is_fixed;
    if (answer->rc != 0)
        cw_log_info(CW_LOG_MOD, "job=%s name=%s: no plan can be made: %s", job->id, job->name,
                    answer->err.msg);
    if (answer->rc != 0 || answer->is_fixed)
        return false;
    o->chain_n = answer->n;
    memcpy(o->chain, answer->nodes, sizeof(o->chain));
    if (search->question.measured && !search->question.present && !search->question.order)
        cw_plan_profile_put(job, answer->profile);
    job->plan.predicted_ns = answer->now_ns;
    if (is_worth_it(o, answer))
        change(job, planning);
    else
        cw_replan_stays(&o->state, answer->now, answer->n);
    return o->search != NULL;
}

static void on_found(void *arg)
{
    struct planning *planning = arg;
    struct cw_dispatcher *d = planning->d;
    struct cw_job *job = d->exited ? NULL : cw_strmap_get(&d->jobs_by_id, planning->job_id);
    bool kept = false;
    if (job && job->optimizer && job->optimizer->is_searching) {
        job->optimizer->is_searching = false;
        if (job->plan.number == planning->plan && job->status == CW_JOB_RUNNING)
            kept = take(job, planning);
    }
    if (!kept)
        cw_plan_search_free(planning->search);
    cw_mem_free(planning->job_id);
    cw_mem_free(planning);
}

/* ---- using ---- */

static void add_reason(const struct cw_job_optimizer *o, struct cw_str *out)
{
    static const char *const why[] = {
        [CW_REPLAN_NOT] = "as an earlier job of the pipeline has measured",
        [CW_REPLAN_FIRST] = "as the job has measured so far",
        [CW_REPLAN_EPOCH] = "as measured at the end of the epoch",
        [CW_REPLAN_REFUTED] = "since costs are not those that the plan before was made of",
        [CW_REPLAN_CACHE] = "since other elements are cached",
        [CW_REPLAN_NAMED] = "as the job's plan says",
        [CW_REPLAN_MEANS] = "since workers, room in the cache or prices are others",
    };
    const struct cw_plan_answer *answer = &o->search->answer;
    if (o->search->question.least_money)
        cw_str_addf(out, "All epochs cost %.3g instead of %.3g; an element takes ",
                    answer->then_total, answer->now_total);
    else
        cw_str_add(out, "An element takes ");
    cw_policy_add_time(out, answer->then_ns);
    cw_str_add(out, " of a thread instead of ");
    cw_policy_add_time(out, answer->now_ns);
    cw_str_addf(out, ", %s.",
                o->search->question.costs.n > 0
                    ? "as jobs of other pipelines have measured of the same operators"
                    : why[o->why]);
}

static void record(struct cw_job *job, const struct cw_job_optimizer *o)
{
    const struct cw_plan_answer *answer = &o->search->answer;
    CW_STR_AUTO reason = {0};
    add_reason(o, &reason);
    cw_decision_record(job->d, job,
                       &(const struct cw_state_decision){.kind = "optimize",
                                                         .policy = policy_of(job),
                                                         .choice = answer->choice,
                                                         .reason = cw_str_text(&reason),
                                                         .candidates = answer->candidates,
                                                         .inputs = answer->inputs,
                                                         .predicted_ns = answer->epoch_ns,
                                                         .remote = answer->workers});
}

static void go_on_with(struct cw_job *job, const struct cw_replan_view *view)
{
    struct cw_job_optimizer *o = job->optimizer;
    const struct cw_plan_answer *answer = &o->search->answer;
    record(job, o);
    job->plan.predicted_ns = answer->then_ns;
    cw_replan_changed(&o->state, view, answer->order, o->before_ns, answer->then, answer->n);
    o->leaves_cache = o->leaves_cache || answer->decides_cache != job->plan.decides_cache;
    if (answer->workers > 0)
        cw_scaling_jump(job, answer->workers);
}

/* Looks what has become of the plan that was found. */
static void settle(struct cw_job *job, const struct cw_replan_view *view)
{
    struct cw_job_optimizer *o = job->optimizer;
    const struct cw_plan_answer *answer = &o->search->answer;
    if (!o->is_used && job->plan.is_next && job->plan.last == o->number)
        return;
    if (o->is_used || job->plan.number == o->number) {
        go_on_with(job, view);
    } else {
        cw_replan_bar(&o->state, answer->order);
        cw_replan_stays(&o->state, answer->now, answer->n);
    }
    cw_plan_search_free(cw_steal(&o->search));
    o->number = 0;
    o->is_used = false;
}

static void look(struct cw_job *job, const struct cw_replan_view *view)
{
    struct cw_job_optimizer *o = job->optimizer;
    enum cw_replan_why why = cw_replan_look(&o->state, view);
    if (why != CW_REPLAN_NOT)
        ask(job, why, view->element_ns, (struct costs){0});
}

/* It goes by how many values come out of operators, which a profile does not say. */
static bool is_pecan(const struct cw_job *job)
{
    return strcmp(policy_of(job), "pecan") == 0;
}

/* The first plan comes before anything is measured if an earlier job has measured the pipeline, or jobs of others all of
 * its operators. */
static void begin(struct cw_job *job)
{
    const char *own = job->options->profile;
    const char *profile = own[0] != '\0' ? own : cw_plan_profile_of(job);
    job->optimizer->has_asked_profile = true;
    if (job->plan.number != 0)
        return;
    if (job->options->plan[0] != '\0' && !job->options->relaxed)
        ask(job, CW_REPLAN_NAMED, 0, (struct costs){0});
    else if (!is_pecan(job) && (profile || job->d->known_operators))
        ask(job, CW_REPLAN_NOT, 0,
            (struct costs){.profile = profile, .by_operators = profile == NULL});
}

/* Returns whether somebody plans for the job. */
static bool is_on(struct cw_job *job)
{
    const char *policy = policy_of(job);
    /* A relaxed order is fixed. */
    if (job->options->relaxed || job->status != CW_JOB_RUNNING || job->hold_until_ms != 0 ||
        !job->info || job->info->n_cacheable != job->graph->n_nodes || strcmp(policy, "off") == 0)
        return false;
    if (!job->optimizer) {
        job->optimizer = CW_NEW(struct cw_job_optimizer);
        job->optimizer->surveyed = find_surveyed(job);
    }
    job->optimizer->once = is_once(policy) || job->options->plan[0] != '\0';
    return true;
}

void cw_job_optimizer_tick(struct cw_job *job, int64_t now)
{
    struct cw_replan_view view;
    if (!is_on(job))
        return;
    struct cw_job_optimizer *o = job->optimizer;
    if (o->is_searching || (o->is_over && !o->search))
        return;
    if (!o->has_asked_profile) {
        begin(job);
        return;
    }
    make_view(job, now, &view);
    job->plan.measured_ns = view.is_enough ? view.element_ns : job->plan.measured_ns;
    if (o->search)
        settle(job, &view);
    else if (!job->plan.is_next && cw_job_plan_is_known(job))
        look(job, &view);
}

void cw_job_optimizer_free(struct cw_job *job)
{
    struct cw_job_optimizer *o = cw_steal(&job->optimizer);
    if (!o)
        return;
    cw_plan_search_free(o->search);
    cw_mem_free(o->surveyed);
    cw_mem_free(o->cached);
    cw_mem_free(o);
}
