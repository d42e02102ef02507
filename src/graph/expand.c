/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/expand.h"

#include "base/mem.h"
#include "ops/op.h"

/* What stands in the place of a node. */
struct parts {
    struct {
        char *op;
        struct cw_value options;
    } v[CW_STANDS_FOR_MAX];
    size_t n;
};

static void parts_fini(struct parts *parts)
{
    for (size_t k = 0; k < parts->n; k++) {
        cw_mem_free(parts->v[k].op);
        cw_value_fini(&parts->v[k].options);
    }
}

static struct cw_value *add_part(void *arg, const char *op)
{
    struct parts *parts = arg;
    CW_ASSERT(parts->n < CW_STANDS_FOR_MAX);
    parts->v[parts->n].op = cw_mem_strdup(op);
    parts->v[parts->n].options = (struct cw_value){0};
    cw_value_set_object(&parts->v[parts->n].options);
    return &parts->v[parts->n++].options;
}

/* Finds what a node stands for; none if it stands for itself, or is wrong, which cw_graph_check says. */
static int find_parts(const struct cw_node *node, struct parts *parts, struct cw_err *err)
{
    const struct cw_op *op = cw_op_find(node->op);
    if (!op || !op->stands_for)
        return 0;
    cw_autofree void *opts = cw_mem_new(CW_MAX(op->options_bytes, 1));
    if (cw_opt_parse(op->options, &node->options, opts, NULL) < 0)
        return 0;
    int rc = op->stands_for(opts, add_part, parts, err);
    cw_opt_fini(op->options, opts);
    return rc < 0 ? cw_err_wrap(err, "node \"%s\" (%s)", node->name, node->op) : 0;
}

/* A graph while nodes of another one are put into it. */
struct expansion {
    const struct cw_graph *from;
    struct cw_graph_builder *builder;
    size_t *now; /* where the nodes of the old graph are now */
    size_t at;   /* how many nodes there are */
};

static void add(struct expansion *e, struct cw_node *node)
{
    cw_graph_builder_add_indexed(e->builder, node);
    e->at++;
}

/* Adds a node as it is; its inputs are where they are now. */
static void add_same(struct expansion *e, size_t i)
{
    struct cw_node node;
    cw_node_copy(&e->from->nodes[i], &node);
    for (size_t k = 0; k < node.inputs_n; k++)
        node.inputs[k] = e->now[node.inputs[k]];
    e->now[i] = e->at;
    add(e, &node);
}

/* Adds part k of node i, which reads the node before it if it is not the first. */
static void add_one(struct expansion *e, size_t i, struct parts *parts, size_t k)
{
    const struct cw_node *from = &e->from->nodes[i];
    struct cw_node node;
    cw_node_copy(from, &node);
    cw_mem_free(node.op);
    node.op = cw_steal(&parts->v[k].op);
    cw_value_fini(&node.options);
    node.options = parts->v[k].options;
    parts->v[k].options = (struct cw_value){0};
    if (k + 1 < parts->n) {
        cw_mem_free(node.name);
        node.name = cw_mem_printf("%s_%s", from->name, node.op);
    }
    if (k > 0) {
        cw_mem_free(node.inputs);
        node.inputs = CW_NEW(size_t);
        node.inputs_n = 1;
    }
    node.chained = node.inputs_n == 1 && e->at > 0;
    if (node.chained)
        node.inputs[0] = e->at - 1;
    add(e, &node);
    e->now[i] = e->at - 1;
}

/* Whether node i + 1 permutes what node i gives, and nobody else reads that. */
static bool is_permuted(const struct cw_graph *graph, size_t i)
{
    size_t readers = 0;
    for (size_t k = i + 1; k < graph->n; k++)
        for (size_t in = 0; in < graph->nodes[k].inputs_n; in++)
            readers += graph->nodes[k].inputs[in] == i;
    if (readers != 1 || graph->nodes[i + 1].inputs_n != 1 || graph->nodes[i + 1].inputs[0] != i)
        return false;
    const struct cw_op *op = cw_op_find(graph->nodes[i + 1].op);
    return op && (op->traits & CW_OP_PERMUTES);
}

/* Adds node i, or what it stands for. *ret_n: how many nodes of the old graph are done. */
static int add_node(struct expansion *e, size_t i, size_t *ret_n, struct cw_err *err)
{
    struct parts parts = {0};
    int rc = find_parts(&e->from->nodes[i], &parts, err);
    *ret_n = 1;
    if (rc == 0 && parts.n == 0)
        add_same(e, i);
    for (size_t k = 0; rc == 0 && k < parts.n; k++) {
        add_one(e, i, &parts, k);
        if (k == 0 && is_permuted(e->from, i)) {
            add_same(e, i + 1);
            *ret_n = 2;
        }
    }
    for (size_t k = 1; k < *ret_n; k++)
        e->now[i + k] = e->now[i];
    parts_fini(&parts);
    return rc;
}

static int is_expanded(const struct cw_graph *graph, bool *ret_is, struct cw_err *err)
{
    int rc = 0;
    *ret_is = true;
    for (size_t i = 0; rc == 0 && *ret_is && i < graph->n; i++) {
        struct parts parts = {0};
        rc = find_parts(&graph->nodes[i], &parts, err);
        *ret_is = parts.n == 0;
        parts_fini(&parts);
    }
    return rc;
}

int cw_graph_expand(struct cw_graph *graph, struct cw_graph **ret_graph, struct cw_err *err)
{
    bool expanded = true;
    int rc = is_expanded(graph, &expanded, err);
    if (rc < 0)
        return rc;
    if (expanded) {
        *ret_graph = cw_graph_ref(graph);
        return 0;
    }
    cw_autofree size_t *now = CW_NEW_ARRAY(size_t, graph->n);
    struct expansion e = {.from = graph, .builder = cw_graph_builder_new(graph->name), .now = now};
    cw_graph_builder_set_identity(e.builder, graph->identity);
    for (size_t i = 0, n; rc == 0 && i < graph->n; i += n)
        rc = add_node(&e, i, &n, err);
    if (rc == 0)
        rc = cw_graph_builder_finish(e.builder, ret_graph, err);
    cw_graph_builder_free(e.builder);
    return rc;
}
