/* SPDX-License-Identifier: Apache-2.0 */
/* What a process that runs functions of users may do: read the files of Python and compute, and
 * nothing else. The program cachew-sandbox puts itself under these rules and then becomes Python. */
#ifndef CW_PYTHON_SANDBOX_H
#define CW_PYTHON_SANDBOX_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Whether this kernel has all that the sandbox needs; UNSUPPORTED names what is missing. */
int cw_sandbox_check(struct cw_err *err);
/* Limits of this process: its memory, its open files, no files that it writes, no core. The kernel
 * takes it first when memory is short. */
int cw_sandbox_limit(uint64_t memory_bytes, struct cw_err *err);
/* From now on this process may read below these directories and in these files, and execute
 * `programs`; both lists end with NULL, and names that do not exist are passed over. It gets no
 * rights by executing. */
int cw_sandbox_restrict_files(const char *const *readable, const char *const *programs,
                              struct cw_err *err);
/* From now on only the system calls are there that computing needs (sandbox_calls.c). A call that is not
 * there fails with EPERM. */
int cw_sandbox_restrict_calls(struct cw_err *err);

#endif
