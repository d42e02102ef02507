/* SPDX-License-Identifier: Apache-2.0 */
/* Runs worlds: each seed makes a service, jobs and faults, and checks what trainers were given. */
#include <getopt.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cachew/client.h"
#include "api_world.h"
#include "cached.h"
#include "controlled.h"
#include "left.h"
#include "named.h"
#include "planted.h"
#include "progress.h"
#include "replans.h"
#include "shrink.h"
#include "strangers.h"
#include "tokens.h"

#define QUIET 12               /* one in so many worlds is quiet */
#define APART 4                /* in one of so many a trainer never reaches one worker of several */
#define TELLS_S 5              /* between two lines of progress */
#define WHOLE_NS (900 * SIM_S) /* after the last fault all must have ended by then */

struct options {
    uint64_t seeds, first;
    double minutes;
    const char *log;
    bool no_faults, is_verbose, tells, shrinks, replans;
};
struct total {
    uint64_t seeds, leased; /* leased: worlds whose dispatchers have a lease */
    struct sim_faults faults;
    struct sim_verdict verdict;
    struct sim_cache_total cache;
    struct sim_named_total named;
    struct sim_controlled_total controlled;
    int64_t waited_ns;
    uint64_t replans; /* plans of running jobs that were taken */
};

static bool is_done(void *arg)
{
    sim_check_progress(arg);
    if (sim_is_leased())
        sim_check_leaders(arg);
    return sim_cluster_is_done(arg);
}

/* The trainers of a job, in order of their consumers. */
static size_t trainers_of(const struct sim_cluster *cluster, int job, struct sim_trainer **ret)
{
    size_t n = 0;

    for (size_t i = 0; i < cluster->seats_n; i++)
        if (cluster->seats[i].kind == SIM_TRAINER && cluster->seats[i].number / 10 == job &&
            !cluster->seats[i].trainer->is_former)
            ret[n++] = cluster->seats[i].trainer;
    return n;
}

static void judge(const struct sim_cluster *cluster, const struct sim_job *job, int number,
                  struct sim_verdict *verdict)
{
    static const char *const modes[] = {"", ", coordinated", ", shared"};
    struct sim_verdict one = {.lost = 0};
    struct sim_trainer *trainers[SIM_TRAINERS_MAX];
    size_t n = trainers_of(cluster, number, trainers);

    for (size_t i = 0; i < n; i++)
        if (trainers[i]->error)
            sim_fail("consumer %zu of job %d has failed: %s", i, number, trainers[i]->message);
    sim_judge(job, trainers, n, &one);
    for (const struct sim_trainer *t = cluster->former; t; t = t->next_former)
        if (t->job == number)
            sim_judge_former(job, t, &one);
    if (one.lost || one.repeated || one.wrong)
        sim_fail("job %d (%s%s%s%s): lost=%" PRIu64 " repeated=%" PRIu64 " wrong=%" PRIu64, number,
                 job->label, job->unordered ? ", unordered" : "", modes[job->mode],
                 job->at_most_once ? ", at most once" : "", one.lost, one.repeated, one.wrong);
    verdict->batches += one.batches;
    verdict->epochs += one.epochs;
    verdict->left_out += one.left_out;
    verdict->left_out_sparse += one.left_out_sparse;
    verdict->left_out_shared += one.left_out_shared;
    verdict->leaves += one.leaves;
    verdict->sparse_epochs += one.sparse_epochs;
    verdict->reconnects += one.reconnects;
}

static void add_trainers(struct sim_cluster *cluster, const struct sim_job *job, int number)
{
    int *left = sim_world_alloc(sizeof(*left));

    static const int64_t steps[] = {2 * SIM_MS, 20 * SIM_MS, 100 * SIM_MS};
    int64_t step_ns = steps[sim_below(sizeof(steps) / sizeof(steps[0]))];
    uint64_t save_every = 1 + sim_below(20); /* those that advance in step save the same steps */
    bool with_last = sim_one_in(2);
    *left = job->consumers;
    for (int consumer = 0; consumer < job->consumers; consumer++) {
        struct sim_seat *seat = sim_cluster_add(cluster, SIM_TRAINER, 10 * number + consumer);
        seat->trainer = sim_job_trainer(job, consumer);
        seat->trainer->save_every = job->mode == CACHEW_SHARED ? 0 : save_every;
        seat->trainer->left = left;
        seat->trainer->job = number;
        seat->trainer->with_last = with_last;
        seat->trainer->step_ns = sim_between(0, step_ns);
        seat->is_safe = cluster->is_quiet;
        /* A dispatcher that loses its lease ends, and a place whose client is not back yet is free. */
        seat->trainer->visits = cluster->is_quiet && !sim_is_leased() && job->name[0] != '\0';
        sim_seat_start(cluster, seat);
    }
}

