/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that stand for several: a source of which the options ask for another way to read
 * (`stands_for` in ops/op.h). It is done once, where a pipeline comes in, so that everybody else works
 * with the nodes that are computed. */
#ifndef CW_GRAPH_EXPAND_H
#define CW_GRAPH_EXPAND_H

#include "graph/graph.h"

/* *ret_graph is a new reference, to the same graph if no node stands for others. The last of the nodes in its place
 * has the node's name; those before it have that and the name of their operator. A shuffle right behind it permutes
 * the positions of the first of them, since those of the others are not known. */
int cw_graph_expand(struct cw_graph *graph, struct cw_graph **ret_graph, struct cw_err *err);

#endif
