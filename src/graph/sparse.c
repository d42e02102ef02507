/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the part of a sparse pipeline that the client carries out, and refuses what cannot be
 * computed. */
#include "graph/sparse.h"

#include "graph/cacheable.h"

/* A very large number of elements, for asking an index operator what it does to a stream of unknown
 * length. */
#define MANY (INT64_C(1) << 62)
/* Bytes of the rows of an item: enough to be worth a message, and few enough that items stay
 * small. Where operators work inside an item, it should hold many of the elements that they make. */
#define ITEM_BYTES (INT64_C(256) << 10)
#define ITEM_ROWS_MAX 16384
#define INSIDE_BYTES (INT64_C(16) << 20)
#define INSIDE_ROWS 1024
#define INSIDE_GROUPS 4

int64_t cw_sparse_row_bytes(const struct cw_spec *spec)
{
    int64_t sum = 0;
    for (size_t i = 0; i < spec->n; i++) {
        int64_t bytes = cw_field_bytes(&spec->fields[i]);
        if (bytes < 0 || bytes > INT64_MAX / CW_FIELDS_MAX)
            return -1;
        sum += bytes;
    }
    return sum;
}

static bool rows_stack(const struct cw_spec *spec)
{
    for (size_t i = 0; i < spec->n; i++) {
        const struct cw_field *field = &spec->fields[i];
        if (!(field->dtype == CW_DTYPE_STR && !field->rank) && !cw_field_is_fixed(field))
            return false;
    }
    return true;
}

static int64_t inside_rows(const struct cw_sparse *sparse, int64_t bytes)
{
    int64_t rows = bytes < 0 ? INSIDE_ROWS : CW_MIN(INSIDE_BYTES / CW_MAX(bytes, 1), ITEM_ROWS_MAX);
    if (sparse->span > 0)
        return sparse->span;
    return CW_MAX(CW_MAX(rows, INSIDE_GROUPS * sparse->most), 1);
}

int64_t cw_sparse_item(const struct cw_sparse *sparse, const struct cw_spec *spec)
{
    int64_t bytes = cw_sparse_row_bytes(spec);
    if (cw_sparse_is_inside(sparse))
        return inside_rows(sparse, bytes);
    if (!sparse->batch && !rows_stack(spec))
        return 1; /* rows of different shapes cannot travel in one output */
    int64_t rows = bytes < 0 ? 16 : ITEM_BYTES / CW_MAX(bytes, 1);
    return CW_MIN(CW_MAX(CW_MAX(rows, sparse->batch), 1), ITEM_ROWS_MAX);
}

