/* SPDX-License-Identifier: Apache-2.0 */
/* Admin.Explain: a job's decisions, what was measured of it, and what its policies about caching
 * and about workers would decide now. */
#include "dispatcher/admin/admin_int.h"
#include "dispatcher/autocache/autocache.h"
#include "dispatcher/scaling/scaling.h"

#define DECISIONS_SHOWN 100

static char empty[] = "";

/* What a policy would decide now, as a message. */
static Cachew__V1__Decision *say(const struct cw_job *job, struct cw_state_decision row)
{
    row.time_ms = cw_clock_wall_ms();
    row.epoch = job->first_epoch;
    return cw_svc_decision_new(&row, false);
}

static Cachew__V1__Decision *ask_autocache(struct cw_autocache_job *decider, bool *ret_decided)
{
    struct cw_autocache_view view;
    struct cw_policy_decision d = {0};
    struct cw_err err = {0};
    CW_STR_AUTO inputs = {0};
    cw_autocache_view_init(decider, &view);
    cw_autocache_snapshot_print(&view.s, &inputs);
    bool over = cw_job_epochs_left(decider->job) <= 0;
    int rc = decider->policy && !over
                 ? decider->policy->decide(&view.s, decider->argument, &d, &err)
                 : 0;
    *ret_decided = rc == 0 && d.decided;
    if (rc < 0 || over)
        cw_str_add(&d.reason, rc < 0 ? err.msg : "No epoch is left.");
    const char *choice = *ret_decided && d.node < view.s.n ? view.nodes[d.node].name : "";
    Cachew__V1__Decision *now =
        say(decider->job,
            cw_decision_row("autocache", decider->option, choice, &d, cw_str_text(&inputs)));
    cw_policy_decision_fini(&d);
    cw_autocache_view_fini(&view);
    return now;
}

static Cachew__V1__Decision *ask_scaling(const struct cw_job *job,
                                         const struct cw_scale_window *window)
{
    const struct cw_scaling *s = job->scaling;
    struct cw_scale_inputs inputs;
    cw_scaling_inputs(job, window, &inputs);
    struct cw_scale_state state = s->state;
    struct cw_policy_decision d = {0};
    struct cw_err err = {0};
    CW_STR_AUTO printed = {0};
    int rc = s->policy->decide(window, &inputs.available, &inputs.options, s->argument, &state, &d,
                               &err);
    cw_autofree char *choice = rc < 0 ? cw_mem_strdup("") : cw_scaling_choice(job, &d);
    cw_scale_inputs_print(&inputs, &printed);
    if (rc < 0)
        cw_str_clear(&d.reason);
    if (d.reason.len == 0)
        cw_str_add(&d.reason, rc < 0 ? err.msg : "nothing speaks against what it has");
    Cachew__V1__Decision *says = say(job, cw_decision_row(cw_scaling_kind(job), s->policy->name,
                                                          choice, &d, cw_str_text(&printed)));
    cw_policy_decision_fini(&d);
    return says;
}

/* Asks the job's policies about workers what they would decide for its last window. */
static Cachew__V1__Decision **ask_about_workers(const struct cw_job *job, size_t *ret_n)
{
    Cachew__V1__Decision **says = CW_NEW_ARRAY(Cachew__V1__Decision *, 1);
    *ret_n = 0;
    if (job->scaling && job->scaling->last.seconds > 0 && job->status == CW_JOB_RUNNING)
        says[(*ret_n)++] = ask_scaling(job, &job->scaling->last);
    return says;
}

static void answers_free(Cachew__V1__Decision **says, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cw_svc_decision_free(says[i]);
    cw_mem_free(says);
}

struct measured {
    Cachew__V1__TrainerWindow *windows, **window_list;
    Cachew__V1__NodeRow *nodes, **node_list;
    Cachew__V1__NodeCost *costs;
    Cachew__V1__FilterShares filters; /* borrows what the job has */
    size_t windows_n, nodes_n;
};

static void fill_windows(const struct cw_job *job, struct measured *m)
{
    size_t cap = 0;
    const struct cw_scale_window *w;
    for (size_t i = 0; (w = cw_telemetry_window(job, i)) != NULL; i++) {
        CW_GROW(m->windows, m->windows_n, cap);
        cw_svc_window_row(w, &m->windows[m->windows_n++]);
    }
    m->window_list = CW_NEW_ARRAY(Cachew__V1__TrainerWindow *, m->windows_n + 1);
    for (size_t i = 0; i < m->windows_n; i++)
        m->window_list[i] = &m->windows[i];
}

static void fill_cost(const struct cw_cost_measured *measured, Cachew__V1__NodeCost *cost)
{
    cachew__v1__node_cost__init(cost);
    cost->elements = measured->elements;
    cost->cpu_ns = measured->cpu_ns;
    cost->wall_ns = measured->wall_ns;
#define SET(name) cost->name = measured->sums.name;
    CW_COST_SUMS(SET)
#undef SET
}

/* In a sparse pipeline the positions of all items are looked at. */
static double epoch_elements(const struct cw_job *job)
{
    if (!job->info)
        return 0;
    return job->info->sparse ? (double)job->info->chunk * (double)job->items
                             : (double)CW_MAX(job->info->elements, 0);
}

