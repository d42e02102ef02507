/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the commands of the dispatcher. */
#include "worker/session/commands.h"

#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "wire/wire.h"
#include "worker/cache/cache_job.h"
#include "worker/cache/cache_keys.h"
#include "worker/compute/outputs.h"
#include "worker/compute/tasks.h"
#include "worker/job/job_life.h"
#include "worker/job/plan_loader.h"
#include "worker/message/report_timer.h"
#include "worker/message/to_dispatcher.h"
#include "worker/serve/client_streams.h"
#include "worker/session/drain.h"

static void run_prepare(struct cw_worker_state *w, const Cachew__V1__Prepare *prepare)
{
    struct cw_graph *graph = NULL;
    struct cw_err err = {0};
    int rc = prepare->graph ? cw_wire_graph_from(prepare->graph, &graph, &err)
                            : cw_err_set(&err, CW_E_INVALID, "no pipeline came");
    if (rc != 0) {
        cw_report_prepared(w, prepare->job_id, NULL, NULL, NULL, &err);
        return;
    }
    cw_log_info("worker", "job=%s is being prepared", prepare->job_id);
    cw_loader_prepare(w, prepare->job_id, graph, prepare->seed);
}

static void hand_back_all(struct cw_worker_state *w, const char *job_id, uint64_t epoch,
                          Cachew__V1__Interval *const *items, size_t n)
{
    struct cw_set set = {0};
    struct cw_err err = {0};
    if (cw_wire_set_from(items, n, &set, &err) == 0)
        cw_report_hand_back(w, job_id, epoch, &set);
    cw_set_fini(&set);
}

/* Ends what the worker has of the items, wherever they are. */
static void let_go(struct cw_wjob *job, uint64_t epoch, uint64_t lo, uint64_t hi)
{
    cw_wlease_revoke(job, epoch, lo, hi);
    cw_tasks_revoke(job, epoch, lo, hi);
    cw_outputs_revoke(job, epoch, lo, hi);
}

/* A lease of a shared job names its client. The worker may still have some of its items for a
 * client that held the slot before: that one was sent them by another worker and acknowledged them,
 * so nobody revoked them here, and was killed. They would never be sent to the new client. */
static void let_go_of_former(struct cw_wjob *job, const Cachew__V1__Lease *lease)
{
    for (size_t i = 0; lease->client_id != 0 && i < lease->n_items; i++)
        if (lease->items[i]->lo < lease->items[i]->hi)
            let_go(job, lease->epoch, lease->items[i]->lo, lease->items[i]->hi);
}

static void run_lease(struct cw_worker_state *w, const Cachew__V1__Lease *lease)
{
    struct cw_wjob *job = cw_wjob_get(w, lease->job_id);
    if (!job || w->drain.active || cw_fault_rare("worker.hands_back")) {
        hand_back_all(w, lease->job_id, lease->epoch, lease->items, lease->n_items);
        return;
    }
    cw_report_gather(w, lease->report_ms);
    let_go_of_former(job, lease);
    cw_wjob_leased(job, lease);
    cw_tasks_pump(w);
}

static void run_revoke(struct cw_worker_state *w, const Cachew__V1__Revoke *revoke)
{
    struct cw_wjob *job = cw_wjob_get(w, revoke->job_id);
    if (!job)
        return;
    for (size_t i = 0; i < revoke->n_items; i++) {
        uint64_t lo = revoke->items[i]->lo, hi = revoke->items[i]->hi;
        if (lo >= hi)
            continue;
        cw_wclients_received(job, revoke->epoch, lo, hi);
        let_go(job, revoke->epoch, lo, hi);
    }
    cw_tasks_pump(w);
}

const char *cw_commands_run(struct cw_worker_state *w, const Cachew__V1__WorkerCommand *command)
{
    switch (command->kind_case) {
    case CACHEW__V1__WORKER_COMMAND__KIND_PREPARE:
        run_prepare(w, command->prepare);
        break;
    case CACHEW__V1__WORKER_COMMAND__KIND_JOB:
        return cw_wjob_add(w, command->job);
    case CACHEW__V1__WORKER_COMMAND__KIND_LEASE:
        cw_fault_point("worker.lease");
        run_lease(w, command->lease);
        break;
    case CACHEW__V1__WORKER_COMMAND__KIND_REVOKE:
        run_revoke(w, command->revoke);
        break;
    case CACHEW__V1__WORKER_COMMAND__KIND_FORGET: {
        struct cw_wjob *job = cw_wjob_get(w, command->forget->job_id);
        if (job)
            cw_wjob_forget(job, command->forget->reason);
        else
            /* The job was only prepared here, not opened. */
            cw_loader_forget(w, command->forget->job_id);
        cw_tasks_pump(w);
        break;
    }
    case CACHEW__V1__WORKER_COMMAND__KIND_DRAIN:
        cw_drain_start(w, NULL, NULL);
        break;
    case CACHEW__V1__WORKER_COMMAND__KIND_CACHE_PLAN: {
        struct cw_wjob *job = cw_wjob_get(w, command->cache_plan->job_id);
        if (job)
            cw_wcache_job_set(job, command->cache_plan->cache, command->cache_plan->n_cache);
        break;
    }
    case CACHEW__V1__WORKER_COMMAND__KIND_PARTS:
        for (size_t i = 0; i < command->parts->n_parts; i++) {
            struct cw_wjob *job = cw_wjob_get(w, command->parts->parts[i]->job_id);
            if (job)
                cw_wjob_set_weight(job, command->parts->parts[i]->part);
        }
        cw_tasks_pump(w);
        break;
    case CACHEW__V1__WORKER_COMMAND__KIND_CACHE_CHUNKS:
        return cw_wcache_chunks(w, command->cache_chunks);
    case CACHEW__V1__WORKER_COMMAND__KIND_WELCOME: /* it was handled when the session began */
    case CACHEW__V1__WORKER_COMMAND__KIND__NOT_SET:
    default: /* a command of a newer dispatcher */
        cw_log_debug("worker", "command %d is not known here", (int)command->kind_case);
    }
    return NULL;
}
