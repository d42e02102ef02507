/* SPDX-License-Identifier: Apache-2.0 */
/* How rows of different shapes are filled up to one: what operators share that do so (group_pad in
 * ops/op.h). */
#ifndef CW_OPS_GROUP_PAD_OPTIONS_H
#define CW_OPS_GROUP_PAD_OPTIONS_H

#include "ops/op.h"

struct cw_pad_options {
    int64_t multiple;
    bool lengths, mask;
    int side; /* index into cw_pad_sides */
    struct cw_value
        length;            /* null; a number; or an object of numbers, or lists of them, by field */
    struct cw_value value; /* a number, or an object of numbers by field */
};
extern const char *const cw_pad_sides[];

/* Rows of a table of options for all members but `length`; `at` is the offset of the struct. */
#define CW_PAD_OPTION_ROWS(at)                                                                     \
    {.name = "multiple",                                                                           \
     .help = "where there is no length: fill up to the longest of the batch, rounded up to a "     \
             "multiple",                                                                           \
     .type = CW_OPT_I64,                                                                           \
     .offset = (at) + offsetof(struct cw_pad_options, multiple),                                   \
     .min = 1,                                                                                     \
     .max = 1 << 20,                                                                               \
     .def = "1"},                                                                                  \
        {.name = "value",                                                                          \
         .help = "what is filled in: a number, or numbers by field",                               \
         .type = CW_OPT_VALUE,                                                                     \
         .offset = (at) + offsetof(struct cw_pad_options, value),                                  \
         .def = "0"},                                                                              \
        {.name = "side",                                                                           \
         .help = "where it is filled in",                                                          \
         .type = CW_OPT_ENUM,                                                                      \
         .offset = (at) + offsetof(struct cw_pad_options, side),                                   \
         .names = cw_pad_sides,                                                                    \
         .def = "\"right\""},                                                                      \
        {.name = "lengths",                                                                        \
         .help = "add a field NAME_length: how long each element was, i64, for each dimension "    \
                 "that is filled up",                                                              \
         .type = CW_OPT_BOOL,                                                                      \
         .offset = (at) + offsetof(struct cw_pad_options, lengths),                                \
         .def = "false"},                                                                          \
    {                                                                                              \
        .name = "mask", .help = "add a field NAME_mask: which values are the element's own, bool", \
        .type = CW_OPT_BOOL, .offset = (at) + offsetof(struct cw_pad_options, mask),               \
        .def = "false"                                                                             \
    }

int cw_pad_options_check(const struct cw_pad_options *o, struct cw_err *err);
/* Makes the spec of a batch: n rows, -1 if that is not known. */
int cw_pad_options_infer(const struct cw_pad_options *o, const struct cw_spec *in, int64_t n,
                         struct cw_spec *ret_spec, struct cw_err *err);
/* group_pad of the operator. */
bool cw_pad_options_of(const struct cw_pad_options *o, const struct cw_spec *in, size_t f,
                       struct cw_pad *ret_pad);
/* Checks an option that is a number or an object of numbers by field, and puts what it says of a field, as
 * a value of its dtype, into `value`. */
int cw_pad_value_check(const struct cw_value *option, struct cw_err *err);
void cw_pad_value_set(const struct cw_value *option, const struct cw_field *field,
                      unsigned char value[8]);

#endif
