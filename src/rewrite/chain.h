/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of a pipeline: the nodes that end in the output, back to the source or to where inputs
 * meet. Only what stands in it may be moved, so they are the last nodes of the graph; place 0, the source
 * or the meeting, stays. */
#ifndef CW_REWRITE_CHAIN_H
#define CW_REWRITE_CHAIN_H

#include "graph/check.h"
#include "rewrite/commute.h"

struct cw_chain {
    const struct cw_checked *checked; /* as written; borrowed */
    size_t first;                     /* the node at place 0 */
    size_t n;
    size_t *nodes;           /* at each place; those of the whole chain are first, first + 1, ... */
    struct cw_chain_op *ops; /* at each place */
    const char **fixed;      /* at each place, why the node stays where it is; NULL: it may move */
};
/* Lists the chain of a pipeline, in which what comes to a survey stays; cw_chain_fini frees what belongs to it. */
void cw_chain_list(const struct cw_checked *checked, struct cw_chain *ret_chain);
/* The same for the chain that ends with another node, at most `max` nodes of it; surveys behind that one do
 * not matter. */
void cw_chain_list_behind(const struct cw_checked *checked, size_t last, size_t max,
                          struct cw_chain *ret_chain);
void cw_chain_fini(struct cw_chain *chain);
/* What is known of a node for such questions. */
void cw_chain_op_get(const struct cw_checked *checked, size_t node, struct cw_chain_op *ret_op);
/* Returns NULL if the nodes at places a < b may change sides, whatever stands between them, or why not:
 * a sentence whose subject is the second, "reads a field that the other writes". */
const char *cw_chain_why_not(const struct cw_chain *chain, size_t a, size_t b);

#endif
