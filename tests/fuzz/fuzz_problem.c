/* SPDX-License-Identifier: Apache-2.0 */
/* A problem that is read can be planned, if it is small, and written; what was written is read again. */
#include "base/mem.h"
#include "policies/problem_json.h"

#define NODES_MAX 8 /* of those that are planned: the sets of more would take too long */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int read_problem(const char *text, size_t n, struct cw_value *value,
                        struct cw_optimize_problem *ret_problem)
{
    struct cw_err err = {0};

    int rc = cw_value_parse(text, n, "fuzz", value, &err);
    if (rc == 0)
        rc = cw_problem_read(value, "fuzz", ret_problem, &err);
    CW_ASSERT(rc <= 0 && (rc == 0 || err.msg[0]));
    return rc;
}

static void plan(const struct cw_optimize_problem *problem)
{
    struct cw_optimize_plan found;
    uint64_t seen = 0;

    if (problem->n > NODES_MAX || problem->remote_max + problem->local_max > NODES_MAX)
        return;
    cw_optimize(problem, &found);
    for (size_t i = 0; i < problem->n; i++) {
        CW_ASSERT(found.order[i] < problem->n);
        CW_ASSERT((problem->nodes[found.order[i]].behind & ~seen) == 0);
        seen |= UINT64_C(1) << found.order[i];
    }
    CW_ASSERT(found.cache_after == CW_OPTIMIZE_NO_CACHE ||
              cw_optimize_cached_name(problem, &found));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_optimize_problem *problem = CW_NEW(struct cw_optimize_problem);
    struct cw_optimize_problem *again = CW_NEW(struct cw_optimize_problem);
    struct cw_value value = {0}, written = {0};
    CW_STR_AUTO text = {0};

    if (read_problem(n ? (const char *)data : "", n, &value, problem) == 0) {
        plan(problem);
        cw_problem_print(problem, &text);
        CW_ASSERT(read_problem(cw_str_text(&text), text.len, &written, again) == 0);
        CW_ASSERT(again->n == problem->n && again->cached_n == problem->cached_n);
    }
    cw_value_fini(&value);
    cw_value_fini(&written);
    cw_mem_free(problem);
    cw_mem_free(again);
    return 0;
}
