/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/problem_together.h"

#include <math.h>
#include <string.h>

#include "graph/cacheable.h"
#include "graph/fold.h"

/* What was seen of so many elements weighs as much as what follows from filters by themselves. */
#define SEEN_ALIKE 8

static const struct cw_checked_node *node_at(const struct cw_chain *chain, size_t place)
{
    return &chain->checked->nodes[chain->nodes[place]];
}

static const struct cw_spec *spec_behind(const struct cw_chain *chain, size_t place)
{
    return &node_at(chain, place)->out;
}

/* ---- operators that are not called ---- */

static bool is_map(const struct cw_chain *chain, size_t place)
{
    const struct cw_checked_node *node = node_at(chain, place);
    return node->op->kind == CW_OP_ELEMENT && node->inputs_n == 1;
}

static struct cw_fold_op fold_of(const struct cw_chain *chain, size_t place)
{
    const struct cw_checked_node *node = node_at(chain, place);
    return (struct cw_fold_op){.op = node->op,
                               .opts = node->opts,
                               .in = &chain->checked->nodes[node->inputs[0]].out,
                               .fields = node->fields,
                               .fields_n = node->fields_n};
}

/* Whether b, directly behind a, does its work: what comes to a is taken as it is written. */
static bool folds(const struct cw_chain *chain, size_t a, size_t b)
{
    const struct cw_fold_op op = fold_of(chain, a);
    struct cw_fold_op next = fold_of(chain, b);
    next.in = spec_behind(chain, a);
    for (size_t i = 0; i < next.fields_n; i++)
        if (next.fields[i] >= next.in->n)
            return false;
    return cw_fold_takes_over(&op, &next);
}

static bool has_no_effect(const struct cw_chain *chain, size_t place)
{
    const struct cw_fold_op op = fold_of(chain, place);
    return cw_fold_has_no_effect(&op) && cw_spec_eq(op.in, spec_behind(chain, place));
}

static void set_folds(const struct cw_chain *chain, struct cw_optimize_problem *problem)
{
    for (size_t b = 1; b < chain->n; b++)
        for (size_t a = 1; is_map(chain, b) && a < chain->n; a++)
            if (is_map(chain, a) && (a == b ? has_no_effect(chain, a) : folds(chain, a, b)))
                problem->nodes[b].folds |= UINT64_C(1) << a;
}

/* ---- many elements at once ---- */

static bool all_fixed(const struct cw_spec *spec)
{
    for (size_t f = 0; f < spec->n; f++)
        if (!cw_field_is_fixed(&spec->fields[f]))
            return false;
    return true;
}

static bool works_by_batch(const struct cw_chain *chain, size_t place)
{
    const struct cw_op_facts *facts = &chain->ops[place].facts;
    if (!is_map(chain, place))
        return false;
    return cw_passes_by(node_at(chain, place)->op) ||
           (facts->known && facts->by_batch && !facts->refuses && !facts->drops &&
            all_fixed(spec_behind(chain, place)) && all_fixed(chain->ops[place].in));
}

static void set_batch(const struct cw_chain *chain, const struct cw_cost_profile *profile,
                      size_t place, struct cw_optimize_problem *problem)
{
    struct cw_optimize_node *node = &problem->nodes[place];
    const struct cw_cost_profile_node *measured = cw_cost_profile_find(profile, node->name);
    node->is_batch = node_at(chain, place)->op->kind == CW_OP_GROUP;
    node->by_batch = works_by_batch(chain, place);
    if (!measured || !node->by_batch || (measured->batch.ns <= 0 && measured->batch.ns_byte <= 0))
        return;
    node->batch = (struct cw_optimize_batch){true, measured->batch.ns, measured->batch.ns_byte,
                                             measured->batch.cpu_ns, measured->batch.cpu_ns_byte};
}

/* ---- filters ---- */

static size_t place_of(const struct cw_optimize_problem *problem, const char *name)
{
    size_t i = 0;
    while (i < problem->n && strcmp(problem->nodes[i].name, name) != 0)
        i++;
    return i;
}

static size_t number_of(const struct cw_optimize_filters *filters, size_t place)
{
    size_t k = 0;
    while (k < filters->n && filters->place[k] != place)
        k++;
    return k;
}

/* The filters that sets are known of. */
static void list_filters(const struct cw_cost_profile *profile, struct cw_optimize_problem *problem)
{
    struct cw_optimize_filters *filters = &problem->filters;
    for (size_t i = 0; i < profile->filters_n; i++)
        for (size_t k = 0; k < profile->filters[i].n; k++) {
            const size_t place = place_of(problem, profile->filters[i].nodes[k]);
            if (place < problem->n && number_of(filters, place) == filters->n &&
                filters->n < CW_FILTERS_MAX)
                filters->place[filters->n++] = (uint8_t)place;
        }
}

/* Returns the set, as bits of the filters' numbers; 0: not all of them are known. */
static unsigned set_of(const struct cw_optimize_problem *problem,
                       const struct cw_cost_profile_set *it)
{
    unsigned set = 0;
    for (size_t k = 0; k < it->n; k++) {
        const size_t number = number_of(&problem->filters, place_of(problem, it->nodes[k]));
        if (number == problem->filters.n)
            return 0;
        set |= 1u << number;
    }
    return set;
}

static const struct cw_cost_profile_set *find_set(const struct cw_optimize_problem *problem,
                                                  const struct cw_cost_profile *profile,
                                                  unsigned set)
{
    for (size_t i = 0; i < profile->filters_n; i++)
        if (set_of(problem, &profile->filters[i]) == set)
            return &profile->filters[i];
    return NULL;
}

/* What passes a set if its last filter takes no notice of the others. */
static double share_alone(const struct cw_optimize_filters *filters, unsigned set, double keep)
{
    const unsigned last = 1u << (31 - __builtin_clz(set));
    return set == last ? keep : filters->share[set & ~last] * filters->share[last];
}

/* What passes a set passes each part of it. */
static double share_at_most(const struct cw_optimize_filters *filters, unsigned set, double share)
{
    for (size_t k = 0; k < filters->n; k++)
        if (set >> k & 1)
            share = fmin(share, filters->share[set & ~(1u << k)]);
    return share;
}

/* Where few elements were seen, what is known of the filters by themselves counts as well. A number that somebody has
 * written without saying of how many elements is believed. */
static double share_seen(const struct cw_cost_profile_set *seen, double alone)
{
    if (!seen)
        return alone;
    return seen->samples > 0
               ? (seen->keep * seen->samples + alone * SEEN_ALIKE) / (seen->samples + SEEN_ALIKE)
               : seen->keep;
}

static void set_filters(const struct cw_cost_profile *profile, struct cw_optimize_problem *problem)
{
    struct cw_optimize_filters *filters = &problem->filters;
    list_filters(profile, problem);
    filters->share[0] = 1;
    for (unsigned set = 1; filters->n > 0 && set < 1u << filters->n; set++) {
        const size_t last = (size_t)(31 - __builtin_clz(set));
        const double keep = problem->nodes[filters->place[last]].keep;
        const double share =
            share_seen(find_set(problem, profile, set), share_alone(filters, set, keep));
        filters->share[set] = share_at_most(filters, set, share);
    }
}

void cw_problem_set_together(const struct cw_chain *chain, const struct cw_cost_profile *profile,
                             struct cw_optimize_problem *problem)
{
    set_folds(chain, problem);
    for (size_t i = 1; i < chain->n; i++)
        set_batch(chain, profile, i, problem);
    set_filters(profile, problem);
}
