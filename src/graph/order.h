/* SPDX-License-Identifier: Apache-2.0 */
/* Topological order of a graph. */
#ifndef CW_GRAPH_ORDER_H
#define CW_GRAPH_ORDER_H

#include "graph/graph.h"

/* Sorts nodes topologically: order[new] = old, inputs before users. Among nodes that are ready, the
 * first of the list goes first, and a chained node directly follows the one that it reads. The last
 * node is the output. Names are set, inputs are indices. */
int cw_graph_order(struct cw_node *const *nodes, size_t nodes_n, size_t *order, struct cw_err *err);

#endif
