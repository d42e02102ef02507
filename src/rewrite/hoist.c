/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/hoist.h"

#include "base/mem.h"
#include "graph/surveyable.h"
#include "policies/optimize.h"
#include "rewrite/chain.h"
#include "rewrite/order_check.h"
#include "rewrite/pin.h"

struct hoisting {
    const struct cw_checked *written;
    const bool *stays;
    const bool *surveyed; /* by node: it comes to a survey (cw_survey_mark) */
    size_t zip;
    size_t room; /* so many more may stand in the last chain: of a longer one there are no plans */
    bool *is_up; /* by node: it is done behind the zip */
    size_t *place;           /* by node: where it stands in the new graph */
    struct cw_checked *made; /* with these */
};

/* Returns where inputs meet before the last chain of operators, or SIZE_MAX if that is no zip. */
static size_t find_zip(const struct cw_checked *checked)
{
    size_t at = checked->graph->n - 1;

    while (checked->nodes[at].inputs_n == 1)
        at = checked->nodes[at].inputs[0];
    return checked->nodes[at].op->traits & CW_OP_MERGE ? at : SIZE_MAX;
}

/* ---- which may ---- */

static size_t count_readers(const struct cw_checked *checked, size_t node)
{
    size_t n = 0;

    for (size_t i = 0; i < checked->graph->n; i++)
        for (size_t k = 0; k < checked->nodes[i].inputs_n; k++)
            n += checked->nodes[i].inputs[k] == node;
    return n;
}

/* Whether a node must stand behind others, or others that are no part of the last chain behind it. */
static bool is_tied(const struct hoisting *h, size_t node)
{
    const struct cw_node *nodes = h->written->graph->nodes;

    for (size_t i = 0; i <= h->zip; i++)
        for (size_t k = 0; k < nodes[i].depends_n; k++)
            if (cw_str_eq(nodes[i].depends_on[k], nodes[node].name))
                return true;
    return nodes[node].keep_position || nodes[node].depends_n > 0;
}

static bool says_all(const struct cw_checked *checked, size_t node)
{
    const struct cw_checked_node *it = &checked->nodes[node];
    struct cw_op_facts facts;

    if (!it->op->facts)
        return false;
    cw_op_facts_get(it->op, it->opts, &checked->nodes[it->inputs[0]].out, it->fields, it->fields_n,
                    &facts);
    return facts.known && !facts.drops;
}

static bool may_be_hoisted(const struct hoisting *h, size_t node)
{
    const struct cw_checked_node *it = &h->written->nodes[node];

    return it->op->kind == CW_OP_ELEMENT && it->inputs_n == 1 && !it->sparse &&
           !h->surveyed[node] && !it->folded && !(h->stays && h->stays[node]) &&
           !cw_op_draws(it->op, it->opts) && says_all(h->written, node) &&
           count_readers(h->written, node) == 1 && !is_tied(h, node) &&
           cw_pin_can(h->written, node);
}

/* ---- the graph ---- */

/* What a node reads once those that are hoisted are not there. */
static size_t base_of(const struct hoisting *h, size_t node)
{
    while (h->is_up[node])
        node = h->written->nodes[node].inputs[0];
    return node;
}

static void add(struct hoisting *h, struct cw_graph_builder *builder, size_t node, size_t *at)
{
    struct cw_node added;

    if (h->surveyed[node])
        cw_pin_node_not(h->written, node, &added);
    else
        cw_pin_node_in_place(h->written, node, &added);
    for (size_t k = 0; k < added.inputs_n; k++)
        added.inputs[k] =
            h->is_up[node] || node > h->zip ? *at - 1 : h->place[base_of(h, added.inputs[k])];
    cw_graph_builder_add_indexed(builder, &added);
    h->place[node] = (*at)++;
}

static struct cw_graph *build(struct hoisting *h)
{
    const struct cw_graph *written = h->written->graph;
    struct cw_graph_builder *builder = cw_graph_builder_new(written->name);
    struct cw_graph *graph = NULL;
    size_t at = 0;

    cw_graph_builder_set_identity(builder, written->identity);
    for (size_t i = 0; i <= h->zip; i++)
        if (!h->is_up[i])
            add(h, builder, i, &at);
    for (size_t i = 0; i < h->zip; i++)
        if (h->is_up[i])
            add(h, builder, i, &at);
    for (size_t i = h->zip + 1; i < written->n; i++)
        add(h, builder, i, &at);
    if (cw_graph_builder_finish(builder, &graph, NULL) < 0)
        graph = NULL;
    cw_graph_builder_free(builder);
    return graph;
}

/* ---- whether it does the same ---- */

