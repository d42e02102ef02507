/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compute/thread_use_count.h"

#include <math.h>

#include "base/mem.h"

/* Whether outputs of the job wait although their client has granted credit: its stream does not
 * take more at present. */
static bool is_stream_full(const struct cw_wjob *job)
{
    for (uint32_t i = 0; i < job->consumers; i++) {
        const struct cw_wclient *c = job->clients[i];
        if (c && c->stream && c->credit > 0 && job->queues[i].n > 0 &&
            cw_stream_queued(c->stream) >= CW_WCLIENT_STREAM_LOW)
            return true;
    }
    return false;
}

static enum cw_widle idle_for(const struct cw_wjob *job)
{
    if (job->state != CW_WJOB_READY || cw_wjob_has_enough(job))
        return CW_WIDLE_NOTHING;
    if (job->leases_n > 0 && job->cache.waits_ms != 0)
        return CW_WIDLE_STORE;
    if (job->leases_n == 0 && job->queued_n == 0)
        return CW_WIDLE_LEASE;
    return is_stream_full(job) ? CW_WIDLE_NETWORK : CW_WIDLE_TRAINER;
}

static double *use_of(struct cw_wthreads *threads)
{
    struct cw_thread_use *total = &threads->total;
    double *const uses[] = {[CW_WIDLE_NOTHING] = NULL,
                            [CW_WIDLE_STORE] = &total->store,
                            [CW_WIDLE_NETWORK] = &total->network,
                            [CW_WIDLE_TRAINER] = &total->trainer,
                            [CW_WIDLE_LEASE] = &total->lease};
    return uses[threads->idle];
}

/* Adds the idle time since the last call to what each job has waited for. */
static void count_idle(struct cw_worker_state *w, const struct cw_exec_thread_time *now)
{
    double idle_ns = (double)(now->idle_ns - w->exec_time.idle_ns);
    w->exec_time.idle_ns = now->idle_ns;
    for (size_t i = 0; i < w->jobs.n; i++) {
        double *use = use_of(&w->jobs.list[i]->threads);
        if (use)
            *use += idle_ns;
    }
}

void cw_wthread_use_look(struct cw_worker_state *w)
{
    bool counted = false;
    for (size_t i = 0; i < w->jobs.n; i++) {
        struct cw_wjob *job = w->jobs.list[i];
        enum cw_widle idle = idle_for(job);
        if (idle == job->threads.idle)
            continue;
        struct cw_exec_thread_time now;
        if (!counted) {
            cw_exec_thread_time(w->exec, false, &now);
            count_idle(w, &now);
        }
        counted = true;
        job->threads.idle = idle;
    }
}

static struct cw_exec_plan_time since(const struct cw_exec_plan_time *now,
                                      const struct cw_exec_plan_time *before)
{
    return (struct cw_exec_plan_time){
        .busy_ns = now->busy_ns - before->busy_ns,
        .cpu_ns = now->cpu_ns - before->cpu_ns,
        /* Estimates of a node may go back a little. */
        .source_ns = now->source_ns > before->source_ns ? now->source_ns - before->source_ns : 0,
        .inside_ns = now->inside_ns > before->inside_ns ? now->inside_ns - before->inside_ns : 0,
        .store_ns = now->store_ns - before->store_ns,
        .hits = now->hits - before->hits};
}

static double off_ns(const struct cw_exec_plan_time *spent)
{
    return spent->busy_ns > spent->cpu_ns ? (double)(spent->busy_ns - spent->cpu_ns) : 0;
}

void cw_wthread_use_divide(const struct cw_exec_plan_time *spent, double delay_ns,
                           struct cw_thread_use *total)
{
    double off = off_ns(spent), cpu = fmin(delay_ns, off), rest = off - cpu;
    double source = (double)spent->source_ns, inside = (double)spent->inside_ns,
           store = (double)spent->store_ns;
    /* What was waited outside of all operators is reading of mapped chunks, if there was any. */
    if (spent->hits > 0)
        store = fmax(store, rest - source - inside);
    double all = source + inside + store;
    total->computing += (double)spent->cpu_ns;
    total->cpu += cpu;
    total->source += all > 0 ? rest * source / all : 0;
    total->store += all > 0 ? rest * store / all : 0;
    total->inside += all > 0 ? rest * inside / all : rest;
}

/* What the jobs' items took since the last count, and the sums of it that divide what exec measured
 * for all jobs together. */
struct spent {
    struct cw_exec_plan_time *jobs;
    double cpu_ns, off_ns;
};

static void measure(struct cw_worker_state *w, struct spent *ret)
{
    *ret = (struct spent){.jobs = CW_NEW_ARRAY(struct cw_exec_plan_time, w->jobs.n + 1)};
    for (size_t i = 0; i < w->jobs.n; i++) {
        struct cw_wjob *job = w->jobs.list[i];
        if (!job->written)
            continue;
        struct cw_exec_plan_time now;
        cw_exec_plan_time(job->written, &now);
        ret->jobs[i] = since(&now, &job->threads.plan);
        job->threads.plan = now;
        ret->cpu_ns += (double)ret->jobs[i].cpu_ns;
        ret->off_ns += off_ns(&ret->jobs[i]);
    }
}

void cw_wthread_use_count(struct cw_worker_state *w)
{
    struct cw_exec_thread_time now;
    struct spent spent;
    cw_wthread_use_look(w);
    cw_exec_thread_time(w->exec, true, &now);
    count_idle(w, &now);
    measure(w, &spent);
    double delay = now.delay_ns > w->exec_time.delay_ns
                       ? (double)(now.delay_ns - w->exec_time.delay_ns)
                       : 0,
           paused = (double)(now.paused_ns - w->exec_time.paused_ns);
    w->exec_time = now;
    for (size_t i = 0; i < w->jobs.n; i++) {
        struct cw_thread_use *total = &w->jobs.list[i]->threads.total;
        const struct cw_exec_plan_time *job = &spent.jobs[i];
        if (spent.cpu_ns > 0)
            total->limit += paused * (double)job->cpu_ns / spent.cpu_ns;
        cw_wthread_use_divide(job, spent.off_ns > 0 ? delay * off_ns(job) / spent.off_ns : 0,
                              total);
    }
    cw_mem_free(spent.jobs);
}
