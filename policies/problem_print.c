/* SPDX-License-Identifier: Apache-2.0 */
/* Prints problems. */
#include "policies/problem_json.h"
#include "policies/problem_numbers.h"

/* The places whose bits are set. */
static void add_bits(struct cw_value *object, const char *key, uint64_t bits)
{
    if (bits == 0)
        return;
    struct cw_value *items =
        cw_value_set_list(cw_value_member(object, key), (size_t)__builtin_popcountll(bits));
    for (size_t i = 0; i < 64; i++)
        if (bits >> i & 1)
            cw_value_set_i64(items++, (int64_t)i);
}

static void add_list(struct cw_value *object, const char *key, const double *v, size_t n)
{
    struct cw_value *items = cw_value_set_list(cw_value_member(object, key), n);
    for (size_t i = 0; i < n; i++)
        cw_value_set_f64(&items[i], v[i]);
}

static void add_whole(struct cw_value *value, const struct cw_optimize_node *node)
{
    if (!node->crops)
        return;
    add_bits(value, "crops", node->crops);
    struct cw_value *whole = cw_value_member(value, "whole");
    cw_value_set_object(whole);
    cw_numbers_add(&node->whole, CW_NUMBERS(whole_numbers), whole);
    add_bits(whole, "fields", node->whole_fields);
}

static void add_many(struct cw_value *value, const struct cw_optimize_node *node)
{
    if (!node->batch.is_known)
        return;
    struct cw_value *batch = cw_value_member(value, "batch");
    cw_value_set_object(batch);
    cw_numbers_add(&node->batch, CW_NUMBERS(batch_numbers), batch);
}

static void add_node(struct cw_value *value, const struct cw_optimize_problem *problem,
                     const struct cw_optimize_node *node)
{
    cw_value_set_object(value);
    cw_value_set_str(cw_value_member(value, "name"), node->name);
    cw_numbers_add(node, CW_NUMBERS(node_numbers), value);
    add_bits(value, "reads", node->reads);
    add_bits(value, "adds", node->adds);
    add_bits(value, "behind", node->behind);
    add_list(value, "ratio", node->ratio, problem->fields_n);
    add_bits(value, "folds", node->folds);
    add_whole(value, node);
    add_many(value, node);
}

static void add_cached(struct cw_value *object, const struct cw_optimize_problem *problem)
{
    if (problem->cached_n == 0)
        return;
    struct cw_value *items =
        cw_value_set_list(cw_value_member(object, "cached"), problem->cached_n);
    for (size_t i = 0; i < problem->cached_n; i++) {
        cw_value_set_object(&items[i]);
        add_bits(&items[i], "set", problem->cached[i].set);
        cw_numbers_add(&problem->cached[i], CW_NUMBERS(cached_numbers), &items[i]);
    }
}

static void add_branches(struct cw_value *object, const struct cw_optimize_problem *problem)
{
    if (problem->branches_n == 0)
        return;
    struct cw_value *items =
        cw_value_set_list(cw_value_member(object, "branches"), problem->branches_n);
    for (size_t i = 0; i < problem->branches_n; i++) {
        const struct cw_optimize_branch *branch = &problem->branches[i];
        cw_value_set_object(&items[i]);
        cw_value_set_str(cw_value_member(&items[i], "name"), branch->name);
        cw_numbers_add(branch, CW_NUMBERS(branch_numbers), &items[i]);
    }
}

static void add_filters(struct cw_value *object, const struct cw_optimize_filters *filters)
{
    if (filters->n == 0)
        return;
    struct cw_value *value = cw_value_member(object, "filters");
    cw_value_set_object(value);
    struct cw_value *places = cw_value_set_list(cw_value_member(value, "places"), filters->n);
    for (size_t i = 0; i < filters->n; i++)
        cw_value_set_i64(&places[i], filters->place[i]);
    add_list(value, "share", filters->share, (size_t)1 << filters->n);
}

static void fill(const struct cw_optimize_problem *problem, struct cw_value *value)
{
    cw_value_set_object(value);
    cw_value_set_i64(cw_value_member(value, "problem"), 1);
    cw_numbers_add(problem, CW_NUMBERS(problem_numbers), value);
    add_list(value, "bytes", problem->bytes, problem->fields_n);
    add_bits(value, "cache_needs", problem->cache_needs);
    if (problem->has_store) {
        struct cw_value *store = cw_value_member(value, "store");
        cw_value_set_object(store);
        cw_numbers_add(&problem->store, CW_NUMBERS(store_numbers), store);
    }
    add_cached(value, problem);
    add_branches(value, problem);
    add_filters(value, &problem->filters);
    struct cw_value *nodes = cw_value_set_list(cw_value_member(value, "nodes"), problem->n);
    for (size_t i = 0; i < problem->n; i++)
        add_node(&nodes[i], problem, &problem->nodes[i]);
}

void cw_problem_print(const struct cw_optimize_problem *problem, struct cw_str *out)
{
    struct cw_value value = {0};
    fill(problem, &value);
    cw_value_print(&value, out);
    cw_value_fini(&value);
}
