/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a sorted graph from a list of nodes that refer to each other by name. The list may have
 * any order; a chained node stays directly behind the one that it reads, so that a printed chain is
 * a chain again. */
#include "base/map.h"
#include "base/mem.h"
#include "graph/graph.h"
#include "graph/order.h"

#define BUILDER_EDGES_MAX 16384

struct draft {
    struct cw_node node;
    char **inputs; /* names; NULL for a node whose inputs are indices, or that is chained */
    size_t inputs_n;
    bool indexed;
};

struct cw_graph_builder {
    char *name;
    enum cw_identity identity;
    struct draft *v;
    size_t n, cap;
    size_t edges;
    struct cw_err err; /* the first error */
};

struct cw_graph_builder *cw_graph_builder_new(const char *name)
{
    struct cw_graph_builder *builder = CW_NEW(struct cw_graph_builder);
    builder->name = cw_mem_strdup(name ? name : "");
    return builder;
}

void cw_graph_builder_free(struct cw_graph_builder *builder)
{
    if (!builder)
        return;
    for (size_t i = 0; i < builder->n; i++) {
        struct draft *draft = &builder->v[i];
        for (size_t k = 0; draft->inputs && k < draft->inputs_n; k++)
            cw_mem_free(draft->inputs[k]);
        cw_mem_free(draft->inputs);
        cw_node_fini(&draft->node);
    }
    cw_mem_free(builder->v);
    cw_mem_free(builder->name);
    cw_mem_free(builder);
}

void cw_graph_builder_set_identity(struct cw_graph_builder *builder, enum cw_identity identity)
{
    builder->identity = identity;
}

static bool name_ok(const char *name)
{
    size_t n = 0;
    for (; name[n]; n++) {
        if ((unsigned char)name[n] < 0x20 || name[n] == 0x7f || name[n] == '"' ||
            n >= CW_GRAPH_NAME_BYTES)
            return false;
    }
    return n > 0;
}

/* Appends how an error message names a node that may have no name yet. */
static void node_text(const struct cw_node *node, size_t i, struct cw_str *out)
{
    if (node->name)
        cw_str_addf(out, "node \"%s\" (%s)", node->name, node->op ? node->op : "?");
    else
        cw_str_addf(out, "node %zu (%s)", i + 1, node->op ? node->op : "?");
}

static int check_names(const struct cw_node *node, size_t i, size_t inputs_n, struct cw_err *err)
{
    const char *bad = NULL;
    if (!node->op || !name_ok(node->op))
        return cw_err_set(err, CW_E_INVALID, "node %zu: op must be a name of 1 to %d characters",
                          i + 1, CW_GRAPH_NAME_BYTES);
    if (node->name && !name_ok(node->name))
        return cw_err_set(
            err, CW_E_INVALID,
            "node %zu (%s): name must have 1 to %d characters, no quotes or control characters",
            i + 1, node->op, CW_GRAPH_NAME_BYTES);
    for (size_t k = 0; k < node->fields_n && !bad; k++)
        bad = name_ok(node->fields[k]) ? NULL : "fields";
    for (size_t k = 0; k < node->depends_n && !bad; k++)
        bad = name_ok(node->depends_on[k]) ? NULL : "depends_on";
    if (node->fields_n > CW_GRAPH_NODES_MAX || node->depends_n > CW_GRAPH_NODES_MAX ||
        inputs_n > CW_GRAPH_NODES_MAX)
        bad = "fields, inputs or depends_on (too long)";
    CW_STR_AUTO where = {0};
    node_text(node, i, &where);
    if (bad)
        return cw_err_set(err, CW_E_INVALID, "%s: %s: not a list of names", cw_str_text(&where),
                          bad);
    if (node->options.type != CW_VALUE_OBJECT && node->options.type != CW_VALUE_NULL)
        return cw_err_set(err, CW_E_INVALID, "%s: options must be an object", cw_str_text(&where));
    return 0;
}

