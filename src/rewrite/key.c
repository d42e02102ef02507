/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/key.h"

#include "base/mem.h"
#include "graph/cacheable.h"
#include "rewrite/chain.h"
#include "rewrite/pin.h"

/* Operators in a row that may move at all, as places of a chain in the order in which they were written. */
struct row {
    const struct cw_chain *chain;
    size_t places[CW_KEY_NODES_MAX];
    size_t n;
};

static bool is_movable(const struct cw_checked *checked, size_t node)
{
    const struct cw_checked_node *it = &checked->nodes[node];

    return it->inputs_n == 1 && it->op->kind == CW_OP_ELEMENT && it->op->facts;
}

/* An index operator that operators of a row may pass: it stands in the row, and makes no difference to it. */
static bool is_passed(const struct cw_checked *checked, size_t node)
{
    struct cw_chain_op op;

    if (checked->nodes[node].op->kind != CW_OP_INDEX)
        return false;
    cw_chain_op_get(checked, node, &op);
    return op.maps != CW_MAPS_NOT;
}

/* ---- the canonical order ---- */

static bool is_less(struct cw_hash a, struct cw_hash b)
{
    return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo;
}

/* Whether two operators of a row keep their sides. A filter does not pass what may refuse an element either:
 * the note that it left one out must not hide from another pipeline that it is bad there. */
static bool keeps_sides(const struct row *row, size_t a, size_t b)
{
    const struct cw_chain *chain = row->chain;
    size_t first = row->places[a], second = row->places[b];

    return cw_chain_why_not(chain, first, second) ||
           (chain->ops[first].facts.refuses && chain->ops[second].facts.drops);
}

static bool is_ready(const struct row *row, uint32_t done, size_t i)
{
    for (size_t a = 0; a < i; a++)
        if (!(done >> a & 1) && keeps_sides(row, a, i))
            return false;
    return !(done >> i & 1);
}

/* Whether more than one order is possible. */
static bool can_move(const struct row *row)
{
    for (size_t i = 1; i < row->n; i++)
        if (!keeps_sides(row, i - 1, i))
            return true;
    return false;
}

static const struct cw_checked_node *node_of(const struct row *row, size_t i)
{
    return &row->chain->checked->nodes[row->chain->nodes[row->places[i]]];
}

/* Options as they are written, or pinned, which they are where something can move: so an operator has one
 * key wherever it stands. */
static char *options_of(const struct row *row, size_t i, bool pinned)
{
    const struct cw_checked_node *node = node_of(row, i);
    struct cw_node pin;
    CW_STR_AUTO canon = {0};

    if (!pinned || !node->op->options) {
        cw_canon_options(node->op, node->opts, &canon);
        return cw_mem_strdup(cw_str_text(&canon));
    }
    void *opts = cw_mem_new(node->op->options_bytes);
    cw_pin_node(row->chain->checked, row->chain->nodes[row->places[i]], &pin);
    if (cw_opt_parse(node->op->options, &pin.options, opts, NULL) == 0) {
        cw_canon_options(node->op, opts, &canon);
        cw_opt_fini(node->op->options, opts);
    }
    cw_mem_free(opts);
    cw_node_fini(&pin);
    return cw_mem_strdup(cw_str_text(&canon));
}

/* Of those that may come next, the one whose own hash is least; equal ones do the same. */
static size_t next_of(const struct row *row, const struct cw_hash *own, uint32_t done)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < row->n; i++)
        if (is_ready(row, done, i) && (best == SIZE_MAX || is_less(own[i], own[best])))
            best = i;
    return best;
}

static struct cw_hash hash_row(const struct row *row, struct cw_hash before)
{
    struct cw_hash own[CW_KEY_NODES_MAX];
    char *options[CW_KEY_NODES_MAX];
    bool pinned = can_move(row);
    uint32_t done = 0;

    for (size_t i = 0; i < row->n; i++) {
        options[i] = options_of(row, i, pinned);
        own[i] = cw_element_behind(node_of(row, i), options[i], (struct cw_hash){0});
    }
    for (size_t k = 0; k < row->n; k++) {
        size_t i = next_of(row, own, done);
        done |= UINT32_C(1) << i;
        before = cw_element_behind(node_of(row, i), options[i], before);
    }
    for (size_t i = 0; i < row->n; i++)
        cw_mem_free(options[i]);
    return before;
}

/* ---- a pipeline as it is ---- */

/* The row that ends with a node; the chain begins with what stands before it. Returns false if there is
 * none, or it is too long. */
static bool list_row(const struct cw_checked *checked, size_t node, struct cw_chain *chain,
                     struct row *row)
{
    size_t n = 0, all = 0;

    if (!is_movable(checked, node))
        return false;
    for (size_t at = node; is_movable(checked, at) || is_passed(checked, at);
         at = checked->nodes[at].inputs[0], all++) {
        n += is_movable(checked, at);
        if (n > CW_KEY_NODES_MAX)
            return false;
    }
    if (n < 2)
        return false;
    cw_chain_list_behind(checked, node, all + 1, chain);
    *row = (struct row){.chain = chain};
    for (size_t i = 1; i <= all; i++)
        if (is_movable(checked, chain->nodes[i]))
            row->places[row->n++] = i;
    return true;
}

void cw_key_set(struct cw_checked *checked)
{
    for (size_t i = 0; i < checked->graph->n; i++) {
        struct cw_chain chain;
        struct row row;
        if (!list_row(checked, i, &chain, &row)) {
            checked->nodes[i].element = cw_element_written(checked, i);
            continue;
        }
        checked->nodes[i].element = hash_row(&row, checked->nodes[chain.nodes[0]].element);
        cw_chain_fini(&chain);
    }
}

/* ---- a pipeline in a plan's order ---- */

static size_t find_place(const struct cw_chain *chain, const char *name)
{
    for (size_t i = 0; i < chain->n; i++)
        if (cw_str_eq(chain->checked->graph->nodes[chain->nodes[i]].name, name))
            return i;
    return SIZE_MAX;
}

static void add_place(struct row *row, size_t place)
{
    size_t at = row->n++;

    for (; at > 0 && row->places[at - 1] > place; at--)
        row->places[at] = row->places[at - 1];
    row->places[at] = place;
}

/* What stands before a node in a row, by its places in the written chain; *ret_base receives the node before
 * them. Returns false if they are too many. */
static bool list_written(const struct cw_checked *made, const struct cw_chain *written, size_t node,
                         struct row *row, size_t *ret_base)
{
    *row = (struct row){.chain = written};
    for (; is_movable(made, node) || is_passed(made, node); node = made->nodes[node].inputs[0]) {
        size_t place = find_place(written, made->graph->nodes[node].name);
        if (place == SIZE_MAX || !is_movable(made, node))
            continue;
        if (row->n == CW_KEY_NODES_MAX)
            return false;
        add_place(row, place);
    }
    *ret_base = node;
    return true;
}

void cw_key_set_rewritten(struct cw_checked *made, const struct cw_checked *written)
{
    struct cw_chain chain;

    cw_key_set(made);
    cw_chain_list_behind(written, written->graph->n - 1, SIZE_MAX, &chain);
    for (size_t i = chain.first + 1; i < made->graph->n; i++) {
        struct row row;
        size_t base;
        if (!is_movable(made, i))
            made->nodes[i].element = cw_element_written(made, i);
        else if (list_written(made, &chain, i, &row, &base))
            made->nodes[i].element = hash_row(&row, made->nodes[base].element);
    }
    cw_chain_fini(&chain);
}
