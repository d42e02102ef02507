/* SPDX-License-Identifier: Apache-2.0 */
/* What the operators that call functions in Python share: their options, their children, and how an
 * element goes to a child. */
#ifndef CW_OPS_ELEMENT_PYTHON_OP_H
#define CW_OPS_ELEMENT_PYTHON_OP_H

#include "ops/op.h"
#include "python/python_child.h"

struct cw_python_opts {
    char *function, *id, *title, *version;
    struct cw_str_list packages, on, spec;
    bool random, deterministic, batched;
    double timeout;
    int64_t memory;
    bool filters; /* set by the operator, not an option */
};

#define CW_PYTHON_AT(member) offsetof(struct cw_python_opts, member)
/* Rows of the options that all of them have. */
#define CW_PYTHON_OPT_ROWS                                                                         \
    {.name = "function",                                                                           \
     .help = "the function, as the Python package writes it",                                      \
     .type = CW_OPT_STR,                                                                           \
     .offset = CW_PYTHON_AT(function),                                                             \
     .flags = CW_OPT_REQUIRED | CW_OPT_NO_FINGERPRINT},                                            \
        {.name = "id",                                                                             \
         .help = "what the function is, for caches: equal for functions that do the same",         \
         .type = CW_OPT_STR,                                                                       \
         .offset = CW_PYTHON_AT(id),                                                               \
         .flags = CW_OPT_REQUIRED},                                                                \
        {.name = "version",                                                                        \
         .help = "Python that has made it, such as 3.11; workers must have the same",              \
         .type = CW_OPT_STR,                                                                       \
         .offset = CW_PYTHON_AT(version),                                                          \
         .flags = CW_OPT_REQUIRED | CW_OPT_NO_FINGERPRINT},                                        \
        {.name = "title",                                                                          \
         .help = "how messages call the function",                                                 \
         .type = CW_OPT_STR,                                                                       \
         .offset = CW_PYTHON_AT(title),                                                            \
         .def = "\"function\"",                                                                    \
         .flags = CW_OPT_NO_FINGERPRINT},                                                          \
        {.name = "packages",                                                                       \
         .help = "distributions that it uses, such as numpy==1.24.2; workers must have the same",  \
         .type = CW_OPT_STR_LIST,                                                                  \
         .offset = CW_PYTHON_AT(packages),                                                         \
         .flags = CW_OPT_NO_FINGERPRINT},                                                          \
        {.name = "on",                                                                             \
         .help = "fields that are its arguments, in this order; none: a dict of all fields",       \
         .type = CW_OPT_STR_LIST,                                                                  \
         .offset = CW_PYTHON_AT(on)},                                                              \
        {.name = "random",                                                                         \
         .help = "generators are seeded from the element's random stream, in each epoch anew",     \
         .type = CW_OPT_BOOL,                                                                      \
         .offset = CW_PYTHON_AT(random),                                                           \
         .def = "true"},                                                                           \
        {.name = "deterministic",                                                                  \
         .help = "it gives the same for the same element, which is tried when a job begins; "      \
                 "false: nothing behind it is cached",                                             \
         .type = CW_OPT_BOOL,                                                                      \
         .offset = CW_PYTHON_AT(deterministic),                                                    \
         .def = "true"},                                                                           \
        {.name = "timeout",                                                                        \
         .help = "seconds that it may take for an element",                                        \
         .type = CW_OPT_F64,                                                                       \
         .offset = CW_PYTHON_AT(timeout),                                                          \
         .def = "60",                                                                              \
         .min = 0.001,                                                                             \
         .max = 86400,                                                                             \
         .flags = CW_OPT_NO_FINGERPRINT},                                                          \
    {                                                                                              \
        .name = "memory", .help = "the most memory that its process may have (address space)",     \
        .type = CW_OPT_BYTES, .offset = CW_PYTHON_AT(memory), .def = "4294967296", .min = 0x1p28,  \
        .max = 0x1p50, .flags = CW_OPT_NO_FINGERPRINT                                              \
    }

/* How a result becomes a part of the element: field k of the output is field from[k] that came in, or
 * result -1 - from[k] of the function. */
struct cw_python_layout {
    struct cw_spec out;
    int from[CW_FIELDS_MAX];
    struct cw_spec given; /* the fields that the function gets */
    size_t given_n, index[CW_PYTHON_FIELDS_MAX];
    struct cw_spec result; /* what it returns */
};
/* *layout is a zeroed one, or one that was made before. It is freed with cw_python_layout_fini, also if
 * this fails. */
int cw_python_layout(const struct cw_python_opts *o, const struct cw_spec *in,
                     struct cw_python_layout *layout, struct cw_err *err);
void cw_python_layout_fini(struct cw_python_layout *layout);

/* Members of a descriptor. The state holds the first child, which open has started: so it is known at
 * once if this machine cannot run the function. A thread takes that one or starts its own. */
int cw_python_op_open(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err);
int cw_python_op_open_filter(const void *opts, const struct cw_op_open *how, void **ret_state,
                             struct cw_err *err);
void cw_python_op_close(void *state);
void *cw_python_op_scratch_new(const void *opts, void *state);
void cw_python_op_scratch_free(void *scratch);
int cw_python_op_apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       struct cw_element *element, struct cw_err *err);
bool cw_python_op_draws(const void *opts);
bool cw_python_op_varies(const void *opts);

/* The child of a function with these options. */
void cw_python_function_of(const struct cw_python_opts *o, struct cw_python_function *ret);
/* The prefix of messages: the name of the function. */
int cw_python_wrap(const struct cw_python_opts *o, struct cw_err *err);

/* `probe`: calls the function for elements twice, in two children, compares, and says what it gives. */
int cw_python_op_probe(const void *opts, const struct cw_op_probe *probe, struct cw_value *said,
                       struct cw_err *err);

#endif
