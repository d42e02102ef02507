/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this process runs functions in Python for pipelines, with which Python, and what of the
 * machine they may read. It is set once, before any thread may ask. */
#ifndef CW_PYTHON_PYTHON_SETUP_H
#define CW_PYTHON_PYTHON_SETUP_H

#include <stdbool.h>

#include "base/err.h"

enum cw_python_sandbox {
    CW_PYTHON_SANDBOX_ON,
    CW_PYTHON_SANDBOX_OFF,
    CW_PYTHON_SANDBOX_AUTO /* on, where the kernel has all of it */
};
extern const char *const cw_python_sandbox_names[];

/* Allows functions. `interpreter` is a path, or a name that is found in PATH; it is not started yet.
 * UNSUPPORTED: this kernel lacks a part of the sandbox, which is named. */
int cw_python_allow(const char *interpreter, enum cw_python_sandbox sandbox, struct cw_err *err);
/* Forbids them again. */
void cw_python_forbid(void);
bool cw_python_is_allowed(void);

/* What a child is started with. */
struct cw_python_setup {
    bool sandboxed;
    char *interpreter;   /* absolute path */
    char **readable;     /* what Python reads, ends with NULL */
    char launcher[4096]; /* the program cachew-sandbox */
};
/* Returns it; asks the interpreter the first time. DENIED: functions are not allowed here. */
int cw_python_setup(const struct cw_python_setup **ret_setup, struct cw_err *err);

#endif
