/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables, for operators, stores and policies. A row of a table gives parsing, the default,
 * range checks, error messages, the canonical form, and documentation. */
#ifndef CW_CONF_OPT_H
#define CW_CONF_OPT_H

#include "conf/value.h"

enum cw_opt_type {
    CW_OPT_BOOL,     /* bool */
    CW_OPT_I64,      /* int64_t */
    CW_OPT_F64,      /* double (an integer is accepted) */
    CW_OPT_STR,      /* char *, owned */
    CW_OPT_ENUM,     /* int: index into names */
    CW_OPT_I64_LIST, /* struct cw_i64_list; a single number is read as a list of one */
    CW_OPT_F64_LIST, /* struct cw_f64_list */
    CW_OPT_STR_LIST, /* struct cw_str_list; a single string is read as a list of one */
    CW_OPT_BYTES,    /* int64_t; a number or "64MiB" */
    /* struct cw_value: any JSON, which the operator reads itself; with len_max it is a list, and what is none is read
     * as a list of one */
    CW_OPT_VALUE
};
enum cw_opt_flags {
    CW_OPT_REQUIRED = 1u << 0,
    CW_OPT_NO_FINGERPRINT = 1u << 1, /* the option only tunes speed and does not change the data */
    /* it is part of the fingerprint only where it is not the default: an option that an operator got
     * later, so that pipelines without it keep their fingerprint */
    CW_OPT_NEWER = 1u << 2,
    /* it is no option of pipelines and always has its default: a table can so say in the struct whose options
     * these are */
    CW_OPT_OWN = 1u << 3,
    CW_OPT_WRITTEN = 1u << 4 /* preparing a job writes it down, and documents do not show it */
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
    const char *name; /* the last row of a table has a NULL name */
    const char *help;
    enum cw_opt_type type;
    size_t offset;
    const char *def; /* default as JSON text; NULL: zero, empty or absent */
    double min, max; /* range of each number; both 0: any number */
    unsigned flags;
    const char *const *names; /* for ENUM: the words; ends with NULL */
    size_t len_min, len_max;  /* number of items of a list; both 0: any number */
};

/* Fills the zeroed struct from an object (NULL: no options). A key that is not in the table is an
 * error, with a suggestion. After an error everything that was allocated is freed. Messages name
 * the option, the given value, and what is allowed. */
int cw_opt_parse(const struct cw_opt *table, const struct cw_value *object, void *ret_opts,
                 struct cw_err *err);
void cw_opt_fini(const struct cw_opt *table, void *opts);
/* Appends the canonical text of all options that are part of the fingerprint: {"a":1,...}, sorted,
 * with defaults except those of NEWER options. */
void cw_opt_canon(const struct cw_opt *table, const void *opts, struct cw_str *out);
const char *cw_opt_type_name(enum cw_opt_type type);

#endif
