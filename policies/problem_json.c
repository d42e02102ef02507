/* SPDX-License-Identifier: Apache-2.0 */
/* Reads problems. */
#include "policies/problem_json.h"

#include "policies/problem_numbers.h"

static int refuse(const char *key, const char *why, struct cw_err *err)
{
    return cw_err_set(err, CW_E_INVALID, "%s: %s", key, why);
}

static int read_bits(const struct cw_value *object, const char *key, size_t n, uint64_t *ret_bits,
                     struct cw_err *err)
{
    const struct cw_value *list = cw_value_get(object, key);
    *ret_bits = 0;
    if (list && list->type != CW_VALUE_LIST)
        return refuse(key, "not a list", err);
    for (size_t i = 0; list && i < list->n; i++) {
        const struct cw_value *item = &list->items[i];
        if (item->type != CW_VALUE_I64 || item->i < 0 || item->i >= (int64_t)n)
            return cw_err_set(err, CW_E_INVALID, "%s: not a number from 0 to %zu", key, n - 1);
        *ret_bits |= UINT64_C(1) << item->i;
    }
    return 0;
}

static int read_list(const struct cw_value *object, const char *key, double *ret_v, size_t n,
                     struct cw_err *err)
{
    const struct cw_value *list = cw_value_get(object, key);
    if (!list || list->type != CW_VALUE_LIST || list->n != n)
        return cw_err_set(err, CW_E_INVALID, "%s: not a list of %zu numbers", key, n);
    for (size_t i = 0; i < n; i++)
        if (!cw_number_of(&list->items[i], &ret_v[i]) || ret_v[i] < 0 ||
            ret_v[i] > CW_NUMBER_LARGEST)
            return cw_err_set(err, CW_E_INVALID, "%s: not numbers from 0 to %g", key,
                              CW_NUMBER_LARGEST);
    return 0;
}

static int read_name(const struct cw_value *object, const char **ret_name, struct cw_err *err)
{
    const struct cw_value *name = cw_value_get(object, "name");
    if (!name || name->type != CW_VALUE_STR || name->s[0] == '\0')
        return refuse("name", "a node needs one", err);
    *ret_name = name->s;
    return 0;
}

static int read_images(const struct cw_value *value, const struct cw_optimize_problem *problem,
                       struct cw_optimize_node *node, struct cw_err *err)
{
    static const struct cw_value none = {.type = CW_VALUE_OBJECT};
    const struct cw_value *whole = cw_value_get(value, "whole");
    uint64_t fields = 0;
    int rc = read_bits(value, "crops", problem->n, &node->crops, err);
    if (rc == 0 && whole && whole->type != CW_VALUE_OBJECT)
        rc = refuse("whole", "not an object", err);
    whole = whole ? whole : &none;
    if (rc == 0)
        rc = cw_numbers_read(whole, CW_NUMBERS(whole_numbers), &node->whole, err);
    if (rc == 0)
        rc = read_bits(whole, "fields", problem->fields_n, &fields, err);
    node->whole_fields = (uint32_t)fields;
    return rc;
}

static int read_many(const struct cw_value *value, struct cw_optimize_node *node,
                     struct cw_err *err)
{
    const struct cw_value *batch = cw_value_get(value, "batch");
    node->batch.is_known = batch != NULL;
    if (!batch)
        return 0;
    if (batch->type != CW_VALUE_OBJECT)
        return refuse("batch", "not an object", err);
    return cw_numbers_read(batch, CW_NUMBERS(batch_numbers), &node->batch, err);
}

static int read_node_parts(const struct cw_value *value, const struct cw_optimize_problem *problem,
                           struct cw_optimize_node *node, struct cw_err *err)
{
    uint64_t reads = 0, adds = 0;
    int rc = cw_numbers_read(value, CW_NUMBERS(node_numbers), node, err);
    if (rc == 0)
        rc = read_bits(value, "reads", problem->fields_n, &reads, err);
    if (rc == 0)
        rc = read_bits(value, "adds", problem->fields_n, &adds, err);
    if (rc == 0)
        rc = read_bits(value, "behind", problem->n, &node->behind, err);
    if (rc == 0)
        rc = read_list(value, "ratio", node->ratio, problem->fields_n, err);
    if (rc == 0)
        rc = read_bits(value, "folds", problem->n, &node->folds, err);
    if (rc == 0)
        rc = read_images(value, problem, node, err);
    if (rc == 0)
        rc = read_many(value, node, err);
    node->reads = (uint32_t)reads;
    node->adds = (uint32_t)adds;
    return rc;
}

