/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CW_GRAPH_ORDER_H
#define CW_GRAPH_ORDER_H

#include "graph/graph.h"

/* order[new] = old, inputs before users; of the nodes that are ready the first of the list goes
 * first, a chained one right behind the one that it reads. The last is the output. Names are set,
 * inputs are indices. */
int cw_graph_order(struct cw_node *const *nodes, size_t nodes_n, size_t *order, struct cw_err *err);

#endif
