/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a graph, node after node, inputs first: finds operators, parses options, infers specs, and
 * applies the rules. */
#include "graph/check.h"

#include "base/mem.h"
#include "graph/cacheable.h"
#include "graph/infer.h"
#include "graph/surveyable.h"
#include <stdatomic.h>
#include <string.h>

static int find_op(const struct cw_node *node, struct cw_checked_node *ret, struct cw_err *err)
{
    ret->op = cw_op_find_for(node->op, &node->options);
    if (ret->op)
        return 0;
    if (strchr(node->op, '.') && cw_value_get(&node->options, "plugin"))
        return cw_err_set(err, CW_E_INVALID,
                          "option plugin: it is no definition of this operator that can be used");
    const char *near = cw_op_nearest(node->op);
    if (strchr(node->op, '.') && !near)
        return cw_err_set(err, CW_E_NOT_FOUND,
                          "there is no such operator: no plugin that is known here has it "
                          "(--plugin FILE, in a cluster of cachew-worker)");
    return near ? cw_err_set(err, CW_E_NOT_FOUND, "there is no such operator; did you mean \"%s\"?",
                             near)
                : cw_err_set(err, CW_E_NOT_FOUND,
                             "there is no such operator: `cachew ops` lists them");
}

static int parse_options(const struct cw_node *node, struct cw_checked_node *ret,
                         struct cw_err *err)
{
    static const struct cw_opt none[] = {
        {0},
    };
    const struct cw_op *op = ret->op;
    void *opts = cw_mem_new(CW_MAX(op->options_bytes, 1));
    int rc = cw_opt_parse(op->options ? op->options : none, &node->options, opts, err);
    if (rc < 0) {
        cw_mem_free(opts);
        return rc;
    }
    ret->opts = opts;
    return op->check ? op->check(opts, err) : 0;
}

static int check_inputs(const struct cw_node *node, struct cw_checked_node *ret, struct cw_err *err)
{
    const struct cw_op *op = ret->op;
    bool no_chain = op->kind == CW_OP_SOURCE && node->chained;
    ret->inputs_n = no_chain ? 0 : node->inputs_n;
    ret->inputs = node->inputs;
    size_t n = ret->inputs_n;
    if (n >= op->inputs_min && n <= op->inputs_max)
        return 0;
    if (op->kind == CW_OP_SOURCE)
        return cw_err_set(err, CW_E_INVALID, "inputs: a source reads no other node");
    if (!n)
        return cw_err_set(err, CW_E_INVALID,
                          "inputs: it has none; a pipeline begins with a source");
    if (op->inputs_min == op->inputs_max)
        return cw_err_set(err, CW_E_INVALID, "inputs: takes %zu, not %zu", op->inputs_min, n);
    return cw_err_set(err, CW_E_INVALID, "inputs: takes %zu to %zu, not %zu", op->inputs_min,
                      op->inputs_max, n);
}

static int not_complete(const struct cw_op *op, struct cw_err *err)
{
    if (op->foreign)
        return cw_err_set(
            err, CW_E_UNSUPPORTED,
            "what it gives is found out where its plugin is loaded, which is not here");
    if (op->probe)
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "what its elements are is found out where it is computed: give %s",
                          op->completed);
    return cw_err_set(
        err, CW_E_UNSUPPORTED,
        "what its elements are stands in its files, which are not looked into here: give %s",
        op->completed);
}

/* Whether only files say what the elements of a node are. */
static bool is_unknown(const struct cw_checked *checked, size_t i)
{
    const struct cw_checked_node *node = &checked->nodes[i];
    bool unknown = node->op->is_complete && !node->op->is_complete(node->opts);
    for (size_t k = 0; k < node->inputs_n; k++)
        unknown = unknown || checked->nodes[node->inputs[k]].unknown;
    return unknown;
}

static int infer(const struct cw_checked *checked, size_t i, bool without_data, struct cw_err *err)
{
    struct cw_checked_node *node = &checked->nodes[i];
    node->unknown = is_unknown(checked, i);
    if (node->unknown)
        return without_data ? 0 : not_complete(node->op, err);
    cw_autofree struct cw_spec *in = CW_NEW_ARRAY(struct cw_spec, node->inputs_n + 1);
    for (size_t k = 0; k < node->inputs_n; k++)
        in[k] = cw_spec_borrow(&checked->nodes[node->inputs[k]].out);
    return cw_infer_node(&checked->graph->nodes[i], in, node->inputs_n, node, err);
}

/* Returns the tag of a node's random stream. A made name contains the number of operators of its
 * kind, so a stream does not depend on other operators. */
static uint64_t stream_tag(const struct cw_node *node)
{
    CW_STR_AUTO text = {0};
    cw_str_add(&text, node->op);
    cw_str_add_char(&text, '\n');
    cw_str_add(&text, node->name);
    return cw_hash_u64(cw_str_text(&text), text.len);
}

