/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/flags.h"

/* Batches and zips of shuffled inputs have other elements in each epoch, so their ids say less. */
static void find_flags(const struct cw_checked *checked, size_t i)
{
    struct cw_checked_node *node = &checked->nodes[i];
    const struct cw_op *op = node->op;
    node->sparse = (op->traits & CW_OP_CHANGES_COUNT) && !node->folded;
    node->random = op->kind == CW_OP_ELEMENT && cw_op_draws(op, node->opts) && !node->frozen;
    bool same = true;
    for (size_t k = 0; k < node->inputs_n; k++) {
        const struct cw_checked_node *in = &checked->nodes[node->inputs[k]];
        node->sparse = node->sparse || in->sparse;
        node->random = node->random || in->random;
        same = same && in->order == checked->nodes[node->inputs[0]].order;
    }
    node->sparse = node->sparse && !node->surveyed;
    node->order = node->inputs_n ? checked->nodes[node->inputs[0]].order : 0;
    if (!same || (op->kind == CW_OP_GROUP && node->order))
        node->random = node->random || (op->traits & CW_OP_MERGE) || op->kind == CW_OP_GROUP;
    node->random = node->random || ((op->traits & CW_OP_POSITION) && node->order);
    if (op->kind == CW_OP_INDEX && ((op->traits & CW_OP_RANDOM) || node->order || !same) &&
        !(op->traits & CW_OP_MERGE))
        node->order = cw_mix64(node->order + i + 1) | 1;
}

void cw_flags_find(struct cw_checked *checked)
{
    for (size_t i = 0; i < checked->graph->n; i++)
        find_flags(checked, i);
}
