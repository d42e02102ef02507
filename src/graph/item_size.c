/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/item_size.h"

#include "graph/sparse.h"

bool cw_item_size(const struct cw_checked *checked, struct cw_item_size *ret_size)
{
    struct cw_sparse sparse;
    if (checked->nodes[checked->graph->n - 1].unknown ||
        cw_sparse_find(checked, &sparse, NULL) < 0 || sparse.first == SIZE_MAX ||
        !cw_sparse_is_inside(&sparse))
        return false;
    const struct cw_spec *rows = &checked->nodes[sparse.rows].out;
    const int64_t elements = cw_sparse_item(&sparse, rows), bytes = cw_sparse_row_bytes(rows);
    *ret_size = (struct cw_item_size){.elements = elements, .bytes = -1, .node = sparse.last};
    if (bytes >= 0)
        ret_size->bytes = bytes > INT64_MAX / elements ? INT64_MAX : bytes * elements;
    while (checked->nodes[ret_size->node].inputs[0] != sparse.rows)
        ret_size->node = checked->nodes[ret_size->node].inputs[0];
    return true;
}

int cw_item_check(const struct cw_checked *checked, uint64_t budget, struct cw_err *err)
{
    struct cw_item_size size;
    if (!cw_item_size(checked, &size) || size.bytes < 0 || (uint64_t)size.bytes <= budget)
        return 0;
    const struct cw_node *node = &checked->graph->nodes[size.node];
    return cw_err_set(err, CW_E_LIMIT,
                      "node \"%s\" (%s): an item holds %lld elements, %.1f MB, and the budget of a "
                      "worker is %.1f MB: take fewer by its option span, or smaller groups, or "
                      "give workers more memory (cachew-worker --budget)",
                      node->name, node->op, (long long)size.elements, (double)size.bytes / 1e6,
                      (double)budget / 1e6);
}
