/* SPDX-License-Identifier: Apache-2.0 */
/* Making and freeing graphs and their nodes. */
#include "graph/graph.h"

#include "base/mem.h"
#include <stdatomic.h>

static void free_strings(char **v, size_t n)
{
    for (size_t i = 0; v && i < n; i++)
        cw_mem_free(v[i]);
    cw_mem_free(v);
}

char **cw_node_copy_names(char *const *names, size_t n)
{
    char **copy = CW_NEW_ARRAY(char *, n + 1);
    for (size_t i = 0; i < n; i++)
        copy[i] = cw_mem_strdup(names[i]);
    return copy;
}

void cw_node_fini(struct cw_node *node)
{
    if (!node)
        return;
    cw_mem_free(node->name);
    cw_mem_free(node->op);
    cw_mem_free(node->inputs);
    free_strings(node->fields, node->fields_n);
    free_strings(node->depends_on, node->depends_n);
    cw_value_fini(&node->options);
    *node = (struct cw_node){0};
}

struct cw_graph *cw_graph_ref(struct cw_graph *graph)
{
    atomic_fetch_add_explicit(&graph->refs, 1, memory_order_relaxed);
    return graph;
}

struct cw_graph *cw_graph_unref(struct cw_graph *graph)
{
    if (!graph || atomic_fetch_sub_explicit(&graph->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    for (size_t i = 0; i < graph->n; i++)
        cw_node_fini(&graph->nodes[i]);
    cw_mem_free(graph->nodes);
    cw_mem_free(graph->name);
    cw_mem_free(graph);
    return NULL;
}

void cw_node_copy(const struct cw_node *from, struct cw_node *ret_node)
{
    *ret_node =
        (struct cw_node){.name = cw_mem_strdup(from->name),
                         .named = from->named,
                         .op = cw_mem_strdup(from->op),
                         .inputs_n = from->inputs_n,
                         .inputs = CW_NEW_ARRAY(size_t, from->inputs_n + 1),
                         .chained = from->chained,
                         .fields_n = from->fields_n,
                         .fields = cw_node_copy_names(from->fields, from->fields_n),
                         .keep_position = from->keep_position,
                         .depends_n = from->depends_n,
                         .depends_on = cw_node_copy_names(from->depends_on, from->depends_n)};
    for (size_t k = 0; k < from->inputs_n; k++)
        ret_node->inputs[k] = from->inputs[k];
    cw_value_copy(&ret_node->options, &from->options);
}