static bool is_same(const struct hoisting *h, const struct cw_checked *made)
{
    const struct cw_checked *written = h->written;
    const size_t behind = h->place[h->zip + 1] - 1; /* the last that is hoisted */

    for (size_t i = 0; i < written->graph->n; i++) {
        const size_t k = h->place[i];
        if (!cw_str_eq(written->graph->nodes[i].name, made->graph->nodes[k].name) ||
            written->nodes[i].frozen != made->nodes[k].frozen)
            return false;
        if (h->is_up[i] && (!says_all(made, k) || !cw_order_is_same_use(written, i, made, k)))
            return false;
    }
    return cw_spec_eq(&written->nodes[h->zip].out, &made->nodes[behind].out) &&
           cw_spec_eq(&written->nodes[written->graph->n - 1].out,
                      &made->nodes[made->graph->n - 1].out);
}

/* Hoists one operator more. Returns whether that can be done. */
static bool take(struct hoisting *h, size_t node)
{
    struct cw_checked *made = NULL;

    h->is_up[node] = true;
    struct cw_graph *graph = build(h);
    if (graph && cw_graph_check(graph, &made, NULL) == 0 && is_same(h, made)) {
        cw_checked_unref(h->made);
        h->made = cw_steal(&made);
    } else {
        h->is_up[node] = false;
    }
    cw_checked_unref(made);
    const bool taken = h->is_up[node];
    cw_graph_unref(graph);
    return taken;
}

/* ---- all of it ---- */

static void hoist_branch(struct hoisting *h, size_t input)
{
    size_t at = h->written->nodes[h->zip].inputs[input];

    while (h->room > 0 && may_be_hoisted(h, at) && take(h, at)) {
        h->room--;
        at = h->written->nodes[at].inputs[0];
    }
}

/* Whether a filter may pass one of those that are hoisted, which stand behind the zip in their order. */
static bool is_of_use(const struct hoisting *h)
{
    struct cw_chain chain;
    size_t place = 0;
    bool is = false;

    cw_chain_list(h->made, &chain);
    for (size_t i = 0; i < h->zip; i++) {
        place += h->is_up[i];
        for (size_t f = place + 1; h->is_up[i] && f < chain.n; f++)
            is = is || (chain.ops[f].facts.drops && !cw_chain_why_not(&chain, place, f));
    }
    cw_chain_fini(&chain);
    return is;
}

static bool has_filter(const struct cw_checked *written, size_t zip)
{
    for (size_t i = zip + 1; i < written->graph->n; i++) {
        const struct cw_checked_node *it = &written->nodes[i];
        struct cw_op_facts facts = {0};
        if (it->op->facts)
            cw_op_facts_get(it->op, it->opts, &written->nodes[it->inputs[0]].out, it->fields,
                            it->fields_n, &facts);
        if (facts.drops)
            return true;
    }
    return false;
}

struct cw_checked *cw_hoist(const struct cw_checked *written, const bool *stays)
{
    const size_t n = written->graph->n;
    struct hoisting h = {.written = written, .stays = stays, .zip = find_zip(written)};

    if (h.zip == SIZE_MAX || n - h.zip >= CW_OPTIMIZE_NODES_MAX || !has_filter(written, h.zip))
        return NULL;
    h.room = CW_OPTIMIZE_NODES_MAX - (n - h.zip);
    cw_autofree bool *is_up = CW_NEW_ARRAY(bool, n);
    cw_autofree size_t *place = CW_NEW_ARRAY(size_t, n);
    cw_autofree bool *surveyed = cw_survey_mark(written);
    h.surveyed = surveyed;
    h.is_up = is_up;
    h.place = place;
    for (size_t k = 0; k < written->nodes[h.zip].inputs_n; k++)
        hoist_branch(&h, k);
    if (h.made && !is_of_use(&h))
        h.made = cw_checked_unref(h.made);
    if (h.made) /* it stands for the written one */
        h.made->fingerprint = written->fingerprint;
    return h.made;
}

static size_t find_name(char *const *order, size_t n, const char *name)
{
    size_t i = 0;

    while (i < n && !cw_str_eq(order[i], name))
        i++;
    return i;
}

struct cw_checked *cw_hoist_by(const struct cw_checked *written, char *const *order, size_t n)
{
    const struct cw_graph *graph = written->graph;
    const size_t zip = find_zip(written);

    if (zip == SIZE_MAX)
        return NULL;
    cw_autofree bool *stays = CW_NEW_ARRAY(bool, graph->n);
    const size_t at = find_name(order, n, graph->nodes[zip].name);
    for (size_t i = 0; i < graph->n; i++)
        stays[i] = find_name(order, n, graph->nodes[i].name) < at;
    return cw_hoist(written, stays);
}

struct cw_checked *cw_hoist_like(const struct cw_checked *written, const struct cw_checked *other)
{
    const size_t n = other->graph->n;
    cw_autofree char **order = CW_NEW_ARRAY(char *, n);

    for (size_t i = 0; i < n; i++)
        order[i] = other->graph->nodes[i].name;
    return cw_hoist_by(written, order, n);
}
