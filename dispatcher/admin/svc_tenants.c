/* SPDX-License-Identifier: Apache-2.0 */
/* Admin.ListTenants: the tenants with their limits and their use. */
#include <stdlib.h>
#include <string.h>

#include "dispatcher/admin/admin_int.h"
#include "dispatcher/cache/cache.h"
#include "dispatcher/scaling/scaling.h"

struct row {
    Cachew__V1__TenantRow row;
    Cachew__V1__Usage usage;
};

void cw_svc_usage(const struct cw_usage *usage, Cachew__V1__Usage *ret_row)
{
    cachew__v1__usage__init(ret_row);
    ret_row->cpu_ns = usage->cpu_ns;
    ret_row->elements = usage->elements;
    ret_row->bytes = usage->bytes;
    ret_row->remote_s = usage->remote_s;
    ret_row->local_s = usage->local_s;
    ret_row->client_s = usage->client_s;
    ret_row->cost = usage->cost;
}

static uint64_t none_is_0(uint64_t limit)
{
    return limit == CW_NO_LIMIT ? 0 : limit;
}

static uint64_t count_workers(const struct cw_dispatcher *d, const struct cw_tenant *tenant)
{
    uint64_t n = 0;
    for (const struct cw_worker *worker = d->workers; worker; worker = worker->next) {
        const struct cw_share *share = worker->shares;
        while (share && (share->job->tenant != tenant || !cw_share_is_used(share)))
            share = share->next_of_worker;
        n += share != NULL;
    }
    return n;
}

static void fill(const struct cw_dispatcher *d, const struct cw_tenant *tenant, struct row *ret_row)
{
    Cachew__V1__TenantRow *r = &ret_row->row;
    cachew__v1__tenant_row__init(r);
    const struct cw_tenant_limits *limits = &tenant->limits;
    struct cw_tenant_load load = cw_tenant_load(d, tenant);
    struct cw_usage usage = tenant->past;
    for (const struct cw_job *job = d->jobs; job; job = job->next) {
        if (job->tenant != tenant)
            continue;
        cw_usage_add(&usage, &job->usage);
        r->granted += job->granted;
    }
    const struct cw_catalogue_tenant *cached =
        d->cache ? cw_strmap_get(&d->cache->catalogue->tenants, tenant->name) : NULL;
    r->tenant = tenant->name;
    r->weight = limits->weight;
    r->max_workers = none_is_0(limits->max_workers);
    r->max_jobs = none_is_0(limits->max_jobs);
    r->max_jobs_set = limits->max_jobs != CW_NO_LIMIT;
    r->max_memory = none_is_0(limits->max_memory);
    r->cache_quota = none_is_0(limits->cache_quota);
    r->jobs = load.jobs;
    r->memory = load.memory;
    r->workers = count_workers(d, tenant);
    r->cache_bytes = cached ? cached->bytes : 0;
    cw_svc_usage(&usage, &ret_row->usage);
    r->usage = &ret_row->usage;
}

static int by_name(const void *a, const void *b)
{
    const Cachew__V1__TenantRow *const *left = a, *const *right = b;
    return strcmp((*left)->tenant, (*right)->tenant);
}

static void handle_list_tenants(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    (void)request;
    struct cw_dispatcher *d = arg;
    cw_autofree struct row *rows = CW_NEW_ARRAY(struct row, d->tenants.n + 1);
    cw_autofree Cachew__V1__TenantRow **list =
        CW_NEW_ARRAY(Cachew__V1__TenantRow *, d->tenants.n + 1);
    const char *name;
    void *value;
    size_t n = 0;
    cw_accounting_tick(d, cw_clock_ms());
    for (size_t i = 0; cw_strmap_next(&d->tenants, &i, &name, &value);) {
        if (!cw_access_sees_tenant(cw_call_caller(call), name))
            continue;
        fill(d, value, &rows[n]);
        list[n] = &rows[n].row;
        n++;
    }
    qsort(list, n, sizeof(*list), by_name);
    Cachew__V1__ListTenantsReply answer = CACHEW__V1__LIST_TENANTS_REPLY__INIT;
    answer.n_tenants = n;
    answer.tenants = list;
    answer.generation = d->generation;
    cw_svc_reply(call, &answer.base);
}

void cw_svc_tenants_add(struct cw_dispatcher *d)
{
    const struct cw_method method = {"/cachew.v1.Admin/ListTenants", handle_list_tenants, NULL, d};
    cw_server_add(d->server, &method);
}