/* Appends a node; takes *node. Returns NULL if the builder has failed before, or fails now. */
static struct draft *append(struct cw_graph_builder *builder, struct cw_node *node, size_t inputs_n)
{
    int rc = builder->err.code;
    if (!rc && builder->n >= CW_GRAPH_NODES_MAX)
        rc = cw_err_set(&builder->err, CW_E_LIMIT, "pipeline has more than %d nodes",
                        CW_GRAPH_NODES_MAX);
    if (!rc)
        rc = check_names(node, builder->n, inputs_n, &builder->err);
    if (!rc && (builder->edges += inputs_n) > BUILDER_EDGES_MAX)
        rc = cw_err_set(&builder->err, CW_E_LIMIT, "pipeline has more than %d inputs",
                        BUILDER_EDGES_MAX);
    if (rc) {
        cw_node_fini(node);
        return NULL;
    }
    CW_GROW(builder->v, builder->n, builder->cap);
    struct draft *draft = &builder->v[builder->n++];
    *draft = (struct draft){.node = *node, .inputs_n = inputs_n};
    *node = (struct cw_node){0};
    draft->node.named = draft->node.name != NULL;
    if (draft->node.options.type == CW_VALUE_NULL)
        cw_value_set_object(&draft->node.options);
    return draft;
}

void cw_graph_builder_add(struct cw_graph_builder *builder, struct cw_node *node,
                          const char *const *inputs, size_t inputs_n)
{
    struct draft *draft = append(builder, node, inputs ? inputs_n : 0);
    if (!draft)
        return;
    cw_mem_free(draft->node.inputs);
    draft->node.inputs = NULL;
    draft->node.inputs_n = 0;
    draft->node.chained = !inputs && builder->n > 1;
    if (!draft->inputs_n)
        return;
    draft->inputs = CW_NEW_ARRAY(char *, inputs_n);
    for (size_t k = 0; k < inputs_n; k++)
        draft->inputs[k] = cw_mem_strdup(inputs[k]);
}

void cw_graph_builder_add_indexed(struct cw_graph_builder *builder, struct cw_node *node)
{
    size_t i = builder->n;
    bool named = node->named;
    struct draft *draft = append(builder, node, node->inputs_n);
    if (!draft)
        return;
    draft->indexed = true;
    draft->node.named = named && draft->node.name;
    struct cw_node *mine = &draft->node;
    for (size_t k = 0; k < mine->inputs_n; k++)
        if (mine->inputs[k] >= i)
            cw_err_set(&builder->err, CW_E_INVALID,
                       "node %zu (%s): input %zu is not an earlier node", i + 1, mine->op,
                       mine->inputs[k]);
    if (mine->chained && (mine->inputs_n != 1 || mine->inputs[0] != i - 1))
        cw_err_set(&builder->err, CW_E_INVALID,
                   "node %zu (%s): chained to another node than the one before", i + 1, mine->op);
}

/* Makes a name for a node: "decode_image", "decode_image_2", ...: the first that is not used. */
static void make_name(struct cw_strmap *names, struct cw_strmap *used, struct cw_node *node)
{
    uintptr_t k = (uintptr_t)cw_strmap_get(used, node->op);
    do {
        k++;
        cw_mem_free(node->name);
        node->name =
            k == 1 ? cw_mem_strdup(node->op) : cw_mem_printf("%s_%zu", node->op, (size_t)k);
    } while (cw_strmap_get(names, node->name));
    /* The next number is remembered, so that a thousand equal nodes do not cost a million
     * look-ups. */
    cw_strmap_set(used, node->op, (void *)k);
}

/* Gives every node a name. names maps a node's name to its index + 1. Given names are entered
 * first, so that a made name is never one of them. */
static int name_nodes(struct cw_graph_builder *builder, struct cw_strmap *names, struct cw_err *err)
{
    for (size_t i = 0; i < builder->n; i++) {
        struct cw_node *node = &builder->v[i].node;
        if (!node->name)
            continue;
        if (cw_strmap_set(names, node->name, (void *)(uintptr_t)(i + 1)))
            return cw_err_set(err, CW_E_INVALID, "node \"%s\" (%s): another node has this name",
                              node->name, node->op);
    }
    struct cw_strmap used = {0};
    for (size_t i = 0; i < builder->n; i++) {
        struct cw_node *node = &builder->v[i].node;
        if (node->name)
            continue;
        make_name(names, &used, node);
        cw_strmap_set(names, node->name, (void *)(uintptr_t)(i + 1));
    }
    cw_strmap_fini(&used);
    return 0;
}

