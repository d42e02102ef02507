/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse pipelines: what may stand after an operator that leaves out elements depending on data
 * (docs/pipelines.md), and what of it the client does with the rows. */
#ifndef CW_GRAPH_SPARSE_H
#define CW_GRAPH_SPARSE_H

#include "graph/check.h"

struct cw_sparse {
    size_t first;  /* the lowest operator that changes the count; SIZE_MAX in a dense pipeline */
    size_t rows;   /* the node whose elements are the rows that a worker sends */
    int64_t skip;  /* of all rows of an epoch the first so many are left out, */
    int64_t take;  /* then at most so many kept, -1 = all, */
    int64_t batch; /* and so many make a batch; 0 = none */
    bool drop_remainder;
};
/* Nodes have op, opts, inputs and sparse set. Errors name the node and the operator before it. */
int cw_sparse_find(const struct cw_checked *checked, struct cw_sparse *ret_sparse,
                   struct cw_err *err);

#endif
