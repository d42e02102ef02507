/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/apply.h"

#include "base/map.h"
#include "base/mem.h"
#include "graph/surveyable.h"
#include "rewrite/chain.h"
#include "rewrite/hoist.h"
#include "rewrite/pin.h"
#include "rewrite/relaxed.h"

struct rewriting {
    const struct cw_checked *written;
    struct cw_chain chain;
    bool relaxed;
    size_t *order;  /* nodes of the written graph, as the plan has them */
    size_t *at;     /* the other way round */
    bool *surveyed; /* nodes of it that come to a survey: a worker compares their fingerprints */
};

static const char *name_of(const struct rewriting *r, size_t node)
{
    return r->written->graph->nodes[node].name;
}

static const char *op_of(const struct rewriting *r, size_t node)
{
    return r->written->graph->nodes[node].op;
}

/* ---- what the plan says ---- */

static int read_name(struct rewriting *r, const struct cw_strmap *names, const char *name,
                     size_t place, struct cw_err *err)
{
    size_t node = (uintptr_t)cw_strmap_get(names, name);

    if (node == 0)
        return cw_err_set(err, CW_E_INVALID, "order: the pipeline has no node \"%s\"", name);
    node--;
    if (r->at[node] != SIZE_MAX)
        return cw_err_set(err, CW_E_INVALID, "order: \"%s\" stands there twice", name);
    r->order[place] = node;
    r->at[node] = place;
    return 0;
}

static int read_order(struct rewriting *r, const struct cw_order_plan *plan, struct cw_err *err)
{
    const struct cw_graph *graph = r->written->graph;
    struct cw_strmap names = {0};
    int rc = 0;

    for (size_t i = 0; i < graph->n; i++) {
        cw_strmap_set(&names, graph->nodes[i].name, (void *)(uintptr_t)(i + 1));
        r->at[i] = SIZE_MAX;
    }
    for (size_t i = 0; rc == 0 && i < plan->n; i++)
        rc = read_name(r, &names, plan->order[i], i, err);
    for (size_t i = 0; rc == 0 && i < graph->n; i++)
        if (r->at[i] == SIZE_MAX)
            rc = cw_err_set(err, CW_E_INVALID, "order: node \"%s\" is missing", name_of(r, i));
    cw_strmap_fini(&names);
    return rc;
}

/* ---- whether the order may be taken ---- */

/* Of the nodes before the chain, and of its first: nobody moves, and inputs come first. */
static int check_edges(const struct rewriting *r, struct cw_err *err)
{
    for (size_t i = 0; i <= r->chain.first; i++) {
        const struct cw_checked_node *node = &r->written->nodes[i];
        for (size_t k = 0; k < node->inputs_n; k++)
            if (r->at[node->inputs[k]] > r->at[i])
                return cw_err_set(err, CW_E_INVALID,
                                  "order: \"%s\" (%s) stands before \"%s\", which it reads",
                                  name_of(r, i), op_of(r, i), name_of(r, node->inputs[k]));
    }
    return 0;
}

static int check_pair(const struct rewriting *r, size_t place, size_t later, struct cw_err *err)
{
    size_t first = r->chain.first, up = r->order[place], down = r->order[later];

    if (up < down)
        return 0;
    const size_t a = CW_MAX(down, first) - first, b = up - first;
    const char *why =
        r->relaxed ? cw_relaxed_why_not(&r->chain, a, b) : cw_chain_why_not(&r->chain, a, b);
    return why ? cw_err_set(err, CW_E_INVALID,
                            "order: \"%s\" (%s) may not stand before \"%s\" (%s): it %s",
                            name_of(r, up), op_of(r, up), name_of(r, down), op_of(r, down), why)
               : 0;
}

static int check_pairs(const struct rewriting *r, struct cw_err *err)
{
    size_t n = r->written->graph->n;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++)
        for (size_t k = i + 1; rc == 0 && r->order[i] > r->chain.first && k < n; k++)
            rc = check_pair(r, i, k, err);
    return rc;
}

/* Pairs that may change sides by themselves need not fit in an order as a whole. */
static int check_whole(const struct rewriting *r, struct cw_err *err)
{
    cw_autofree size_t *places = CW_NEW_ARRAY(size_t, r->chain.n);

    for (size_t i = 0; i < r->chain.n; i++)
        places[i] = r->order[r->chain.first + i] - r->chain.first;
    return cw_relaxed_check(&r->chain, places, err);
}

static int check_order(struct rewriting *r, struct cw_err *err)
{
    int rc = check_edges(r, err);

    if (rc == 0)
        rc = check_pairs(r, err);
    if (rc == 0 && r->relaxed)
        rc = check_whole(r, err);
    return rc;
}

/* ---- the graph ---- */

static void chain_to(struct cw_node *node, size_t input)
{
    node->chained = true;
    node->inputs_n = 1;
    node->inputs = CW_NEW_ARRAY(size_t, 1);
    node->inputs[0] = input;
}

/* Up to the first node of the chain, and to a survey in it, everything stands as written. */
static void add_written(const struct rewriting *r, struct cw_graph_builder *builder, size_t i)
{
    struct cw_node node;

    if (r->surveyed[i])
        cw_pin_node_not(r->written, i, &node);
    else
        cw_pin_node_in_place(r->written, i, &node);
    cw_graph_builder_add_indexed(builder, &node);
}

