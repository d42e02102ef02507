/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/optimize/operator_costs.h"

#include <string.h>

#include "base/mem.h"

#define OPERATORS_MAX 1000 /* of all tenants */

struct known {
    char *tenant;
    struct cw_cost_profile_node node; /* without its name */
};
struct cw_known_operators {
    struct known *known;
    size_t n, cap;
    size_t oldest; /* once there are OPERATORS_MAX, this one makes room */
};

static bool is_key(struct cw_hash key)
{
    return key.hi != 0 || key.lo != 0;
}

/* Returns its place: where it is, or where there is room. */
static struct known *place_of(struct cw_known_operators *all, const char *tenant,
                              struct cw_hash key)
{
    for (size_t i = 0; i < all->n; i++)
        if (cw_hash_eq(all->known[i].node.operator, key) && cw_str_eq(all->known[i].tenant, tenant))
            return &all->known[i];
    if (all->n < OPERATORS_MAX) {
        CW_GROW(all->known, all->n, all->cap);
        all->known[all->n] = (struct known){0};
        return &all->known[all->n++];
    }
    struct known *oldest = &all->known[all->oldest];
    all->oldest = (all->oldest + 1) % OPERATORS_MAX;
    return oldest;
}

static void keep(struct cw_known_operators *all, const char *tenant,
                 const struct cw_cost_profile_node *node)
{
    struct known *known = place_of(all, tenant, node->operator);

    cw_mem_free(known->tenant);
    *known = (struct known){cw_mem_strdup(tenant), *node};
    known->node.name = NULL;
}

void cw_operator_costs_keep(struct cw_dispatcher *d, const char *tenant, const char *profile)
{
    struct cw_cost_profile read = {0};
    struct cw_value value = {0};

    if (!d->known_operators)
        d->known_operators = CW_NEW(struct cw_known_operators);
    int rc = cw_value_parse(profile, strlen(profile), "profile", &value, NULL);
    if (rc == 0)
        rc = cw_cost_profile_from(&value, "profile", &read, NULL);
    for (size_t i = 0; rc == 0 && i < read.n; i++)
        if (is_key(read.nodes[i].operator))
            keep(d->known_operators, tenant, &read.nodes[i]);
    cw_cost_profile_fini(&read);
    cw_value_fini(&value);
}

void cw_operator_costs_copy(const struct cw_dispatcher *d, const char *tenant,
                            struct cw_operator_costs *ret_costs)
{
    const struct cw_known_operators *all = d->known_operators;

    *ret_costs = (struct cw_operator_costs){0};
    if (!all)
        return;
    ret_costs->nodes = CW_NEW_ARRAY(struct cw_cost_profile_node, all->n);
    for (size_t i = 0; i < all->n; i++)
        if (cw_str_eq(all->known[i].tenant, tenant))
            ret_costs->nodes[ret_costs->n++] = all->known[i].node;
}

const struct cw_cost_profile_node *cw_operator_costs_find(const struct cw_operator_costs *costs,
                                                          struct cw_hash key)
{
    for (size_t i = 0; i < costs->n; i++)
        if (cw_hash_eq(costs->nodes[i].operator, key))
            return &costs->nodes[i];
    return NULL;
}

void cw_operator_costs_close(struct cw_dispatcher *d)
{
    struct cw_known_operators *all = cw_steal(&d->known_operators);

    for (size_t i = 0; all && i < all->n; i++)
        cw_mem_free(all->known[i].tenant);
    cw_mem_free(all ? all->known : NULL);
    cw_mem_free(all);
}
