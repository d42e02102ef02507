/* SPDX-License-Identifier: Apache-2.0 */
/* What jobs and tenants may be called: the one rule that the library, the dispatcher and workers
 * have. */
#ifndef CW_BASE_NAME_H
#define CW_BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define CW_JOB_NAME_MAX 200 /* bytes */
#define CW_TENANT_NAME_MAX 64

/* Valid UTF-8 without control characters, at most CW_JOB_NAME_MAX bytes; "" too: then it has
 * none. INVALID says what is wrong. */
int cw_name_check_job(const char *name, struct cw_err *err);
/* Letters, digits, '.', '_', '-', at most CW_TENANT_NAME_MAX, no '.' first: it is a folder of
 * the cache. "" too: then it is "default". */
int cw_name_check_tenant(const char *name, struct cw_err *err);
bool cw_name_is_tenant(const char *p, size_t n); /* "" is none */

#endif
