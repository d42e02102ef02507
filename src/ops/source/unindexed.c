/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/source/unindexed.h"

void cw_unindexed_list(struct cw_value *options, const char *option, const struct cw_str_list *list)
{
    struct cw_value *items = cw_value_set_list(cw_value_member(options, option), list->n);
    for (size_t i = 0; i < list->n; i++)
        cw_value_set_str(&items[i], list->v[i]);
}

struct cw_value *cw_unindexed_ranges(const struct cw_unindexed *how, const char *op,
                                     const struct cw_str_list *patterns, cw_op_part_fn *add,
                                     void *arg)
{
    struct cw_value *ranges = add(arg, op);
    cw_unindexed_list(ranges, "pattern", patterns);
    cw_value_set_i64(cw_value_member(ranges, "bytes"), how->range);
    return ranges;
}

struct cw_value *cw_unindexed_lines(const struct cw_unindexed *how,
                                    const struct cw_str_list *patterns, const char *field,
                                    bool skip_blank, bool skip_mark, cw_op_part_fn *add, void *arg)
{
    struct cw_value *ranges = cw_unindexed_ranges(how, "text_ranges", patterns, add, arg);
    cw_value_set_str(cw_value_member(ranges, "field"), field);
    cw_value_set_bool(cw_value_member(ranges, "skip_mark"), skip_mark);
    struct cw_value *lines = add(arg, "split_lines");
    cw_value_set_str(cw_value_member(lines, "field"), field);
    cw_value_set_bool(cw_value_member(lines, "skip_blank"), skip_blank);
    return ranges;
}
