/* SPDX-License-Identifier: Apache-2.0 */
/* Packs and checks the pipeline of a client's hello. */
#include "dispatcher/session/client_pipeline.h"

#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dispatcher/optimize/first_plan.h"
#include "graph/check.h"
#include "graph/expand.h"

/* The job's pipeline is the one that was made of it. */
static void replace(Cachew__V1__JobOptions *options, const struct cw_graph *graph,
                    struct cw_client_pipeline *pipeline)
{
    cw_buf_unref(pipeline->packed);
    pipeline->packed = cw_wire_graph_pack(graph);
    cachew__v1__graph__free_unpacked(options->graph, NULL);
    options->graph = cachew__v1__graph__unpack(NULL, pipeline->packed->len, pipeline->packed->data);
}

/* Whether the pipeline names operators of plugins that nobody has told of, and all others are there. */
static bool lacks_plugins(const struct cw_graph *graph)
{
    bool lacks = false;
    for (size_t i = 0; i < graph->n; i++) {
        const struct cw_node *node = &graph->nodes[i];
        if (cw_op_find_for(node->op, &node->options))
            continue;
        if (!strchr(node->op, '.') || cw_value_get(&node->options, "plugin"))
            return false;
        lacks = true;
    }
    return lacks;
}

static void note_unchecked(const Cachew__V1__JobOptions *options, const struct cw_graph *graph,
                           struct cw_client_pipeline *pipeline)
{
    bool is_planned = options->relaxed || options->plan[0] != '\0' || options->profile[0] != '\0';
    pipeline->is_unchecked = !is_planned && lacks_plugins(graph);
    if (pipeline->is_unchecked)
        pipeline->fingerprint = cw_hash_bytes(pipeline->packed->data, pipeline->packed->len);
}

static int fingerprint_of(struct cw_graph *graph, struct cw_hash *ret_fingerprint,
                          struct cw_err *err)
{
    struct cw_checked *checked = NULL;
    int rc = cw_graph_check_without_data(graph, &checked, err);
    if (rc == 0)
        *ret_fingerprint = checked->fingerprint;
    cw_checked_unref(checked);
    return rc;
}

/* Carries out what the options say of a plan, and checks what comes of it. */
static int read_graph(Cachew__V1__JobOptions *options, struct cw_client_pipeline *pipeline,
                      struct cw_err *err)
{
    struct cw_graph *graph = NULL, *expanded = NULL, *relaxed = NULL;
    int rc = cw_wire_graph_from(options->graph, &graph, err);
    if (rc == 0)
        rc = cw_graph_expand(graph, &expanded, err);
    if (rc == 0 && expanded != graph)
        replace(options, expanded, pipeline);
    if (rc == 0)
        rc = cw_first_plan_make(options, expanded, &relaxed, err);
    if (rc == 0 && relaxed) {
        pipeline->written = cw_buf_ref(pipeline->packed);
        replace(options, relaxed, pipeline);
        rc = fingerprint_of(expanded, &pipeline->written_fingerprint, err);
    }
    if (rc == 0)
        rc = fingerprint_of(relaxed ? relaxed : expanded, &pipeline->fingerprint, err);
    if (rc == CW_E_NOT_FOUND && graph)
        note_unchecked(options, graph, pipeline);
    cw_graph_unref(relaxed);
    cw_graph_unref(expanded);
    cw_graph_unref(graph);
    return rc;
}

/* The options of a hello with a pipeline; NULL: it is none. */
static Cachew__V1__JobOptions *options_of(const Cachew__V1__ClientMessage *message)
{
    bool is_hello = message->kind_case == CACHEW__V1__CLIENT_MESSAGE__KIND_HELLO;
    Cachew__V1__JobOptions *options = is_hello ? message->hello->job : NULL;
    return options && options->graph ? options : NULL;
}

bool cw_client_pipeline_is_slow(const Cachew__V1__ClientMessage *message)
{
    const Cachew__V1__JobOptions *options = options_of(message);
    return options && (options->relaxed || options->plan[0] != '\0' || options->profile[0] != '\0');
}

struct cw_client_pipeline *cw_client_pipeline_read(Cachew__V1__ClientMessage *message)
{
    Cachew__V1__JobOptions *options = options_of(message);
    if (!options)
        return NULL;
    struct cw_client_pipeline *pipeline = CW_NEW(struct cw_client_pipeline);
    pipeline->packed = cw_wire_pack(&options->graph->base);
    if (pipeline->packed->len > CW_PIPELINE_MAX)
        pipeline->rc =
            cw_err_set(&pipeline->err, CW_E_LIMIT, "the pipeline has %zu bytes, the limit is %zu",
                       pipeline->packed->len, CW_PIPELINE_MAX);
    else
        pipeline->rc = read_graph(options, pipeline, &pipeline->err);
    cw_wire_graph_strip(options->graph);
    return pipeline;
}

void cw_client_pipeline_free(struct cw_client_pipeline *pipeline)
{
    if (!pipeline)
        return;
    cw_buf_unref(pipeline->packed);
    cw_buf_unref(pipeline->written);
    cw_mem_free(pipeline);
}
