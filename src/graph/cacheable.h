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
/* Returns `element` of a node whose inputs have theirs, in the order in which the pipeline is written. */
struct cw_hash cw_element_written(const struct cw_checked *checked, size_t i);
/* Returns it for a node with one input, of which only `before` need be known, and whose canonical options
 * may be others than its own. */
struct cw_hash cw_element_behind(const struct cw_checked_node *node, const char *canon,
                                 struct cw_hash before);
/* Appends the canonical text of an operator's options. */
void cw_canon_options(const struct cw_op *op, const void *opts, struct cw_str *out);

#endif
