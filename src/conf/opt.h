/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables (of operators, stores, policies): from one row come parsing, defaults, range
 * checks, error texts, the canonical form, and documentation. */
#ifndef CW_CONF_OPT_H
#define CW_CONF_OPT_H

#include "conf/value.h"

enum cw_opt_type {
    CW_OPT_BOOL,     /* bool */
    CW_OPT_I64,      /* int64_t */
    CW_OPT_F64,      /* double (an integer is accepted) */
    CW_OPT_STR,      /* char *, owned */
    CW_OPT_ENUM,     /* int: index into names */
    CW_OPT_I64_LIST, /* struct cw_i64_list; a single number is a list of one */
    CW_OPT_F64_LIST, /* struct cw_f64_list */
    CW_OPT_STR_LIST, /* struct cw_str_list; a single string is a list of one */
    CW_OPT_BYTES,    /* int64_t; a number or "64MiB" */
    CW_OPT_VALUE     /* struct cw_value: any JSON, for the operator to read */
};
enum cw_opt_flags {
    CW_OPT_REQUIRED = 1u << 0,
    CW_OPT_NO_FINGERPRINT = 1u << 1 /* a tuning knob: does not change the data */
};
struct cw_i64_list {
    int64_t *v;
    size_t n;
};
struct cw_f64_list {
    double *v;
    size_t n;
};
struct cw_str_list {
    char **v;
    size_t n;
};
struct cw_opt {
    const char *name; /* rows end with a NULL name */
    const char *help;
    enum cw_opt_type type;
    size_t offset;
    const char *def; /* JSON text; NULL = zero / empty / absent */
    double min, max; /* of each number; both 0: any */
    unsigned flags;
    const char *const *names; /* ENUM: the words, NULL-terminated */
    size_t len_min, len_max;  /* of lists; both 0: any */
};

/* Fills the zeroed struct from an object (NULL = no options). Every key not in the table is an
 * error with a suggestion. On failure what was made is freed. Messages name the option, what was
 * given, what is allowed. */
int cw_opt_parse(const struct cw_opt *table, const struct cw_value *object, void *ret_opts,
                 struct cw_err *err);
void cw_opt_fini(const struct cw_opt *table, void *opts);
/* Canonical text of all options that count for the fingerprint: {"a":1,...}, sorted, defaults
 * included. */
void cw_opt_canon(const struct cw_opt *table, const void *opts, struct cw_str *out);
const char *cw_opt_type_name(enum cw_opt_type type);

#endif
