/* SPDX-License-Identifier: Apache-2.0 */
/* What a fleet costs its dispatcher, as the fleet grows: the real dispatcher, and workers and
 * trainers that are not there (tests/bench/load.h), in one simulated world. Counts messages and
 * bytes by method, which a seed decides and a test may look at; and the CPU time of the
 * dispatcher's own code and its part of src/rpc, which is measured.
 *
 *     scale [WORKERS...]     (default: 100 1000)
 *
 * A line for each size of fleet, at ten workers a job and ten batches a second a worker. Then every
 * second worker is lost at once; the fleet has settled when each trainer has received all that had
 * been leased below what it had at that moment (virtual time). It fails when somebody else is lost,
 * when that is not so within the time of the world, or when messages or bytes of a batch grow with
 * the fleet. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/load.h"
#include "simulation/rpc/net.h"

#define ADDRESS "dispatcher:7070"
#define PER_JOB 10
#define RATE 10.0
#define TICK_MS 5
#define SETTLE_MS 3000
#define RUN_MS 10000
#define LIMIT_NS (300 * 1000000000ll)
#define GROWTH_MAX 1.25
/* An iteration of the dispatcher's loop takes so long: real code takes time, in which messages
 * gather that the next iteration then handles together. */
#define ITERATION_NS 200000

int dispatcher_main(int argc, char **argv); /* dispatcher/main.c, by -Dmain=dispatcher_main */

struct cost {
    uint64_t workers, batches, lost, iterations;
    uint64_t worker_messages, trainer_messages, sent_messages; /* by workers, trainers, it */
    uint64_t received_bytes, sent_bytes;
    double seconds, dispatcher_cpu_s;
    int64_t settled_ms; /* after half of the fleet was lost */
};

/* ---- CPU time of the dispatcher: what its fibres run ---- */

struct sim_stack;
void __real_sim_stack_switch(struct sim_stack *from, struct sim_stack *to, bool ends);
void __wrap_sim_stack_switch(struct sim_stack *from, struct sim_stack *to, bool ends);

static uint64_t dispatcher_id;
static double dispatcher_cpu_s;

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The world's loop comes back here when the fibre that it let run gives way. */
void __wrap_sim_stack_switch(struct sim_stack *from, struct sim_stack *to, bool ends)
{
    bool is_dispatcher = sim_fibre_self() && sim_actor_id(sim_self()) == dispatcher_id;
    double begun = is_dispatcher ? cpu_now() : 0;
    __real_sim_stack_switch(from, to, ends);
    if (is_dispatcher)
        dispatcher_cpu_s += cpu_now() - begun;
}

/* ---- the dispatcher ---- */

void __real_cw_loop_set_iteration_end(struct cw_loop *loop, cw_loop_fn *fn, void *arg);
void __wrap_cw_loop_set_iteration_end(struct cw_loop *loop, cw_loop_fn *fn, void *arg);

static struct {
    cw_loop_fn *fn;
    void *arg;
    uint64_t n;
} iteration;

static void on_iteration_end(void *arg)
{
    (void)arg;
    iteration.n++;
    iteration.fn(iteration.arg);
    sim_sleep_ns(ITERATION_NS);
}

void __wrap_cw_loop_set_iteration_end(struct cw_loop *loop, cw_loop_fn *fn, void *arg)
{
    iteration.fn = fn;
    iteration.arg = arg;
    __real_cw_loop_set_iteration_end(loop, fn ? on_iteration_end : NULL, NULL);
}

static char directory[] = "/tmp/cachew-scale-XXXXXX";

