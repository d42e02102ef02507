/* SPDX-License-Identifier: Apache-2.0 */
/* What a fleet costs its dispatcher: N workers and their trainers in one process, each on a
 * connection of its own, against a real dispatcher. They compute nothing, but say what real ones
 * say when real ones say it. Two latencies: of a call to Admin.Info, asked by a process of its
 * own (--ask); and from a heartbeat of a worker that ran dry to the lease that answers it, on
 * jobs whose leases have one batch (--probes).
 *
 * Prints "begin" when all are attached and have been at work for a while, then a JSON line after
 * --seconds. Started by load_fleet.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/args.h"
#include "base/clock.h"
#include "bench/load.h"
#include "cachew/v1/admin.pb-c.h"

#define TICK_MS 5
#define ATTACH_MS 180000

static void die(const char *what)
{
    fprintf(stderr, "load_fleet: %s\n", what);
    _exit(1); /* gRPC's threads are in the middle of something */
}

void load_samples_add(struct load_samples *samples, double ms)
{
    if (!samples->v)
        samples->v = CW_NEW_ARRAY(double, LOAD_SAMPLES_MAX);
    if (samples->n < LOAD_SAMPLES_MAX)
        samples->v[samples->n++] = ms;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double load_samples_at(struct load_samples *samples, double share)
{
    if (samples->n == 0)
        return 0;
    qsort(samples->v, samples->n, sizeof(double), compare);
    size_t i = (size_t)(share * (double)samples->n);
    return samples->v[i < samples->n ? i : samples->n - 1];
}

static void print_samples(const char *name, struct load_samples *samples)
{
    printf("\"%s\":{\"n\":%zu,\"p50\":%.3f,\"p99\":%.3f,\"max\":%.3f}", name, samples->n,
           load_samples_at(samples, 0.5), load_samples_at(samples, 0.99),
           load_samples_at(samples, 1));
}

/* ---- the fleet ---- */

struct fleet {
    struct load load;
    struct cw_timer *tick;
    uint64_t workers, jobs, probes, per_job;
    int64_t settle_ms, run_ms;
    int64_t started_ms, there_ms, begin_ms, ticked_ms;
    size_t started_n;
    double cpu_s;
};

static double cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static bool all_there(const struct load *load)
{
    bool there = load->welcomed_n == load->workers_n;
    for (size_t i = 0; i < load->trainers_n; i++)
        there = there && load->trainers[i].welcomed;
    return there;
}

static void begin(struct fleet *f, int64_t now)
{
    struct load *load = &f->load;
    f->begin_ms = now;
    f->cpu_s = cpu_s();
    load->measuring = true;
    load->reports = load->leases = load->acks = load->batches = 0;
    puts("begin");
    fflush(stdout);
}

static void end(struct fleet *f, int64_t now)
{
    struct load *load = &f->load;
    double s = (double)(now - f->begin_ms) / 1e3;
    printf("{\"workers\":%zu,\"jobs\":%zu,\"seconds\":%.3f,\"reports_s\":%.1f,\"acks_s\":%.1f,"
           "\"leases_s\":%.1f,\"batches_s\":%.1f,\"own_cpu\":%.4f,\"lost\":%zu,",
           load->workers_n, load->trainers_n, s, (double)load->reports / s, (double)load->acks / s,
           (double)load->leases / s, (double)load->batches / s, (cpu_s() - f->cpu_s) / s,
           load->lost_n);
    print_samples("attach", &load->attach);
    printf(",");
    print_samples("lease", &load->lease);
    printf(",");
    print_samples("lag", &load->lag);
    puts("}");
    fflush(stdout);
    cw_loop_stop(load->loop);
}

/* A few at a time: a fleet does not come in one moment. */
static void start_some(struct fleet *f)
{
    struct load *load = &f->load;
    for (size_t n = 0; f->started_n < load->workers_n && n < 8; n++, f->started_n++)
        load_worker_start(load, &load->workers[f->started_n], 1 + f->started_n);
    if (f->started_n < load->workers_n || load->welcomed_n < load->workers_n ||
        load->trainers[0].load)
        return;
    for (size_t i = 0; i < load->trainers_n; i++) {
        load->trainers[i].probe = i < f->probes;
        load_trainer_start(load, &load->trainers[i], i);
    }
}

static void on_tick(void *arg)
{
    struct fleet *f = arg;
    int64_t now = cw_clock_ms();
    if (f->load.lost_n > 0)
        die("somebody was lost");
    if (f->load.measuring)
        load_samples_add(&f->load.lag, (double)(now - f->ticked_ms - TICK_MS));
    f->ticked_ms = now;
    start_some(f);
    for (size_t i = 0; i < f->load.workers_n; i++)
        load_worker_tick(&f->load.workers[i], now);
    for (size_t i = 0; i < f->load.trainers_n; i++)
        load_trainer_tick(&f->load.trainers[i], now);
    if (f->begin_ms > 0) {
        if (now - f->begin_ms >= f->run_ms)
            end(f, now);
    } else if (!all_there(&f->load)) {
        if (now - f->started_ms > ATTACH_MS)
            die("not all were welcomed");
        f->there_ms = now;
    } else if (now - f->there_ms >= f->settle_ms) {
        begin(f, now);
    }
}

static int run_fleet(struct fleet *f)
{
    struct load *load = &f->load;
    struct cw_err err = {0};
    if (load_plan(load, &err) != 0)
        die(err.msg);
    load->loop = cw_loop_new();
    load->rpc = cw_rpc_new(load->loop);
    load->workers_n = f->workers;
    load->trainers_n = f->jobs + f->probes;
    load->per_job = f->per_job;
    load->workers = CW_NEW_ARRAY(struct load_worker, load->workers_n + 1);
    load->trainers = CW_NEW_ARRAY(struct load_trainer, load->trainers_n + 1);
    f->started_ms = f->ticked_ms = cw_clock_ms();
    f->tick = cw_timer_new(load->loop, on_tick, f);
    cw_timer_start(f->tick, TICK_MS, TICK_MS);
    cw_loop_run(load->loop);
    cw_timer_free(f->tick);
    for (size_t i = 0; i < load->trainers_n; i++)
        load_trainer_stop(&load->trainers[i]);
    for (size_t i = 0; i < load->workers_n; i++)
        load_worker_stop(&load->workers[i]);
    cw_rpc_free(load->rpc);
    cw_loop_free(load->loop);
    load_unplan(load);
    cw_mem_free(load->workers);
    cw_mem_free(load->trainers);
    cw_mem_free(load->attach.v);
    cw_mem_free(load->lease.v);
    cw_mem_free(load->lag.v);
    return 0;
}

/* ---- asking ---- */

struct asker {
    struct cw_loop *loop;
    struct cw_channel *channel;
    struct cw_timer *timer;
    struct load_samples samples;
    bool connected; /* the first answer took a connection */
    int64_t asked_ns, end_ms;
};

static void on_answer(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    struct asker *a = arg;
    if (!reply || code != 0)
        die(msg);
    if (a->connected)
        load_samples_add(&a->samples, (double)(cw_clock_ns() - a->asked_ns) / 1e6);
    a->connected = true;
    if (cw_clock_ms() >= a->end_ms)
        cw_loop_stop(a->loop);
    else
        cw_timer_start(a->timer, 20, 0);
}

static void ask(void *arg)
{
    struct asker *a = arg;
    Cachew__V1__InfoRequest request = CACHEW__V1__INFO_REQUEST__INIT;
    struct cw_buf *packed = cw_wire_pack(&request.base);
    a->asked_ns = cw_clock_ns();
    cw_channel_unary(a->channel, "/cachew.v1.Admin/Info", packed, 60000, on_answer, a);
    cw_buf_unref(packed);
}

static int run_asker(const char *address, int64_t run_ms)
{
    struct asker a = {.loop = cw_loop_new(), .end_ms = cw_clock_ms() + run_ms};
    struct cw_rpc *rpc = cw_rpc_new(a.loop);
    a.channel = cw_channel_open(rpc, address);
    a.timer = cw_timer_new(a.loop, ask, &a);
    ask(&a);
    cw_loop_run(a.loop);
    printf("{");
    print_samples("info", &a.samples);
    puts("}");
    cw_timer_free(a.timer);
    cw_channel_close(a.channel);
    cw_rpc_free(rpc);
    cw_loop_free(a.loop);
    cw_mem_free(a.samples.v);
    return 0;
}

int main(int argc, char **argv)
{
    struct fleet f = {.load = {.rate = 10},
                      .workers = 1000,
                      .probes = 4,
                      .per_job = 10,
                      .settle_ms = 5000,
                      .run_ms = 20000};
    bool only_ask = false;
    const struct cw_arg rows[] = {
        {"workers", 0, CW_ARG_U64, &f.workers, "N", "of the fleet (default 1000)", 0, 20000},
        {"jobs", 0, CW_ARG_U64, &f.jobs, "N", "trainers (default 0: the fleet is idle)", 0, 2000},
        {"per-job", 0, CW_ARG_U64, &f.per_job, "N", "workers of each, 0 = all (default 10)", 0,
         20000},
        {"probes", 0, CW_ARG_U64, &f.probes, "N",
         "further trainers, whose leases have one batch (default 4)", 0, 100},
        {"rate", 0, CW_ARG_F64, &f.load.rate, "N", "batches a second of one worker (default 10)", 0,
         1e6},
        {"settle", 0, CW_ARG_MS, &f.settle_ms, "TIME", "before it is measured (default 5s)", 0, 0},
        {"seconds", 0, CW_ARG_MS, &f.run_ms, "TIME", "how long it is measured (default 20s)", 0, 0},
        {"ask", 0, CW_ARG_FLAG, &only_ask, NULL, "no fleet: only ask for Admin.Info", 0, 0},
        {0},
    };
    const struct cw_args_spec spec = {.program = "load_fleet",
                                      .usage = "ADDRESS [options]",
                                      .about = "A fleet that computes nothing.",
                                      .rows = rows};
    const char *address[1];
    size_t n = 0;
    struct cw_err err = {0};
    int rc = cw_args_parse(&spec, argc, argv, address, 1, &n, &err);
    if (rc == CW_ARGS_DONE)
        return 0;
    if (rc < 0 || n != 1)
        die(rc < 0 ? err.msg : "which address?");
    f.load.address = address[0];
    return only_ask ? run_asker(address[0], f.run_ms) : run_fleet(&f);
}
