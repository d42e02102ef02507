/* SPDX-License-Identifier: Apache-2.0 */
/* Which names jobs, tenants and caches may have: one rule for the library, the dispatcher and workers. */
#ifndef CW_BASE_NAME_H
#define CW_BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define CW_JOB_NAME_MAX 200 /* bytes */
#define CW_TENANT_NAME_MAX 64
#define CW_TENANT_DEFAULT "default" /* what the name "" means */
#define CW_POD_NAME_MAX 253
#define CW_CACHE_NAME_MAX 317 /* NAMESPACE/NAME of Kubernetes */

/* Checks a job's name: valid UTF-8 without control characters, at most CW_JOB_NAME_MAX bytes. "" is
 * valid: the job has no name. INVALID: the message says what is wrong. */
int cw_name_check_job(const char *name, struct cw_err *err);
/* Checks a tenant's name: letters, digits, '.', '_', '-', at most CW_TENANT_NAME_MAX bytes, not
 * beginning with '.', since it is the name of a folder in the cache store. "" is valid: it means
 * "default". */
int cw_name_check_tenant(const char *name, struct cw_err *err);
bool cw_name_is_tenant(const char *p, size_t n); /* "" is not a name */
/* Checks the name of a cache: one or two parts with a '/' between them, each of letters, digits,
 * '.', '_', '-', not beginning with '.', at most CW_CACHE_NAME_MAX bytes in all. "" is valid: it
 * means "default". */
int cw_name_check_cache(const char *name, struct cw_err *err);
/* Whether a text may be the name of a pod, its namespace or its node, or its uid: letters, digits,
 * '.', '_', '-', at most CW_POD_NAME_MAX bytes. "" is none. */
bool cw_name_is_pod(const char *name);

#endif