static int refuse(const struct cw_checked *checked, size_t i, size_t first, const char *why,
                  struct cw_err *err)
{
    const struct cw_node *node = &checked->graph->nodes[i], *before = &checked->graph->nodes[first];
    return cw_err_set(
        err, CW_E_UNSUPPORTED,
        "node \"%s\" (%s): %s, because \"%s\" (%s) before it makes their number depend on data",
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

/* The node is computed by a worker. */
static void add_worker(struct cw_sparse *sparse, size_t i)
{
    if (!cw_sparse_is_inside(sparse))
        sparse->rows = i;
    sparse->last = i;
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
        if (cw_sparse_is_inside(sparse))
            return refuse(checked, i, sparse->first,
                          "cannot permute what is made inside items; put it before that", err);
        add_worker(sparse, i);
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
        if (!sparse->batch)
            add_worker(sparse, i);
        return 0;
    }
    if (sparse->batch)
        return refuse(
            checked, i, sparse->first,
            "cannot work on whole batches, which the trainer's process cuts; put it before "
            "the batch, or say within: \"item\" there",
            err);
    if ((op->traits & CW_OP_CHANGES_COUNT) && is_cut_already(sparse))
        return refuse(checked, i, sparse->first, "cannot stand after take or skip", err);
    add_worker(sparse, i);
    return 0;
}

/* Rows of one item lie in one tensor a field, which cannot have rows of different shapes, or batches of lists
 * of strings, as its rows. */
static int check_inside(const struct cw_checked *checked, size_t i, struct cw_err *err)
{
    const struct cw_spec *spec = &checked->nodes[i].out;
    for (size_t f = 0; f < spec->n; f++) {
        const struct cw_field *field = &spec->fields[f];
        if ((field->dtype == CW_DTYPE_STR && field->rank > 1) || cw_field_is_ragged(field))
            return cw_err_set(
                err, CW_E_UNSUPPORTED,
                "node \"%s\" (%s): field \"%s\": batches of %s cannot be made inside "
                "items; leave it out before, or make numbers of it",
                checked->graph->nodes[i].name, checked->graph->nodes[i].op, field->name,
                field->dtype == CW_DTYPE_STR ? "lists of strings" : "rows of different shapes");
    }
    return 0;
}

static int add_inside(const struct cw_checked *checked, size_t i, struct cw_sparse *sparse,
                      struct cw_err *err)
{
    const struct cw_checked_node *node = &checked->nodes[i];
    if (is_cut_already(sparse))
        return refuse(checked, i, sparse->first, "cannot stand after take or skip", err);
    sparse->last = i;
    sparse->whole = node->op->group_size || node->op->joins;
    if (node->op->span)
        sparse->span = CW_MAX(sparse->span, node->op->span(node->opts));
    if (node->op->group_size)
        sparse->most = CW_MAX(sparse->most, node->op->group_size(node->opts));
    return check_inside(checked, i, err);
}

static int add_group(const struct cw_checked *checked, size_t i, struct cw_sparse *sparse,
                     struct cw_err *err)
{
    const struct cw_checked_node *node = &checked->nodes[i];
    if (sparse->batch)
        return refuse(checked, i, sparse->first,
                      "a second batch is not possible behind one that the trainer's process cuts; "
                      "say within: "
                      "\"item\" at that one",
                      err);
    if (cw_op_is_inside(node->op, node->opts, true))
        return add_inside(checked, i, sparse, err);
    if (node->op->group_pad)
        sparse->pads = i;
    sparse->batch = node->op->group_size(node->opts);
    sparse->drop_remainder = node->op->group_drops(node->opts);
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
        return add_group(checked, i, sparse, err);
    case CW_OP_SOURCE:
        break;
    }
    return cw_err_set(err, CW_E_INTERNAL, "source with an input");
}

/* The first operator that changes the count. */
static int begin(const struct cw_checked *checked, size_t i, struct cw_sparse *sparse,
                 struct cw_err *err)
{
    bool group = checked->nodes[i].op->kind == CW_OP_GROUP;
    sparse->first = i;
    sparse->rows = sparse->last = group ? checked->nodes[i].inputs[0] : i;
    return group ? add_inside(checked, i, sparse, err) : 0;
}

/* *at: the node that is looked at */
static int find(const struct cw_checked *checked, struct cw_sparse *ret_sparse, size_t *at,
                struct cw_err *err)
{
    struct cw_sparse sparse = {.first = SIZE_MAX, .take = -1, .pads = SIZE_MAX};
    for (size_t i = 0; i < checked->graph->n; i++) {
        if (!checked->nodes[i].sparse)
            continue;
        int rc = 0;
        *at = i;
        if (sparse.first != SIZE_MAX && checked->nodes[i].inputs_n == 1 &&
            checked->nodes[checked->nodes[i].inputs[0]].sparse) {
            rc = add_node(checked, i, &sparse, err);
        } else if (sparse.first == SIZE_MAX &&
                   (checked->nodes[i].op->traits & CW_OP_CHANGES_COUNT)) {
            rc = begin(checked, i, &sparse, err);
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

int cw_sparse_find(const struct cw_checked *checked, struct cw_sparse *ret_sparse,
                   struct cw_err *err)
{
    size_t at;
    return find(checked, ret_sparse, &at, err);
}

int cw_sparse_refused(const struct cw_checked *checked, size_t *ret_at, struct cw_err *err)
{
    struct cw_sparse sparse;
    return find(checked, &sparse, ret_at, err);
}
