/* SPDX-License-Identifier: Apache-2.0 */
/* What operators cost, as jobs of any pipeline have measured it: the first plan of a job is made of it if no job of its
 * own pipeline has been here before. Loop thread. */
#ifndef CW_DISPATCHER_OPTIMIZE_OPERATOR_COSTS_H
#define CW_DISPATCHER_OPTIMIZE_OPERATOR_COSTS_H

#include "dispatcher/model/model.h"
#include "rewrite/profile.h"

/* The costs of operators of other pipelines, by their keys (rewrite/operator_key.h). They have no names. */
struct cw_operator_costs {
    struct cw_cost_profile_node *nodes; /* owned */
    size_t n;
};
/* Keeps what a profile (JSON) says of a tenant's operators in place of what was known of them; the oldest makes room. What
 * cannot be read is passed over. */
void cw_operator_costs_keep(struct cw_dispatcher *d, const char *tenant, const char *profile);
/* Makes a copy of what is known of a tenant's operators. */
void cw_operator_costs_copy(const struct cw_dispatcher *d, const char *tenant,
                            struct cw_operator_costs *ret_costs);
/* Finds the costs of an operator, or NULL. */
const struct cw_cost_profile_node *cw_operator_costs_find(const struct cw_operator_costs *costs,
                                                          struct cw_hash key);
void cw_operator_costs_close(struct cw_dispatcher *d);

#endif