struct plan {
    struct sim_job jobs[3];
    int jobs_n, workers, dispatchers;
    int trainer, worker; /* these two never meet; trainer: -1 = all meet */
    bool is_quiet;
};

static void draw_apart(struct plan *plan)
{
    int job = (int)sim_between(0, plan->jobs_n - 1);

    plan->trainer = 10 * job + (int)sim_between(0, plan->jobs[job].consumers - 1);
    plan->worker = (int)sim_between(0, plan->workers - 1);
    if (plan->workers < 2 || plan->is_quiet || !sim_one_in(APART))
        plan->trainer = -1;
}

/* Drawn in a world of its own, since references need worlds, too. */
static struct plan draw(const struct sim_config *config)
{
    struct plan plan = {.jobs_n = 0};
    struct sim_config quiet = {.seed = config->seed};

    sim_world_begin(&quiet);
    plan.jobs_n = (int)sim_between(1, 3);
    plan.workers = (int)sim_between(1, SIM_WORKERS_MAX);
    plan.dispatchers = (int)sim_between(1, SIM_DISPATCHERS_MAX);
    plan.is_quiet = sim_one_in(QUIET);
    for (int i = 0; i < plan.jobs_n; i++)
        plan.jobs[i] = sim_job_draw(i);
    for (int i = 0; plan.is_quiet && i < plan.jobs_n; i++) /* there they can be counted */
        if (plan.jobs[i].mode == CACHEW_SHARED)
            plan.jobs[i].is_counted = plan.jobs[i].at_most_once |= sim_one_in(2);
    draw_apart(&plan);
    sim_world_end();
    sim_cached_jobs(config->seed, plan.jobs, plan.jobs_n);
    sim_named_jobs(config->seed, plan.jobs, plan.jobs_n);
    sim_controlled_jobs(config->seed, plan.jobs, plan.jobs_n);
    for (int i = 0; i < plan.jobs_n; i++)
        (void)sim_reference(&plan.jobs[i]);
    return plan;
}

static void begin(struct sim_cluster *cluster, const struct plan *plan)
{
    cluster->is_quiet = plan->is_quiet;
    if (plan->trainer >= 0) {
        snprintf(cluster->apart[0], sizeof(cluster->apart[0]), "trainer%d", plan->trainer);
        snprintf(cluster->apart[1], sizeof(cluster->apart[1]), "worker%d", plan->worker);
    }
    sim_cluster_part(cluster);
    for (int i = 0; i < plan->dispatchers; i++) {
        struct sim_seat *seat = sim_cluster_add(cluster, SIM_DISPATCHER, i);
        seat->is_safe = plan->is_quiet;
        sim_seat_start(cluster, seat);
    }
    for (int i = 0; i < plan->workers; i++)
        sim_seat_start(cluster, sim_cluster_add(cluster, SIM_WORKER, i));
    for (int i = 0; i < plan->jobs_n; i++)
        add_trainers(cluster, &plan->jobs[i], i);
}

/* schedule: NULL, or where the faults are written or read. */
static void run_seed(uint64_t seed, const struct options *options, struct total *total,
                     struct sim_schedule *schedule)
{
    struct sim_config config = {.seed = seed, .log_path = options->log};
    struct sim_cluster cluster = {.seats_n = 0};
    struct plan plan = draw(&config);

