/* SPDX-License-Identifier: Apache-2.0 */
/* What the cache of a private service was good for. The service ends with `cachew run`, so nobody can
 * ask it afterwards. */
#include "cachew/cachew.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/model/client.h"
#include "client/tool/cmd/run_kept.h"
#include "client/tool/tool.h"

/* Prints the node whose elements were kept, and how many were read again. */
static void print(const Cachew__V1__ExplainReply *reply)
{
    const Cachew__V1__NodeRow *most = NULL;
    for (size_t i = 0; i < reply->n_nodes; i++)
        if (reply->nodes[i]->hits > (most ? most->hits : 0))
            most = reply->nodes[i];
    tool_line_clear();
    if (most)
        fprintf(stderr, "cachew: %.0f %% of the elements of node \"%s\" were read from the cache\n",
                100 * most->hits / (most->hits + most->elements), most->name);
    else
        fprintf(stderr, "cachew: nothing was read from the cache\n");
    if (reply->now && *reply->now->reason && *reply->job->cached_node)
        fprintf(stderr, "cachew: elements of node \"%s\" are kept by policy %s\n",
                reply->job->cached_node, reply->policy);
}

void tool_run_tell_kept(const struct cachew_client *client, const struct cachew_job *job)
{
    Cachew__V1__ExplainRequest request = CACHEW__V1__EXPLAIN_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    struct cw_err err = {0};
    request.job = (char *)(uintptr_t)cachew_job_id(job);
    if (tool_admin_call(client->address, "/cachew.v1.Admin/Explain", &request.base,
                        &cachew__v1__explain_reply__descriptor, &reply, &err) < 0)
        return; /* It is news about a run that has succeeded, and no more. */
    print((const Cachew__V1__ExplainReply *)(const void *)reply);
    protobuf_c_message_free_unpacked(reply, NULL);
}