static int build(const struct rewriting *r, struct cw_graph **ret_graph, struct cw_err *err)
{
    const struct cw_graph *written = r->written->graph;
    struct cw_graph_builder *builder = cw_graph_builder_new(written->name);
    size_t n = 0;

    cw_graph_builder_set_identity(builder, written->identity);
    for (; n < written->n && (n <= r->chain.first || r->surveyed[n]); n++)
        add_written(r, builder, n);
    for (; n < written->n; n++) {
        struct cw_node node;
        cw_pin_node(r->written, r->order[n], &node);
        chain_to(&node, n - 1);
        cw_graph_builder_add_indexed(builder, &node);
    }
    int rc = cw_graph_builder_finish(builder, ret_graph, err);
    cw_graph_builder_free(builder);
    return rc;
}

/* ---- whether it came out as it was meant ---- */

static size_t find_node(const struct cw_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->n; i++)
        if (cw_str_eq(graph->nodes[i].name, name))
            return i;
    return SIZE_MAX;
}

static bool does_same(const struct cw_chain_op *a, const struct cw_chain_op *b)
{
    return a->facts.known == b->facts.known && cw_field_set_eq(&a->facts.reads, &b->facts.reads) &&
           cw_field_set_eq(&a->facts.writes, &b->facts.writes) &&
           a->facts.names_field == b->facts.names_field && a->facts.drops == b->facts.drops;
}

/* In an exact order each operator reads and writes what it did, and what comes out is of the same kind. */
static int compare(const struct rewriting *r, const struct cw_checked *made, struct cw_err *err)
{
    const struct cw_checked *written = r->written;
    struct cw_chain chain;
    int rc = 0;

    cw_chain_list(made, &chain);
    for (size_t i = 0; rc == 0 && !r->relaxed && i < r->chain.n; i++) {
        size_t node = r->chain.first + i, to = find_node(made->graph, name_of(r, node));
        if (!does_same(&r->chain.ops[i], &chain.ops[to - chain.first]))
            rc = cw_err_set(err, CW_E_INVALID, "order: \"%s\" (%s) would not do the same there",
                            name_of(r, node), op_of(r, node));
    }
    if (rc == 0 && !cw_spec_eq(&written->nodes[written->graph->n - 1].out,
                               &made->nodes[made->graph->n - 1].out))
        rc = cw_err_set(err, CW_E_INVALID, "order: elements of another kind would come out");
    cw_chain_fini(&chain);
    return rc;
}

static int set_cache(const struct cw_order_plan *plan, struct cw_rewritten *rewritten,
                     struct cw_err *err)
{
    rewritten->cache = SIZE_MAX;
    if (!plan->cache)
        return 0;
    rewritten->cache = find_node(rewritten->checked->graph, plan->cache);
    if (rewritten->cache == SIZE_MAX)
        return cw_err_set(err, CW_E_INVALID, "cache: the pipeline has no node \"%s\"", plan->cache);
    rewritten->no_cache = rewritten->checked->nodes[rewritten->cache].uncacheable;
    return 0;
}

static int make(const struct rewriting *r, const struct cw_order_plan *plan,
                struct cw_rewritten *rewritten, struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    int rc = build(r, &graph, err);

    if (rc == 0)
        rc = cw_graph_check(graph, &rewritten->checked, err);
    if (rc == 0)
        rc = compare(r, rewritten->checked, err);
    if (rc == 0)
        rc = set_cache(plan, rewritten, err);
    cw_graph_unref(graph);
    return rc;
}

static int rewrite(struct rewriting *r, const struct cw_order_plan *plan,
                   struct cw_rewritten *ret_rewritten, struct cw_err *err)
{
    /* what the plan has behind a zip is looked at from there */
    struct cw_checked *hoisted = cw_hoist_by(r->written, plan->order, plan->n);

    if (hoisted)
        r->written = hoisted;
    int rc = read_order(r, plan, err);
    cw_chain_list(r->written, &r->chain);
    r->surveyed = cw_survey_mark(r->written);
    if (rc == 0)
        rc = check_order(r, err);
    if (rc == 0)
        rc = make(r, plan, ret_rewritten, err);
    cw_chain_fini(&r->chain);
    cw_checked_unref(hoisted);
    return rc;
}

int cw_rewrite(const struct cw_checked *written, const struct cw_order_plan *plan,
               struct cw_rewritten *ret_rewritten, struct cw_err *err)
{
    size_t n = written->graph->n;
    struct rewriting r = {.written = written,
                          .relaxed = plan->relaxed,
                          .order = CW_NEW_ARRAY(size_t, CW_MAX(n, plan->n) + 1),
                          .at = CW_NEW_ARRAY(size_t, n)};

    *ret_rewritten = (struct cw_rewritten){.cache = SIZE_MAX};
    int rc = rewrite(&r, plan, ret_rewritten, err);
    if (rc < 0)
        cw_rewritten_fini(ret_rewritten);
    cw_mem_free(r.order);
    cw_mem_free(r.at);
    cw_mem_free(r.surveyed);
    return rc;
}

void cw_rewritten_fini(struct cw_rewritten *rewritten)
{
    cw_checked_unref(rewritten->checked);
    *rewritten = (struct cw_rewritten){.cache = SIZE_MAX};
}
