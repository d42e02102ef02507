/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/complete.h"

#include <string.h>

#include "base/mem.h"
#include "graph/complete_kept.h"
#include "graph/expand.h"
#include "graph/wanted.h"
#include "ops/foreign.h"

/* Parses the options of a node. Returns NULL if it is of no such operator, or they are wrong, which
 * cw_graph_check says. */
static void *parse(const struct cw_op *op, const struct cw_node *node)
{
    void *opts = cw_mem_new(CW_MAX(op->options_bytes, 1));
    if (cw_opt_parse(op->options, &node->options, opts, NULL) == 0)
        return opts;
    cw_mem_free(opts);
    return NULL;
}

static void opts_free(const struct cw_op *op, void *opts)
{
    if (opts)
        cw_opt_fini(op->options, opts);
    cw_mem_free(opts);
}

static bool is_incomplete(const struct cw_node *node)
{
    const struct cw_op *op = cw_op_find_for(node->op, &node->options);
    if (!op || !op->is_complete)
        return false;
    void *opts = parse(op, node);
    bool incomplete = opts && !op->is_complete(opts);
    opts_free(op, opts);
    return incomplete;
}

size_t cw_graph_incomplete(const struct cw_graph *graph)
{
    for (size_t i = 0; i < graph->n; i++)
        if (is_incomplete(&graph->nodes[i]))
            return i;
    return SIZE_MAX;
}

/* ---- looking into files ---- */

struct completion {
    const struct cw_value *manifest;
    const struct cw_stop *stop;
    const struct cw_graph
        *like; /* the nodes of this graph are complete; NULL: files are looked into */
};

/* Adds to the options what the file says, or what it said when it was looked into before. */
static int complete_by(const struct cw_op *op, const void *opts, const struct cw_op_open *how,
                       struct cw_value *options, struct cw_err *err)
{
    CW_STR_AUTO key = {0};
    struct cw_value before = {0};
    cw_complete_key(op, opts, options, how, &key);
    if (key.len > 0 && cw_complete_find(cw_str_text(&key), options))
        return 0;
    cw_value_copy(&before, options);
    int rc = op->complete(opts, how, options, err);
    if (rc == 0 && key.len > 0)
        cw_complete_keep(cw_str_text(&key), &before, options);
    cw_value_fini(&before);
    return rc;
}

static int look(const struct completion *how, enum cw_identity identity,
                const struct cw_op_names *wanted, struct cw_node *node, struct cw_err *err)
{
    const struct cw_op *op = cw_op_find_for(node->op, &node->options);
    struct cw_op_open open = {.identity = identity, .stop = how->stop, .wanted = wanted};
    void *opts = parse(op, node);
    if (how->manifest && how->manifest->type == CW_VALUE_OBJECT)
        open.manifest = cw_value_get(how->manifest, node->name);
    if (node->options.type != CW_VALUE_OBJECT)
        cw_value_set_object(&node->options);
    int rc = complete_by(op, opts, &open, &node->options, err);
    opts_free(op, opts);
    return rc;
}

static const struct cw_node *node_named(const struct cw_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->n; i++)
        if (strcmp(graph->nodes[i].name, name) == 0)
            return &graph->nodes[i];
    return NULL;
}

static int take_over(const struct cw_graph *like, struct cw_node *node, struct cw_err *err)
{
    const struct cw_node *known = node_named(like, node->name);
    if (!known || strcmp(known->op, node->op) != 0)
        return cw_err_set(err, CW_E_INVALID, "the pipeline has no such node");
    cw_value_fini(&node->options);
    node->options = (struct cw_value){0};
    cw_value_copy(&node->options, &known->options);
    return 0;
}

/* graph: with the node at place i, of which `node` is a copy */
static int complete_node(const struct completion *how, const struct cw_graph *graph, size_t i,
                         struct cw_node *node, struct cw_err *err)
{
    struct cw_op_names wanted = {0};
    const bool is_known = !how->like && cw_graph_wanted(graph, i, &wanted);
    int rc = how->like ? take_over(how->like, node, err)
                       : look(how, graph->identity, is_known ? &wanted : NULL, node, err);
    cw_op_names_fini(&wanted);
    return rc < 0 ? cw_err_wrap(err, "node \"%s\" (%s)", node->name, node->op) : 0;
}

static int complete(struct cw_graph *graph, const struct completion *how,
                    struct cw_graph **ret_graph, struct cw_err *err)
{
    int rc = 0;
    if (cw_graph_incomplete(graph) == SIZE_MAX) {
        *ret_graph = cw_graph_ref(graph);
        return 0;
    }
    struct cw_graph_builder *builder = cw_graph_builder_new(graph->name);
    cw_graph_builder_set_identity(builder, graph->identity);
    for (size_t i = 0; rc == 0 && i < graph->n; i++) {
        struct cw_node node;
        cw_node_copy(&graph->nodes[i], &node);
        if (is_incomplete(&node) && (how->like || cw_op_find_for(node.op, &node.options)->complete))
            rc = complete_node(how, graph, i, &node, err);
        cw_graph_builder_add_indexed(builder, &node);
    }
    if (rc == 0)
        rc = cw_graph_builder_finish(builder, ret_graph, err);
    cw_graph_builder_free(builder);
    return rc;
}

int cw_graph_complete(struct cw_graph *graph, const struct cw_value *manifest,
                      const struct cw_stop *stop, struct cw_graph **ret_graph, struct cw_err *err)
{
    const struct completion how = {.manifest = manifest, .stop = stop};
    struct cw_graph *expanded = NULL;
    int rc = cw_graph_expand(graph, &expanded, err);
    if (rc == 0)
        rc = complete(expanded, &how, ret_graph, err);
    cw_graph_unref(expanded);
    return rc;
}

int cw_graph_complete_like(struct cw_graph *graph, const struct cw_graph *like,
                           struct cw_graph **ret_graph, struct cw_err *err)
{
    const struct completion how = {.like = like};
    return complete(graph, &how, ret_graph, err);
}

/* ---- operators that are not part of cachew ---- */

static bool is_unsettled(const struct cw_checked *checked, size_t i)
{
    const char *library;
    return checked->nodes[i].op->foreign &&
           !cw_foreign_wanted(&checked->graph->nodes[i].options, &library);
}

int cw_graph_settle(const struct cw_checked *checked, struct cw_graph **ret_graph,
                    struct cw_err *err)
{
    struct cw_graph *graph = checked->graph;
    size_t n = 0;
    for (size_t i = 0; i < graph->n; i++)
        n += is_unsettled(checked, i);
    if (n == 0) {
        *ret_graph = cw_graph_ref(graph);
        return 0;
    }
    struct cw_graph_builder *builder = cw_graph_builder_new(graph->name);
    cw_graph_builder_set_identity(builder, graph->identity);
    for (size_t i = 0; i < graph->n; i++) {
        struct cw_node node;
        cw_node_copy(&graph->nodes[i], &node);
        if (is_unsettled(checked, i))
            cw_foreign_settle(cw_foreign_of_op(checked->nodes[i].op), &checked->nodes[i].out,
                              &node.options);
        cw_graph_builder_add_indexed(builder, &node);
    }
    int rc = cw_graph_builder_finish(builder, ret_graph, err);
    cw_graph_builder_free(builder);
    return rc;
}
