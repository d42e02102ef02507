/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as files: in which order the nodes of a pipeline are computed, and where a cache stands. What
 * `cachew plan --json` prints is one; docs/optimizing.md has the keys. */
#ifndef CW_REWRITE_PLAN_FILE_H
#define CW_REWRITE_PLAN_FILE_H

#include <stdbool.h>

#include "conf/value.h"

struct cw_order_plan {
    size_t n;
    char **order; /* names of all nodes, inputs first */
    bool relaxed; /* only types and shapes stay equal */
    char *cache;  /* the node behind which a cache stands; NULL: none */
};
/* Reads a plan, of which nothing is believed yet. Messages begin with `where` and name the key. */
int cw_order_plan_from(const struct cw_value *value, const char *where,
                       struct cw_order_plan *ret_plan, struct cw_err *err);
void cw_order_plan_fini(struct cw_order_plan *plan);

#endif
