/* SPDX-License-Identifier: Apache-2.0 */
/* Packs and checks the pipeline of a client's hello. */
#include "dispatcher/session/client_pipeline.h"

#include "base/limits.h"
#include "base/mem.h"
#include "graph/check.h"

static int find_fingerprint(const Cachew__V1__Graph *message, struct cw_hash *ret_fingerprint,
                            struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    int rc = cw_wire_graph_from(message, &graph, err);
    if (rc == 0)
        rc = cw_graph_check_without_data(graph, &checked, err);
    if (rc == 0)
        *ret_fingerprint = checked->fingerprint;
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return rc;
}

struct cw_client_pipeline *cw_client_pipeline_read(Cachew__V1__ClientMessage *message)
{
    if (message->kind_case != CACHEW__V1__CLIENT_MESSAGE__KIND_HELLO || !message->hello->job ||
        !message->hello->job->graph)
        return NULL;
    Cachew__V1__Graph *graph = message->hello->job->graph;
    struct cw_client_pipeline *pipeline = CW_NEW(struct cw_client_pipeline);
    pipeline->packed = cw_wire_pack(&graph->base);
    if (pipeline->packed->len > CW_PIPELINE_MAX)
        pipeline->rc =
            cw_err_set(&pipeline->err, CW_E_LIMIT, "the pipeline has %zu bytes, the limit is %zu",
                       pipeline->packed->len, CW_PIPELINE_MAX);
    else
        pipeline->rc = find_fingerprint(graph, &pipeline->fingerprint, &pipeline->err);
    cw_wire_graph_strip(graph);
    return pipeline;
}

void cw_client_pipeline_free(struct cw_client_pipeline *pipeline)
{
    if (!pipeline)
        return;
    cw_buf_unref(pipeline->packed);
    cw_mem_free(pipeline);
}
