/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants: whose jobs are whose, what each may have, and what it has used (docs/tenants.md).
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
    double weight;                                           /* of its share of the fleet */
    uint64_t max_workers, max_jobs, max_memory, cache_quota; /* CW_NO_LIMIT = none */
};
struct cw_tenant {
    char *name;
    struct cw_tenant_limits limits;
    struct cw_usage past; /* of jobs that are removed */
    bool dirty;           /* past is to be stored */
    size_t index;         /* of the shares under way (fair_share.c) */
};

/* Of the values of --tenant, "NAME:KEY=VALUE,...": what name may have. A key that its own does
 * not give is as in the one of "*". */
struct cw_tenant_limits cw_tenant_limits_of(const struct cw_arg_list *rules, const char *name);
int cw_tenant_rules_check(const struct cw_arg_list *rules, struct cw_err *err);
/* Whether any rule has a quota of the cache. */
bool cw_tenant_rules_have_quota(const struct cw_arg_list *rules);

/* Makes it when it is not there; "" = "default". */
struct cw_tenant *cw_tenant_get(struct cw_dispatcher *d, const char *name);
void cw_tenants_open(struct cw_dispatcher *d); /* those that are named in rules */
void cw_tenants_close(struct cw_dispatcher *d);

/* What its jobs that are not over have. */
struct cw_tenant_load {
    uint64_t jobs, memory; /* memory: buffers of their clients */
};
struct cw_tenant_load cw_tenant_load(const struct cw_dispatcher *d, const struct cw_tenant *tenant);
uint64_t cw_job_memory(const Cachew__V1__JobOptions *options);
/* Whether a further job of these options may begin. LIMIT: says which one, and what to do. */
int cw_tenant_admits(struct cw_dispatcher *d, const Cachew__V1__JobOptions *options,
                     struct cw_err *err);

#endif
