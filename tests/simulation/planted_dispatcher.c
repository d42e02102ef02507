/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes of a dispatcher (planted.h): calls that the linker leads here. */
#include "planted.h"
#include "dispatcher_state.h"
#include "state_check.h"

#include "cache/store/backend.h"
#include "dispatcher/cache/cache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/model/model.h"
#include "dispatcher/state/state.h"

/* SIM_PLANTED_PROMISE */
__typeof__(cw_state_is_stored) __real_cw_state_is_stored, __wrap_cw_state_is_stored;
bool __wrap_cw_state_is_stored(const struct cw_state *state, uint64_t seq)
{
    return sim_planted() == SIM_PLANTED_PROMISE || __real_cw_state_is_stored(state, seq);
}

/* SIM_PLANTED_FENCE: every dispatcher has the same generation, so that none is older. By itself it
 * shows nothing: two dispatchers cannot be there at once, since they need one lock. So there is no
 * lock either (sim_disk_lock): a dispatcher that stands still loses it. */
__typeof__(cw_state_generation) __real_cw_state_generation, __wrap_cw_state_generation;
uint64_t __wrap_cw_state_generation(const struct cw_state *state)
{
    return sim_planted() == SIM_PLANTED_FENCE ? 1 : __real_cw_state_generation(state);
}

/* SIM_PLANTED_WINDOW: as if the job had asked for a window without end. */
__typeof__(cw_window_items) __real_cw_window_items, __wrap_cw_window_items;
uint64_t __wrap_cw_window_items(const struct cw_job *job, size_t threads)
{
    return sim_planted() == SIM_PLANTED_WINDOW ? UINT32_MAX : __real_cw_window_items(job, threads);
}

/* One of several consumers is away. */
static bool lacks_one(const struct cw_job *job)
{
    bool lacks = false;

    for (uint32_t c = 0; job->layout.consumers > 1 && c < job->layout.consumers; c++)
        lacks = lacks || (job->consumers[c].client_id != 0 && !job->consumers[c].client);
    return lacks;
}

/* SIM_PLANTED_WAITS: nothing is leased while that is so.
 * SIM_PLANTED_SPARSE: the window of a sparse job is counted from what is consumed alone. */
__typeof__(cw_job_window_end) __real_cw_job_window_end, __wrap_cw_job_window_end;
uint64_t __wrap_cw_job_window_end(struct cw_job *job)
{
    if (sim_planted() == SIM_PLANTED_WAITS && lacks_one(job))
        return 0;
    if (sim_planted() != SIM_PLANTED_SPARSE || !job->info->sparse)
        return __real_cw_job_window_end(job);
    struct cw_epoch *first = cw_job_open_epoch(job, job->first_epoch);
    return (first ? cw_epoch_lowest_unconsumed(first) : 0) + job->window;
}

/* SIM_PLANTED_UNREACHED: what a client reports is forgotten at once. */
__typeof__(cw_unreachable_add) __real_cw_unreachable_add, __wrap_cw_unreachable_add;
bool __wrap_cw_unreachable_add(struct cw_share *share, uint32_t consumer, const char *why,
                               int64_t now)
{
    bool is_new = __real_cw_unreachable_add(share, consumer, why, now);
    if (sim_planted() == SIM_PLANTED_UNREACHED)
        cw_unreachable_remove(share, consumer);
    return is_new;
}

/* The product's own check would see some of the mistakes at once: here it must be seen by what
 * trainers get. */
__typeof__(cw_check_derived) __real_cw_check_derived, __wrap_cw_check_derived;
void __wrap_cw_check_derived(const struct cw_dispatcher *d)
{
    if (sim_planted() == SIM_PLANTED_NONE)
        __real_cw_check_derived(d);
    sim_check_state(d);
    sim_check_dispatcher_bounds(d);
}

/* SIM_PLANTED_HEDGES */
__typeof__(cw_epoch_may_hedge) __real_cw_epoch_may_hedge, __wrap_cw_epoch_may_hedge;
uint64_t __wrap_cw_epoch_may_hedge(const struct cw_epoch *epoch)
{
    return sim_planted() == SIM_PLANTED_HEDGES ? UINT64_MAX : __real_cw_epoch_may_hedge(epoch);
}

/* SIM_PLANTED_KEPT */
__typeof__(cw_store_remove) __real_cw_store_remove, __wrap_cw_store_remove;
int __wrap_cw_store_remove(struct cw_store *store, const char *name, struct cw_err *err)
{
    return sim_planted() == SIM_PLANTED_KEPT ? 0 : __real_cw_store_remove(store, name, err);
}

/* SIM_PLANTED_TEMP */
__typeof__(cw_store_is_old_temp) __real_cw_store_is_old_temp, __wrap_cw_store_is_old_temp;
bool __wrap_cw_store_is_old_temp(const char *part, int64_t mtime_ms, bool unwritten)
{
    return sim_planted() != SIM_PLANTED_TEMP &&
           __real_cw_store_is_old_temp(part, mtime_ms, unwritten);
}

/* SIM_PLANTED_LEFT */
__typeof__(cw_job_release_consumer) __real_cw_job_release_consumer, __wrap_cw_job_release_consumer;
void __wrap_cw_job_release_consumer(struct cw_job *job, uint32_t consumer)
{
    if (sim_planted() != SIM_PLANTED_LEFT || job->layout.mode != CW_MODE_SHARED)
        __real_cw_job_release_consumer(job, consumer);
}

/* SIM_PLANTED_UNTOLD */
__typeof__(cw_leaving_hello) __real_cw_leaving_hello, __wrap_cw_leaving_hello;
void __wrap_cw_leaving_hello(struct cw_worker *worker, const uint64_t *open, size_t n)
{
    if (sim_planted() != SIM_PLANTED_UNTOLD)
        __real_cw_leaving_hello(worker, open, n);
}
