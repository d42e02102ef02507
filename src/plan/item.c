/* SPDX-License-Identifier: Apache-2.0 */
/* Divides an epoch into items. The division depends on the pipeline alone, since the bounds of
 * items show in the data. */
#include "base/mem.h"
#include "plan/plan_int.h"

/* The most positions that are mapped to count rows exactly. */
#define COUNT_ITEMS_MAX (INT64_C(1) << 16)

static int64_t multiply(int64_t a, int64_t b)
{
    int64_t product;
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

/* Lists the operators behind the rows that work inside items. */
static void find_inside(struct cw_plan *plan)
{
    const struct cw_sparse *sparse = &plan->sparse;
    size_t n = 0;
    if (!cw_sparse_is_inside(sparse))
        return;
    for (size_t at = sparse->last; at != sparse->rows; at = plan->nodes[at].inputs[0])
        n += plan->nodes[at].step != CW_STEP_PASS;
    plan->inside = CW_NEW_ARRAY(uint16_t, n);
    plan->inside_n = n;
    for (size_t at = sparse->last; at != sparse->rows; at = plan->nodes[at].inputs[0])
        if (plan->nodes[at].step != CW_STEP_PASS)
            plan->inside[--n] = (uint16_t)at;
}

/* Says how the client fills up rows, as the group does whose batches it cuts. */
static struct cw_pads *find_pads(const struct cw_plan *plan)
{
    if (plan->sparse.pads == SIZE_MAX)
        return NULL;
    const struct cw_plan_node *group = &plan->nodes[plan->sparse.pads];
    struct cw_pads *pads = cw_pads_new(group->in->n);
    bool any = false;
    for (size_t f = 0; f < pads->n; f++) {
        struct cw_pads_field *field = &pads->field[f];
        any |= field->is = group->op->group_pad(group->opts, group->in, f, &field->how);
    }
    pads->extra = group->out.n - pads->n;
    return any ? pads : cw_pads_unref(pads);
}

static void cut_sparse(struct cw_plan *plan)
{
    struct cw_plan_info *info = &plan->info;
    const struct cw_sparse *sparse = &plan->sparse;
    plan->output = sparse->rows;
    find_inside(plan);
    int64_t n = plan->nodes[plan->output].n;
    int64_t chunk = cw_sparse_item(sparse, &plan->nodes[plan->output].out);
    info->sparse = true;
    info->elements = -1;
    info->batch = chunk;
    info->chunk = (uint64_t)chunk;
    info->items = (uint64_t)(n / chunk + (n % chunk ? 1 : 0));
    info->join = (struct cw_plan_join){.skip = sparse->skip,
                                       .take = sparse->take,
                                       .batch = sparse->batch,
                                       .drop_remainder = sparse->drop_remainder,
                                       .whole = sparse->whole && sparse->batch == 0};
    info->pads = plan->pads = find_pads(plan);
    if (sparse->take == 0)
        info->items = 0;
    info->item_bytes = multiply(cw_sparse_row_bytes(&plan->nodes[plan->output].out), chunk);
    if (plan->inside_n > 0) /* the rows, and what is made of them */
        info->item_bytes = multiply(info->item_bytes, 2);
}

static void one_element(const struct cw_plan *plan, int64_t pos, struct cw_plan_item *ret)
{
    ret->node = plan->output;
    ret->group = SIZE_MAX;
    ret->pos = ret->group_pos = pos;
    ret->rows = 1;
    ret->rep = 0;
    ret->above_n = 0;
}

static void chunk_of_rows(const struct cw_plan *plan, int64_t item, struct cw_plan_item *ret)
{
    int64_t chunk = (int64_t)plan->info.chunk;
    one_element(plan, item, ret);
    ret->pos = item * chunk;
    ret->rows = CW_MIN(chunk, plan->nodes[plan->output].n - ret->pos);
}

/* Walks down from the output to the group whose elements are items, if there is one. Batches of several
 * inputs are single elements, since their ids say which input they are of. */
void cw_plan_item(const struct cw_plan *plan, uint64_t epoch, uint64_t item,
                  struct cw_plan_item *ret)
{
    int64_t pos = (int64_t)item;
    if (plan->info.sparse) {
        chunk_of_rows(plan, pos, ret);
        return;
    }
    size_t at = plan->output, above_n = 0;
    uint64_t rep = 0;
    for (;;) {
        const struct cw_plan_node *node = &plan->nodes[at];
        if (node->step == CW_STEP_GROUP) {
            ret->node = node->inputs[0];
            ret->group = at;
            ret->group_pos = pos;
            ret->pos = pos * node->shift;
            ret->rows = cw_plan_group_rows(node, ret->pos);
            ret->rep = rep;
            ret->above_n = above_n;
            return;
        }
        if (node->step == CW_STEP_SOURCE || node->step == CW_STEP_MERGE || cw_plan_chooses(node)) {
            one_element(plan, (int64_t)item, ret);
            return;
        }
        if (node->step == CW_STEP_INDEX) {
            at = cw_plan_map(plan, node, epoch, &pos, &rep);
            continue;
        }
        if (node->step == CW_STEP_ELEMENT)
            ret->above[above_n++] = (uint16_t)at;
        at = node->inputs[0];
    }
}

/* Returns the group whose elements are items, found without positions; SIZE_MAX if there is none,
 * or if inputs have different ones. */
static size_t item_group(const struct cw_plan *plan, bool *ret_plain)
{
    size_t at = plan->output;
    *ret_plain = true;
    for (;;) {
        const struct cw_plan_node *node = &plan->nodes[at];
        if (node->step == CW_STEP_GROUP)
            return at;
        if (node->inputs_n != 1 || node->parts)
            return SIZE_MAX;
        *ret_plain = *ret_plain && node->step != CW_STEP_INDEX;
        at = node->inputs[0];
    }
}

/* Counts the rows of an epoch. Index operators above the batch are asked, since they may repeat or
 * drop the short one. */
static int64_t count_rows(const struct cw_plan *plan, size_t group, bool plain)
{
    int64_t items = plan->nodes[plan->output].n;
    if (group != SIZE_MAX) {
        const struct cw_plan_node *node = &plan->nodes[group];
        int64_t full = multiply(items, node->group);
        if (plain && node->shift == node->group)
            return full < 0 ? node->in_n[0] : CW_MIN(node->in_n[0], full);
        if ((node->shift == node->group && !(node->in_n[0] % node->group)) ||
            (node->op->group_drops && node->op->group_drops(node->opts)))
            return full;
    }
    if (items > COUNT_ITEMS_MAX)
        return group == SIZE_MAX ? items : multiply(items, plan->nodes[group].group);
    int64_t rows = 0;
    cw_autofree struct cw_plan_item *item = CW_NEW(struct cw_plan_item);
    for (int64_t i = 0; i < items; i++) {
        cw_plan_item(plan, 0, (uint64_t)i, item);
        rows += item->rows;
    }
    return rows;
}

static void cut_dense(struct cw_plan *plan)
{
    struct cw_plan_info *info = &plan->info;
    plan->output = plan->n - 1;
    const struct cw_plan_node *output = &plan->nodes[plan->output];
    bool plain;
    size_t group = item_group(plan, &plain);
    info->items = (uint64_t)output->n;
    info->batch = group == SIZE_MAX ? 1 : plan->nodes[group].group;
    info->elements = count_rows(plan, group, plain);
    int64_t bytes = cw_sparse_row_bytes(&output->out);
    size_t at = plan->output;
    while (plan->nodes[at].step == CW_STEP_PASS)
        at = plan->nodes[at].inputs[0];
    if (bytes < 0 && group == at)
        bytes = multiply(cw_sparse_row_bytes(plan->nodes[group].in),
                         CW_MIN(info->batch, plan->nodes[group].in_n[0]));
    info->item_bytes = bytes;
}

int cw_plan_cut(struct cw_plan *plan, struct cw_err *err)
{
    int rc = cw_sparse_find(plan->checked, &plan->sparse, err);
    if (rc < 0)
        return rc;
    plan->info.out = cw_spec_borrow(&plan->nodes[plan->n - 1].out);
    plan->info.join.take = -1;
    if (plan->sparse.first != SIZE_MAX)
        cut_sparse(plan);
    else
        cut_dense(plan);
    return 0;
}
