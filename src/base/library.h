/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that are loaded when they are first needed: programs that never need one do without it.
 * Callers hold a lock of their own. */
#ifndef CW_BASE_LIBRARY_H
#define CW_BASE_LIBRARY_H

#include "base/err.h"

/* Loads a library ("libx.so.1") unless it is loaded. It stays. UNSUPPORTED: it cannot be had. */
int cw_library_load(const char *name, void **library, struct cw_err *err);
/* Finds a function, for a pointer of its type, or the address of a variable. UNSUPPORTED: the library
 * lacks it. */
int cw_library_symbol(void *library, const char *name, void *ret_function, struct cw_err *err);

#endif
