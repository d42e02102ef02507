/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all sets. */
#include "policies/optimize_sets.h"

#include <math.h>

#include "base/mem.h"
#include "policies/optimize_beam.h"

/* The next set: it has one operator more, the last one that may come in, and none of those behind that one. Returns
 * false at the end of the list. */
static bool next_set(const struct cw_optimize_problem *problem, uint64_t *mask)
{
    for (size_t op = problem->n; op-- > 0;) {
        const uint64_t before = *mask & (cw_optimize_bit(op) - 1);
        if (!(*mask & cw_optimize_bit(op)) && cw_optimize_may_follow(problem, before, op)) {
            *mask = before | cw_optimize_bit(op);
            return true;
        }
    }
    return false;
}

/* Returns false if there are too many. */
static bool list_all(const struct cw_optimize_problem *problem, size_t at_most,
                     struct cw_optimize_masks *masks)
{
    uint64_t mask = 0;

    do {
        if (masks->n == at_most)
            return false;
        CW_GROW(masks->masks, masks->n, masks->cap);
        masks->masks[masks->n++] = mask;
    } while (next_set(problem, &mask));
    return true;
}

void cw_optimize_masks_init(const struct cw_optimize_problem *problem, size_t at_most,
                            size_t most_promising, struct cw_optimize_masks *ret_masks)
{
    *ret_masks = (struct cw_optimize_masks){.dropped_ns = HUGE_VAL};
    ret_masks->is_all = list_all(problem, at_most, ret_masks);
    if (!ret_masks->is_all)
        cw_optimize_beam(problem, most_promising, ret_masks);
}

void cw_optimize_masks_fini(struct cw_optimize_masks *masks)
{
    cw_mem_free(masks->masks);
}

/* ---- what comes out of them ---- */

static void pass_from(struct cw_optimize_flows *flows, size_t first)
{
    for (size_t i = first; i < flows->problem->n; i++) {
        flows->at[i + 1] = flows->at[i];
        if (flows->mask & cw_optimize_bit(i))
            cw_optimize_pass(flows->problem, i, &flows->at[i + 1]);
    }
}

void cw_optimize_flows_begin(const struct cw_optimize_problem *problem, bool is_whole,
                             struct cw_optimize_flows *ret_flows)
{
    ret_flows->problem = problem;
    ret_flows->mask = 0;
    cw_optimize_begin(problem, is_whole, &ret_flows->at[0]);
    pass_from(ret_flows, 0);
}

const struct cw_optimize_flow *cw_optimize_flows_behind(struct cw_optimize_flows *flows,
                                                        uint64_t mask)
{
    const uint64_t differ = mask ^ flows->mask;

    flows->mask = mask;
    if (differ)
        pass_from(flows, (size_t)__builtin_ctzll(differ));
    return &flows->at[flows->problem->n];
}
