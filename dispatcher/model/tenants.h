/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants: which jobs are whose, what a tenant may have, and what it has used (docs/tenants.md).
 * Loop thread. */
#ifndef CW_DISPATCHER_MODEL_TENANTS_H
#define CW_DISPATCHER_MODEL_TENANTS_H

#include <stddef.h>

#include "base/args.h"
#include "base/err.h"
#include "cachew/v1/job.pb-c.h"
#include "dispatcher/model/usage.h"

#define CW_TENANTS_MAX 10000
#define CW_NO_LIMIT UINT64_MAX

struct cw_dispatcher;
struct cw_job;

struct cw_tenant_limits {
    double weight; /* The weight of the tenant in the fair division of the fleet. */
    /* The limits of the tenant; CW_NO_LIMIT if there is none. */
    uint64_t max_workers, max_jobs, max_memory, cache_quota;
};
struct cw_tenant {
    char *name;
    struct cw_tenant_limits limits;
    struct cw_usage past; /* What those jobs of the tenant used that were removed since. */
    bool dirty;           /* `past` must be written to state.db. */
    size_t index; /* The tenant's index while fair shares are computed (scaling/fair_share.c). */
};

/* Returns the limits of the tenant according to the values of --tenant ("NAME:KEY=VALUE,..."). A
 * key that the tenant's own rules do not give is taken from those of "*". */
struct cw_tenant_limits cw_tenant_limits_of(const struct cw_arg_list *rules, const char *name);
int cw_tenant_rules_check(const struct cw_arg_list *rules, struct cw_err *err);
/* Returns whether any rule has a quota of the cache. */
bool cw_tenant_rules_have_quota(const struct cw_arg_list *rules);

/* Returns the tenant, which is created if it is new. "" means "default". */
struct cw_tenant *cw_tenant_get(struct cw_dispatcher *d, const char *name);
void cw_tenants_open(struct cw_dispatcher *d); /* Creates the tenants that are named in rules. */
void cw_tenants_close(struct cw_dispatcher *d);

/* What the jobs of a tenant that are not over use. */
struct cw_tenant_load {
    uint64_t jobs, memory; /* memory: the sum of the buffers of their clients. */
};
struct cw_tenant_load cw_tenant_load(const struct cw_dispatcher *d, const struct cw_tenant *tenant);
uint64_t cw_job_memory(const Cachew__V1__JobOptions *options);
/* Checks whether a further job with these options may begin. The error LIMIT names the limit that
 * is reached and the remedy. */
int cw_tenant_admits(struct cw_dispatcher *d, const Cachew__V1__JobOptions *options,
                     struct cw_err *err);

#endif