static int unknown_name(const struct cw_graph_builder *builder, const struct cw_node *node,
                        const char *key, const char *name, struct cw_err *err)
{
    cw_autofree const char **all = CW_NEW_ARRAY(const char *, builder->n + 1);
    for (size_t i = 0; i < builder->n; i++)
        all[i] = builder->v[i].node.name;
    const char *near = cw_str_nearest(name, all);
    return cw_err_set(err, CW_E_INVALID, "node \"%s\" (%s): %s: no node is called \"%s\"%s%s%s",
                      node->name, node->op, key, name, near ? "; did you mean \"" : "",
                      near ? near : "", near ? "\"?" : "");
}

/* Resolves the name of an input. A name that others use is part of the pipeline from here on, even
 * if it was made. */
static bool refer(struct cw_graph_builder *builder, const struct cw_strmap *names, const char *name,
                  size_t *ret_i)
{
    uintptr_t at = (uintptr_t)cw_strmap_get(names, name);
    if (!at)
        return false;
    builder->v[at - 1].node.named = true;
    if (ret_i)
        *ret_i = at - 1;
    return true;
}

static int resolve(struct cw_graph_builder *builder, const struct cw_strmap *names,
                   struct cw_err *err)
{
    for (size_t i = 0; i < builder->n; i++) {
        struct draft *draft = &builder->v[i];
        struct cw_node *node = &draft->node;
        for (size_t k = 0; k < node->depends_n; k++)
            if (!refer(builder, names, node->depends_on[k], NULL))
                return unknown_name(builder, node, "depends_on", node->depends_on[k], err);
        if (draft->indexed) {
            for (size_t k = 0; k < node->inputs_n && !node->chained; k++)
                builder->v[node->inputs[k]].node.named = true;
            continue;
        }
        node->inputs_n = node->chained ? 1 : draft->inputs_n;
        node->inputs = CW_NEW_ARRAY(size_t, node->inputs_n + 1);
        if (node->chained)
            node->inputs[0] = i - 1;
        for (size_t k = 0; k < draft->inputs_n; k++) {
            if (!refer(builder, names, draft->inputs[k], &node->inputs[k]))
                return unknown_name(builder, node, "inputs", draft->inputs[k], err);
        }
    }
    return 0;
}

static struct cw_graph *take_graph(struct cw_graph_builder *builder, const size_t *order)
{
    struct cw_graph *graph = CW_NEW(struct cw_graph);
    graph->refs = 1;
    graph->name = builder->name;
    builder->name = NULL;
    graph->identity = builder->identity;
    graph->n = builder->n;
    graph->nodes = CW_NEW_ARRAY(struct cw_node, graph->n);
    cw_autofree size_t *at = CW_NEW_ARRAY(size_t, graph->n);
    bool moved = false;
    for (size_t i = 0; i < graph->n; i++) {
        at[order[i]] = i;
        moved = moved || order[i] != i;
    }
    for (size_t i = 0; i < graph->n; i++) {
        struct cw_node *node = &graph->nodes[i];
        *node = builder->v[order[i]].node;
        builder->v[order[i]].node = (struct cw_node){0};
        /* Made names count in the order of the list, which has changed. */
        node->named = node->named || moved;
        for (size_t k = 0; k < node->inputs_n; k++)
            node->inputs[k] = at[node->inputs[k]];
    }
    return graph;
}

int cw_graph_builder_finish(struct cw_graph_builder *builder, struct cw_graph **ret_graph,
                            struct cw_err *err)
{
    if (builder->err.code) {
        if (err)
            *err = builder->err;
        return builder->err.code;
    }
    if (!builder->n)
        return cw_err_set(err, CW_E_INVALID, "pipeline has no nodes, so it has no output");
    struct cw_strmap names = {0};
    cw_autofree size_t *order = CW_NEW_ARRAY(size_t, builder->n);
    int rc = name_nodes(builder, &names, err);
    if (!rc)
        rc = resolve(builder, &names, err);
    cw_strmap_fini(&names);
    cw_autofree struct cw_node **nodes = CW_NEW_ARRAY(struct cw_node *, builder->n);
    for (size_t i = 0; i < builder->n; i++)
        nodes[i] = &builder->v[i].node;
    if (!rc)
        rc = cw_graph_order(nodes, builder->n, order, err);
    if (!rc)
        *ret_graph = take_graph(builder, order);
    return rc;
}
