/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the filters that an element can be shown to where it comes to the first one of them. */
#include "plan/plan_int.h"

static void facts_of(const struct cw_plan_node *node, struct cw_op_facts *ret_facts)
{
    *ret_facts = (struct cw_op_facts){0};
    /* whoever dies in an operator of a plugin must be known, so none is called besides */
    if (node->step == CW_STEP_ELEMENT && node->op->facts && !node->op->foreign)
        cw_op_facts_get(node->op, node->opts, node->in, node->fields, node->fields_n, ret_facts);
}

/* Whether it does nothing but to leave elements out, by what it reads. */
static bool is_filter(const struct cw_op_facts *facts)
{
    return facts->known && facts->drops && cw_field_set_is_empty(&facts->writes);
}

/* Filters have the numbers of the written order, in which plans are counted together. */
static size_t number_of(const struct cw_plan *plan, size_t i)
{
    const struct cw_plan *written = plan->written ? plan->written : plan;
    const size_t last = plan->written ? plan->written_node[i] : i;
    size_t number = 0;
    if (last == SIZE_MAX)
        return CW_FILTERS_MAX;
    for (size_t k = 0; k < last && number < CW_FILTERS_MAX; k++) {
        struct cw_op_facts facts;
        facts_of(&written->nodes[k], &facts);
        number += is_filter(&facts);
    }
    return number;
}

void cw_plan_filter_nodes(const struct cw_plan *plan, size_t ret_nodes[CW_FILTERS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < plan->n && n < CW_FILTERS_MAX; i++) {
        struct cw_op_facts facts;
        facts_of(&plan->nodes[i], &facts);
        if (is_filter(&facts))
            ret_nodes[n++] = i;
    }
    while (n < CW_FILTERS_MAX)
        ret_nodes[n++] = SIZE_MAX;
}

static void add(struct cw_plan *plan, size_t i)
{
    const size_t number = number_of(plan, i);
    if (number < CW_FILTERS_MAX)
        plan->filters[plan->filters_n++] =
            (struct cw_plan_filter){.node = (uint16_t)i, .number = (uint8_t)number};
}

/* From the first filter on: those behind it whose fields nobody has written since, and which refuse no element. */
static void find_behind(struct cw_plan *plan, size_t first)
{
    struct cw_field_set written = {{0}};
    add(plan, first);
    if (plan->filters_n == 0)
        return;
    for (size_t i = cw_plan_next_operator(plan, first); i != SIZE_MAX;
         i = cw_plan_next_operator(plan, i)) {
        struct cw_op_facts facts;
        facts_of(&plan->nodes[i], &facts);
        if (!facts.known)
            return;
        if (is_filter(&facts) && !facts.refuses && !cw_field_set_meets(&facts.reads, &written))
            add(plan, i);
        cw_field_set_join(&written, &facts.writes);
    }
}

void cw_plan_find_filters(struct cw_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++) {
        struct cw_op_facts facts;
        facts_of(&plan->nodes[i], &facts);
        if (!is_filter(&facts))
            continue;
        find_behind(plan, i);
        break;
    }
    for (size_t i = 0; i < plan->n; i++)
        plan->nodes[i].has_tries = (plan->nodes[i].many_in && !plan->nodes[i].op->foreign) ||
                                   (plan->filters_n > 1 && plan->filters[0].node == i);
}
