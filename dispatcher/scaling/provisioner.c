/* SPDX-License-Identifier: Apache-2.0 */
/* How many workers there should be in all, and the provisioner (provisioner_list.h) that starts or
 * drains them. */
#include "dispatcher/message/message.h"
#include "dispatcher/scaling/scaling_int.h"
#include "dispatcher/state/state.h"

#include <math.h>
#include <string.h>

#define CW_PROVISION(name) extern const struct cw_provisioner cw_provision_##name;
#include "dispatcher/scaling/provisioner_list.h"
#undef CW_PROVISION

static const struct cw_provisioner *const kinds[] = {
#define CW_PROVISION(name) &cw_provision_##name,
#include "dispatcher/scaling/provisioner_list.h"
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
    return cw_err_set(err, CW_E_INVALID, "provisioner \"%s\" is not known; there are: %s", name,
                      cw_str_text(&names));
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

void cw_provision_attached(struct cw_dispatcher *d, struct cw_worker *worker)
{
    if (d->provision.kind->attached && worker->only_job[0] == '\0')
        d->provision.kind->attached(d->provision.state, worker);
}

struct count {
    double asked, wanted; /* The number that jobs could use, and that number within the limits. */
    size_t workers, starting;
};

static bool is_used(const struct cw_worker *w)
{
    for (const struct cw_share *share = w->shares; share; share = share->next_of_worker)
        if (share->assigned || cw_share_is_used(share))
            return true;
    return false;
}

/* Picks the youngest worker that the provisioner has started and no job uses. */
static struct cw_worker *pick_surplus(struct cw_dispatcher *d)
{
    struct cw_worker *best = NULL;
    for (struct cw_worker *w = d->workers; w; w = w->next)
        if (cw_worker_serves_any_job(w) && !is_used(w) &&
            d->provision.kind->owns(d->provision.state, w) &&
            (!best || w->since_ms > best->since_ms))
            best = w;
    return best;
}

/* Prints which jobs want how many workers, and how many there are. */
static void print_inputs(const struct cw_dispatcher *d, const struct count *count,
                         struct cw_str *out)
{
    cw_str_addf(out,
                "{\"wanted\":%.0f,\"workers\":%zu,\"starting\":%zu,\"min_workers\":%llu,\"max_"
                "workers\":%llu,\"scale_in_ms\":%lld,\"jobs\":[",
                count->wanted, count->workers, count->starting,
                (unsigned long long)d->options.min_workers,
                (unsigned long long)d->options.max_workers, (long long)d->options.scale_in_ms);
    const char *before = "";
    for (const struct cw_job *job = d->jobs; job; job = job->next) {
        if (job->status != CW_JOB_RUNNING || !cw_job_has_clients(job))
            continue;
        cw_str_addf(out, "%s{\"job\":\"%s\",\"wanted\":", before, job->id);
        if (job->scaling)
            cw_str_addf(out, "%.0f,\"assigned\":%u}", job->scaling->target, job->assigned_n);
        else
            cw_str_add(out, "null}");
        before = ",";
    }
    cw_str_add(out, "]}");
}

static void record(struct cw_dispatcher *d, const struct count *count, const char *choice,
                   const char *reason)
{
    CW_STR_AUTO inputs = {0};
    print_inputs(d, count, &inputs);
    const struct cw_state_decision row = {.kind = "provision",
                                          .policy = d->provision.kind->name,
                                          .choice = choice,
                                          .reason = reason,
                                          .inputs = cw_str_text(&inputs)};
    cw_decision_record(d, NULL, &row);
}

static void shrink(struct cw_dispatcher *d, const struct count *count, int64_t now)
{
    struct cw_provision *p = &d->provision;
    if (p->surplus_ms == 0)
        p->surplus_ms = now;
    if (now - p->surplus_ms < d->options.scale_in_ms)
        return;
    for (size_t have = count->workers + count->starting; (double)have > count->wanted; have--) {
        struct cw_worker *w = pick_surplus(d);
        if (!w)
            return;
        cw_autofree char *choice = cw_mem_printf("drain %s", w->address);
        cw_autofree char *reason =
            cw_mem_printf("Workers: %zu, wanted: %.0f, for %.1f s now; no job uses this one.", have,
                          count->wanted, (double)(now - p->surplus_ms) / 1e3);
        record(d, count, choice, reason);
        cw_worker_retire(w);
    }
}

static void grow(struct cw_dispatcher *d, const struct count *count)
{
    struct cw_provision *p = &d->provision;
    size_t wanted = (size_t)count->wanted,
           started = p->kind->start(p->state, wanted - count->workers - count->starting);
    if (started == 0)
        return;
    const char *why = count->asked < count->wanted   ? " (the least there may be)"
                      : count->asked > count->wanted ? " (the most there may be)"
                                                     : "";
    cw_autofree char *choice =
        cw_mem_printf("start %zu worker%s", started, started == 1 ? "" : "s");
    cw_autofree char *reason = cw_mem_printf(
        "Workers that jobs could use: %.0f, wanted: %zu%s; there: %zu, starting: %zu.",
        count->asked, wanted, why, count->workers, count->starting);
    record(d, count, choice, reason);
}

static void publish(struct cw_dispatcher *d, const struct count *count)
{
    cw_autofree char *choice =
        cw_mem_printf("%.0f worker%s", count->wanted, count->wanted == 1 ? "" : "s");
    cw_autofree char *reason = cw_mem_printf("Workers that jobs could use: %.0f; there: %zu.",
                                             count->asked, count->workers);
    record(d, count, choice, reason);
}

void cw_provision_set_wanted(struct cw_dispatcher *d, double n, int64_t now)
{
    struct cw_provision *p = &d->provision;
    if (p->kind->fixed || d->stopping)
        return;
    p->kind->tick(p->state, now);
    struct count count = {.asked = floor(n + 0.5), .starting = p->kind->starting(p->state)};
    count.wanted =
        CW_MIN(CW_MAX(count.asked, (double)d->options.min_workers), (double)d->options.max_workers);
    for (const struct cw_worker *w = d->workers; w; w = w->next)
        count.workers += cw_worker_serves_any_job(w);
    if (p->kind->publishes && p->wanted != count.wanted)
        publish(d, &count);
    p->wanted = count.wanted;
    if (p->kind->aim) {
        p->kind->aim(p->state, count.wanted, now);
        return;
    }
    double have = (double)(count.workers + count.starting);
    if (have <= count.wanted)
        p->surplus_ms = 0;
    if (have < count.wanted)
        grow(d, &count);
    else if (have > count.wanted)
        shrink(d, &count, now);
}
