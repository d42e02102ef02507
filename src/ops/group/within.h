/* SPDX-License-Identifier: Apache-2.0 */
/* Options that group operators share which work inside items (docs/decisions/0005-inside-items.md). */
#ifndef CW_OPS_GROUP_WITHIN_H
#define CW_OPS_GROUP_WITHIN_H

#include "ops/op.h"

#define CW_SPAN_MAX (1 << 20)
#define CW_SPAN_HELP                                                                               \
    "at least so many elements that come in belong to an item, at whose end groups end; 0 = as "   \
    "fits their size"

/* Rows of a table of options: the int64_t `span`. */
#define CW_SPAN_ROW(at)                                                                            \
    {                                                                                              \
        .name = "span", .help = CW_SPAN_HELP, .type = CW_OPT_I64, .offset = (at), .def = "0",      \
        .min = 0, .max = CW_SPAN_MAX                                                               \
    }

/* Of an operator that otherwise leaves groups to the trainer's process. */
struct cw_within {
    int within; /* index into cw_within_words */
    int64_t span;
};
enum { CW_WITHIN_EPOCH, CW_WITHIN_ITEM };
extern const char *const cw_within_words[];
#define CW_WITHIN_ROWS(at)                                                                         \
    {.name = "within",                                                                             \
     .help = "behind an operator that changes the count: batches of the whole epoch, which the "   \
             "trainer's process cuts, or of each item, which a worker makes",                      \
     .type = CW_OPT_ENUM,                                                                          \
     .offset = (at) + offsetof(struct cw_within, within),                                          \
     .names = cw_within_words,                                                                     \
     .def = "\"epoch\"",                                                                           \
     .flags = CW_OPT_NEWER},                                                                       \
    {                                                                                              \
        .name = "span", .help = CW_SPAN_HELP " (only within: item)", .type = CW_OPT_I64,           \
        .offset = (at) + offsetof(struct cw_within, span), .def = "0", .min = 0,                   \
        .max = CW_SPAN_MAX, .flags = CW_OPT_NEWER                                                  \
    }
int cw_within_check(const struct cw_within *within, struct cw_err *err);
/* What the documentation of all operators inside items says. */
#define CW_INSIDE_DOC                                                                              \
    "It works inside items: on the elements of `span` positions before the first operator that "   \
    "changes the\n"                                                                                \
    "count, in order, and begins anew with each item. What an item holds follows from the "        \
    "pipeline alone and\n"                                                                         \
    "is told by `cachew check`."

/* Of operators that take elements apart one by one: the bool `survey`. */
#define CW_SURVEY_ROW(at)                                                                          \
    {                                                                                              \
        .name = "survey",                                                                          \
        .help = "find out once how many elements are made of each, when a job is prepared",        \
        .type = CW_OPT_BOOL, .offset = (at), .def = "false",                                       \
        .flags = CW_OPT_NO_FINGERPRINT /* check.c adds whether the node is surveyed */             \
    }
#define CW_SURVEY_DOC                                                                              \
    "\n\n"                                                                                         \
    "Where an operator behind it must know how many elements there are (`repeat`, `zip`, "         \
    "`shuffle`, an operator\n"                                                                     \
    "behind the batch), and where `survey` says so, they are counted once, when a job is "         \
    "prepared: a survey, which is\n"                                                               \
    "kept like an index of files. From then on each of them has a position, none belongs to an "   \
    "item, and everything\n"                                                                       \
    "may follow. It is not possible behind a random operator, or behind a shuffle."

/* Gives a field a new first dimension of n; with `ragged` the unknown ones behind it may differ from row
 * to row. */
int cw_group_add_dimension(struct cw_field *field, int64_t n, bool ragged, struct cw_err *err);

/* Makes the elements of a batch, which lie in its first dimension: element i has views of fields in
 * ret_fields. The batch must be sound (cw_slices_check). */
struct cw_slices {
    const struct cw_spec *spec; /* of batches */
    const struct cw_view *fields;
    int64_t n;
};
/* The infer function of taking batches apart. */
int cw_slices_infer(const struct cw_spec *in, struct cw_spec *ret_spec, struct cw_err *err);
int cw_slices_check(const struct cw_spec *in, const struct cw_view *fields, struct cw_err *err);
void cw_slices_init(struct cw_slices *slices, const struct cw_spec *spec,
                    const struct cw_view *fields);
void cw_slices_get(const struct cw_slices *slices, int64_t i, struct cw_view *ret_fields);

#endif
