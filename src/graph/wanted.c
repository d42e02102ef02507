/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/wanted.h"

#include "base/mem.h"
#include "ops/op.h"

/* Returns the only reader of a node; SIZE_MAX if there are several, or none. */
static size_t only_reader(const struct cw_graph *graph, size_t node)
{
    size_t reader = SIZE_MAX;
    for (size_t i = node + 1; i < graph->n; i++)
        for (size_t k = 0; k < graph->nodes[i].inputs_n; k++) {
            if (graph->nodes[i].inputs[k] != node)
                continue;
            if (reader != SIZE_MAX)
                return SIZE_MAX;
            reader = i;
        }
    return reader;
}

static bool ask(const struct cw_op *op, const struct cw_node *node, struct cw_op_names *names)
{
    void *opts = cw_mem_new(CW_MAX(op->options_bytes, 1));
    bool is_known = cw_opt_parse(op->options, &node->options, opts, NULL) == 0;
    if (is_known) {
        is_known = op->names(opts, names);
        cw_opt_fini(op->options, opts);
    }
    cw_mem_free(opts);
    return is_known;
}

/* Adds what an operator reads and leaves. Returns false if it may read any field. */
static bool pass(const struct cw_node *node, struct cw_op_names *names)
{
    const struct cw_op *op = cw_op_find_for(node->op, &node->options);
    if (!op || node->inputs_n != 1)
        return false;
    if (op->kind == CW_OP_INDEX || (op->traits & (CW_OP_CACHE | CW_OP_MARK)))
        return true;
    for (size_t k = 0; k < node->fields_n; k++)
        cw_op_names_add(names, node->fields[k]);
    if (op->traits & CW_OP_FIELDWISE)
        return node->fields_n > 0;
    return op->names && ask(op, node, names);
}

bool cw_graph_wanted(const struct cw_graph *graph, size_t node, struct cw_op_names *ret_names)
{
    struct cw_op_names names = {0};
    bool is_known = true;
    while (is_known && !names.ends) {
        node = only_reader(graph, node);
        is_known = node != SIZE_MAX && pass(&graph->nodes[node], &names);
    }
    if (is_known)
        *ret_names = names;
    else
        cw_op_names_fini(&names);
    return is_known;
}