static void fill_nodes(const struct cw_job *job, struct measured *m)
{
    size_t n = job->info ? job->info->n_cacheable : 0;
    m->nodes = CW_NEW_ARRAY(Cachew__V1__NodeRow, n + 1);
    m->node_list = CW_NEW_ARRAY(Cachew__V1__NodeRow *, n + 1);
    m->costs = CW_NEW_ARRAY(Cachew__V1__NodeCost, n + 1);
    for (; m->nodes_n < n; m->nodes_n++) {
        Cachew__V1__NodeRow *row = m->node_list[m->nodes_n] = &m->nodes[m->nodes_n];
        cachew__v1__node_row__init(row);
        row->name = job->info->cacheable[m->nodes_n]->node;
        row->op = job->info->cacheable[m->nodes_n]->op;
        if (!job->measured || m->nodes_n >= job->measured->n)
            continue;
        const struct cw_node_sums *measured = &job->measured->total[m->nodes_n];
        row->elements = measured->elements;
        row->hits = measured->hits;
        row->cpu_ns = measured->cpu_ns;
        row->wall_ns = measured->wall_ns;
        row->bytes = measured->bytes;
        row->waits = measured->waits;
        row->cost = &m->costs[m->nodes_n];
        fill_cost(&job->measured->costs[m->nodes_n], row->cost);
    }
}

static void fill_filters(const struct cw_job *job, Cachew__V1__ExplainReply *answer,
                         Cachew__V1__FilterShares *message)
{
    struct cw_filter_shares *filters = job->measured ? &job->measured->filters : NULL;
    if (!filters || filters->n == 0)
        return;
    cachew__v1__filter_shares__init(message);
    message->n_filters = filters->n;
    message->filters = filters->names;
    message->n_shown = message->n_passed = (size_t)1 << filters->n;
    message->shown = filters->shown;
    message->passed = filters->passed;
    answer->filters = message;
}

static void measured_fini(struct measured *m)
{
    cw_mem_free(m->windows);
    cw_mem_free(m->window_list);
    cw_mem_free(m->nodes);
    cw_mem_free(m->node_list);
    cw_mem_free(m->costs);
}

/* Adds what was left out of the job's batches. `messages` has room for the first elements. */
static void add_bad(const struct cw_job *job, Cachew__V1__BadElement *messages,
                    Cachew__V1__ExplainReply *answer)
{
    const struct cw_bad_report *report = job->telemetry ? &job->telemetry->bad : NULL;
    size_t n = report ? report->first_n : 0;
    answer->bad = CW_NEW_ARRAY(Cachew__V1__BadElement *, n + 1);
    answer->bad_n = report ? cw_bad_report_n(report) : 0;
    for (answer->n_bad = 0; answer->n_bad < n; answer->n_bad++) {
        const struct cw_bad_first *first = &report->first[answer->n_bad];
        Cachew__V1__BadElement *message = answer->bad[answer->n_bad] = &messages[answer->n_bad];
        cw_wire_bad_element_to(cw_bad_list_at(first->list, 0), message);
        message->epoch = first->epoch;
        message->batch = first->batch;
        message->place = first->place;
    }
}

static void explain(struct cw_job *job, struct cw_call *call)
{
    int64_t begin = cw_clock_thread_cpu_ns();
    struct cw_svc_job_row row;
    struct cw_autocache_job *decider = cw_autocache_of(job);
    struct cw_svc_decisions list = {0};
    struct measured measured = {0};
    struct cw_err err = {0};
    const struct cw_state_decision_query query = {.job = job->id, .limit = DECISIONS_SHOWN};
    int rc = cw_svc_decisions_read(job->d, &query, &list, &err);
    if (rc < 0) {
        cw_call_fail(call, rc, err.msg);
        return;
    }
    Cachew__V1__ExplainReply answer = CACHEW__V1__EXPLAIN_REPLY__INIT;
    cw_svc_job_row(job, &row);
    answer.job = &row.row;
    answer.decisions = list.v;
    answer.n_decisions = list.n;
    answer.policy = decider ? (char *)(uintptr_t)decider->option : empty;
    if (decider) {
        answer.hits = job->measured ? (uint64_t)job->measured->all_hits : 0;
        bool decided = false;
        answer.now = ask_autocache(decider, &decided);
        answer.decided = decided;
    }
    fill_windows(job, &measured);
    fill_nodes(job, &measured);
    answer.windows = measured.window_list;
    answer.n_windows = measured.windows_n;
    answer.nodes = measured.node_list;
    answer.n_nodes = measured.nodes_n;
    fill_filters(job, &answer, &measured.filters);
    answer.epoch_elements = epoch_elements(job);
    answer.says = ask_about_workers(job, &answer.n_says);
    Cachew__V1__BadElement bad[CW_BAD_FIRST_MAX];
    add_bad(job, bad, &answer);
    cw_call_note_time(call, cw_clock_thread_cpu_ns() - begin);
    cw_svc_reply(call, &answer.base);
    cw_mem_free(answer.bad);
    answers_free(answer.says, answer.n_says);
    measured_fini(&measured);
    cw_svc_decisions_fini(&list);
    if (answer.now)
        cw_svc_decision_free(answer.now);
}

static void explain_asked(struct cw_dispatcher *d, struct cw_call *call,
                          const ProtobufCMessage *message)
{
    struct cw_job *job =
        cw_svc_find_job(d, call, ((const Cachew__V1__ExplainRequest *)message)->job);
    if (job)
        explain(job, call);
}

static void handle_explain(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    ProtobufCMessage *message =
        cw_svc_unpack(&cachew__v1__explain_request__descriptor, call, request);
    if (message)
        cw_svc_when_readable(arg, call, message, explain_asked);
}

void cw_svc_explain_add(struct cw_dispatcher *d)
{
    const struct cw_method method = {"/cachew.v1.Admin/Explain", handle_explain, NULL, d};
    cw_server_add(d->server, &method);
}