    sim_world_begin(&config);
    sim_cached_begin(seed, &cluster);
    sim_named_begin(seed, &cluster);
    /* A client whose token does not count any more loses its stream, and so, for a moment, its
     * place. */
    sim_tokens_begin(!plan.is_quiet);
    cluster.is_open = !options->no_faults && sim_strangers_find_it_open(seed, &cluster);
    if (sim_is_leased() || sim_is_controlled(seed))
        sim_api_begin(&cluster, !options->no_faults && !cluster.is_calm);
    sim_controlled_begin(seed, &cluster);
    begin(&cluster, &plan);
    int64_t until_ns = sim_now_ns() + sim_between(1, 20) * sim_between(1, 3) * SIM_S;
    if (!options->no_faults)
        sim_strangers_begin(seed, &cluster);
    if (!options->no_faults && !cluster.is_calm)
        sim_faults_begin(&cluster, &total->faults, schedule, until_ns);
    if (options->replans)
        sim_replans_begin(seed, &cluster, until_ns, &total->replans);
    enum sim_end end = sim_world_run(is_done, &cluster, until_ns + WHOLE_NS);
    if (end != SIM_END_DONE)
        sim_fail("%s", end == SIM_END_IDLE ? "nothing can happen any more"
                                           : "the jobs have not ended though nothing fails");
    for (int i = 0; i < plan.jobs_n; i++)
        judge(&cluster, &plan.jobs[i], i, &total->verdict);
    if (cluster.waited_ns > total->waited_ns)
        total->waited_ns = cluster.waited_ns;
    sim_points_off();
    sim_strangers_end();
    sim_settle(&cluster);
    if (cluster.cache_store)
        sim_cached_settle(&cluster, &total->cache);
    sim_named_settle(&cluster, &total->named);
    sim_controlled_settle(&total->controlled);
    total->leased += sim_is_leased();
    sim_world_end();
    sim_api_end();
    total->seeds++;
}

static void print_kills(const struct sim_faults *faults)
{
    static const char *const kinds[] = {"dispatcher", "worker", "trainer"};
    static const char *const held[] = {"lease", "output", "transaction", "message", "chunk"};

    for (int i = 0; i < SIM_KINDS_N; i++) {
        printf("kills of a %s: %" PRIu64 ", %" PRIu64 " counted", kinds[i], faults->kills[i],
               faults->counted[i]);
        for (int k = 0; k < SIM_HELD_N; k++)
            if (faults->held[i][k])
                printf(", %" PRIu64 " holding a %s", faults->held[i][k], held[k]);
        printf("\n");
    }
    printf("faults:");
    for (int i = 0; i < SIM_FAULTS_N; i++)
        printf("%s %s %" PRIu64, i ? "," : "", sim_fault_name((enum sim_fault_kind)i),
               faults->n[i]);
    printf("\n");
}

static void usage(FILE *to, int status)
{
    fprintf(to, "usage: run [OPTION ...]\n"
                "  --seeds N        runs so many worlds (10)\n"
                "  --first SEED     the seed of the first (1)\n"
                "  --minutes M      runs worlds for so long, instead of --seeds\n"
                "  --log FILE       writes the events of the last world to the file\n"
                "  --no-faults      nothing fails\n"
                "  --strangers      strangers and liars come to each world, not to one of five\n"
                "  --leases         dispatchers have a lease in each world, not in one of eight\n"
                "  --backends       each world without other caches has CacheBackends\n"
                "  --replans        plans of jobs are changed again and again; some must be taken\n"
                "  --plant NAME     with that mistake of planted.h: the run is to fail\n"
                "  --mistakes       prints the names of these\n"
                "  --progress       tells how far it is, as it does on a terminal\n"
                "  --shrink         finds the fewest faults with which the first world fails\n"
                "  --verbose        prints the CPU time of each seed\n"
                "  --help           prints this\n");
    exit(status);
}

static void print_mistakes(void)
{
    for (int i = 1; i < SIM_PLANTED_N; i++)
        printf("%s\n", sim_mistake_name(i));
    exit(0);
}

