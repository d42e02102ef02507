/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/chain.h"

#include "base/mem.h"
#include "graph/surveyable.h"
#include "rewrite/pin.h"

static const struct cw_node *node_at(const struct cw_chain *chain, size_t place)
{
    return &chain->checked->graph->nodes[chain->nodes[place]];
}

/* `sample` goes by values, and `enumerate` makes one. In a sparse pipeline the client counts elements. */
static enum cw_maps maps_of(const struct cw_checked_node *node)
{
    const uint32_t traits = node->op->traits;

    if (node->op->kind != CW_OP_INDEX || node->sparse || node->surveyed || node->folded ||
        (traits & (CW_OP_POSITION | CW_OP_OPAQUE | CW_OP_CHANGES_COUNT)) ||
        ((traits & CW_OP_RANDOM) && (traits & CW_OP_AGAIN)))
        return CW_MAPS_NOT;
    return traits & (CW_OP_AFFINE | CW_OP_PERMUTES) ? CW_MAPS_ONCE : CW_MAPS_AGAIN;
}

void cw_chain_op_get(const struct cw_checked *checked, size_t node, struct cw_chain_op *ret_op)
{
    const struct cw_checked_node *it = &checked->nodes[node];

    *ret_op = (struct cw_chain_op){0};
    if (it->inputs_n != 1)
        return;
    ret_op->maps = maps_of(it);
    ret_op->draws = it->op->kind == CW_OP_ELEMENT && cw_op_draws(it->op, it->opts);
    if (!it->op->facts)
        return;
    ret_op->in = &checked->nodes[it->inputs[0]].out;
    cw_op_facts_get(it->op, it->opts, ret_op->in, it->fields, it->fields_n, &ret_op->facts);
}

static void set_op(struct cw_chain *chain, size_t place)
{
    const struct cw_checked_node *node = &chain->checked->nodes[chain->nodes[place]];
    struct cw_chain_op *op = &chain->ops[place];

    cw_chain_op_get(chain->checked, chain->nodes[place], op);
    if (node_at(chain, place)->keep_position)
        chain->fixed[place] = "keeps its position, or the other does";
    else if (node->surveyed || node->folded)
        chain->fixed[place] = "is part of a survey, or the other is";
    else if (op->facts.known && !cw_pin_can(chain->checked, chain->nodes[place]))
        chain->fixed[place] =
            "takes something of what comes in that cannot be written down, or the "
            "other does";
}

void cw_chain_list_behind(const struct cw_checked *checked, size_t last, size_t max,
                          struct cw_chain *ret_chain)
{
    size_t n = 1;

    for (size_t at = last; n < max && checked->nodes[at].inputs_n == 1; n++)
        at = checked->nodes[at].inputs[0];
    *ret_chain = (struct cw_chain){.checked = checked, .n = n};
    ret_chain->nodes = CW_NEW_ARRAY(size_t, n);
    ret_chain->ops = CW_NEW_ARRAY(struct cw_chain_op, n);
    ret_chain->fixed = CW_NEW_ARRAY(const char *, n);
    for (size_t i = n; i-- > 0;) {
        ret_chain->nodes[i] = last;
        last = i > 0 ? checked->nodes[last].inputs[0] : last;
    }
    ret_chain->first = ret_chain->nodes[0];
    for (size_t i = 0; i < n; i++)
        set_op(ret_chain, i);
}

/* A worker has surveyed what the written order gives, and refuses a plan with another order there. (The
 * key of what is cached there goes by the nodes before it alone, so it asks cw_chain_list_behind.) */
static void fix_surveyed(struct cw_chain *chain)
{
    cw_autofree bool *marks = cw_survey_mark(chain->checked);

    for (size_t i = 0; i < chain->n; i++)
        if (marks[chain->nodes[i]] && !chain->fixed[i])
            chain->fixed[i] = "comes to a survey, or the other does";
}

void cw_chain_list(const struct cw_checked *checked, struct cw_chain *ret_chain)
{
    cw_chain_list_behind(checked, checked->graph->n - 1, SIZE_MAX, ret_chain);
    fix_surveyed(ret_chain);
}

void cw_chain_fini(struct cw_chain *chain)
{
    cw_mem_free(chain->nodes);
    cw_mem_free(chain->ops);
    cw_mem_free(chain->fixed);
    *chain = (struct cw_chain){0};
}

static bool depends_on(const struct cw_node *node, const char *name)
{
    for (size_t i = 0; i < node->depends_n; i++)
        if (cw_str_eq(node->depends_on[i], name))
            return true;
    return false;
}

const char *cw_chain_why_not(const struct cw_chain *chain, size_t a, size_t b)
{
    if (chain->fixed[a] || chain->fixed[b])
        return chain->fixed[b] ? chain->fixed[b] : chain->fixed[a];
    if (depends_on(node_at(chain, b), node_at(chain, a)->name) ||
        depends_on(node_at(chain, a), node_at(chain, b)->name))
        return "depends on the other, or the other on it";
    return cw_why_not_swapped(&chain->ops[a], &chain->ops[b]);
}
