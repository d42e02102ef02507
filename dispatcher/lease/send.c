/* SPDX-License-Identifier: Apache-2.0 */
/* Sends leases to workers: all that a share is given in one fill goes out as one message. */
#include "dispatcher/access/access.h"
#include "dispatcher/cache/cache.h"
#include "dispatcher/lease/lease_int.h"
#include "dispatcher/message/message.h"
#include "trace/trace.h"

static void send_spec(struct cw_share *share)
{
    const struct cw_job *job = share->job;
    cw_cache_subscribe(share);
    Cachew__V1__JobSpec spec = CACHEW__V1__JOB_SPEC__INIT;
    spec.job_id = job->id;
    spec.seed = job->seed;
    spec.skip_bad = job->options->skip_bad;
    spec.apart = job->options->apart;
    spec.consumers = job->layout.consumers;
    spec.each_item_to_all = job->layout.to_all;
    spec.shared = job->layout.mode == CW_MODE_SHARED;
    spec.tenant = (char *)(uintptr_t)cw_job_tenant(job);
    spec.cache = cw_job_cache_uses(job, share->worker, &spec.n_cache);
    Cachew__V1__CacheStore store;
    spec.store = cw_job_cache_store(job, &store);
    spec.secret =
        (ProtobufCBinaryData){sizeof(job->data_secret), (uint8_t *)(uintptr_t)job->data_secret};
    spec.secret_required = cw_access_is_on(job->d);
    spec.part = share->slice_sent = cw_share_slice(share);
    const struct cw_wire_part parts[] = {{"graph", cw_job_graph(job)}, {"manifest", job->manifest}};
    cw_worker_send_parts(share->worker, CACHEW__V1__WORKER_COMMAND__KIND_JOB, &spec.base, parts,
                         CW_ARRAY_LEN(parts));
    cw_mem_free(spec.cache);
    share->spec_sent = share->has_job = true;
    if (job->plan.number > 0)
        cw_worker_send_plan(share->worker, job, false);
}

static void send_lease(struct cw_share *share, const struct cw_lease *lease)
{
    if (!share->spec_sent)
        send_spec(share);
    Cachew__V1__LeaseId id = CACHEW__V1__LEASE_ID__INIT;
    id.generation = share->job->d->generation;
    id.counter = lease->counter;
    Cachew__V1__Lease message = CACHEW__V1__LEASE__INIT;
    message.lease = &id;
    message.job_id = share->job->id;
    message.epoch = lease->epoch;
    message.items = cw_wire_set_to(&lease->items, &message.n_items);
    message.consumer = lease->consumer;
    if (share->job->layout.mode == CW_MODE_SHARED)
        message.client_id = share->job->consumers[lease->consumer].client_id;
    message.report_ms = cw_report_interval_ms(share->job->d);
    share->worker->heartbeat_ms = message.heartbeat_ms =
        cw_heartbeat_ms(share->job->d, share->worker->heartbeat_ms);
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_LEASE;
    command.lease = &message;
    cw_worker_send(share->worker, &command);
    cw_trace_leased(share->job->id, lease->epoch, &lease->items, share->worker->address);
    cw_mem_free(message.items);
    cw_fault_point("dispatcher.lease");
}

/* A value of after_seq: the owners of the lease's items are written at the end of the fill. */
#define NOT_WRITTEN UINT64_MAX

void cw_lease_send(struct cw_share *share)
{
    struct cw_lease *lease = cw_steal(&share->fill_lease);
    if (!lease)
        return;
    if (share->job->layout.mode != CW_MODE_SHARED) {
        send_lease(share, lease);
        return;
    }
    lease->after_seq = NOT_WRITTEN;
    share->job->has_unsent_leases = share->job->d->due.stored_leases = true;
}

static void store_owned(struct cw_job *job)
{
    /* The consumed set is written with the owners: consumed items have no owner any more, and must
     * not look as if they belonged to nobody. */
    for (size_t i = 0; i < job->epochs_open; i++) {
        if (job->epochs[i]->dirty)
            cw_state_put_epoch(job->d->state, job->id, job->epochs[i]);
        job->epochs[i]->dirty = false;
    }
}

void cw_lease_store_owners(struct cw_job *job)
{
    if (!job->has_unsent_leases)
        return;
    store_owned(job);
    uint64_t seq = cw_state_seq(job->d->state);
    for (struct cw_share *share = job->shares; share; share = share->next_of_job)
        for (struct cw_lease *lease = share->leases; lease; lease = lease->next)
            if (lease->after_seq == NOT_WRITTEN)
                lease->after_seq = seq;
}

static bool send_stored(struct cw_share *share)
{
    bool left = false;
    for (struct cw_lease *lease = share->leases; lease; lease = lease->next) {
        if (lease->after_seq == 0)
            continue;
        if (cw_state_is_stored(share->job->d->state, lease->after_seq)) {
            lease->after_seq = 0;
            send_lease(share, lease);
        } else {
            left = true;
        }
    }
    return left;
}

void cw_lease_send_stored(struct cw_dispatcher *d)
{
    bool left = false;
    for (struct cw_job *job = d->due.stored_leases ? d->jobs : NULL; job; job = job->next) {
        if (!job->has_unsent_leases)
            continue;
        job->has_unsent_leases = false;
        for (struct cw_share *share = job->shares; share; share = share->next_of_job)
            job->has_unsent_leases = send_stored(share) || job->has_unsent_leases;
        left = left || job->has_unsent_leases;
    }
    d->due.stored_leases = left;
}

void cw_lease_give(struct cw_share *share, struct cw_epoch *epoch, const struct cw_set *items,
                   bool hedge, uint32_t consumer)
{
    if (epoch->layout.mode == CW_MODE_SHARED)
        cw_job_set_owner(share->job, epoch, consumer, items);
    epoch->given_n += cw_set_count(items);
    epoch->hedged_n += hedge ? cw_set_count(items) : 0;
    struct cw_lease *lease = share->fill_lease;
    if (lease && (lease->epoch != epoch->number || lease->hedge != hedge ||
                  lease->consumer != consumer || lease->full)) {
        cw_lease_send(share);
        lease = NULL;
    }
    share->fill_lease = cw_lease_add(share, epoch, items, lease, hedge);
    share->fill_lease->consumer = consumer;
    share->fill_lease->full =
        cw_set_count(&share->fill_lease->items) >= CW_LEASE_MAX || cw_fault_rare("lease.short");
}
