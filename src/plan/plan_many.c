/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the operators that may work on many rows at once, since their result for a batch is the batch
 * of their results (`by_batch` in ops/op_facts.h). */
#include "base/mem.h"
#include "graph/infer.h"
#include "plan/plan_int.h"
#include <string.h>

static bool all_fixed(const struct cw_spec *spec)
{
    for (size_t f = 0; f < spec->n; f++)
        if (!cw_field_is_fixed(&spec->fields[f]))
            return false;
    return true;
}

void cw_plan_many_free(struct cw_spec *many)
{
    if (many)
        cw_spec_fini(many);
    cw_mem_free(many);
}

/* Returns the spec of many elements: a dimension of unknown size comes first. NULL: a field has as many
 * dimensions as there may be. */
static struct cw_spec *with_lead(const struct cw_spec *one)
{
    struct cw_spec *many = CW_NEW(struct cw_spec);
    *many = cw_spec_copy(one);
    for (size_t f = 0; f < many->n; f++) {
        struct cw_field *field = &many->fields[f];
        if (field->rank >= CW_RANK_MAX) {
            cw_plan_many_free(many);
            return NULL;
        }
        memmove(field->dims + 1, field->dims, (size_t)field->rank * sizeof(field->dims[0]));
        field->dims[0] = -1;
        field->rank++;
    }
    return many;
}

static bool works_by_batch(const struct cw_plan_node *node)
{
    struct cw_op_facts facts = {0};
    if (node->step != CW_STEP_ELEMENT || !all_fixed(node->in) || !all_fixed(&node->out))
        return false;
    cw_op_facts_get(node->op, node->opts, node->in, node->fields, node->fields_n, &facts);
    return facts.known && facts.by_batch && !facts.refuses && !facts.drops;
}

/* Whether the operator, behind the batch, works on the same fields and gives the batch of its
 * results. */
static bool infers_same(const struct cw_plan *plan, size_t i, const struct cw_spec *many_in,
                        const struct cw_spec *many_out)
{
    const struct cw_plan_node *node = &plan->nodes[i];
    struct cw_checked_node behind = plan->checked->nodes[i];
    struct cw_err ignored = {0};
    bool same = cw_infer_node(node->node, many_in, 1, &behind, &ignored) >= 0 &&
                cw_spec_eq(&behind.out, many_out) && behind.fields_n == node->fields_n;
    for (size_t k = 0; same && k < node->fields_n; k++)
        same = behind.fields[k] == node->fields[k];
    cw_inferred_fini(&behind);
    return same;
}

void cw_plan_find_many(struct cw_plan *plan, size_t i)
{
    struct cw_plan_node *node = &plan->nodes[i];
    if (!works_by_batch(node))
        return;
    struct cw_spec *in = with_lead(node->in), *out = with_lead(&node->out);
    if (in && out && infers_same(plan, i, in, out)) {
        node->many_in = in;
        node->many_out = out;
        return;
    }
    cw_plan_many_free(in);
    cw_plan_many_free(out);
}
