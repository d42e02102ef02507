/* SPDX-License-Identifier: Apache-2.0 */
/* A child process that runs one function in Python, for one thread at a time (docs/python.md). Elements
 * go to it in shared memory. What it does reaches nobody else (sandbox.h): if it crashes, hangs or
 * takes too much memory, it alone ends, and the element has an error. */
#ifndef CW_PYTHON_PYTHON_CHILD_H
#define CW_PYTHON_PYTHON_CHILD_H

#include <stdbool.h>

#include "base/stop.h"
#include "conf/opt.h"
#include "data/element.h"
#include "data/spec.h"

struct cw_python_child;

/* Most fields that a function gets, or returns. */
#define CW_PYTHON_FIELDS_MAX 16

/* The function, and how it is run. The texts are borrowed as long as the child lives. */
struct cw_python_function {
    const char *code;                   /* pickled, as base64 */
    const char *version;                /* of Python that has made it: "3.11" */
    const struct cw_str_list *packages; /* that it uses: "numpy==1.24.2" */
    const struct cw_str_list *on;       /* names of the fields that it gets; none: all, as a dict */
    bool filters;                       /* its result says whether the element is kept */
    bool draws;                         /* generators are seeded before each element */
    double timeout_s;                   /* for one element */
    int64_t memory_bytes;               /* the most that the process may have */
};

/* Starts a child, and has it load the function. Errors are those of the function's text, or of starting
 * Python. stop may be NULL. */
int cw_python_child_start(const struct cw_python_function *function, const struct cw_stop *stop,
                          struct cw_python_child **ret_child, struct cw_err *err);
/* Says which fields come in, and which have to come out (NULL: the child says what it has got, with
 * cw_python_child_names). Needed before the first call. */
int cw_python_child_tell(struct cw_python_child *child, const struct cw_spec *in,
                         const struct cw_spec *out, const struct cw_stop *stop, struct cw_err *err);
/* Calls the function with these fields. Returns 0 with the fields that came out, whose data lie in memory
 * that the child may write, and are valid until the next call; 1: the element is left out; or
 * an error. Data types, ranks and sizes are checked to be possible, not to be those that were wanted. */
int cw_python_child_call(struct cw_python_child *child, const struct cw_view *in, size_t in_n,
                         uint64_t seed, const struct cw_stop *stop, struct cw_view *ret_out,
                         size_t *ret_n, struct cw_err *err);
/* CPU time of the last call, in ns, as the child says. */
int64_t cw_python_child_cpu_ns(const struct cw_python_child *child);
/* The names of the fields that the last call gave, as JSON; only if no `out` was told. */
const char *cw_python_child_names(const struct cw_python_child *child);
/* Whether it still runs: after an error it may have been ended, and then only cw_python_child_free is
 * allowed. */
bool cw_python_child_runs(const struct cw_python_child *child);
/* Ends the process. Accepts NULL. */
void cw_python_child_free(struct cw_python_child *child);

#endif
