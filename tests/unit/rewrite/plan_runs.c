/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "plan/plan.h"
#include "support/cm.h"

struct cw_checked *checked_of(struct cw_graph *graph)
{
    struct cw_checked *checked = NULL;
    struct cw_err err = {0};

    if (cw_graph_check(graph, &checked, &err) < 0)
        fail_msg("%s", err.msg);
    cw_graph_unref(graph);
    return checked;
}

struct cw_hash hash_of(struct cw_checked *checked, enum cw_bad_elements bad)
{
    struct cw_hasher *hasher = cw_hasher_new();
    struct cw_plan *plan = NULL;
    struct cw_err err = {0};

    if (cw_plan_new(checked, 7, NULL, &plan, &err) < 0)
        fail_msg("%s", err.msg);
    for (uint64_t i = 0; i < cw_plan_info(plan)->items; i++) {
        struct cw_batch *batch = NULL;
        int rc = cw_exec_run(plan, 1, i, bad, &batch, &err);
        cw_hasher_add_u64(hasher, rc == 0);
        if (rc < 0)
            continue;
        cw_hasher_add_u64(hasher, batch->elements);
        cw_batch_hash(batch, hasher);
        cw_batch_unref(batch);
    }
    cw_plan_unref(plan);
    struct cw_hash hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return hash;
}

void plan_from(const char *names, struct cw_order_plan *ret_plan)
{
    cw_autofree char *copy = cw_mem_strdup(names);
    char *rest = NULL;

    *ret_plan = (struct cw_order_plan){.order = CW_NEW_ARRAY(char *, CW_GRAPH_NODES_MAX)};
    for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        ret_plan->order[ret_plan->n++] = cw_mem_strdup(name);
}
