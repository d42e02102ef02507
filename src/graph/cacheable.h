/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the nodes whose elements are a function of their ids, so that they may be cached
 * (docs/cache.md). An id is the element's position in its source; behind a batch or a zip, its
 * position there. */
#ifndef CW_GRAPH_CACHEABLE_H
#define CW_GRAPH_CACHEABLE_H

#include "graph/check.h"

/* Whether the operator leaves elements as they are and is never called: cache and mark. */
static inline bool cw_passes_by(const struct cw_op *op)
{
    return (op->traits & (CW_OP_CACHE | CW_OP_MARK)) != 0;
}
/* Whether the node is a `freeze`. */
bool cw_freezes(const struct cw_checked_node *node);

/* Sets `frozen` of all nodes, whose operators and options are set already. Errors: a random node
 * that is read both through a `freeze` and around it. */
int cw_frozen_find(struct cw_checked *checked, struct cw_err *err);
/* Sets `element` and `uncacheable` of all nodes, whose other members are set already. Errors: a
 * `cache` where nothing can be cached, a `mark` without a name. */
int cw_cacheable_find(struct cw_checked *checked, struct cw_err *err);

#endif
