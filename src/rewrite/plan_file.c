/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/plan_file.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "conf/opt.h"
#include "graph/graph.h"

struct keys {
    int64_t plan;
    struct cw_str_list order, moved, behind, folded;
    bool exact, best;
    char *policy, *bound;
    struct cw_value cache, workers, rejected, left_out;
    double total_ns, epoch_ns, written_ns, states, gap;
};
#define KEY(key, kind, text)                                                                       \
    {                                                                                              \
        .name = #key, .help = (text), .type = (kind), .offset = offsetof(struct keys, key)         \
    }
#define NAMES(key, text)                                                                           \
    {                                                                                              \
        .name = #key, .help = (text), .type = CW_OPT_STR_LIST,                                     \
        .offset = offsetof(struct keys, key), .len_max = CW_GRAPH_NODES_MAX                        \
    }
/* All but plan, order and cache say how the plan was found: workers see by themselves what works on many elements at
 * once, and what need not be called. */
static const struct cw_opt KEYS[] = {
    {.name = "plan",
     .help = "version of the format",
     .type = CW_OPT_I64,
     .offset = offsetof(struct keys, plan),
     .min = 1,
     .max = 1,
     .flags = CW_OPT_REQUIRED},
    {.name = "order",
     .help = "names of all nodes",
     .type = CW_OPT_STR_LIST,
     .offset = offsetof(struct keys, order),
     .flags = CW_OPT_REQUIRED,
     .len_min = 1,
     .len_max = CW_GRAPH_NODES_MAX},
    KEY(cache, CW_OPT_VALUE, "name of the node behind which a cache stands, or null"),
    KEY(policy, CW_OPT_STR, "who made the plan"),
    {.name = "exact",
     .help = "whether all batches stay equal",
     .type = CW_OPT_BOOL,
     .offset = offsetof(struct keys, exact),
     .def = "true"},
    NAMES(moved, "nodes that do not stand where they were written"),
    NAMES(behind, "nodes that work on many elements at once"),
    NAMES(folded, "nodes that are not called, since another does their work"),
    KEY(workers, CW_OPT_VALUE, "how many there are to be"),
    KEY(total_ns, CW_OPT_F64, "of all epochs"),
    KEY(epoch_ns, CW_OPT_F64, "of the last epoch"),
    KEY(written_ns, CW_OPT_F64, "of all epochs as written"),
    KEY(bound, CW_OPT_STR, "what decides"),
    KEY(rejected, CW_OPT_VALUE, "other plans"),
    KEY(left_out, CW_OPT_VALUE, "moves that would not have been exact"),
    KEY(states, CW_OPT_F64, "sets that were looked at"),
    KEY(gap, CW_OPT_F64, "how much better the best plan may be"),
    KEY(best, CW_OPT_BOOL, "whether no plan is better"),
    {0},
};

static int check_names(const struct keys *keys, struct cw_err *err)
{
    for (size_t i = 0; i < keys->order.n; i++)
        if (strlen(keys->order.v[i]) > CW_GRAPH_NAME_BYTES)
            return cw_err_set(err, CW_E_INVALID, "order: a name of more than %d characters",
                              CW_GRAPH_NAME_BYTES);
    if (keys->cache.type != CW_VALUE_NULL && keys->cache.type != CW_VALUE_STR)
        return cw_err_set(err, CW_E_INVALID, "cache: must be a name or null, not %s",
                          cw_value_type_name(keys->cache.type));
    return 0;
}

static void take(struct keys *keys, struct cw_order_plan *ret_plan)
{
    ret_plan->n = keys->order.n;
    ret_plan->relaxed = !keys->exact;
    ret_plan->order = keys->order.v;
    keys->order = (struct cw_str_list){0};
    if (keys->cache.type == CW_VALUE_STR)
        ret_plan->cache = cw_mem_strdup(keys->cache.s);
}

int cw_order_plan_from(const struct cw_value *value, const char *where,
                       struct cw_order_plan *ret_plan, struct cw_err *err)
{
    struct keys keys = {0};
    int rc;

    *ret_plan = (struct cw_order_plan){0};
    if (value->type != CW_VALUE_OBJECT)
        rc = cw_err_set(err, CW_E_INVALID,
                        "a plan is an object {\"plan\": 1, \"order\": [...]}, not %s",
                        cw_value_type_name(value->type));
    else
        rc = cw_opt_parse(KEYS, value, &keys, err);
    if (rc < 0)
        return cw_err_wrap(err, "%s", where);
    rc = check_names(&keys, err);
    if (rc == 0)
        take(&keys, ret_plan);
    cw_opt_fini(KEYS, &keys);
    return rc < 0 ? cw_err_wrap(err, "%s", where) : 0;
}

void cw_order_plan_fini(struct cw_order_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++)
        cw_mem_free(plan->order[i]);
    cw_mem_free(plan->order);
    cw_mem_free(plan->cache);
    *plan = (struct cw_order_plan){0};
}
