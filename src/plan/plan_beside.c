/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a second plan beside the one of the written graph: another order of the same operators. */
#include "plan/plan.h"

#include "base/mem.h"
#include "plan/plan_int.h"

/* ---- what must be the same ---- */

/* The names of operators key their random numbers. */
static int check_draws(const struct cw_plan *plan, struct cw_err *err)
{
    for (size_t i = 0; i < plan->n; i++) {
        const struct cw_plan_node *node = &plan->nodes[i];
        size_t k = plan->written_node[i];
        if ((node->op->traits & CW_OP_RANDOM) &&
            (k == SIZE_MAX || plan->written->nodes[k].tag != node->tag))
            return cw_err_set(
                err, CW_E_INVALID,
                "node \"%s\" (%s) draws other random numbers than the written pipeline",
                node->node->name, node->op->name);
    }
    return 0;
}

/* Returns the crop that tells a decoder which part of its image is needed; SIZE_MAX: none does. */
static size_t crop_of(const struct cw_plan_node *node)
{
    return node->want_n > 0 ? node->want[node->want_n - 1].node : SIZE_MAX;
}

static bool is_same_crop(const struct cw_plan *plan, size_t crop, size_t written)
{
    return crop == SIZE_MAX || written == SIZE_MAX ? crop == written
                                                   : plan->written_node[crop] == written;
}

/* A decoder that a crop tells what it needs does not see damage elsewhere in the image. Where only in
 * this order a crop is heard, whole images are decoded, so that the same ones are bad; where it is only in
 * the written order, this one would find more of them. */
static int keep_wants(struct cw_plan *plan, struct cw_err *err)
{
    for (size_t i = 0; i < plan->n; i++) {
        struct cw_plan_node *node = &plan->nodes[i];
        size_t k = plan->written_node[i];
        size_t written = k == SIZE_MAX ? SIZE_MAX : crop_of(&plan->written->nodes[k]);
        if (is_same_crop(plan, crop_of(node), written))
            continue;
        if (written != SIZE_MAX)
            return cw_err_set(err, CW_E_INVALID,
                              "node \"%s\" (%s) has to decode more than in the written order",
                              node->node->name, node->op->name);
        node->want_n = 0;
    }
    return 0;
}

static bool is_same_join(const struct cw_plan_join *a, const struct cw_plan_join *b)
{
    return a->skip == b->skip && a->take == b->take && a->batch == b->batch &&
           a->drop_remainder == b->drop_remainder && a->whole == b->whole;
}

static int check_info(const struct cw_plan_info *a, const struct cw_plan_info *b,
                      struct cw_err *err)
{
    const char *what = NULL;
    if (a->sparse != b->sparse || a->chunk != b->chunk || a->batch != b->batch)
        what = "other items";
    else if (a->items != b->items || a->elements != b->elements)
        what = "another number of items";
    else if (!cw_spec_eq(&a->out, &b->out))
        what = "another output";
    else if (!is_same_join(&a->join, &b->join) || !cw_pads_eq(a->pads, b->pads))
        what = "rows that are joined in another way";
    return what ? cw_err_set(err, CW_E_INVALID, "the plan gives %s than the written pipeline", what)
                : 0;
}

static void find_written(struct cw_plan *plan)
{
    plan->written_node = CW_NEW_ARRAY(size_t, plan->n);
    for (size_t i = 0; i < plan->n; i++)
        plan->written_node[i] =
            cw_plan_node_named(plan->written, plan->checked->graph->nodes[i].name);
}

/* Makes a plan that has the sources of another one. On failure *ret_plan is to be freed as well. */
static int open_with(struct cw_plan *written, struct cw_checked *checked, struct cw_plan **ret_plan,
                     struct cw_err *err)
{
    struct cw_plan *plan = cw_plan_alloc(checked, written->seed, written->stop);
    *ret_plan = plan;
    plan->written = cw_plan_ref(written);
    plan->apart = written->apart;
    find_written(plan);
    int rc = cw_plan_compile(plan, NULL, err);
    return rc >= 0 ? cw_plan_cut(plan, err) : rc;
}

int cw_plan_open_beside(struct cw_plan *written, struct cw_checked *checked,
                        struct cw_plan **ret_plan, struct cw_err *err)
{
    struct cw_err local = {0};
    struct cw_plan *plan = NULL;
    err = err ? err : &local;
    int rc = open_with(written, checked, &plan, err);
    if (rc >= 0)
        rc = check_info(&written->info, &plan->info, err);
    if (rc >= 0)
        rc = check_draws(plan, err);
    if (rc >= 0)
        rc = keep_wants(plan, err);
    if (rc < 0) {
        cw_plan_unref(plan);
        return rc;
    }
    plan->info = written->info;
    cw_plan_find_files(plan);
    cw_plan_set_source_store(plan, cw_plan_source_store(written));
    *ret_plan = plan;
    return 0;
}

int cw_plan_open_trial(struct cw_plan *open, struct cw_checked *checked, struct cw_plan **ret_plan,
                       struct cw_err *err)
{
    struct cw_err local = {0};
    struct cw_plan *plan = NULL;
    err = err ? err : &local;
    int rc = open_with(open, checked, &plan, err);
    if (rc < 0) {
        cw_plan_unref(plan);
        return rc;
    }
    plan->keeps = cw_steal(&plan->written);
    cw_mem_free(cw_steal(&plan->written_node));
    cw_plan_find_files(plan);
    cw_plan_set_source_store(plan, cw_plan_source_store(open));
    *ret_plan = plan;
    return 0;
}
