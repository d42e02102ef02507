/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the commands of the dispatcher. */
#include "worker/session/commands.h"

#include <string.h>

#include "base/fault.h"
#include "base/limits.h"
#include "base/log.h"
#include "wire/wire.h"
#include "worker/cache/cache_keys.h"
#include "worker/cache/worker_cache.h"
#include "worker/compute/outputs.h"
#include "worker/compute/read_ahead.h"
#include "worker/compute/tasks.h"
#include "worker/job/index_leases.h"
#include "worker/job/job_life.h"
#include "worker/job/job_plan.h"
#include "worker/job/plan_loader.h"
#include "worker/message/report_timer.h"
#include "worker/message/to_dispatcher.h"
#include "worker/serve/client_streams.h"
#include "worker/session/drain.h"

static void run_prepare(struct cw_worker_state *w, const Cachew__V1__Prepare *prepare)
{
    struct cw_graph *graph = NULL, *written = NULL;
    struct cw_err err = {0};
    int rc = prepare->graph ? cw_wire_graph_from(prepare->graph, &graph, &err)
                            : cw_err_set(&err, CW_E_INVALID, "no pipeline came");
    if (rc == 0 && prepare->written)
        rc = cw_wire_graph_from(prepare->written, &written, &err);
    if (rc != 0) {
        cw_report_prepared(w, prepare->job_id, &(const struct cw_prepared_report){.error = &err});
        cw_graph_unref(graph);
        return;
    }
    cw_log_info("worker", "job=%s is being prepared", prepare->job_id);
    cw_loader_prepare(w, prepare, graph, written, cw_wcache_prepared_in(w, prepare->store));
}

/* Ends what the worker has of the items, wherever they are. */
static void let_go(struct cw_wjob *job, uint64_t epoch, const struct cw_set *items)
{
    cw_wlease_revoke(job, epoch, items);
    cw_wahead_prune(job);
    cw_tasks_revoke(job, epoch, items);
    cw_outputs_drop(job, epoch, items);
}

static void run_lease(struct cw_worker_state *w, const Cachew__V1__Lease *lease,
                      const struct cw_set *items)
{
    struct cw_wjob *job = cw_wjob_get(w, lease->job_id);
    if (!job || w->drain.active || cw_fault_rare("worker.hands_back")) {
        cw_report_hand_back(w, lease->job_id, lease->epoch, items);
        return;
    }
    cw_report_gather(w, lease->report_ms);
    if (lease->heartbeat_ms > 0)
        w->report.beat_ms = w->report.idle_beat_ms =
            CW_MAX((int64_t)lease->heartbeat_ms, CW_BEAT_MIN_MS);
    /* A lease of a shared job names its client. The worker may still have some of its items for a
     * client that held the slot before: that one was sent them by another worker and acknowledged
     * them, so nobody revoked them here, and was killed. They would never be sent to the new
     * client. */
    if (lease->client_id != 0)
        let_go(job, lease->epoch, items);
    cw_wjob_leased(job, lease, items);
    cw_tasks_pump(w);
}

static void run_revoke(struct cw_worker_state *w, const Cachew__V1__Revoke *revoke,
                       const struct cw_set *items)
{
    struct cw_wjob *job = cw_wjob_get(w, revoke->job_id);
    if (!job)
        return;
    cw_wclients_received(job, revoke->epoch, items);
    let_go(job, revoke->epoch, items);
    cw_tasks_pump(w);
}

/* Runs a Lease or a Revoke. */
static const char *run_on_items(struct cw_worker_state *w, const Cachew__V1__WorkerCommand *command)
{
    bool lease = command->kind_case == CACHEW__V1__WORKER_COMMAND__KIND_LEASE;
    struct cw_set items = {0};
    int rc = lease
                 ? cw_wire_set_from(command->lease->items, command->lease->n_items, &items, NULL)
                 : cw_wire_set_from(command->revoke->items, command->revoke->n_items, &items, NULL);
    if (rc == 0 && lease)
        run_lease(w, command->lease, &items);
    else if (rc == 0)
        run_revoke(w, command->revoke, &items);
    cw_set_fini(&items);
    return rc == 0 ? NULL : "it names items in a way that is not allowed";
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
        return run_on_items(w, command);
    case CACHEW__V1__WORKER_COMMAND__KIND_REVOKE:
        return run_on_items(w, command);
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
            cw_wcache_job_given(job, command->cache_plan->store, command->cache_plan->cache,
                                command->cache_plan->n_cache);
        break;
    }
    case CACHEW__V1__WORKER_COMMAND__KIND_INDEX_ASK:
        cw_index_leases_asked(w, command->index_ask);
        break;
    case CACHEW__V1__WORKER_COMMAND__KIND_INDEX_LEASE:
        cw_index_leases_given(w, command->index_lease,
                              cw_wcache_prepared_in(w, command->index_lease->store));
        break;
    case CACHEW__V1__WORKER_COMMAND__KIND_INDEX_MADE:
        cw_index_leases_made(w, command->index_made);
        break;
    case CACHEW__V1__WORKER_COMMAND__KIND_JOB_PLAN:
        return cw_wjob_plan_given(w, command->job_plan);
    case CACHEW__V1__WORKER_COMMAND__KIND_SHOW_ELEMENTS: {
        struct cw_wjob *job = cw_wjob_get(w, command->show_elements->job_id);
        if (job)
            job->show_n = CW_MIN(command->show_elements->elements, CW_SHOWN_ELEMENTS_MAX);
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
    case CACHEW__V1__WORKER_COMMAND__KIND_LEAVE_CACHE:
        cw_wcache_leave(w, command->leave_cache);
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
