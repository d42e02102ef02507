/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines by table: parsing, environment variables (CACHEW_<PROGRAM>_<OPTION>, with dashes as
 * underscores), --help and --version all come from the same rows. Unknown options are errors, with
 * a suggestion. */
#ifndef CW_BASE_ARGS_H
#define CW_BASE_ARGS_H

#include <stdbool.h>
#include "base/err.h"

enum cw_arg_type {
    CW_ARG_FLAG,  /* target: bool *; --x, and also --no-x if negatable */
    CW_ARG_STR,   /* target: const char ** (points into argv or the environment) */
    CW_ARG_I64,   /* target: int64_t * */
    CW_ARG_U64,   /* target: uint64_t * */
    CW_ARG_F64,   /* target: double * */
    CW_ARG_BYTES, /* target: uint64_t *; a text like "64M" */
    CW_ARG_MS,    /* target: int64_t *; a text like "250ms" or "3s" */
    CW_ARG_LIST   /* target: struct cw_arg_list *; the option may be given several times */
};
struct cw_arg_list {
    const char *v[128];
    size_t n;
};
struct cw_arg {
    const char *name; /* long name without dashes; rows end with a NULL name */
    char letter;      /* one-letter name; 0: none */
    enum cw_arg_type type;
    void *target;        /* keeps its value if the option is absent, so the default is set there */
    const char *metavar; /* "HOST:PORT" */
    const char *help;    /* one line; the default is written in it */
    double min, max;     /* range; both 0: any number */
};
struct cw_args_spec {
    const char *program; /* "cachew-worker" */
    const char *usage;   /* "[options]" or "FILE.json [options]" */
    const char *about;   /* paragraph for --help */
    const struct cw_arg *rows;
    const char *tail;            /* printed at the end of --help: examples; NULL = none */
    const char *env_prefix;      /* "CACHEW_WORKER"; NULL = no environment */
    void (*print_version)(void); /* prints more lines for --version; NULL = there are none */
};
enum cw_args_result { CW_ARGS_RUN = 0, CW_ARGS_DONE = 1 /* --help or --version was printed */ };
/* Options and positionals may be mixed; "--" ends options. ret_positional holds the rest, in order
 * (argv's own pointers, at most max). Returns CW_ARGS_RUN, CW_ARGS_DONE, or a negative code. */
int cw_args_parse(const struct cw_args_spec *spec, int argc, char **argv,
                  const char **ret_positional, size_t max, size_t *ret_positional_n,
                  struct cw_err *err);
/* Returns the help text that --help prints; the caller frees it. */
char *cw_args_help(const struct cw_args_spec *spec) CW_MUST_CHECK;

#endif
