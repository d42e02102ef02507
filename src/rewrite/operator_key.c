/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/operator_key.h"

#include "base/mem.h"
#include "graph/cacheable.h"
#include "ops/op_facts.h"
#include "rewrite/pin.h"

/* Options as they are, and those that follow from where the node stands (cw_pin_node). */
static void add_options(const struct cw_checked *checked, size_t node, struct cw_str *out)
{
    const struct cw_checked_node *it = &checked->nodes[node];
    struct cw_node pinned;

    cw_canon_options(it->op, it->opts, out);
    if (!it->op->options || !cw_pin_can(checked, node))
        return;
    cw_pin_node(checked, node, &pinned);
    out->len = 0;
    cw_value_print(&pinned.options, out);
    cw_node_fini(&pinned);
}

static bool drops(const struct cw_checked *checked, size_t node)
{
    const struct cw_checked_node *it = &checked->nodes[node];
    struct cw_op_facts facts = {0};

    if (it->op->facts && it->inputs_n == 1)
        cw_op_facts_get(it->op, it->opts, &checked->nodes[it->inputs[0]].out, it->fields,
                        it->fields_n, &facts);
    return facts.drops;
}

struct cw_hash cw_operator_key(const struct cw_checked *checked, size_t node)
{
    const struct cw_checked_node *it = &checked->nodes[node];
    struct cw_hasher *hasher = cw_hasher_new();
    CW_STR_AUTO options = {0};

    add_options(checked, node, &options);
    cw_hasher_add_str(hasher, it->op->name);
    cw_hasher_add_str(hasher, cw_str_text(&options));
    for (size_t k = 0; k < it->inputs_n; k++) {
        CW_STR_AUTO spec = {0};
        cw_spec_print(&checked->nodes[it->inputs[k]].out, &spec);
        cw_hasher_add_str(hasher, cw_str_text(&spec));
    }
    for (size_t k = 0; k < it->fields_n; k++)
        cw_hasher_add_u64(hasher, it->fields[k]);
    if (drops(checked, node)) {
        cw_hasher_add_u64(hasher, checked->nodes[it->inputs[0]].element.hi);
        cw_hasher_add_u64(hasher, checked->nodes[it->inputs[0]].element.lo);
    }
    const struct cw_hash key = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return key;
}