/* Adds what the elements are a function of, besides their ids and the job's seed. */
static void fingerprint(const struct cw_checked *checked, size_t i, struct cw_hasher *hasher)
{
    static const struct cw_opt none[] = {
        {0},
    };
    struct cw_checked_node *node = &checked->nodes[i];
    if (cw_passes_by(node->op)) { /* the effect of a `freeze` shows in the nodes that are frozen */
        node->fingerprint = checked->nodes[node->inputs[0]].fingerprint;
        return;
    }
    CW_STR_AUTO canon = {0};
    cw_opt_canon(node->op->options ? node->op->options : none, node->opts, &canon);
    cw_hasher_reset(hasher);
    cw_hasher_add_str(hasher, node->op->name);
    cw_hasher_add_u64(hasher, node->op->version);
    cw_hasher_add_str(hasher, cw_str_text(&canon));
    cw_hasher_add_u64(hasher, node->fields_n);
    for (size_t k = 0; k < node->fields_n; k++)
        cw_hasher_add_u64(hasher, node->fields[k]);
    for (size_t k = 0; node->unknown && k < checked->graph->nodes[i].fields_n; k++)
        cw_hasher_add_str(hasher, checked->graph->nodes[i].fields[k]);
    cw_hasher_add_u64(hasher, cw_op_draws(node->op, node->opts) ? node->tag : 0);
    if (node->frozen && cw_op_draws(node->op, node->opts) && node->op->kind == CW_OP_ELEMENT)
        cw_hasher_add_str(hasher, "frozen");
    if (node->surveyed) /* it shows in the order, and in where batches end */
        cw_hasher_add_str(hasher, "surveyed");
    cw_hasher_add_u64(hasher, node->inputs_n);
    for (size_t k = 0; k < node->inputs_n; k++) {
        cw_hasher_add_u64(hasher, checked->nodes[node->inputs[k]].fingerprint.hi);
        cw_hasher_add_u64(hasher, checked->nodes[node->inputs[k]].fingerprint.lo);
    }
    node->fingerprint = cw_hasher_get(hasher);
}

static int check_node(const struct cw_checked *checked, size_t i, bool without_data,
                      struct cw_err *err)
{
    const struct cw_node *node = &checked->graph->nodes[i];
    struct cw_checked_node *mine = &checked->nodes[i];
    int rc = find_op(node, mine, err);
    if (rc >= 0)
        rc = check_inputs(node, mine, err);
    if (rc >= 0)
        rc = parse_options(node, mine, err);
    if (rc >= 0)
        rc = infer(checked, i, without_data, err);
    if (rc < 0)
        return cw_err_wrap(err, "node \"%s\" (%s)", node->name, node->op);
    mine->tag = stream_tag(node);
    return 0;
}

/* Looks for nodes that nothing reads: a source in a chain does not read the node before it, so that
 * one may have no reader. */
static int check_unused(const struct cw_checked *checked, struct cw_err *err)
{
    size_t n = checked->graph->n;
    cw_autofree bool *read = CW_NEW_ARRAY(bool, n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < checked->nodes[i].inputs_n; k++)
            read[checked->nodes[i].inputs[k]] = true;
    for (size_t i = 0; i + 1 < n; i++) {
        const struct cw_node *node = &checked->graph->nodes[i];
        if (!read[i])
            return cw_err_set(
                err, CW_E_INVALID,
                "node \"%s\" (%s): no node reads it (the one after it may be a source, "
                "which reads none)",
                node->name, node->op);
    }
    return 0;
}

static int check_all(struct cw_checked *checked, bool without_data, struct cw_err *err)
{
    size_t n = checked->graph->n;
    for (size_t i = 0; i < n; i++) {
        int rc = check_node(checked, i, without_data, err);
        if (rc < 0)
            return rc;
    }
    int rc = check_unused(checked, err);
    if (rc >= 0)
        rc = cw_frozen_find(checked, err);
    if (rc >= 0)
        rc = cw_survey_find(checked, err);
    if (rc < 0)
        return rc;
    struct cw_hasher *hasher = cw_hasher_new();
    for (size_t i = 0; i < n; i++)
        fingerprint(checked, i, hasher);
    cw_hasher_free(hasher);
    checked->fingerprint = checked->nodes[n - 1].fingerprint;
    return cw_cacheable_find(checked, err);
}

static int check(struct cw_graph *graph, bool without_data, struct cw_checked **ret_checked,
                 struct cw_err *err)
{
    struct cw_err local = {0};
    struct cw_checked *checked = CW_NEW(struct cw_checked);
    checked->refs = 1;
    checked->graph = cw_graph_ref(graph);
    checked->nodes = CW_NEW_ARRAY(struct cw_checked_node, graph->n);
    int rc = check_all(checked, without_data, err ? err : &local);
    if (rc < 0)
        cw_checked_unref(checked);
    else
        *ret_checked = checked;
    return rc < 0 ? rc : 0;
}

int cw_graph_check(struct cw_graph *graph, struct cw_checked **ret_checked, struct cw_err *err)
{
    return check(graph, false, ret_checked, err);
}

int cw_graph_check_without_data(struct cw_graph *graph, struct cw_checked **ret_checked,
                                struct cw_err *err)
{
    return check(graph, true, ret_checked, err);
}

struct cw_checked *cw_checked_ref(struct cw_checked *checked)
{
    atomic_fetch_add_explicit(&checked->refs, 1, memory_order_relaxed);
    return checked;
}

struct cw_checked *cw_checked_unref(struct cw_checked *checked)
{
    if (!checked || atomic_fetch_sub_explicit(&checked->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    for (size_t i = 0; i < checked->graph->n; i++) {
        struct cw_checked_node *node = &checked->nodes[i];
        if (node->opts && node->op->options)
            cw_opt_fini(node->op->options, node->opts);
        cw_mem_free(node->opts);
        cw_inferred_fini(node);
    }
    cw_mem_free(checked->nodes);
    cw_graph_unref(checked->graph);
    cw_mem_free(checked);
    return NULL;
}