static void be_dispatcher(void *arg)
{
    char program[] = "cachew-dispatcher", listen[] = "--listen=" ADDRESS, state[128],
         insecure[] = "--insecure";
    (void)arg;
    snprintf(state, sizeof state, "--state-dir=%s", directory);
    char *argv[] = {program, listen, state, insecure, NULL};
    if (dispatcher_main(4, argv) != 0)
        sim_fail("the dispatcher ended");
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* ---- the fleet ---- */

struct fleet {
    struct load load;
    struct cw_timer *tick;
    size_t started_n;
    int64_t there_ms, begin_ms;
    uint64_t *reached; /* by trainer: see lose_half */
    int64_t lost_ms;   /* when half of the fleet was lost; 0 = not yet */
    bool done;
};
static struct fleet fleet;
static struct cost cost;

static bool all_there(const struct load *load)
{
    bool there = load->welcomed_n == load->workers_n;
    for (size_t i = 0; i < load->trainers_n; i++)
        there = there && load->trainers[i].welcomed;
    return there;
}

static void start_some(struct fleet *f)
{
    struct load *load = &f->load;
    for (size_t n = 0; f->started_n < load->workers_n && n < 32; n++, f->started_n++)
        load_worker_start(load, &load->workers[f->started_n], 1 + f->started_n);
    if (load->welcomed_n < load->workers_n || load->trainers[0].load)
        return;
    for (size_t i = 0; i < load->trainers_n; i++)
        load_trainer_start(load, &load->trainers[i], i);
}

static void begin(struct fleet *f, int64_t now)
{
    f->begin_ms = now;
    f->load.batches = 0;
    net_count_reset();
    dispatcher_cpu_s = 0;
    iteration.n = 0;
}

static void add_counts(struct cost *c)
{
    struct net_count count;
    for (size_t i = 0; net_count(i, &count); i++) {
        if (!count.to_server)
            c->sent_messages += count.messages;
        else if (strcmp(count.method, "/cachew.v1.Fleet/Attach") == 0)
            c->worker_messages += count.messages;
        else
            c->trainer_messages += count.messages;
        *(count.to_server ? &c->received_bytes : &c->sent_bytes) += count.bytes;
    }
}

static void end(struct fleet *f, int64_t now)
{
    cost = (struct cost){.workers = f->load.workers_n,
                         .batches = f->load.batches,
                         .lost = f->load.lost_n,
                         .iterations = iteration.n,
                         .seconds = (double)(now - f->begin_ms) / 1e3,
                         .dispatcher_cpu_s = dispatcher_cpu_s};
    add_counts(&cost);
}

/* ---- half of the fleet is lost ---- */

/* Every second worker is gone, with all that it held. Notes for each trainer up to where it has
 * received items: what it lacks below was leased, to half of them a worker that is lost. */
static void lose_half(struct fleet *f, int64_t now)
{
    for (size_t i = 0; i < f->load.trainers_n; i++) {
        const struct cw_set *received = &f->load.trainers[i].received;
        f->reached[i] = received->n > 0 ? received->v[received->n - 1].hi : 0;
    }
    for (size_t i = 0; i < f->load.workers_n; i += 2) {
        load_worker_stop(&f->load.workers[i]);
        f->load.workers[i].welcomed = false;
        f->load.workers[i].works = NULL;
    }
    f->lost_ms = now;
}

static bool has_settled(const struct fleet *f)
{
    for (size_t i = 0; i < f->load.trainers_n; i++)
        if (cw_set_first_absent(&f->load.trainers[i].received, 0) < f->reached[i])
            return false;
    return true;
}

/* The next step of the run when its time has come. */
static void advance(struct fleet *f, int64_t now)
{
    if (f->lost_ms > 0) {
        cost.settled_ms = now - f->lost_ms;
        f->done = has_settled(f);
    } else if (f->begin_ms > 0 && now - f->begin_ms >= RUN_MS) {
        end(f, now);
        lose_half(f, now);
    } else if (f->begin_ms == 0 && !all_there(&f->load)) {
        f->there_ms = now;
    } else if (f->begin_ms == 0 && now - f->there_ms >= SETTLE_MS) {
        begin(f, now);
    }
}

static void on_tick(void *arg)
{
    struct fleet *f = arg;
    int64_t now = cw_clock_ms();
    if (f->done)
        return;
    start_some(f);
    for (size_t i = 0; i < f->load.workers_n; i++)
        load_worker_tick(&f->load.workers[i], now);
    for (size_t i = 0; i < f->load.trainers_n; i++)
        load_trainer_tick(&f->load.trainers[i], now);
    if (f->load.lost_n > 0)
        sim_fail("somebody was lost");
    advance(f, now);
}

static void be_fleet(void *arg)
{
    struct fleet *f = arg;
    struct load *load = &f->load;
    struct cw_err err = {0};
    if (load_plan(load, &err) != 0)
        sim_fail("%s", err.msg);
    load->loop = cw_loop_new();
    load->rpc = cw_rpc_new(load->loop);
    cw_rpc_set_small(load->rpc);
    load->workers = CW_NEW_ARRAY(struct load_worker, load->workers_n + 1);
    load->trainers = CW_NEW_ARRAY(struct load_trainer, load->trainers_n + 1);
    f->reached = CW_NEW_ARRAY(uint64_t, load->trainers_n + 1);
    f->tick = cw_timer_new(load->loop, on_tick, f);
    cw_timer_start(f->tick, 1000, TICK_MS); /* the dispatcher is up by then */
    cw_loop_run(load->loop);
}

void load_samples_add(struct load_samples *samples, double ms)
{
    (void)samples; /* virtual time says nothing of a real dispatcher's */
    (void)ms;
}

/* ---- the world ---- */

static bool is_done(void *arg)
{
    const struct fleet *f = arg;
    return f->done;
}

static int run(uint64_t workers)
{
    static const struct net_link link = {
        .latency_ns = 100000, .jitter_ns = 50000, .bytes_per_s = 1250000000};
    struct sim_config config = {.seed = 1};
    fleet.load.address = ADDRESS;
    fleet.load.rate = RATE;
    fleet.load.per_job = PER_JOB;
    fleet.load.workers_n = workers;
    fleet.load.trainers_n = CW_MAX(workers / PER_JOB, 1);
    if (!mkdtemp(directory))
        return 1;
    setenv("CACHEW_LOG", "error", 1);
    sim_world_begin(&config);
    net_set_link(NULL, NULL, &link);
    dispatcher_id = sim_actor_id(sim_spawn("dispatcher", "dispatcher", be_dispatcher, NULL));
    sim_spawn("fleet", "fleet", be_fleet, &fleet);
    enum sim_end ended = sim_world_run(is_done, &fleet, LIMIT_NS);
    sim_world_end();
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return ended == SIM_END_DONE ? 0 : 1;
}

/* A process for each: the dispatcher's program has static variables. */
static bool run_apart(uint64_t workers, struct cost *ret_cost)
{
    int fds[2], status;
    if (pipe(fds) != 0)
        return false;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        bool is_silent = freopen("/dev/null", "w", stdout) != NULL; /* its "ready ADDRESS" */
        int rc = run(workers);
        bool is_told = write(fds[1], &cost, sizeof cost) == (ssize_t)sizeof cost;
        _exit(rc != 0 || !is_told || !is_silent);
    }
    close(fds[1]);
    bool is_read = read(fds[0], ret_cost, sizeof *ret_cost) == (ssize_t)sizeof *ret_cost;
    close(fds[0]);
    return waitpid(pid, &status, 0) == pid && status == 0 && is_read;
}

