/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a worker together, and takes it apart in the reverse order. */
#include "worker/worker.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/call_note.h"
#include "base/cpulimit.h"
#include "base/hostload.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/memlimit.h"
#include "base/rng.h"
#include "base/str.h"
#include "format/kept_index.h"
#include "ops/source/held.h"
#include "ops/source/index_parts.h"
#include "ops/source/loaded.h"
#include "trace/trace.h"
#include "worker/cache/cache_store.h"
#include "worker/cache/source.h"
#include "worker/cache/worker_cache.h"
#include "worker/compute/read_ahead.h"
#include "worker/compute/tasks.h"
#include "worker/job/job_life.h"
#include "worker/job/job_plan.h"
#include "worker/job/plan_loader.h"
#include "worker/model/budget.h"
#include "worker/model/state.h"
#include "worker/serve/client_streams.h"
#include "worker/serve/fetch_gate.h"
#include "worker/serve/shm_transport.h"
#include "worker/session/dispatcher_session.h"
#include "worker/session/drain.h"
#include "worker/session/probes.h"
#include "worker/session/report.h"

#define DRAIN_LIMIT_MS 30000

/* Chooses the address for clients: a worker that listens on all addresses is reached by the name of
 * its host. */
static int choose_address(struct cw_worker_state *w, const char *listening,
                          const struct cw_worker_options *o, struct cw_err *err)
{
    const char *colon = strrchr(listening, ':');
    bool wildcard = cw_str_starts(listening, "0.0.0.0:") || cw_str_starts(listening, "[::]:") ||
                    listening[0] == ':';
    if (o->advertise_host && o->advertise_host[0])
        return cw_rpc_address_of_host(o->advertise_host, listening, w->address, sizeof(w->address),
                                      err);
    if (o->advertise && o->advertise[0])
        snprintf(w->address, sizeof(w->address), "%s", o->advertise);
    else if (!wildcard || cw_str_starts(listening, "unix:"))
        snprintf(w->address, sizeof(w->address), "%s", listening);
    else {
        char host[256] = "localhost";
        (void)gethostname(host, sizeof(host) - 1);
        snprintf(w->address, sizeof(w->address), "%s%s", host, colon);
    }
    return 0;
}

/* Exec has finished tasks: their outputs may be sent, and memory may be free for others. */
static void on_tasks_done(void *arg)
{
    struct cw_worker_state *w = arg;
    cw_tasks_collect(w);
    if (w->closing)
        return;
    cw_wclients_pump_all(w);
    cw_tasks_pump(w);
    if (w->tasks_n == 0)
        cw_report_now(w);
}

static void on_cache_changed(void *arg)
{
    cw_tasks_pump(arg);
}

/* Bytes were read ahead. */
static void on_may_begin(void *arg)
{
    cw_tasks_pump(arg);
}

/* Peers at unix sockets are of this host: the files need not even be there. */
static int set_tls(struct cw_worker_state *w, const struct cw_worker_options *o, struct cw_err *err)
{
    bool is_local = cw_rpc_address_is_unix(o->listen) && cw_rpc_address_is_unix(o->dispatcher);
    if (!cw_tls_options_are_set(&o->tls) || is_local)
        return 0;
    int rc = cw_rpc_set_tls(w->rpc, &o->tls, err);
    if (rc == 0)
        cw_server_set_gate(w->server, cw_wclients_gate, w);
    return rc;
}

