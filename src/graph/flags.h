/* SPDX-License-Identifier: Apache-2.0 */
/* What a node's place in the graph says of it: `sparse`, `random` and `order` of graph/check.h. */
#ifndef CW_GRAPH_FLAGS_H
#define CW_GRAPH_FLAGS_H

#include "graph/check.h"

/* Sets these of all nodes; op, opts, inputs, frozen, surveyed and folded are set before. It may be done
 * again. */
void cw_flags_find(struct cw_checked *checked);

#endif
