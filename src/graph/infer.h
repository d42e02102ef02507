/* SPDX-License-Identifier: Apache-2.0 */
/* Infers the spec of a node from the specs of its inputs, and the fields on which it works. This is
 * used when a graph is checked, and again when a plan has opened its sources and knows more about
 * their elements. */
#ifndef CW_GRAPH_INFER_H
#define CW_GRAPH_INFER_H

#include "graph/check.h"

/* Fills the node's out, fields and fields_n; op and opts are set before. `in` has one spec for each
 * input. */
/* Frees what cw_infer_node has set: `out` and `fields`. */
void cw_inferred_fini(struct cw_checked_node *checked);
int cw_infer_node(const struct cw_node *node, const struct cw_spec *in, size_t in_n,
                  struct cw_checked_node *checked, struct cw_err *err);

#endif
