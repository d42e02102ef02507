/* SPDX-License-Identifier: Apache-2.0 */
/* Policy `pecan`: AutoOrder as it was published (Graur et al., "Pecan: Cost-Efficient ML Data
 * Preprocessing with Automatic Transformation Ordering and Hybrid Placement", USENIX ATC 2024). The
 * pipeline is built operator by operator, and each new one finds its place by changing sides with its
 * neighbour: what makes data smaller goes towards the source, what makes them larger towards the
 * output. Costs are not looked at. */
#include "policies/optimizer.h"

struct build {
    const struct cw_optimize_problem *problem;
    const struct cw_pecan_op *ops;
    struct cw_optimizer_plan *to;
    bool sinks[CW_OPTIMIZE_NODES_MAX]; /* operators that go towards the output */
};

static const struct cw_pecan_op *op_at(const struct build *build, size_t place)
{
    return &build->ops[build->to->plan.order[place]];
}

/* Lets the operator at a place change sides with the one before it, if the problem allows it. */
static bool swap(struct build *build, size_t place)
{
    size_t *order = build->to->plan.order, up = order[place], down = order[place - 1];

    if (build->problem->nodes[up].behind >> down & 1) {
        if (build->to->left_out_n < CW_OPTIMIZE_NODES_MAX)
            build->to->left_out[build->to->left_out_n++] =
                (struct cw_optimizer_pair){.down = down, .up = up};
        return false;
    }
    order[place - 1] = up;
    order[place] = down;
    return true;
}

static bool goes_up(const struct cw_pecan_op *op)
{
    return op->what == CW_PECAN_CHEAPER_CAST || op->what == CW_PECAN_SMALLER;
}

static bool may_be_passed(const struct cw_pecan_op *op)
{
    return op->is_map && !op->stays && op->keeps_dims;
}

static void rise(struct build *build, size_t place)
{
    while (place > 0 && may_be_passed(op_at(build, place - 1)) && swap(build, place))
        place--;
}

static void add(struct build *build, size_t op)
{
    const struct cw_pecan_op *it = &build->ops[op];

    build->to->plan.order[op] = op;
    if (!it->is_map || it->stays || op == 0)
        return;
    if (goes_up(it)) {
        rise(build, op);
    } else {
        size_t before = build->to->plan.order[op - 1];
        if (build->sinks[before] && !build->ops[before].stays && it->keeps_dims)
            swap(build, op);
    }
    build->sinks[op] = it->what == CW_PECAN_DEARER_CAST || it->what == CW_PECAN_LARGER;
}

static void plan(const struct cw_optimize_problem *problem, const struct cw_pecan_op *classes,
                 struct cw_optimizer_plan *ret_plan)
{
    struct build build = {.problem = problem, .ops = classes, .to = ret_plan};

    ret_plan->left_out_n = 0;
    cw_optimizer_as_written(problem, &ret_plan->plan);
    for (size_t i = 0; i < problem->n; i++)
        add(&build, i);
    cw_optimizer_finish(problem, &ret_plan->plan);
}

const struct cw_optimizer cw_optimizer_pecan = {
    .name = "pecan",
    .summary = "what shrinks goes up and what grows goes down, by dtypes and shapes",
    .needs_classes = true,
    .plan = plan,
};
