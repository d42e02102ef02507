/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/pin.h"

#include "base/mem.h"

static const struct cw_spec *spec_before(const struct cw_checked *checked, size_t node)
{
    const struct cw_checked_node *it = &checked->nodes[node];

    return it->inputs_n > 0 ? &checked->nodes[it->inputs[0]].out : NULL;
}

static bool pin_options(const struct cw_checked *checked, size_t node, struct cw_value *options)
{
    const struct cw_checked_node *it = &checked->nodes[node];
    const struct cw_spec *in = spec_before(checked, node);

    return !it->op->pin || !in || it->op->pin(it->opts, in, it->fields, it->fields_n, options);
}

bool cw_pin_can(const struct cw_checked *checked, size_t node)
{
    struct cw_value options = {0};

    cw_value_copy(&options, &checked->graph->nodes[node].options);
    bool can = pin_options(checked, node, &options);
    cw_value_fini(&options);
    return can;
}

/* The fields by their names where the node stands; also those that were left to the default. */
static void pin_fields(const struct cw_checked *checked, size_t node, struct cw_node *ret_node)
{
    const struct cw_checked_node *it = &checked->nodes[node];
    const struct cw_spec *in = spec_before(checked, node);

    if (!(it->op->traits & CW_OP_FIELDWISE) || !in)
        return;
    ret_node->fields_n = it->fields_n;
    ret_node->fields = CW_NEW_ARRAY(char *, it->fields_n + 1);
    for (size_t i = 0; i < it->fields_n; i++)
        ret_node->fields[i] = cw_mem_strdup(in->fields[it->fields[i]].name);
}

void cw_pin_node(const struct cw_checked *checked, size_t node, struct cw_node *ret_node)
{
    const struct cw_node *written = &checked->graph->nodes[node];

    *ret_node =
        (struct cw_node){.name = cw_mem_strdup(written->name),
                         .named = true,
                         .op = cw_mem_strdup(written->op),
                         .keep_position = written->keep_position,
                         .depends_n = written->depends_n,
                         .depends_on = cw_node_copy_names(written->depends_on, written->depends_n)};
    cw_value_copy(&ret_node->options, &written->options);
    if (!pin_options(checked, node, &ret_node->options)) {
        cw_value_fini(&ret_node->options);
        cw_value_copy(&ret_node->options, &written->options);
    }
    pin_fields(checked, node, ret_node);
}

void cw_pin_node_in_place(const struct cw_checked *checked, size_t node, struct cw_node *ret_node)
{
    const struct cw_node *written = &checked->graph->nodes[node];

    cw_pin_node(checked, node, ret_node);
    ret_node->chained = written->chained;
    ret_node->inputs_n = written->inputs_n;
    ret_node->inputs = CW_NEW_ARRAY(size_t, written->inputs_n + 1);
    for (size_t k = 0; k < written->inputs_n; k++)
        ret_node->inputs[k] = written->inputs[k];
}

void cw_pin_node_not(const struct cw_checked *checked, size_t node, struct cw_node *ret_node)
{
    cw_node_copy(&checked->graph->nodes[node], ret_node);
    ret_node->named = true;
}

int cw_pin_graph(const struct cw_checked *checked, struct cw_graph **ret_graph, struct cw_err *err)
{
    const struct cw_graph *written = checked->graph;
    struct cw_graph_builder *builder = cw_graph_builder_new(written->name);

    cw_graph_builder_set_identity(builder, written->identity);
    for (size_t i = 0; i < written->n; i++) {
        struct cw_node node;
        cw_pin_node_in_place(checked, i, &node);
        cw_graph_builder_add_indexed(builder, &node);
    }
    int rc = cw_graph_builder_finish(builder, ret_graph, err);
    cw_graph_builder_free(builder);
    return rc;
}