static struct options parse(int argc, char **argv)
{
    static const struct option names[] = {
        {"seeds", required_argument, NULL, 's'},   {"first", required_argument, NULL, 'f'},
        {"minutes", required_argument, NULL, 'm'}, {"log", required_argument, NULL, 'l'},
        {"no-faults", no_argument, NULL, 'n'},     {"verbose", no_argument, NULL, 'v'},
        {"plant", required_argument, NULL, 'p'},   {"shrink", no_argument, NULL, 'r'},
        {"progress", no_argument, NULL, 'o'},      {"mistakes", no_argument, NULL, 'k'},
        {"strangers", no_argument, NULL, 'g'},     {"leases", no_argument, NULL, 'e'},
        {"backends", no_argument, NULL, 'b'},      {"replans", no_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    struct options options = {.seeds = 10, .first = 1, .tells = isatty(STDERR_FILENO) == 1};

    for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        switch (c) {
        case 's':
            options.seeds = strtoull(optarg, NULL, 10);
            break;
        case 'f':
            options.first = strtoull(optarg, NULL, 10);
            break;
        case 'm':
            options.minutes = strtod(optarg, NULL);
            options.seeds = UINT64_MAX;
            break;
        case 'l':
            options.log = optarg;
            break;
        case 'n':
            options.no_faults = true;
            break;
        case 'p':
            if (!sim_plant(optarg))
                usage(stderr, 2);
            break;
        case 'v':
            options.is_verbose = true;
            break;
        case 'o':
            options.tells = true;
            break;
        case 'r':
            options.shrinks = true;
            break;
        case 'k':
            print_mistakes();
            break;
        case 'g':
            sim_strangers_always_come();
            break;
        case 'a':
            options.replans = true;
            break;
        case 'e':
            sim_leases_always();
            break;
        case 'b':
            sim_controlled_always();
            break;
        case 'h':
            usage(stdout, 0);
            break;
        default:
            usage(stderr, 2);
        }
    }
    return options;
}

static double clock_s(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static double now_s(void)
{
    return clock_s(CLOCK_MONOTONIC);
}

static double cpu_s(void)
{
    return clock_s(CLOCK_PROCESS_CPUTIME_ID);
}

static void tell(const struct options *options, const struct total *total)
{
    static double next_s;

    if (!options->tells || now_s() < next_s)
        return;
    if (next_s > 0)
        fprintf(stderr,
                "simulation: %" PRIu64 " seeds done, the last was %" PRIu64 ", %" PRIu64
                " kills counted\n",
                total->seeds, options->first + total->seeds - 1, total->faults.kills_that_count);
    next_s = now_s() + TELLS_S;
}

static void run_first(void *arg, struct sim_schedule *schedule)
{
    const struct options *options = arg;
    struct total total = {.seeds = 0};

    run_seed(options->first, options, &total, schedule);
}

static int shrink(struct options *options)
{
    struct sim_config config = {.seed = options->first};

    (void)draw(&config); /* its references are known to all runs then */
    if (sim_shrink(run_first, options))
        return 1;
    printf("seed %" PRIu64 " does not fail\n", options->first);
    return 0;
}

int main(int argc, char **argv)
{
    static char self[4096];
    struct options options = parse(argc, argv);
    struct total total = {.seeds = 0};
    double end_s = now_s() + 60 * options.minutes;

    setvbuf(stdout, NULL, _IOLBF, 0);
    tzset();
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        return 2;
    sim_programs_open(dirname(self));
    if (options.shrinks)
        return shrink(&options);
    for (uint64_t i = 0; i < options.seeds && (options.minutes <= 0 || now_s() < end_s); i++) {
        double begin_s = cpu_s();
        uint64_t kills = total.faults.kills_that_count;
        run_seed(options.first + i, &options, &total, NULL);
        tell(&options, &total);
        if (options.is_verbose)
            printf("seed %" PRIu64 ": %.3f s of CPU, %" PRIu64 " kills counted\n",
                   options.first + i, cpu_s() - begin_s, total.faults.kills_that_count - kills);
    }
    print_kills(&total.faults);
    sim_points_print();
    sim_cached_print(&total.cache);
    sim_named_print(&total.named);
    sim_controlled_print(&total.controlled);
    printf("elastic: %" PRIu64 " times a consumer left a shared job, %" PRIu64
           " times a job went on with another number of consumers\n",
           total.verdict.leaves, total.faults.resized);
    printf("reconnects: %" PRIu64 "; faults soon after the one before: %" PRIu64
           "; epochs of sparse jobs: %" PRIu64 "\n",
           total.verdict.reconnects, total.faults.together, total.verdict.sparse_epochs);
    printf("at most once: %" PRIu64 " elements left out, %" PRIu64 " of sparse jobs, %" PRIu64
           " of shared ones\n",
           total.verdict.left_out, total.verdict.left_out_sparse, total.verdict.left_out_shared);
    printf("progress: nobody waited for longer than %.0f s when nothing failed\n",
           (double)total.waited_ns / (double)SIM_S);
    if (options.replans)
        printf("replans: %" PRIu64 " plans were taken\n", total.replans);
    uint64_t kills = total.faults.kills_that_count;
    printf("simulation: seeds=%" PRIu64 " kills=%" PRIu64 " epochs=%" PRIu64 " lost=%" PRIu64
           " repeated=%" PRIu64 " wrong_bytes=%" PRIu64 "\n",
           total.seeds, kills, total.verdict.epochs, total.verdict.lost, total.verdict.repeated,
           total.verdict.wrong);
    return options.replans && total.replans == 0;
}
