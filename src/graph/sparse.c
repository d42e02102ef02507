/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the part of a sparse pipeline that the client carries out, and refuses what cannot be
 * computed. */
#include "graph/sparse.h"

#include "graph/cacheable.h"

/* A very large number of elements, for asking an index operator what it does to a stream of unknown
 * length. */
#define MANY (INT64_C(1) << 62)

static int refuse(const struct cw_checked *checked, size_t i, size_t first, const char *why,
                  struct cw_err *err)
{
    const struct cw_node *node = &checked->graph->nodes[i], *before = &checked->graph->nodes[first];
    return cw_err_set(
        err, CW_E_UNSUPPORTED,
        "node \"%s\" (%s): %s, because \"%s\" (%s) before it leaves out elements depending on data",
        node->name, node->op, why, before->name, before->op);
}

/* Whether the operator only leaves out elements at both ends (take, skip), and how many. */
static bool is_cut(const struct cw_checked_node *node, int64_t *ret_skip, int64_t *ret_take)
{
    const struct cw_op *op = node->op;
    int64_t in_n = MANY, n = 0;
    if (!(op->traits & CW_OP_AFFINE) || op->open ||
        op->count(node->opts, NULL, &in_n, 1, &n, NULL) < 0)
        return false;
    struct cw_at at = {.in_n = &in_n, .n = n};
    size_t input = 0;
    int64_t skip = op->map(node->opts, NULL, &at, 0, &input);
    if (op->map(node->opts, NULL, &at, 1, &input) != skip + 1 || skip < 0)
        return false;
    *ret_skip = skip;
    *ret_take = n < MANY - skip ? n : -1;
    return true;
}

/* Adds one more cut behind those found so far. It is counted in rows, so cuts of batches are
 * multiplied. */
static void add_cut(struct cw_sparse *sparse, int64_t skip, int64_t take)
{
    int64_t rows = sparse->batch ? sparse->batch : 1;
    skip = skip < MANY / rows ? skip * rows : MANY;
    take = take >= 0 && take < MANY / rows ? take * rows : -1;
    if (sparse->take >= 0) {
        skip = CW_MIN(skip, sparse->take);
        sparse->take -= skip;
    }
    sparse->skip = CW_MIN(sparse->skip + skip, MANY);
    if (take >= 0)
        sparse->take = sparse->take < 0 ? take : CW_MIN(sparse->take, take);
}

static bool is_cut_already(const struct cw_sparse *sparse)
{
    return sparse->skip || sparse->take >= 0;
}

static int add_index(const struct cw_checked *checked, size_t i, struct cw_sparse *sparse,
                     struct cw_err *err)
{
    const struct cw_checked_node *node = &checked->nodes[i];
    int64_t skip, take;
    if (node->op->traits & CW_OP_PERMUTES) {
        if (sparse->batch)
            return refuse(checked, i, sparse->first, "batches cannot be permuted", err);
        if (is_cut_already(sparse))
            return refuse(checked, i, sparse->first, "cannot stand after take or skip", err);
        sparse->rows = i;
        return 0;
    }
    if (node->inputs_n == 1 && is_cut(node, &skip, &take)) {
        add_cut(sparse, skip, take);
        return 0;
    }
    return refuse(checked, i, sparse->first, "needs to know how many elements come in", err);
}

static int add_element(const struct cw_checked *checked, size_t i, struct cw_sparse *sparse,
                       struct cw_err *err)
{
    const struct cw_op *op = checked->nodes[i].op;
    if (cw_passes_by(op)) {
        sparse->rows = sparse->batch ? sparse->rows : i;
        return 0;
    }
    if (sparse->batch)
        return refuse(checked, i, sparse->first,
                      "cannot work on whole batches; put it before the batch", err);
    if ((op->traits & CW_OP_CHANGES_COUNT) && is_cut_already(sparse))
        return refuse(checked, i, sparse->first, "cannot stand after take or skip", err);
    sparse->rows = i;
    return 0;
}

static int add_node(const struct cw_checked *checked, size_t i, struct cw_sparse *sparse,
                    struct cw_err *err)
{
    const struct cw_checked_node *node = &checked->nodes[i];
    switch (node->op->kind) {
    case CW_OP_INDEX:
        return add_index(checked, i, sparse, err);
    case CW_OP_ELEMENT:
        return add_element(checked, i, sparse, err);
    case CW_OP_GROUP:
        if (sparse->batch)
            return refuse(checked, i, sparse->first, "a second batch is not possible", err);
        if (node->op->group_pad)
            return refuse(
                checked, i, sparse->first,
                "cannot fill up rows, since the trainer's process cuts these batches; use "
                "batch with `ragged`",
                err);
        sparse->batch = node->op->group_size(node->opts);
        sparse->drop_remainder = node->op->group_drops(node->opts);
        return 0;
    case CW_OP_SOURCE:
        break;
    }
    return cw_err_set(err, CW_E_INTERNAL, "source with an input");
}

int cw_sparse_find(const struct cw_checked *checked, struct cw_sparse *ret_sparse,
                   struct cw_err *err)
{
    struct cw_sparse sparse = {.first = SIZE_MAX, .take = -1};
    for (size_t i = 0; i < checked->graph->n; i++) {
        if (!checked->nodes[i].sparse)
            continue;
        int rc = 0;
        if (sparse.first != SIZE_MAX && checked->nodes[i].inputs_n == 1 &&
            checked->nodes[checked->nodes[i].inputs[0]].sparse) {
            rc = add_node(checked, i, &sparse, err);
        } else if (sparse.first == SIZE_MAX &&
                   (checked->nodes[i].op->traits & CW_OP_CHANGES_COUNT)) {
            sparse.first = sparse.rows = i;
        } else {
            /* There are two filters in separate branches, or several inputs: the node that joins
             * them is refused. */
            if (checked->nodes[i].inputs_n > 1 || sparse.first == SIZE_MAX)
                rc = refuse(checked, i, sparse.first == SIZE_MAX ? i : sparse.first,
                            "needs to know how many elements come in", err);
        }
        if (rc)
            return rc;
    }
    *ret_sparse = sparse;
    return 0;
}
