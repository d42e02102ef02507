/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/pecan_class.h"

/* Growth so near to 1 does not move an operator. */
#define DEAD_BAND 0.05

static const struct cw_checked_node *node_at(const struct cw_checked *checked,
                                             const struct cw_problem_map *map, size_t place)
{
    return &checked->nodes[map->nodes[place]];
}

/* Its rank among dtypes, from cheap to dear; -1: it has none, as bool and strings. */
static int rank_of(enum cw_dtype dtype)
{
    static const enum cw_dtype RANKS[] = {CW_DTYPE_I8,   CW_DTYPE_U8,  CW_DTYPE_F16,
                                          CW_DTYPE_BF16, CW_DTYPE_I16, CW_DTYPE_F32,
                                          CW_DTYPE_I32,  CW_DTYPE_F64, CW_DTYPE_I64};

    for (size_t i = 0; i < CW_ARRAY_LEN(RANKS); i++)
        if (RANKS[i] == dtype)
            return (int)i;
    return -1;
}

static bool have_ranks(const struct cw_spec *spec)
{
    for (size_t i = 0; i < spec->n; i++)
        if (rank_of(spec->fields[i].dtype) < 0)
            return false;
    return true;
}

/* Whether fields and their ranks are the same. */
static bool same_form(const struct cw_spec *in, const struct cw_spec *out)
{
    bool same = in->n == out->n;

    for (size_t i = 0; same && i < in->n; i++)
        same = cw_str_eq(in->fields[i].name, out->fields[i].name) &&
               in->fields[i].rank == out->fields[i].rank;
    return same;
}

/* Finds the first dimension that changes; both are set to 0 if none does. */
static void first_change(const struct cw_spec *in, const struct cw_spec *out, int64_t *ret_from,
                         int64_t *ret_to)
{
    *ret_from = *ret_to = 0;
    for (size_t i = 0; i < in->n && *ret_from == *ret_to; i++)
        for (int d = 0; d < in->fields[i].rank && *ret_from == *ret_to; d++) {
            *ret_from = in->fields[i].dims[d];
            *ret_to = out->fields[i].dims[d];
        }
    if (*ret_from == *ret_to)
        *ret_from = *ret_to = 0;
}

static enum cw_pecan_class class_of_cast(const struct cw_spec *in, const struct cw_spec *out)
{
    enum cw_pecan_class what = CW_PECAN_NEUTRAL;

    for (size_t i = 0; i < in->n; i++) {
        if (in->fields[i].dtype == out->fields[i].dtype)
            continue;
        if (!have_ranks(in) || !have_ranks(out))
            return CW_PECAN_BARRIER;
        if (rank_of(out->fields[i].dtype) < rank_of(in->fields[i].dtype))
            return CW_PECAN_CHEAPER_CAST;
        what = CW_PECAN_DEARER_CAST;
    }
    return what;
}

static enum cw_pecan_class class_of_growth(double growth)
{
    if (growth <= 0 || (growth > 1 - DEAD_BAND && growth < 1 + DEAD_BAND))
        return CW_PECAN_AS_LARGE;
    return growth < 1 ? CW_PECAN_SMALLER : CW_PECAN_LARGER;
}

static enum cw_pecan_class class_of(const struct cw_spec *in, const struct cw_spec *out,
                                    double growth)
{
    int64_t from, to;

    if (!same_form(in, out))
        return CW_PECAN_BARRIER;
    first_change(in, out, &from, &to);
    if (from == to)
        return class_of_cast(in, out);
    if (!have_ranks(in) || !have_ranks(out))
        return CW_PECAN_BARRIER;
    if (from < 0 || to < 0)
        return class_of_growth(growth);
    return to < from ? CW_PECAN_SMALLER : CW_PECAN_LARGER;
}

static bool is_map(const struct cw_checked_node *node)
{
    return node->op->kind == CW_OP_ELEMENT && node->inputs_n == 1 &&
           !(node->op->traits & (CW_OP_CACHE | CW_OP_MARK | CW_OP_CHANGES_COUNT));
}

bool cw_pecan_wants_sample(const struct cw_checked *checked, const struct cw_problem_map *map,
                           size_t place)
{
    const struct cw_checked_node *node = node_at(checked, map, place);

    if (!is_map(node))
        return false;
    const struct cw_spec *in = &checked->nodes[node->inputs[0]].out;
    return class_of(in, &node->out, 0.5) != class_of(in, &node->out, 2);
}

void cw_pecan_classify(const struct cw_checked *checked, const struct cw_problem_map *map,
                       const double *growth, struct cw_pecan_op *ret_ops)
{
    for (size_t i = 0; i < map->n; i++) {
        const struct cw_checked_node *node = node_at(checked, map, i);
        int64_t from = 0, to = 0;
        ret_ops[i] = (struct cw_pecan_op){
            .is_map = is_map(node),
            .stays = checked->graph->nodes[map->nodes[i]].keep_position,
        };
        if (!ret_ops[i].is_map)
            continue;
        const struct cw_spec *in = &checked->nodes[node->inputs[0]].out;
        ret_ops[i].what = class_of(in, &node->out, growth[i]);
        if (same_form(in, &node->out))
            first_change(in, &node->out, &from, &to);
        ret_ops[i].keeps_dims = same_form(in, &node->out) && from == to;
    }
}
