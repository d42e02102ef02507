/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/plan_problem.h"

#include "base/mem.h"
#include "client/tool/plan_work.h"
#include "client/tool/tool.h"
#include "conf/value_yaml.h"
#include "policies/problem_json.h"

bool tool_plan_is_problem(const char *path)
{
    struct cw_value value = {0};
    bool is_problem = cw_value_load_any(path, &value, NULL) == 0 && value.type == CW_VALUE_OBJECT &&
                      cw_value_get(&value, "problem");

    cw_value_fini(&value);
    return is_problem;
}

static void restrict_search(const struct tool_plan_options *options,
                            struct cw_optimize_problem *problem)
{
    problem->apart = problem->apart || options->no_fusion;
    if (options->no_caching)
        problem->has_store = false;
    for (size_t i = 1; options->no_reorder && i < problem->n; i++)
        problem->nodes[i].behind |= (UINT64_C(1) << i) - 1;
}

static int load(const struct cw_value *value, const char *path,
                const struct tool_plan_options *options, struct tool_planned *p, struct cw_err *err)
{
    p->optimizer = cw_optimizer_find(options->policy);
    p->has_costs = true;
    if (p->optimizer->needs_classes || options->relaxed)
        return cw_err_set(err, CW_E_INVALID,
                          "%s: a problem does not say what %s must know of operators", path,
                          options->relaxed ? "--relaxed" : options->policy);
    int rc = cw_problem_read(value, path, &p->problem, err);
    if (rc == 0)
        restrict_search(options, &p->problem);
    return rc;
}

int tool_plan_problem(const char *path, const struct tool_plan_options *options, bool json)
{
    struct cw_err err = {0};
    struct cw_value value = {0};
    struct tool_planned *p = CW_NEW(struct tool_planned);
    int code = TOOL_FAILED;
    int rc = cw_value_load_any(path, &value, &err);

    if (rc == 0)
        rc = load(&value, path, options, p, &err);
    if (rc == 0) {
        tool_planned_search(options, p);
        code = tool_plan_show(options, json, p);
    }
    tool_planned_fini(p);
    cw_mem_free(p);
    cw_value_fini(&value);
    return rc < 0 ? tool_fail_err(&err) : code;
}
