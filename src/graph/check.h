/* SPDX-License-Identifier: Apache-2.0 */
/* A checked graph: operators are known, options have types, shapes and dtypes are inferred.
 * Immutable and refcounted. Errors name node, option and reason: `node "crop"
 * (random_resized_crop): option size: ...`. */
#ifndef CW_GRAPH_CHECK_H
#define CW_GRAPH_CHECK_H

#include "base/hash.h"
#include "graph/graph.h"
#include "ops/op.h"

struct cw_checked_node {
    const struct cw_op *op;
    void *opts;
    /* The number of inputs of the graph's node; a source that stands in a chain has none. */
    size_t inputs_n;
    const size_t *inputs;
    /* Only its files say what its elements are, or those of a node that it reads. `out` and `fields` are
     * empty then (cw_graph_check_without_data). */
    bool unknown;
    struct cw_spec out;
    /* Indices of the fields in the input's spec on which a fieldwise operator works. */
    size_t *fields;
    size_t fields_n;
    uint64_t tag;               /* the name of its random stream */
    struct cw_hash fingerprint; /* fingerprint of this node and of everything that it reads */
    bool sparse;                /* the number of its elements depends on data */
    /* An element depends on more than its id: the node, or one that it reads, is random, or zips or
     * batches shuffled inputs (a shuffle alone keeps ids, and does not count). */
    bool random;
    /* Like fingerprint, but for one element with a given id: operators that only choose and order
     * positions (shuffle, take, shard, ...) are left out, and so are cache and mark. */
    struct cw_hash element;
    /* The node is below a `freeze`: random operators draw as in epoch 0, repetition 0. */
    bool frozen;
    const char *uncacheable; /* why its elements cannot be cached; NULL: they can */
    /* Which elements the filter keeps, or how many it makes of each, is found out once, and from then on it is an
     * index operator (graph/surveyable.h); the node that needs it to be so, or it itself, which asks for it. */
    bool surveyed;
    size_t survey_for;
    /* The node is part of the survey of a node behind it: a filter, or a shuffle, which is done behind that
     * filter. */
    bool folded;
    uint64_t order; /* hash of the shuffles through which its positions go; 0: none */
};
struct cw_checked {
    _Atomic int refs;
    struct cw_graph *graph; /* holds one reference */
    struct cw_checked_node *nodes;
    struct cw_hash fingerprint; /* fingerprint of the output node */
};
/* An error if the files of a source must be looked into first (graph/complete.h). */
int cw_graph_check(struct cw_graph *graph, struct cw_checked **ret_checked, struct cw_err *err);
/* Checks what can be checked where the files of such sources are not: nodes behind them are `unknown`. */
int cw_graph_check_without_data(struct cw_graph *graph, struct cw_checked **ret_checked,
                                struct cw_err *err);
struct cw_checked *cw_checked_ref(struct cw_checked *checked);
struct cw_checked *cw_checked_unref(struct cw_checked *checked);

#endif
