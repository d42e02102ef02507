/* SPDX-License-Identifier: Apache-2.0 */
/* Which fields of a source are wanted, by what the operators behind it say (ops/op_names.h). */
#ifndef CW_GRAPH_WANTED_H
#define CW_GRAPH_WANTED_H

#include "graph/graph.h"
#include "ops/op_names.h"

/* Follows the chain of operators from a node to one that leaves fields out. Returns false, and nothing to
 * free, if there is none, or an operator before it may read any field: then all are wanted. */
bool cw_graph_wanted(const struct cw_graph *graph, size_t node, struct cw_op_names *ret_names);

#endif
