/* SPDX-License-Identifier: Apache-2.0 */
/* The profile of what a job's workers and trainers have measured. */
#include <string.h>

#include "base/mem.h"
#include "client/tool/job.h"
#include "client/tool/profile_run.h"
#include "client/tool/tool.h"
#include "policies/policy.h"

static int explain(const char *dispatcher, const char *job, ProtobufCMessage **ret_reply,
                   struct cw_err *err)
{
    Cachew__V1__ExplainRequest request = CACHEW__V1__EXPLAIN_REQUEST__INIT;
    cw_autofree char *copy = cw_mem_strdup(job);

    request.job = copy;
    return tool_admin_call(dispatcher, "/cachew.v1.Admin/Explain", &request.base,
                           &cachew__v1__explain_reply__descriptor, ret_reply, err);
}

/* A dispatcher of an earlier version sends no costs. */
static void take_node(const Cachew__V1__NodeRow *row, struct cw_cost_measured *ret_measured)
{
    const Cachew__V1__NodeCost *cost = row->cost;

    if (!cost)
        return;
    *ret_measured = (struct cw_cost_measured){
        .elements = cost->elements, .cpu_ns = cost->cpu_ns, .wall_ns = cost->wall_ns};
#define SET(name) ret_measured->sums.name = cost->name;
    CW_COST_SUMS(SET)
#undef SET
}

static void take_nodes(const Cachew__V1__ExplainReply *reply, const struct cw_checked *checked,
                       struct cw_cost_profile *ret_profile)
{
    const struct cw_graph *graph = checked->graph;
    cw_autofree struct cw_cost_measured *measured = CW_NEW_ARRAY(struct cw_cost_measured, graph->n);

    for (size_t i = 0; i < reply->n_nodes; i++)
        for (size_t k = 0; k < graph->n; k++)
            if (strcmp(reply->nodes[i]->name, graph->nodes[k].name) == 0)
                take_node(reply->nodes[i], &measured[k]);
    cw_cost_profile_of_measured(checked, measured, ret_profile);
}

static void take_filters(const Cachew__V1__ExplainReply *reply, struct cw_cost_profile *profile)
{
    const Cachew__V1__FilterShares *filters = reply->filters;
    const char *names[CW_FILTERS_MAX] = {0};
    double shown[CW_FILTER_SETS] = {0}, passed[CW_FILTER_SETS] = {0};

    if (!filters || filters->n_filters > CW_FILTERS_MAX || filters->n_shown > CW_FILTER_SETS ||
        filters->n_passed != filters->n_shown)
        return;
    for (size_t i = 0; i < filters->n_filters; i++)
        names[i] = filters->filters[i];
    for (size_t set = 0; set < filters->n_shown; set++) {
        shown[set] = filters->shown[set];
        passed[set] = filters->passed[set];
    }
    cw_cost_profile_add_filters(profile, names, shown, passed);
}

/* What is known of the store is among what the policy about caching is given. */
static void take_store(const Cachew__V1__ExplainReply *reply, struct cw_cost_profile *profile)
{
    struct cw_autocache_snapshot *s = NULL;
    struct cw_err err = {0};

    if (!reply->now ||
        cw_autocache_snapshot_parse(reply->now->inputs, strlen(reply->now->inputs), &s, &err) < 0)
        return;
    profile->has_store = true;
    profile->store = (struct cw_cost_profile_store){.read_ns = s->store.read_ns,
                                                    .read_byte_ns = s->store.read_byte_ns,
                                                    .write_ns = s->store.write_ns,
                                                    .write_byte_ns = s->store.write_byte_ns,
                                                    .read_bytes_s = s->store.read_bytes_s,
                                                    .write_bytes_s = s->store.write_bytes_s,
                                                    .free_bytes = s->store.free_bytes};
    cw_autocache_snapshot_free(s);
}

int tool_profile_of_reply(const Cachew__V1__ExplainReply *reply, const struct cw_checked *checked,
                          const char *job, struct cw_cost_profile *ret_profile, struct cw_err *err)
{
    if (reply->epoch_elements <= 0)
        return cw_err_set(err, CW_E_AGAIN, "no worker has prepared job %s yet", job);
    take_nodes(reply, checked, ret_profile);
    take_filters(reply, ret_profile);
    ret_profile->elements = reply->epoch_elements;
    if (reply->n_windows > 0)
        ret_profile->step_ms = reply->windows[reply->n_windows - 1]->step_s * 1e3;
    take_store(reply, ret_profile);
    return 0;
}

int tool_profile_job(const char *dispatcher, const char *job, struct cw_cost_profile *ret_profile,
                     struct cw_err *err)
{
    struct tool_job described = {0};
    struct cw_checked *checked = NULL;
    ProtobufCMessage *reply = NULL;
    int rc = tool_job_get(dispatcher, job, &described, err);

    if (rc == 0)
        rc = cw_graph_check(described.graph, &checked, err);
    if (rc == 0)
        rc = explain(dispatcher, job, &reply, err);
    if (rc == 0)
        rc = tool_profile_of_reply((const Cachew__V1__ExplainReply *)(const void *)reply, checked,
                                   job, ret_profile, err);
    if (reply)
        protobuf_c_message_free_unpacked(reply, NULL);
    cw_checked_unref(checked);
    tool_job_fini(&described);
    return rc;
}