static int read_node(const struct cw_value *value, const struct cw_optimize_problem *problem,
                     struct cw_optimize_node *node, struct cw_err *err)
{
    if (value->type != CW_VALUE_OBJECT)
        return refuse("nodes", "not objects", err);
    int rc = read_name(value, &node->name, err);
    if (rc == 0 && read_node_parts(value, problem, node, err) < 0)
        rc = cw_err_wrap(err, "nodes: %.100s", node->name);
    return rc;
}

/* Some order must be allowed: nodes are taken as long as there is one whose needs stand before it. */
static int check_order(const struct cw_optimize_problem *problem, struct cw_err *err)
{
    uint64_t all = (UINT64_C(1) << problem->n) - 1, done = 0, before;
    do {
        before = done;
        for (size_t i = 0; i < problem->n; i++)
            if ((problem->nodes[i].behind & ~done) == 0)
                done |= UINT64_C(1) << i;
    } while (done != before);
    return done == all ? 0 : refuse("behind", "two nodes stand behind each other", err);
}

static int read_set(const struct cw_value *value, const struct cw_optimize_problem *problem,
                    struct cw_optimize_cached *ret_cached, struct cw_err *err)
{
    if (value->type != CW_VALUE_OBJECT)
        return refuse("cached", "not objects", err);
    int rc = read_bits(value, "set", problem->n, &ret_cached->set, err);
    return rc == 0 ? cw_numbers_read(value, CW_NUMBERS(cached_numbers), ret_cached, err) : rc;
}

static int read_cached(const struct cw_value *value, struct cw_optimize_problem *problem,
                       struct cw_err *err)
{
    const struct cw_value *list = cw_value_get(value, "cached");
    int rc = 0;
    if (list && (list->type != CW_VALUE_LIST || list->n > CW_OPTIMIZE_CACHED_MAX))
        return cw_err_set(err, CW_E_INVALID, "cached: not a list of at most %d",
                          CW_OPTIMIZE_CACHED_MAX);
    problem->cached_n = list ? list->n : 0;
    for (size_t i = 0; rc == 0 && i < problem->cached_n; i++)
        rc = read_set(&list->items[i], problem, &problem->cached[i], err);
    return rc;
}

static int read_branch(const struct cw_value *value, struct cw_optimize_branch *branch,
                       struct cw_err *err)
{
    if (value->type != CW_VALUE_OBJECT)
        return refuse("branches", "not objects", err);
    int rc = read_name(value, &branch->name, err);
    if (rc == 0)
        rc = cw_numbers_read(value, CW_NUMBERS(branch_numbers), branch, err);
    return rc;
}

static int read_branches(const struct cw_value *value, struct cw_optimize_problem *problem,
                         struct cw_err *err)
{
    const struct cw_value *list = cw_value_get(value, "branches");
    int rc = 0;
    if (list && (list->type != CW_VALUE_LIST || list->n > CW_OPTIMIZE_BRANCHES_MAX))
        return cw_err_set(err, CW_E_INVALID, "branches: not a list of at most %d",
                          CW_OPTIMIZE_BRANCHES_MAX);
    problem->branches_n = list ? list->n : 0;
    for (size_t i = 0; rc == 0 && i < problem->branches_n; i++)
        rc = read_branch(&list->items[i], &problem->branches[i], err);
    return rc;
}

/* What passes several filters has passed each of them. */
static int check_filters(const struct cw_optimize_filters *filters, struct cw_err *err)
{
    for (unsigned set = 0; set < 1u << filters->n; set++)
        for (size_t i = 0; i < filters->n; i++)
            if (filters->share[set] > filters->share[set & ~(1u << i)])
                return refuse("share", "more passes several filters than one of them", err);
    return filters->share[0] > 1 ? refuse("share", "more than 1", err) : 0;
}

static int read_places(const struct cw_value *list, size_t n, struct cw_optimize_filters *filters,
                       struct cw_err *err)
{
    uint64_t seen = 0;
    if (!list || list->type != CW_VALUE_LIST || list->n == 0 || list->n > CW_FILTERS_MAX)
        return cw_err_set(err, CW_E_INVALID, "places: not a list of 1 to %d", CW_FILTERS_MAX);
    filters->n = list->n;
    for (size_t i = 0; i < list->n; i++) {
        const struct cw_value *item = &list->items[i];
        if (item->type != CW_VALUE_I64 || item->i < 0 || item->i >= (int64_t)n ||
            (seen >> item->i & 1))
            return refuse("places", "not different places of nodes", err);
        filters->place[i] = (uint8_t)item->i;
        seen |= UINT64_C(1) << item->i;
    }
    return 0;
}

