/* SPDX-License-Identifier: Apache-2.0 */
/* Sources without an index (option `index`: false): they stand for ranges of bytes, of which records are made
 * (`stands_for` in ops/op.h). */
#ifndef CW_OPS_SOURCE_UNINDEXED_H
#define CW_OPS_SOURCE_UNINDEXED_H

#include "ops/op.h"

struct cw_unindexed {
    bool index;
    int64_t range;
};
/* Rows of a table of options: a struct cw_unindexed. They are in no fingerprint: with `index` they have no effect, and
 * without it the node is replaced. */
#define CW_UNINDEXED_ROWS(at)                                                                      \
    {.name = "index",                                                                              \
     .help = "find all records when a job is prepared; false = the first batch comes at once, "    \
             "positions are ranges of bytes, and there is no length",                              \
     .type = CW_OPT_BOOL,                                                                          \
     .offset = (at) + offsetof(struct cw_unindexed, index),                                        \
     .def = "true",                                                                                \
     .flags = CW_OPT_NO_FINGERPRINT},                                                              \
    {                                                                                              \
        .name = "range", .help = "length of a range of bytes, where index is false",               \
        .type = CW_OPT_BYTES, .offset = (at) + offsetof(struct cw_unindexed, range),               \
        .def = "\"1MiB\"", .min = 1, .max = 0x1p30, .flags = CW_OPT_NO_FINGERPRINT                 \
    }

/* How many ranges belong to an item at least. */
#define CW_UNINDEXED_SPAN 4
/* Adds the source `op` of ranges; returns its options, which have `pattern` and `bytes` already. */
struct cw_value *cw_unindexed_ranges(const struct cw_unindexed *how, const char *op,
                                     const struct cw_str_list *patterns, cw_op_part_fn *add,
                                     void *arg);
/* Sets an option of such a node to a list. */
void cw_unindexed_list(struct cw_value *options, const char *option,
                       const struct cw_str_list *list);
/* Adds text_ranges and split_lines, which give the lines of the files as the str `field`. Returns the options of
 * text_ranges. */
struct cw_value *cw_unindexed_lines(const struct cw_unindexed *how,
                                    const struct cw_str_list *patterns, const char *field,
                                    bool skip_blank, bool skip_mark, cw_op_part_fn *add, void *arg);

#endif
