/* SPDX-License-Identifier: Apache-2.0 */
/* Compares which node stands below which in two pipelines with the same nodes. */
#include "rewrite/order_check.h"

#include <string.h>

#include "base/mem.h"
#include "rewrite/chain.h"

/* Both graphs, with nodes numbered as in the written one. */
struct orders {
    const struct cw_checked *written, *other;
    size_t n;
    size_t *of;     /* the written node of each other node */
    size_t *place;  /* the other node of each written node */
    uint8_t *below; /* [k * n + i]: node i is below node k as written */
    uint8_t *moved; /* the same in the other graph */
};

static const char *name_of(const struct orders *orders, size_t i)
{
    return orders->written->graph->nodes[i].name;
}

/* ---- nodes ---- */

static size_t find(const struct cw_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->n; i++)
        if (strcmp(graph->nodes[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

static bool is_same_options(const struct cw_checked_node *a, const struct cw_checked_node *b)
{
    CW_STR_AUTO x = {0}, y = {0};
    if (!a->op->options)
        return true;
    cw_opt_canon(a->op->options, a->opts, &x);
    cw_opt_canon(a->op->options, b->opts, &y);
    return strcmp(cw_str_text(&x), cw_str_text(&y)) == 0;
}

static const struct cw_spec *input_of(const struct cw_checked *checked, size_t i)
{
    const struct cw_checked_node *node = &checked->nodes[i];
    return node->inputs_n > 0 ? &checked->nodes[node->inputs[0]].out : NULL;
}

/* Whether a fieldwise operator works on fields of the same names. */
static bool is_same_fields(const struct cw_checked *a, size_t i, const struct cw_checked *b,
                           size_t k)
{
    const struct cw_checked_node *x = &a->nodes[i], *y = &b->nodes[k];
    const struct cw_spec *in = input_of(a, i), *other = input_of(b, k);
    if (x->fields_n != y->fields_n)
        return false;
    for (size_t f = 0; in && other && f < x->fields_n; f++)
        if (strcmp(in->fields[x->fields[f]].name, other->fields[y->fields[f]].name) != 0)
            return false;
    return true;
}

static bool is_same_ties(const struct cw_node *a, const struct cw_node *b)
{
    if (a->keep_position != b->keep_position || a->depends_n != b->depends_n)
        return false;
    for (size_t i = 0; i < a->depends_n; i++)
        if (strcmp(a->depends_on[i], b->depends_on[i]) != 0)
            return false;
    return true;
}

/* Whether two sets of fields have the same names. The one behind the fields of an input is a field that
 * is added. */
static bool is_same_set(const struct cw_spec *in, const struct cw_field_set *a,
                        const struct cw_spec *other, const struct cw_field_set *b)
{
    if (cw_field_set_count(a) != cw_field_set_count(b))
        return false;
    for (size_t f = 0; f < in->n; f++) {
        size_t k = 0;
        if (!cw_field_set_has(a, f))
            continue;
        while (k < other->n && strcmp(in->fields[f].name, other->fields[k].name) != 0)
            k++;
        if (k == other->n || !cw_field_set_has(b, k))
            return false;
    }
    return true;
}

/* Whether a node reads and writes fields of the same names in both orders. */
static bool is_same_use(const struct cw_checked *a, size_t i, const struct cw_checked *b, size_t k)
{
    struct cw_chain_op x, y;
    cw_chain_op_get(a, i, &x);
    cw_chain_op_get(b, k, &y);
    if (!x.in || !y.in)
        return !x.in && !y.in;
    return is_same_set(x.in, &x.facts.reads, y.in, &y.facts.reads) &&
           is_same_set(x.in, &x.facts.writes, y.in, &y.facts.writes);
}

bool cw_order_is_same_use(const struct cw_checked *a, size_t i, const struct cw_checked *b,
                          size_t k)
{
    return is_same_fields(a, i, b, k) && is_same_use(a, i, b, k);
}

static const char *what_differs(const struct orders *orders, size_t i, size_t k)
{
    const struct cw_checked *a = orders->written, *b = orders->other;
    if (a->nodes[i].op != b->nodes[k].op)
        return "operator";
    if (!is_same_options(&a->nodes[i], &b->nodes[k]))
        return "options";
    if (!cw_order_is_same_use(a, i, b, k))
        return "fields";
    if (!is_same_ties(&a->graph->nodes[i], &b->graph->nodes[k]))
        return "constraints";
    return a->nodes[i].frozen != b->nodes[k].frozen ? "place with regard to `freeze`" : NULL;
}

static int match_nodes(struct orders *orders, struct cw_err *err)
{
    if (orders->other->graph->n != orders->n)
        return cw_err_set(err, CW_E_INVALID, "it has %zu nodes, the written pipeline %zu",
                          orders->other->graph->n, orders->n);
    for (size_t i = 0; i < orders->n; i++) {
        size_t k = find(orders->other->graph, name_of(orders, i));
        if (k == SIZE_MAX)
            return cw_err_set(err, CW_E_INVALID, "node \"%s\" is missing", name_of(orders, i));
        const char *what = what_differs(orders, i, k);
        if (what)
            return cw_err_set(err, CW_E_INVALID,
                              "node \"%s\" has another %s than it is written with",
                              name_of(orders, i), what);
        orders->of[k] = i;
        orders->place[i] = k;
    }
    return 0;
}

/* ---- places ---- */

/* Fills in what is below node `at`; its inputs are done. */
static void add_below(const struct orders *orders, uint8_t *below, size_t at, size_t input)
{
    below[at * orders->n + input] = 1;
    for (size_t i = 0; i < orders->n; i++)
        below[at * orders->n + i] |= below[input * orders->n + i];
}

static void find_below(struct orders *orders)
{
    for (size_t k = 0; k < orders->n; k++) {
        const struct cw_checked_node *node = &orders->written->nodes[k];
        for (size_t i = 0; i < node->inputs_n; i++)
            add_below(orders, orders->below, k, node->inputs[i]);
    }
    for (size_t k = 0; k < orders->n; k++) {
        const struct cw_checked_node *node = &orders->other->nodes[k];
        for (size_t i = 0; i < node->inputs_n; i++)
            add_below(orders, orders->moved, orders->of[k], orders->of[node->inputs[i]]);
    }
}

static const char *why_not(const struct orders *orders, size_t down, size_t up)
{
    const struct cw_node *nodes = orders->written->graph->nodes;
    struct cw_chain_op a, b;
    if (nodes[down].keep_position || nodes[up].keep_position)
        return "one of them keeps its position";
    for (size_t i = 0; i < nodes[up].depends_n; i++)
        if (strcmp(nodes[up].depends_on[i], nodes[down].name) == 0)
            return "it depends on the other";
    cw_chain_op_get(orders->written, down, &a);
    cw_chain_op_get(orders->written, up, &b);
    return cw_why_not_swapped(&a, &b);
}

/* Whether the written pair "i below k" is as exact in the other order. */
static int check_pair(const struct orders *orders, size_t i, size_t k, struct cw_err *err)
{
    bool was = orders->below[k * orders->n + i], is = orders->moved[k * orders->n + i];
    bool swapped = orders->moved[i * orders->n + k];
    if (was == is && (was || !swapped || orders->below[i * orders->n + k]))
        return 0;
    if (!was) /* the pair is looked at the other way round, or they had nothing to do with each other */
        return orders->below[i * orders->n + k]
                   ? 0
                   : cw_err_set(err, CW_E_INVALID,
                                "node \"%s\" has come into the way to node \"%s\"",
                                name_of(orders, i), name_of(orders, k));
    const char *why = swapped ? why_not(orders, i, k) : "it is on another way now";
    return why ? cw_err_set(err, CW_E_INVALID, "node \"%s\" may not be done before node \"%s\": %s",
                            name_of(orders, k), name_of(orders, i), why)
               : 0;
}

/* Whether each input of a node that has several leads to the same nodes as before. */
static int check_inputs(const struct orders *orders, size_t k, struct cw_err *err)
{
    const struct cw_checked_node *a = &orders->written->nodes[k],
                                 *b = &orders->other->nodes[orders->place[k]];
    bool same = a->inputs_n == b->inputs_n;
    for (size_t s = 0; same && a->inputs_n > 1 && s < a->inputs_n; s++) {
        size_t x = a->inputs[s], y = orders->of[b->inputs[s]];
        for (size_t i = 0; i < orders->n; i++) {
            bool was = i == x || orders->below[x * orders->n + i];
            bool is = i == y || orders->moved[y * orders->n + i];
            same = same && was == is;
        }
    }
    return same ? 0
                : cw_err_set(err, CW_E_INVALID,
                             "node \"%s\" has other inputs than it is written with",
                             name_of(orders, k));
}

static int check_places(const struct orders *orders, struct cw_err *err)
{
    for (size_t k = 0; k < orders->n; k++) {
        int rc = check_inputs(orders, k, err);
        for (size_t i = 0; rc == 0 && i < orders->n; i++)
            rc = check_pair(orders, i, k, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int cw_order_check(const struct cw_checked *written, const struct cw_checked *other,
                   struct cw_err *err)
{
    size_t n = written->graph->n;
    cw_autofree size_t *of = CW_NEW_ARRAY(size_t, n), *place = CW_NEW_ARRAY(size_t, n);
    cw_autofree uint8_t *below = CW_NEW_ARRAY(uint8_t, n * n),
                        *moved = CW_NEW_ARRAY(uint8_t, n * n);
    struct orders orders = {written, other, n, of, place, below, moved};
    int rc = match_nodes(&orders, err);
    if (rc != 0)
        return rc;
    find_below(&orders);
    rc = check_places(&orders, err);
    if (rc == 0 && !cw_spec_eq(&written->nodes[n - 1].out, &other->nodes[n - 1].out))
        rc = cw_err_set(err, CW_E_INVALID, "its output is another");
    return rc;
}
