/* SPDX-License-Identifier: Apache-2.0 */
/* cachew explain JOB: what would be planned by what a job has measured. */
#include <string.h>

#include "base/mem.h"
#include "client/tool/explain_file.h"
#include "client/tool/job.h"
#include "client/tool/profile_run.h"
#include "client/tool/tool.h"
#include "policies/problem_json.h"

/* What a worker has, on average. */
struct each {
    double threads, cores; /* 1 and 0 (not known) if it may not be asked */
};

/* The CPUs of its host, shared by the workers there; 0: not known. */
static double cores_of(const Cachew__V1__ListWorkersReply *reply, size_t worker)
{
    double there = 0;

    for (size_t i = 0; i < reply->n_workers; i++)
        there += cw_str_eq(reply->workers[i]->host_id, reply->workers[worker]->host_id);
    return reply->workers[worker]->host_cpus / CW_MAX(there, 1.0);
}

static struct each average(const Cachew__V1__ListWorkersReply *reply)
{
    const double n = (double)reply->n_workers;
    struct each sum = {0};
    bool is_known = true;

    for (size_t i = 0; i < reply->n_workers; i++) {
        const double cores = cores_of(reply, i);
        sum.threads += reply->workers[i]->threads;
        sum.cores += cores;
        is_known = is_known && cores > 0;
    }
    return (struct each){.threads = n > 0 ? CW_MAX(sum.threads / n, 1.0) : 1,
                         .cores = n > 0 && is_known ? sum.cores / n : 0};
}

static struct each ask_workers(const char *dispatcher)
{
    Cachew__V1__ListWorkersRequest request = CACHEW__V1__LIST_WORKERS_REQUEST__INIT;
    ProtobufCMessage *message = NULL;

    if (tool_admin_call(dispatcher, "/cachew.v1.Admin/ListWorkers", &request.base,
                        &cachew__v1__list_workers_reply__descriptor, &message, NULL) < 0)
        return (struct each){.threads = 1};
    const struct each each = average((const Cachew__V1__ListWorkersReply *)(const void *)message);
    protobuf_c_message_free_unpacked(message, NULL);
    return each;
}

static void take_options(const char *dispatcher, const Cachew__V1__JobRow *job,
                         struct tool_plan_options *options)
{
    if (options->remote + options->local == 0) {
        options->local = job->local;
        options->remote = job->assigned > job->local ? job->assigned - job->local : 0;
        options->remote += options->remote + options->local == 0;
    }
    if (options->threads == 0 || options->cores <= 0) {
        const struct each each = ask_workers(dispatcher);
        options->threads = options->threads ? options->threads : (uint64_t)(each.threads + 0.5);
        options->cores = options->cores > 0 ? options->cores : each.cores;
    }
    if (options->epochs == 0)
        options->epochs = job->epochs > job->epoch ? job->epochs - job->epoch : 1;
}

static int open_job(const char *dispatcher, const char *job, struct tool_planned *p,
                    struct cw_err *err)
{
    struct tool_job described = {0};
    int rc = tool_job_get(dispatcher, job, &described, err);

    if (rc == 0) {
        p->graph = cw_graph_ref(described.graph);
        rc = cw_graph_check(p->graph, &p->checked, err);
    }
    tool_job_fini(&described);
    return rc;
}

/* The latest plan's costs, as what the search saw; false: none was made. Names belong to the value. */
static bool read_problem(const Cachew__V1__ExplainReply *reply, struct cw_value *value,
                         struct cw_optimize_problem *ret_problem)
{
    const char *inputs = NULL;

    for (size_t i = 0; i < reply->n_decisions; i++)
        if (strcmp(reply->decisions[i]->kind, "optimize") == 0)
            inputs = reply->decisions[i]->inputs;
    return inputs && cw_value_parse(inputs, strlen(inputs), "inputs", value, NULL) == 0 &&
           cw_problem_read(value, "inputs", ret_problem, NULL) == 0;
}

static void take_costs(const struct cw_optimize_problem *from, struct cw_optimize_node *node)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct cw_optimize_node *then = &from->nodes[i];
        if (strcmp(then->name, node->name) != 0)
            continue;
        node->ns = then->ns;
        node->ns_byte = then->ns_byte;
        node->cpu_ns = then->cpu_ns;
        node->cpu_ns_byte = then->cpu_ns_byte;
        node->keep = then->keep;
    }
}

/* What was predicted is what the job's latest plan was made of, if there is one. */
static void predict(const Cachew__V1__ExplainReply *reply, struct tool_explained *e)
{
    struct cw_optimize_problem *then = CW_NEW(struct cw_optimize_problem);
    struct cw_optimize_problem *predicted = CW_NEW(struct cw_optimize_problem);
    struct cw_value value = {0};

    *predicted = e->planned.problem;
    if (read_problem(reply, &value, then)) {
        for (size_t i = 0; i < predicted->n; i++)
            take_costs(then, &predicted->nodes[i]);
        cw_optimize_rows(predicted, &e->planned.found.plan, e->rows);
    }
    cw_value_fini(&value);
    cw_mem_free(predicted);
    cw_mem_free(then);
}

/* Whether workers have told what an operator took: they do so a moment after they computed. */
static bool is_measured(const Cachew__V1__ExplainReply *reply)
{
    for (size_t i = 0; i < reply->n_nodes; i++)
        if (reply->nodes[i]->elements > 0)
            return true;
    return false;
}

int tool_explained_job(const char *dispatcher, const Cachew__V1__ExplainReply *reply,
                       struct tool_plan_options *options, struct tool_explained *e,
                       struct cw_err *err)
{
    struct tool_planned *p = &e->planned;
    const char *id = reply->job->job_id;
    int rc = open_job(dispatcher, id, p, err);

    take_options(dispatcher, reply->job, options);
    if (rc == 0 && !is_measured(reply))
        rc = cw_err_set(err, CW_E_UNAVAILABLE, "no operator of it was measured until now");
    if (rc == 0)
        rc = tool_profile_of_reply(reply, p->checked, id, &p->profile, err);
    p->has_costs = true;
    if (rc == 0)
        rc = tool_planned_prepare("what was measured", options, p, err);
    if (rc < 0)
        return rc;
    tool_planned_search(options, p);
    tool_explained_find(e);
    tool_measured_of_reply(reply, &e->measured);
    tool_explained_compare(e);
    predict(reply, e);
    return 0;
}
