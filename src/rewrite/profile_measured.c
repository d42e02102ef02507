/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of what the engine has measured. */
#include "base/mem.h"
#include "ops/motion.h"
#include "ops/op_facts.h"
#include "rewrite/operator_key.h"
#include "rewrite/profile.h"

bool cw_cost_profile_needs(const struct cw_op *op)
{
    return op->kind != CW_OP_INDEX && op->kind != CW_OP_GROUP &&
           !(op->traits & (CW_OP_CACHE | CW_OP_MARK));
}

/* Whether an operator of this kind takes its time for bytes, where that cannot be told. */
static bool is_proportional(const struct cw_checked *checked, size_t i)
{
    const struct cw_checked_node *node = &checked->nodes[i];
    struct cw_op_facts facts = {0};

    if (node->op->traits & (CW_OP_POINTWISE | CW_OP_GEOMETRIC))
        return true;
    if (!node->op->facts || node->inputs_n == 0)
        return false;
    cw_op_facts_get(node->op, node->opts, &checked->nodes[node->inputs[0]].out, node->fields,
                    node->fields_n, &facts);
    return facts.by_bytes;
}

static void set_node(const struct cw_checked *checked, size_t i,
                     const struct cw_cost_measured *measured, struct cw_cost_profile_node *ret_node)
{
    struct cw_cost_line line;

    cw_cost_line_fit(measured, is_proportional(checked, i), &line);
    *ret_node = (struct cw_cost_profile_node){.ns = line.ns,
                                              .ns_byte = line.ns_byte,
                                              .cpu_ns = line.cpu_ns,
                                              .cpu_ns_byte = line.cpu_ns_byte,
                                              .in_bytes = line.in_bytes,
                                              .out_bytes = line.out_bytes,
                                              .keep = line.keep,
                                              .whole = line.whole,
                                              .batch = line.batch,
                                              .samples = measured->sums.timed,
                                              .operator= cw_operator_key(checked, i),
                                              .assumed = line.assumed};
}

void cw_cost_profile_of_measured(const struct cw_checked *checked,
                                 const struct cw_cost_measured *measured,
                                 struct cw_cost_profile *ret_profile)
{
    const struct cw_graph *graph = checked->graph;
    char text[CW_HASH_TEXT_BYTES];

    cw_hash_text(checked->fingerprint, text);
    *ret_profile =
        (struct cw_cost_profile){.pipeline = cw_mem_strdup(text),
                                 .nodes = CW_NEW_ARRAY(struct cw_cost_profile_node, graph->n)};
    for (size_t i = 0; i < graph->n; i++) {
        if (!cw_cost_profile_needs(checked->nodes[i].op))
            continue;
        struct cw_cost_profile_node *node = &ret_profile->nodes[ret_profile->n++];
        set_node(checked, i, &measured[i], node);
        node->name = cw_mem_strdup(graph->nodes[i].name);
    }
}

static void add_set(struct cw_cost_profile *profile, const char *const names[CW_FILTERS_MAX],
                    unsigned set, double shown, double passed)
{
    struct cw_cost_profile_set *it = &profile->filters[profile->filters_n++];

    *it = (struct cw_cost_profile_set){.keep = CW_MIN(passed / shown, 1.0), .samples = shown};
    for (size_t k = 0; k < CW_FILTERS_MAX; k++)
        if (set >> k & 1)
            it->nodes[it->n++] = cw_mem_strdup(names[k]);
}

void cw_cost_profile_add_filters(struct cw_cost_profile *profile,
                                 const char *const names[CW_FILTERS_MAX], const double *shown,
                                 const double *passed)
{
    unsigned known = 0;

    for (size_t k = 0; k < CW_FILTERS_MAX; k++)
        known |= names[k] ? 1u << k : 0;
    if (known == 0)
        return;
    profile->filters = CW_NEW_ARRAY(struct cw_cost_profile_set, CW_FILTER_SETS);
    for (unsigned set = 1; set < CW_FILTER_SETS; set++)
        if ((set & ~known) == 0 && shown[set] > 0)
            add_set(profile, names, set, shown[set], passed[set]);
}
