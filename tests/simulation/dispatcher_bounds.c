/* SPDX-License-Identifier: Apache-2.0 */
/* What a dispatcher has is bounded (bounds.h): in its program, beside the product. */
#include "bounds.h"
#include "dispatcher_state.h"

#include "dispatcher/lease/lease_int.h"
#include "dispatcher/model/model.h"
#include "dispatcher/state/state_int.h"

/* What the only consumer of a dense job may be ahead; 0: it is not known. (A sparse job's window
 * follows its rows; a job that asks for none is given one that follows its workers; one of several
 * consumers may go back by itself, so that all its items are missing among the others'; and an
 * unordered job may go on from a token of which the others had consumed theirs.) */
static uint64_t window_of(const struct cw_job *job)
{
    bool is_known = job->options->window > 0 && !job->info->sparse && job->layout.consumers == 1 &&
                    !job->options->unordered;

    return is_known ? job->options->window : 0;
}

static void check_epochs(const struct cw_job *job, uint64_t window)
{
    uint64_t leased = 0;

    sim_bound("open epochs", job->epochs_open, CW_EPOCHS_AHEAD);
    for (size_t i = 0; i < job->epochs_open; i++) {
        const struct cw_epoch *epoch = job->epochs[i];
        uint64_t most = window ? SIM_MOST_INTERVALS(window) : job->items / 2 + 1;
        sim_bound("intervals of what was consumed", epoch->consumed.n, most);
        sim_bound("intervals of what was received", epoch->received.n, most);
        sim_bound("intervals of what is leased", epoch->leased.n, most);
        leased += cw_set_count(&epoch->leased);
    }
    if (window)
        sim_bound("items of a job leased", leased, SIM_MOST_LEASED(window, job->d->workers_n));
}

static void check_job(const struct cw_job *job)
{
    uint64_t shares = 0, window = job->info ? window_of(job) : 0;

    for (const struct cw_share *share = job->shares; share; share = share->next_of_job) {
        uint64_t leases = 0, items = 0;
        for (const struct cw_lease *lease = share->leases; lease; lease = lease->next) {
            leases++;
            items += cw_set_count(&lease->items);
        }
        sim_bound("leases of a worker without an item", leases, items);
        shares++;
    }
    sim_bound("shares of a job", shares, SIM_MOST_SHARES(1, job->d->workers_n));
    if (job->info && job->items > 0)
        check_epochs(job, window);
}

static void check_queues(const struct cw_dispatcher *d)
{
    for (const struct cw_worker *worker = d->workers; worker; worker = worker->next)
        sim_bound("bytes that wait for a worker", cw_stream_queued(worker->stream),
                  SIM_MOST_CONTROL_BYTES);
    for (const struct cw_client *client = d->clients; client; client = client->next)
        sim_bound("bytes that wait for a client", cw_stream_queued(client->stream),
                  SIM_MOST_CONTROL_BYTES);
}

/* As many writes wait as there are rows, however long the disk is full or slow: of each row the last
 * one. (The one that makes a job's row stays, for what is written behind it.) */
static void check_writes(const struct cw_state_queue *queue)
{
    for (const struct cw_state_op *op = queue->first; op; op = op->next)
        if (op->key && op->which != CW_STATE_PUT_JOB &&
            cw_strmap_get(&queue->by_key, op->key) != op)
            sim_fail("%s has two writes of one row that wait", sim_name(sim_self()));
}

static void check_tables(const struct cw_dispatcher *d)
{
    uint64_t jobs = 0;

    for (const struct cw_job *job = d->jobs; job; job = job->next) {
        jobs++;
        check_job(job);
    }
    sim_equal("jobs", d->jobs_n, jobs);
    check_writes(&d->state->pending);
}

void sim_check_dispatcher_bounds(const struct cw_dispatcher *d)
{
    static unsigned cycles;

    if (d->stopping || cycles++ % SIM_BOUND_EVERY != 0)
        return;
    check_queues(d);
    check_tables(d);
}

/* ---- hedges, each time that one is given (the linker leads the call here) ---- */
__typeof__(cw_lease_give) __real_cw_lease_give, __wrap_cw_lease_give;

/* The lowest item that no client has received. */
static bool is_waited_for(const struct cw_job *job, const struct cw_epoch *epoch,
                          const struct cw_set *items)
{
    for (size_t i = 0; i < job->epochs_open; i++) {
        uint64_t first = cw_set_first_absent(&job->epochs[i]->received, 0);
        if (first < job->items)
            return job->epochs[i] == epoch && cw_set_count(items) == 1 && items->v[0].lo == first;
    }
    return false;
}

void __wrap_cw_lease_give(struct cw_share *share, struct cw_epoch *epoch,
                          const struct cw_set *items, bool hedge, uint32_t consumer)
{
    if (hedge && !is_waited_for(share->job, epoch, items))
        sim_bound("hedges of an epoch", epoch->hedged_n + cw_set_count(items),
                  SIM_MOST_HEDGED(epoch->given_n - epoch->hedged_n));
    __real_cw_lease_give(share, epoch, items, hedge, consumer);
}