int cw_worker_new(struct cw_loop *loop, const struct cw_worker_options *o,
                  struct cw_worker_state **ret_worker, struct cw_err *err)
{
    char listening[CW_WORKER_ADDRESS_BYTES];
    uint64_t wanted = o->budget ? o->budget : cw_host_budget(1), budget = cw_memlimit_lower(wanted);
    uint64_t cache_memory = o->cache_memory ? o->cache_memory : budget / 4;
    if (budget < wanted) {
        cw_log_warn("worker",
                    "a budget of %llu bytes is more than this process may hold (memory limit of "
                    "its cgroup or address space: %llu): it is %llu",
                    (unsigned long long)wanted, (unsigned long long)cw_memlimit(),
                    (unsigned long long)budget);
        cache_memory = CW_MIN(cache_memory, budget / 4);
    }
    if (cache_memory >= budget)
        return cw_err_set(
            err, CW_E_INVALID,
            "option --cache-memory: %llu bytes of a budget of %llu leave nothing for items",
            (unsigned long long)cache_memory, (unsigned long long)budget);
    struct cw_worker_state *w = CW_NEW(struct cw_worker_state);
    w->loop = loop;
    w->shm.listen_fd = -1;
    w->rpc = cw_rpc_new(loop);
    cw_rpc_set_received_max(w->rpc, CW_FETCH_MESSAGE_MAX);
    w->server = cw_server_new(w->rpc);
    cw_wclients_add_methods(w);
    int rc = set_tls(w, o, err);
    if (rc == 0)
        rc = cw_server_listen(w->server, o->listen, listening, sizeof(listening), err);
    if (rc == 0)
        rc = choose_address(w, listening, o, err);
    if (rc == 0)
        rc = cw_probes_start(w, o->metrics_listen, err);
    const struct cw_trace_options trace = {o->trace_url, o->trace_every, "cachew-worker",
                                           w->address};
    if (rc == 0)
        rc = cw_trace_start(loop, &trace, err);
    if (rc == 0)
        rc = cw_wsource_start(w, o->source_memory, o->source_dir, o->source_dir_bytes, err);
    if (rc != 0) {
        w->closing = true;
        cw_worker_free(w);
        return rc;
    }
    cw_shm_host_id(w->host_id, sizeof(w->host_id));
    w->id = cw_rng_process_id();
    w->dispatcher = cw_mem_strdup(o->dispatcher);
    w->only_job = cw_mem_strdup(o->only_job);
    w->operators = o->operators;
    w->operators_n = o->operators_n;
    w->died = o->died;
    cw_call_page_process(w->id);
    w->store_roots = o->store_roots;
    w->token = cw_mem_strdup(o->token);
    w->token_file = cw_mem_strdup(o->token_file);
    w->needs_secret = !o->insecure && !cw_rpc_address_is_loopback(o->listen);
    w->threads = o->threads ? o->threads : cw_cpulimit();
    w->budget = (size_t)budget;
    cw_loaded_set_max(w->budget / CW_BUDGET_INDICES_PART);
    cw_held_set_max(w->budget / CW_BUDGET_HELD_PART);
    cw_loaded_set_part_max(w->budget / CW_BUDGET_INFLATED_PART);
    cw_index_keeper_set_max(w->budget / CW_BUDGET_INDEX_PART);
    if (o->index_requests > 0)
        cw_index_parts_set_at_once(o->index_requests);
    w->drain.limit_ms = o->drain_limit_ms ? o->drain_limit_ms : DRAIN_LIMIT_MS;
    uint64_t shm_limit = o->shm_limit ? o->shm_limit : w->budget;
    w->pool = cw_shm_pool_new((size_t)shm_limit);
    /* Batches that are kept for other jobs occupy slots of shared memory, so they get a quarter of
     * it at most. */
    uint64_t quarter = CW_MIN(shm_limit, (uint64_t)w->budget) / 4;
    w->dedup.limit =
        (size_t)(o->share_window == UINT64_MAX ? quarter
                                               : CW_MIN(o->share_window, (uint64_t)w->budget));
    w->exec = cw_exec_new(w->threads);
    cw_exec_limit_cpu(w->exec, o->cpus);
    cw_exec_limit_kept(w->exec, w->budget / CW_BUDGET_SCRATCH_PART);
    w->done_node = (struct cw_loop_node){.fn = on_tasks_done, .arg = w};
    w->loader.opened = cw_wjob_opened;
    w->loader.opened_beside = cw_wjob_plan_opened;
    cw_loader_start(w);
    cw_shm_transport_start(w, !o->no_shm);
    cw_report_start(w);
    cw_wcache_start(w, (size_t)cache_memory, on_cache_changed);
    cw_ahead_set_limit(o->read_ahead == UINT64_MAX ? CW_AHEAD_REQUESTS : (size_t)o->read_ahead);
    cw_wahead_start(w, on_may_begin);
    cw_server_start(w->server);
    cw_server_set_serving(w->server, true);
    cw_server_set_ready(w->server, false); /* until it is attached */
    cw_wsession_start(w);
    *ret_worker = w;
    return 0;
}

const char *cw_worker_address(const struct cw_worker_state *w)
{
    return w->address;
}

bool cw_worker_is_opening(const struct cw_worker_state *w)
{
    return w->loader.running_n > 0;
}

bool cw_worker_is_held_up(const struct cw_worker_state *w)
{
    return w->loader.running_n > 0 || w->tasks_n > 0 || cw_wcache_is_writing(w) ||
           w->cache.retired || w->cache.closing;
}

int64_t cw_worker_drain_limit_ms(const struct cw_worker_state *w)
{
    return w->drain.limit_ms;
}

bool cw_worker_is_caching(const struct cw_worker_state *w)
{
    return cw_wcache_is_busy(w);
}

void cw_worker_on_drained(struct cw_worker_state *w, cw_loop_fn *fn, void *arg)
{
    w->drain.fn = fn;
    w->drain.arg = arg;
}

void cw_worker_drain(struct cw_worker_state *w, cw_loop_fn *fn, void *arg)
{
    cw_drain_start(w, fn, arg);
}

void cw_worker_abandon(struct cw_worker_state *w, cw_loop_fn *fn, void *arg)
{
    cw_drain_abandon(w, fn, arg);
}

static void on_server_stopped(void *arg)
{
    cw_loop_stop(arg);
}

void cw_worker_free(struct cw_worker_state *w)
{
    if (!w)
        return;
    w->closing = true;
    cw_trace_stop();
    cw_probes_stop(w);
    cw_wsession_stop(w);
    cw_report_stop(w);
    cw_timer_free(w->drain.timer);
    cw_loader_stop(w);
    while (w->loader.running_n > 0)
        cw_loop_run(w->loop); /* plan_loader.c stops the loop */
    /* the thread that reads ahead may wait for a source */
    for (size_t i = 0; i < w->jobs.n; i++)
        if (w->jobs.list[i]->written)
            cw_plan_stop(w->jobs.list[i]->written);
    cw_wcache_stop(w);
    while (w->jobs.n > 0) {
        struct cw_wjob *job = w->jobs.list[0];
        /* The job's last task frees it, and its plan. */
        cw_wjob_forget(job, NULL);
    }
    cw_exec_free(w->exec);
    cw_tasks_collect(w);
    cw_wcache_free(w);
    cw_wclients_close_all(w);
    cw_shm_transport_stop(w);
    cw_server_stop(w->server, 0, on_server_stopped, w->loop);
    cw_loop_run(w->loop);
    cw_rpc_free(w->rpc);
    cw_map_fini(&w->shm.lent);
    cw_shm_pool_free(w->pool);
    cw_wsource_stop(w);
    cw_mem_free(w->source.dir);
    cw_strmap_fini(&w->jobs.by_id);
    cw_mem_free(w->jobs.list);
    cw_mem_free(w->dispatcher);
    cw_mem_free(w->only_job);
    cw_mem_free(w->token);
    cw_mem_free(w->token_file);
    cw_mem_free(w);
}
