/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse pipelines (docs/pipelines.md): which operators may follow one that changes their number
 * depending on their data, and which of them the client carries out on the rows. */
#ifndef CW_GRAPH_SPARSE_H
#define CW_GRAPH_SPARSE_H

#include "graph/check.h"

struct cw_sparse {
    size_t first; /* the lowest operator that changes the count; SIZE_MAX in a dense pipeline */
    size_t rows;  /* the node whose elements are the rows of an item */
    /* The node whose elements a worker sends: `rows`, or one behind it, if operators work inside items
     * there (docs/decisions/0005-inside-items.md). */
    size_t last;
    int64_t span;  /* the fewest rows of an item that operators inside it ask for; 0: none asks */
    bool whole;    /* what is made inside items are batches */
    int64_t most;  /* the largest group that is made inside an item; 0: there is none */
    int64_t skip;  /* number of rows that are left out at the start of an epoch */
    int64_t take;  /* the most rows that are used after that; -1: all */
    int64_t batch; /* rows of a batch; 0: there is no batch */
    size_t
        pads; /* the node of the batch if it fills rows up, which the client does then; else SIZE_MAX */
    bool drop_remainder;
};
/* Fills *ret_sparse. The nodes have op, opts, inputs and sparse set. Errors name the node and the
 * operator before it. */
int cw_sparse_find(const struct cw_checked *checked, struct cw_sparse *ret_sparse,
                   struct cw_err *err);
/* Does the same to see whether there is such an error, and returns it. *ret_at is then the node, unless the
 * error is none of a node's. */
int cw_sparse_refused(const struct cw_checked *checked, size_t *ret_at, struct cw_err *err);
/* Whether operators work inside items. */
static inline bool cw_sparse_is_inside(const struct cw_sparse *sparse)
{
    return sparse->last != sparse->rows;
}
/* Returns how many positions an item has, from the spec of its rows. It follows from the pipeline alone,
 * since the bounds of items show in tokens, and where operators work inside items in the data. */
int64_t cw_sparse_item(const struct cw_sparse *sparse, const struct cw_spec *rows);
/* Returns the bytes of a row; -1 if they are not known. */
int64_t cw_sparse_row_bytes(const struct cw_spec *spec);

#endif
