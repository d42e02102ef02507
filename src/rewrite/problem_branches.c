/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/problem_branches.h"

#include <string.h>

#include "base/mem.h"
#include "ops/op_facts.h"
#include "rewrite/problem_bytes.h"

/* The nodes up to one, from the source on. */
struct path {
    size_t *nodes, n;
};

static bool drops(const struct cw_checked *checked, size_t node)
{
    const struct cw_checked_node *it = &checked->nodes[node];
    struct cw_op_facts facts = {0};

    if (it->op->facts && it->inputs_n == 1)
        cw_op_facts_get(it->op, it->opts, &checked->nodes[it->inputs[0]].out, it->fields,
                        it->fields_n, &facts);
    return facts.drops || it->sparse;
}

/* Returns false if there is no single way to the node from a source, with as many elements as there. */
static bool list_path(const struct cw_checked *checked, size_t node, struct path *path)
{
    size_t n = 1;

    for (size_t at = node; checked->nodes[at].inputs_n > 0; at = checked->nodes[at].inputs[0], n++)
        if (checked->nodes[at].inputs_n > 1 || drops(checked, at))
            return false;
    path->n = n;
    for (size_t at = node; n > 0; at = n > 0 ? checked->nodes[at].inputs[0] : at)
        path->nodes[--n] = at;
    return true;
}

/* Whether a node makes a part of an image for a crop that stands behind the path, so that it makes the whole if what
 * comes out of the path is cached. */
static bool becomes_whole(const struct cw_checked *checked, const struct cw_cost_profile_node *node,
                          const struct path *path, size_t at)
{
    if (!checked->nodes[path->nodes[at]].op->makes_parts || node->whole.out_bytes <= 0)
        return false;
    for (size_t i = at + 1; i < path->n; i++)
        if (checked->nodes[path->nodes[i]].op->want)
            return false;
    return true;
}

static void set_branch(const struct cw_checked *checked, const struct cw_cost_profile *profile,
                       const struct path *path, double *bytes,
                       struct cw_optimize_branch *ret_branch)
{
    const size_t last = path->nodes[path->n - 1];

    *ret_branch = (struct cw_optimize_branch){.name = checked->graph->nodes[last].name};
    for (size_t i = 0; i < path->n; i++) {
        const char *name = checked->graph->nodes[path->nodes[i]].name;
        const struct cw_cost_profile_node *node = cw_cost_profile_find(profile, name);
        const bool whole = node && becomes_whole(checked, node, path, i);
        cw_problem_pass_bytes(checked, profile, path->nodes[i], whole, bytes);
        if (!node)
            continue;
        const double ns = node->ns + node->ns_byte * node->in_bytes;
        const double cpu_ns = node->cpu_ns + node->cpu_ns_byte * node->in_bytes;
        ret_branch->ns += ns;
        ret_branch->cpu_ns += cpu_ns;
        ret_branch->whole_ns += whole ? node->whole.ns + node->whole.ns_byte * node->in_bytes : ns;
        ret_branch->whole_cpu_ns +=
            whole ? node->whole.cpu_ns + node->whole.cpu_ns_byte * node->in_bytes : cpu_ns;
    }
    for (size_t f = 0; f < checked->nodes[last].out.n; f++)
        ret_branch->bytes += bytes[CW_FIELDS_MAX * last + f];
}

/* Whether something is to be gained behind a node. */
static bool may_be_cached(const struct cw_checked *checked, const struct cw_cost_profile *profile,
                          size_t node)
{
    return !checked->nodes[node].uncacheable &&
           cw_cost_profile_find(profile, checked->graph->nodes[node].name);
}

void cw_problem_set_branches(const struct cw_chain *chain, const struct cw_cost_profile *profile,
                             struct cw_optimize_problem *problem, double *ret_bytes)
{
    const struct cw_checked *checked = chain->checked;
    const size_t n = chain->first + 1;

    if (n == 1)
        return;
    cw_autofree double *bytes = CW_NEW_ARRAY(double, CW_FIELDS_MAX *n);
    cw_autofree size_t *nodes = CW_NEW_ARRAY(size_t, n);
    struct path path = {.nodes = nodes};
    for (size_t i = chain->first; i-- > 0;)
        if (problem->branches_n < CW_OPTIMIZE_BRANCHES_MAX && may_be_cached(checked, profile, i) &&
            list_path(checked, i, &path))
            set_branch(checked, profile, &path, bytes, &problem->branches[problem->branches_n++]);
    for (size_t i = 0; i < n; i++)
        cw_problem_pass_bytes(checked, profile, i, false, bytes);
    memcpy(ret_bytes, bytes + CW_FIELDS_MAX * chain->first, CW_FIELDS_MAX * sizeof(*bytes));
}
