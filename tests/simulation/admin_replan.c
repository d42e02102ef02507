/* SPDX-License-Identifier: Apache-2.0 */
/* A command that gives each job another plan, as `cachew replan` does: two of its operators change sides, which
 * is refused where it would show. */
#include "admin.h"

#include <string.h>

#include "base/hash.h"
#include "cachew/v1/admin.pb-c.h"

/* Only inputs stay where they are: the places of a chain. */
static void swap(Cachew__V1__Node *a, Cachew__V1__Node *b)
{
    const Cachew__V1__Node was = *a;

    *a = *b;
    a->n_inputs = was.n_inputs;
    a->inputs = was.inputs;
    const size_t n = b->n_inputs;
    uint32_t *inputs = b->inputs;
    *b = was;
    b->n_inputs = n;
    b->inputs = inputs;
}

/* All names are given then, since random numbers are keyed by them. */
static void change(Cachew__V1__Graph *graph, uint64_t chance)
{
    for (size_t i = 0; i < graph->n_nodes; i++)
        graph->nodes[i]->named = true;
    for (uint64_t k = 0; graph->n_nodes > 2 && k <= chance % 2; k++) {
        size_t i = 1 + (size_t)(cw_mix64(chance + k) % (graph->n_nodes - 2));
        swap(graph->nodes[i], graph->nodes[i + 1]);
    }
}

/* Without a graph: as it is written. */
static void propose(struct sim_admin *admin, char *job, Cachew__V1__Graph *graph)
{
    Cachew__V1__ReplanJobRequest request = CACHEW__V1__REPLAN_JOB_REQUEST__INIT;

    request.job = job;
    request.graph = graph;
    ProtobufCMessage *reply = sim_admin_ask(admin, "/cachew.v1.Admin/ReplanJob", &request.base,
                                            &cachew__v1__replan_job_reply__descriptor);
    admin->total += reply != NULL;
    if (reply)
        protobuf_c_message_free_unpacked(reply, NULL);
}

static void replan(struct sim_admin *admin, char *job, uint64_t chance)
{
    Cachew__V1__GetJobRequest request = CACHEW__V1__GET_JOB_REQUEST__INIT;

    request.job = job;
    ProtobufCMessage *message = sim_admin_ask(admin, "/cachew.v1.Admin/GetJob", &request.base,
                                              &cachew__v1__get_job_reply__descriptor);
    if (!message)
        return;
    const Cachew__V1__GetJobReply *reply = (const Cachew__V1__GetJobReply *)(const void *)message;
    Cachew__V1__Graph *graph = cachew__v1__graph__unpack(NULL, reply->graph.len, reply->graph.data);
    if (graph) {
        change(graph, chance);
        propose(admin, job, chance % 5 == 0 ? NULL : graph);
        cachew__v1__graph__free_unpacked(graph, NULL);
    }
    protobuf_c_message_free_unpacked(message, NULL);
}

void sim_admin_replan(struct sim_admin *admin)
{
    Cachew__V1__ListJobsRequest request = CACHEW__V1__LIST_JOBS_REQUEST__INIT;
    ProtobufCMessage *message = sim_admin_ask(admin, "/cachew.v1.Admin/ListJobs", &request.base,
                                              &cachew__v1__list_jobs_reply__descriptor);

    if (!message)
        return;
    const Cachew__V1__ListJobsReply *reply =
        (const Cachew__V1__ListJobsReply *)(const void *)message;
    for (size_t i = 0; i < reply->n_jobs; i++)
        if (strcmp(reply->jobs[i]->state, "running") == 0)
            replan(admin, reply->jobs[i]->job_id, cw_mix64(admin->bytes + i));
    protobuf_c_message_free_unpacked(message, NULL);
}
