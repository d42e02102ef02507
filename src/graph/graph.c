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
