/* SPDX-License-Identifier: Apache-2.0 */
/* Putting a worker together, and taking it apart in the reverse order. */
#include "worker/model/state.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hostload.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/memlimit.h"
#include "base/rng.h"
#include "base/str.h"
#include "worker/cache/source.h"

#define DRAIN_LIMIT_MS 30000

static size_t default_threads(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return (size_t)CW_MAX(CPU_COUNT(&set), 1);
    return 1;
}

/* A worker that listens everywhere is reached by its host's name. */
static void choose_address(struct cw_worker *w, const char *listening, const char *advertise)
{
    const char *colon = strrchr(listening, ':');
    bool wildcard = cw_str_starts(listening, "0.0.0.0:") || cw_str_starts(listening, "[::]:") ||
                    listening[0] == ':';
    if (advertise && advertise[0])
        snprintf(w->address, sizeof(w->address), "%s", advertise);
    else if (!wildcard || cw_str_starts(listening, "unix:"))
        snprintf(w->address, sizeof(w->address), "%s", listening);
    else {
        char host[256] = "localhost";
        (void)gethostname(host, sizeof(host) - 1);
        snprintf(w->address, sizeof(w->address), "%s%s", host, colon);
    }
}

int cw_worker_new(struct cw_loop *loop, const struct cw_worker_options *o,
                  struct cw_worker **ret_worker, struct cw_err *err)
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
    struct cw_worker *w = CW_NEW(struct cw_worker);
    w->loop = loop;
    w->shm_listen_fd = -1;
    w->rpc = cw_rpc_new(loop);
    w->server = cw_server_new(w->rpc);
    cw_serve_add_methods(w);
    int rc = cw_server_listen(w->server, o->listen, listening, sizeof(listening), err);
    if (rc == 0)
        rc = cw_wsource_start(w, o, err);
    if (rc != 0) {
        w->closing = true;
        cw_worker_free(w);
        return rc;
    }
    choose_address(w, listening, o->advertise);
    cw_shm_host_id(w->host_id, sizeof(w->host_id));
    w->id = cw_rng_process_id();
    w->dispatcher = cw_mem_strdup(o->dispatcher);
    w->only_job = cw_mem_strdup(o->only_job);
    w->threads = o->threads ? o->threads : default_threads();
    w->budget = (size_t)budget;
    w->drain_limit_ms = o->drain_limit_ms ? o->drain_limit_ms : DRAIN_LIMIT_MS;
    uint64_t shm_limit = o->shm_limit ? o->shm_limit : w->budget;
    w->pool = cw_shm_pool_new((size_t)shm_limit);
    /* What is kept holds slots that others then lack. */
    uint64_t quarter = CW_MIN(shm_limit, (uint64_t)w->budget) / 4;
    w->shared_items.limit =
        (size_t)(o->share_window == UINT64_MAX ? quarter
                                               : CW_MIN(o->share_window, (uint64_t)w->budget));
    w->exec = cw_exec_new(w->threads);
    cw_exec_limit_cpu(w->exec, o->cpus);
    w->done_node = (struct cw_loop_node){.fn = cw_tasks_collect, .arg = w};
    cw_open_start(w);
    cw_handover_start(w, !o->no_shm);
    cw_report_start(w);
    cw_wcache_start(w, (size_t)cache_memory);
    cw_server_start(w->server);
    cw_server_set_serving(w->server, true);
    cw_attend_start(w);
    *ret_worker = w;
    return 0;
}

const char *cw_worker_address(const struct cw_worker *w)
{
    return w->address;
}

bool cw_worker_is_opening(const struct cw_worker *w)
{
    return w->openings_n > 0;
}

bool cw_worker_is_held_up(const struct cw_worker *w)
{
    return w->openings_n > 0 || w->tasks_n > 0 || cw_wcache_is_writing(w);
}

int64_t cw_worker_drain_limit_ms(const struct cw_worker *w)
{
    return w->drain_limit_ms;
}

bool cw_worker_is_caching(const struct cw_worker *w)
{
    return cw_wcache_is_busy(w);
}

static void on_server_stopped(void *arg)
{
    cw_loop_stop(arg);
}

void cw_worker_free(struct cw_worker *w)
{
    if (!w)
        return;
    w->closing = true;
    cw_attend_stop(w);
    cw_report_stop(w);
    cw_timer_free(w->drain_timer);
    cw_open_stop(w);
    while (w->openings_n > 0)
        cw_loop_run(w->loop); /* open.c stops it */
    cw_wcache_stop(w);
    while (w->turn_n > 0) {
        struct cw_wjob *job = w->turn[0];
        /* The last task frees it, and with it goes its plan. */
        cw_wjob_forget(job, NULL);
    }
    cw_exec_free(w->exec);
    cw_tasks_collect(w);
    cw_wcache_free(w);
    cw_serve_close_all(w);
    cw_handover_stop(w);
    cw_server_stop(w->server, 0, on_server_stopped, w->loop);
    cw_loop_run(w->loop);
    cw_rpc_free(w->rpc);
    cw_map_fini(&w->handed);
    cw_shm_pool_free(w->pool);
    cw_wsource_stop(w);
    cw_mem_free(w->source_dir);
    cw_strmap_fini(&w->jobs);
    cw_mem_free(w->turn);
    cw_mem_free(w->dispatcher);
    cw_mem_free(w->only_job);
    cw_mem_free(w);
}
