/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/relaxed.h"

#include "graph/infer.h"

/* Infers an operator of the chain on another spec than its own, with the fields that it works on where it
 * is written. */
static int infer_on(const struct cw_checked *checked, size_t node, const struct cw_spec *in,
                    struct cw_spec *ret_out, struct cw_err *err)
{
    const struct cw_checked_node *written = &checked->nodes[node];
    const struct cw_spec *own = &checked->nodes[written->inputs[0]].out;
    struct cw_checked_node inferred = {.op = written->op, .opts = written->opts};
    struct cw_node copy = checked->graph->nodes[node]; /* shallow: nothing of it is freed */
    char *names[CW_FIELDS_MAX];

    if (written->fields_n > 0) {
        for (size_t i = 0; i < written->fields_n; i++)
            names[i] = (char *)(uintptr_t)own->fields[written->fields[i]].name;
        copy.fields = names;
        copy.fields_n = written->fields_n;
    }
    int rc = cw_infer_node(&copy, in, 1, &inferred, err);
    if (rc >= 0)
        *ret_out = cw_spec_take(&inferred.out);
    cw_inferred_fini(&inferred);
    return rc;
}

/* Whether a node is an operator that makes one element of one, and is neither cache nor mark. */
static bool is_map(const struct cw_checked_node *node)
{
    return node->op->kind == CW_OP_ELEMENT && node->inputs_n == 1 &&
           !(node->op->traits & (CW_OP_CACHE | CW_OP_MARK | CW_OP_CHANGES_COUNT));
}

static const char *why_types(const struct cw_checked *checked, size_t a, size_t b)
{
    const struct cw_spec *in = &checked->nodes[checked->nodes[a].inputs[0]].out;
    CW_SPEC_AUTO first = {0};
    CW_SPEC_AUTO written = {0};
    CW_SPEC_AUTO swapped = {0};

    if (infer_on(checked, a, in, &first, NULL) < 0 ||
        infer_on(checked, b, &first, &written, NULL) < 0)
        return "needs what is made between them";
    cw_spec_fini(&first);
    if (infer_on(checked, b, in, &first, NULL) < 0 ||
        infer_on(checked, a, &first, &swapped, NULL) < 0)
        return "cannot be applied to what the other gets, or the other not to what it makes";
    return cw_spec_eq(&written, &swapped) ? NULL : "gives other types or shapes then";
}

static bool depends_on(const struct cw_node *node, const char *name)
{
    for (size_t i = 0; i < node->depends_n; i++)
        if (cw_str_eq(node->depends_on[i], name))
            return true;
    return false;
}

/* Whether they keep their sides whatever is asked for. */
static bool is_kept(const struct cw_chain *chain, size_t a, size_t b)
{
    const struct cw_node *nodes = &chain->checked->graph->nodes[chain->first];

    return chain->fixed[a] || chain->fixed[b] || depends_on(&nodes[a], nodes[b].name) ||
           depends_on(&nodes[b], nodes[a].name);
}

const char *cw_relaxed_why_not(const struct cw_chain *chain, size_t a, size_t b)
{
    const struct cw_checked_node *nodes = &chain->checked->nodes[chain->first];
    const char *why = cw_chain_why_not(chain, a, b);

    if (!why || is_kept(chain, a, b) || !is_map(&nodes[a]) || !is_map(&nodes[b]))
        return why;
    return why_types(chain->checked, chain->first + a, chain->first + b);
}

void cw_problem_relax(const struct cw_chain *chain, struct cw_optimize_problem *problem)
{
    for (size_t b = 1; b < chain->n; b++) {
        problem->nodes[b].behind = 0;
        for (size_t a = 0; a < b; a++)
            if (cw_relaxed_why_not(chain, a, b))
                problem->nodes[b].behind |= UINT64_C(1) << a;
    }
}

int cw_relaxed_check(const struct cw_chain *chain, const size_t *order, struct cw_err *err)
{
    const struct cw_checked_node *nodes = &chain->checked->nodes[chain->first];
    CW_SPEC_AUTO spec = cw_spec_copy(&nodes[0].out);
    CW_SPEC_AUTO out = {0};

    for (size_t i = 1; i < chain->n; i++) {
        if (infer_on(chain->checked, chain->first + order[i], &spec, &out, err) < 0)
            return cw_err_wrap(err, "in the relaxed order");
        cw_spec_fini(&spec);
        spec = cw_spec_take(&out);
    }
    if (!cw_spec_eq(&spec, &nodes[chain->n - 1].out))
        return cw_err_set(err, CW_E_INVALID, "the relaxed order gives other types or shapes");
    return 0;
}
