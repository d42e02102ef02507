/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/provision.h"

#include <string.h>

#define CW_PROVISION(name) extern const struct cw_provisioner cw_provision_##name;
#include "dispatcher/provision_list.h"
#undef CW_PROVISION

static const struct cw_provisioner *const kinds[] = {
#define CW_PROVISION(name) &cw_provision_##name,
#include "dispatcher/provision_list.h"
#undef CW_PROVISION
};

int cw_provision_find(const char *name, const struct cw_provisioner **ret_kind, struct cw_err *err)
{
    CW_STR_AUTO names = {0};
    for (size_t i = 0; i < CW_ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i]->name, name) == 0) {
            *ret_kind = kinds[i];
            return 0;
        }
        cw_str_addf(&names, "%s%s", i ? ", " : "", kinds[i]->name);
    }
    return cw_err_set(err, CW_E_INVALID, "provisioner \"%s\" is not known; there are: %s", name, cw_str_text(&names));
}

int cw_provision_open(struct cw_dispatcher *d, struct cw_err *err)
{
    struct cw_provision *p = &d->provision;
    p->kind = d->options.provisioner;
    return p->kind->open ? p->kind->open(d, &p->state, err) : 0;
}

void cw_provision_close(struct cw_dispatcher *d)
{
    if (d->provision.kind && d->provision.kind->close)
        d->provision.kind->close(d->provision.state);
    d->provision.state = NULL;
}

double cw_provision_possible(const struct cw_dispatcher *d)
{
    const struct cw_provision *p = &d->provision;
    return p->kind->fixed ? (double)CW_MAX(d->workers_n, (size_t)1) : (double)d->options.max_workers;
}

void cw_provision_attached(struct cw_dispatcher *d, const struct cw_worker *worker)
{
    if (d->provision.kind->attached)
        d->provision.kind->attached(d->provision.state, worker);
}

static bool counts(const struct cw_worker *w)
{
    return w->hello && !w->draining && !w->failed && !w->retiring && w->only_job[0] == '\0';
}

static bool is_used(const struct cw_worker *w)
{
    for (const struct cw_share *share = w->shares; share; share = share->next_of_worker)
        if (share->assigned || (!share->job->scaling && share->job->status == CW_JOB_RUNNING && cw_job_has_clients(share->job)))
            return true;
    return false;
}

/* The youngest of ours that no job uses. */
static struct cw_worker *pick_surplus(struct cw_dispatcher *d)
{
    struct cw_worker *best = NULL;
    for (struct cw_worker *w = d->workers; w; w = w->next)
        if (counts(w) && !is_used(w) && d->provision.kind->owns(d->provision.state, w) && (!best || w->since_ms > best->since_ms))
            best = w;
    return best;
}

static void retire(struct cw_worker *w)
{
    Cachew__V1__Drain drain = CACHEW__V1__DRAIN__INIT;
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_DRAIN;
    command.drain = &drain;
    w->retiring = true;
    cw_log_info(CW_LOG_MOD, "worker=%s is not needed: it drains and leaves", w->address);
    cw_worker_send(w, &command);
}

static void shrink(struct cw_dispatcher *d, size_t surplus, int64_t now)
{
    struct cw_provision *p = &d->provision;
    if (p->surplus_ms == 0)
        p->surplus_ms = now;
    if (now - p->surplus_ms < d->options.scale_in_ms)
        return;
    for (; surplus > 0; surplus--) {
        struct cw_worker *w = pick_surplus(d);
        if (!w)
            return;
        retire(w);
    }
}

void cw_provision_want(struct cw_dispatcher *d, double n, int64_t now)
{
    struct cw_provision *p = &d->provision;
    if (p->kind->fixed || d->stopping)
        return;
    p->kind->tick(p->state, now);
    double limit = CW_MIN(CW_MAX(n, (double)d->options.min_workers), (double)d->options.max_workers);
    size_t wanted = (size_t)(limit + 0.5), have = p->kind->starting(p->state);
    for (const struct cw_worker *w = d->workers; w; w = w->next)
        have += counts(w);
    p->wanted = limit;
    if (have <= wanted)
        p->surplus_ms = 0;
    if (have < wanted)
        (void)p->kind->start(p->state, wanted - have);
    else if (have > wanted)
        shrink(d, have - wanted, now);
}
