/* SPDX-License-Identifier: Apache-2.0 */
/* What jobs and tenants have used: the time of workers and trainers is charged as it passes. When a
 * job is removed, its use is added to its tenant's. */
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/state/state.h"

#include <string.h>

void cw_usage_add(struct cw_usage *to, const struct cw_usage *more)
{
    to->elements += more->elements;
    to->bytes += more->bytes;
    to->cpu_ns += more->cpu_ns;
    to->remote_s += more->remote_s;
    to->local_s += more->local_s;
    to->client_s += more->client_s;
    to->cost += more->cost;
}

/* Returns how many seconds have passed since *charged_ms, which becomes now; none the first time. */
static double seconds_since(int64_t *charged_ms, int64_t now)
{
    double seconds = *charged_ms > 0 && now > *charged_ms ? (double)(now - *charged_ms) / 1000 : 0;
    *charged_ms = now;
    return seconds;
}

void cw_accounting_worker(struct cw_worker *worker, int64_t now)
{
    bool local = worker->only_job[0] != '\0';
    double price = worker->has_price ? worker->price : worker->d->options.worker_price;
    double hour_price = local ? 0 : price, parts = 0;
    for (const struct cw_share *share = worker->shares; share; share = share->next_of_worker)
        if (cw_share_is_used(share))
            parts += cw_share_slice(share);
    for (struct cw_share *share = worker->shares; share; share = share->next_of_worker) {
        if (!cw_share_is_used(share)) {
            share->charged_ms = 0;
            continue;
        }
        struct cw_usage *usage = &share->job->usage;
        double own = seconds_since(&share->charged_ms, now) * cw_share_slice(share) / parts;
        *(local ? &usage->local_s : &usage->remote_s) += own;
        usage->cost += own / 3600 * hour_price;
    }
}

static void charge_clients(struct cw_job *job, int64_t now)
{
    double seconds = seconds_since(&job->charged_ms, now);
    double price =
        job->options->client_price > 0 ? job->options->client_price : job->d->options.client_price;
    for (uint32_t c = 0; seconds > 0 && c < job->layout.consumers; c++) {
        if (!job->consumers[c].client)
            continue;
        job->usage.client_s += seconds;
        job->usage.cost += seconds / 3600 * price;
    }
}

void cw_accounting_tick(struct cw_dispatcher *d, int64_t now)
{
    for (struct cw_worker *worker = d->workers; worker; worker = worker->next)
        if (worker->said_hello)
            cw_accounting_worker(worker, now);
    for (struct cw_job *job = d->jobs; job; job = job->next)
        charge_clients(job, now);
}

void cw_accounting_job(struct cw_job *job, int64_t now)
{
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job)
        cw_accounting_worker(share->worker, now);
    charge_clients(job, now);
}

void cw_accounting_retire(struct cw_job *job)
{
    cw_usage_add(&job->tenant->past, &job->usage);
    job->usage = (struct cw_usage){0};
    job->tenant->dirty = true;
    cw_tenants_store(job->d);
}

void cw_tenants_store(struct cw_dispatcher *d)
{
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&d->tenants, &i, &name, &value);) {
        struct cw_tenant *tenant = value;
        if (tenant->dirty)
            cw_state_put_tenant(d->state, tenant->name, &tenant->past);
        tenant->dirty = false;
    }
}
