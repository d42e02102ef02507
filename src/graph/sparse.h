/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse pipelines (docs/pipelines.md): which operators may follow one that leaves out elements
 * depending on their data, and which of them the client carries out on the rows. */
#ifndef CW_GRAPH_SPARSE_H
#define CW_GRAPH_SPARSE_H

#include "graph/check.h"

struct cw_sparse {
    size_t first;  /* the lowest operator that changes the count; SIZE_MAX in a dense pipeline */
    size_t rows;   /* the node whose elements are the rows that a worker sends */
    int64_t skip;  /* number of rows that are left out at the start of an epoch */
    int64_t take;  /* the most rows that are used after that; -1: all */
    int64_t batch; /* rows of a batch; 0: there is no batch */
    bool drop_remainder;
};
/* Fills *ret_sparse. The nodes have op, opts, inputs and sparse set. Errors name the node and the
 * operator before it. */
int cw_sparse_find(const struct cw_checked *checked, struct cw_sparse *ret_sparse,
                   struct cw_err *err);

#endif
