/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/item_size.h"

#include "base/str.h"
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
    CW_STR_AUTO has = {0};
    CW_STR_AUTO may = {0};
    cw_str_add_size(&has, (double)size.bytes);
    cw_str_add_size(&may, (double)budget);
    return cw_err_set(err, CW_E_LIMIT,
                      "node \"%s\" (%s): an item holds %lld elements, %s, and the budget of a "
                      "worker is %s: take fewer by its option span, or smaller groups, or "
                      "give workers more memory (cachew-worker --budget)",
                      node->name, node->op, (long long)size.elements, cw_str_text(&has),
                      cw_str_text(&may));
}