static double messages_of(const struct cost *c)
{
    return (double)(c->worker_messages + c->trainer_messages + c->sent_messages) /
           (double)c->batches;
}

static double bytes_of(const struct cost *c)
{
    return (double)(c->received_bytes + c->sent_bytes) / (double)c->batches;
}

static void print(const struct cost *c)
{
    double batches = (double)c->batches;
    printf("%8llu %10.0f %9.4f %9.4f %9.4f %9.1f %9.1f %11.2f %11.3f %11.1f %11.1f %9lld\n",
           (unsigned long long)c->workers, batches / c->seconds,
           (double)c->worker_messages / batches, (double)c->trainer_messages / batches,
           (double)c->sent_messages / batches, (double)c->received_bytes / batches,
           (double)c->sent_bytes / batches, c->dispatcher_cpu_s / batches * 1e6,
           c->dispatcher_cpu_s / c->seconds, (double)c->iterations / c->seconds,
           c->dispatcher_cpu_s / (double)c->iterations * 1e6, (long long)c->settled_ms);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"100", "1000"};
    size_t n = argc > 1 ? (size_t)(argc - 1) : CW_ARRAY_LEN(usual);
    struct cost first = {0};
    printf("%8s %10s %9s %9s %9s %9s %9s %11s %11s %11s %11s %9s\n", "workers", "batches/s", "from",
           "from", "messages", "bytes", "bytes", "us of CPU", "cores of", "iterations", "us of CPU",
           "settled");
    printf("%8s %10s %9s %9s %9s %9s %9s %11s %11s %11s %11s %9s\n", "", "", "workers", "trainers",
           "sent", "received", "sent", "a batch", "dispatcher", "a second", "each", "after ms");
    for (size_t i = 0; i < n; i++) {
        struct cost c = {0};
        if (!run_apart(strtoull(argc > 1 ? argv[i + 1] : usual[i], NULL, 10), &c) ||
            c.batches == 0 || c.lost > 0)
            return 1;
        print(&c);
        if (i == 0)
            first = c;
        if (messages_of(&c) > GROWTH_MAX * messages_of(&first) ||
            bytes_of(&c) > GROWTH_MAX * bytes_of(&first)) {
            fprintf(stderr, "a batch takes more than with a smaller fleet\n");
            return 1;
        }
    }
    return 0;
}