static int read_filters(const struct cw_value *value, struct cw_optimize_problem *problem,
                        struct cw_err *err)
{
    const struct cw_value *it = cw_value_get(value, "filters");
    struct cw_optimize_filters *filters = &problem->filters;
    if (!it)
        return 0;
    if (it->type != CW_VALUE_OBJECT)
        return refuse("filters", "not an object", err);
    int rc = read_places(cw_value_get(it, "places"), problem->n, filters, err);
    if (rc == 0)
        rc = read_list(it, "share", filters->share, (size_t)1 << filters->n, err);
    if (rc == 0)
        rc = check_filters(filters, err);
    return rc < 0 ? cw_err_wrap(err, "filters") : 0;
}

static int read_nodes(const struct cw_value *value, struct cw_optimize_problem *problem,
                      struct cw_err *err)
{
    const struct cw_value *nodes = cw_value_get(value, "nodes");
    int rc = 0;
    if (!nodes || nodes->type != CW_VALUE_LIST || nodes->n == 0 || nodes->n > CW_OPTIMIZE_NODES_MAX)
        return cw_err_set(err, CW_E_INVALID, "nodes: not a list of 1 to %d", CW_OPTIMIZE_NODES_MAX);
    problem->n = nodes->n;
    for (size_t i = 0; rc == 0 && i < nodes->n; i++)
        rc = read_node(&nodes->items[i], problem, &problem->nodes[i], err);
    if (rc == 0)
        rc = read_bits(value, "cache_needs", problem->n, &problem->cache_needs, err);
    if (rc == 0)
        rc = read_cached(value, problem, err);
    if (rc == 0)
        rc = read_branches(value, problem, err);
    if (rc == 0)
        rc = read_filters(value, problem, err);
    return rc == 0 ? check_order(problem, err) : rc;
}

static int read_store(const struct cw_value *value, struct cw_optimize_problem *problem,
                      struct cw_err *err)
{
    const struct cw_value *store = cw_value_get(value, "store");
    problem->has_store = store != NULL;
    if (store && store->type != CW_VALUE_OBJECT)
        return refuse("store", "not an object", err);
    if (store && cw_numbers_read(store, CW_NUMBERS(store_numbers), &problem->store, err) < 0)
        return cw_err_wrap(err, "store");
    return 0;
}

static int read_fields(const struct cw_value *value, struct cw_optimize_problem *problem,
                       struct cw_err *err)
{
    const struct cw_value *bytes = cw_value_get(value, "bytes");
    if (!bytes || bytes->type != CW_VALUE_LIST || bytes->n > CW_OPTIMIZE_FIELDS_MAX)
        return cw_err_set(err, CW_E_INVALID, "bytes: not a list of at most %d numbers",
                          CW_OPTIMIZE_FIELDS_MAX);
    problem->fields_n = bytes->n;
    return read_list(value, "bytes", problem->bytes, bytes->n, err);
}

static int check_version(const struct cw_value *value, struct cw_err *err)
{
    const struct cw_value *version =
        value->type == CW_VALUE_OBJECT ? cw_value_get(value, "problem") : NULL;
    return version && version->type == CW_VALUE_I64 && version->i == 1
               ? 0
               : refuse("problem", "not 1", err);
}

static int read_all(const struct cw_value *value, struct cw_optimize_problem *problem,
                    struct cw_err *err)
{
    int rc = check_version(value, err);
    if (rc == 0)
        rc = cw_numbers_read(value, CW_NUMBERS(problem_numbers), problem, err);
    if (rc == 0 && problem->remote_max + problem->local_max == 0)
        rc = refuse("remote_max, local_max", "both are 0", err);
    if (rc == 0)
        rc = read_fields(value, problem, err);
    if (rc == 0)
        rc = read_store(value, problem, err);
    return rc == 0 ? read_nodes(value, problem, err) : rc;
}

int cw_problem_read(const struct cw_value *value, const char *where,
                    struct cw_optimize_problem *ret_problem, struct cw_err *err)
{
    *ret_problem = (struct cw_optimize_problem){0};
    return read_all(value, ret_problem, err) == 0 ? 0 : cw_err_wrap(err, "%s", where);
}
