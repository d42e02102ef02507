/* SPDX-License-Identifier: Apache-2.0 */
/* What the cache of a private service was good for. The service ends with `cachew run`, so nobody can
 * ask it afterwards. */
#include <inttypes.h>
#include <string.h>

#include "cachew/cachew.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/model/client.h"
#include "client/tool/cmd/run_kept.h"
#include "client/tool/tool.h"

/* Returns the latest decision about caching, or NULL. What the policy would decide now is no answer:
 * there is no further epoch. */
static const Cachew__V1__Decision *latest(const Cachew__V1__ExplainReply *reply)
{
    const Cachew__V1__Decision *found = NULL;
    for (size_t i = 0; i < reply->n_decisions; i++)
        if (strcmp(reply->decisions[i]->kind, "autocache") == 0 &&
            (!found || reply->decisions[i]->time_ms >= found->time_ms))
            found = reply->decisions[i];
    return found;
}

/* Prints the node whose elements were kept, and how many were read again; if none were, why its policy
 * keeps none. */
static void print_hits(const Cachew__V1__ExplainReply *reply)
{
    const Cachew__V1__NodeRow *most = NULL;
    for (size_t i = 0; i < reply->n_nodes; i++)
        if (reply->nodes[i]->hits > (most ? most->hits : 0))
            most = reply->nodes[i];
    const Cachew__V1__Decision *decision = latest(reply);
    if (most)
        fprintf(stderr, "cachew: %.0f %% of the elements of node \"%s\" were read from the cache\n",
                100 * most->hits / (most->hits + most->elements), most->name);
    else
        fprintf(stderr, "cachew: nothing was read from the cache\n");
    if (reply->now && *reply->now->reason && *reply->job->cached_node)
        fprintf(stderr, "cachew: elements of node \"%s\" are kept by policy %s\n",
                reply->job->cached_node, reply->policy);
    else if (!most && decision)
        fprintf(stderr, "cachew: policy %s: %s\n", decision->policy, decision->reason);
}

/* Prints what is wrong with the store, in the words of `cachew cache ls`. */
static void print_trouble(const Cachew__V1__CacheListReply *reply)
{
    if (reply->away)
        fprintf(stderr, "cachew: the cache store is unavailable: %s\n", reply->why);
    if (reply->full)
        fprintf(stderr, "cachew: the cache is full: %s\n",
                *reply->full_why ? reply->full_why : "nothing more is written");
    if (reply->lost > 0)
        fprintf(stderr, "cachew: %" PRIu64 " records could not be kept: %s\n", reply->lost,
                *reply->lost_why ? reply->lost_why : "no reason was given");
}

void tool_run_tell_kept(const struct cachew_client *client, const struct cachew_job *job)
{
    Cachew__V1__ExplainRequest request = CACHEW__V1__EXPLAIN_REQUEST__INIT;
    Cachew__V1__CacheListRequest list = CACHEW__V1__CACHE_LIST_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    struct cw_err err = {0};
    request.job = (char *)(uintptr_t)cachew_job_id(job);
    /* It is news about a run that has succeeded, and no more: what is not answered is not told. */
    tool_line_clear();
    if (tool_admin_call(client->address, "/cachew.v1.Admin/Explain", &request.base,
                        &cachew__v1__explain_reply__descriptor, &reply, &err) == 0) {
        print_hits((const Cachew__V1__ExplainReply *)(const void *)reply);
        protobuf_c_message_free_unpacked(reply, NULL);
    }
    if (tool_admin_call(client->address, "/cachew.v1.Admin/CacheList", &list.base,
                        &cachew__v1__cache_list_reply__descriptor, &reply, &err) == 0) {
        print_trouble((const Cachew__V1__CacheListReply *)(const void *)reply);
        protobuf_c_message_free_unpacked(reply, NULL);
    }
}
