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

#include "cluster.h"

#define WHOLE_NS (900 * SIM_S) /* after the last fault all must have ended by then */

struct options {
    uint64_t seeds, first;
    double minutes;
    const char *log;
    bool no_faults, is_verbose;
};
struct total {
    uint64_t seeds;
    struct sim_faults faults;
    struct sim_verdict verdict;
};

static bool is_done(void *arg)
{
    return sim_cluster_is_done(arg);
}

static void judge(const struct sim_job *job, const struct sim_seat *seat,
                  struct sim_verdict *verdict)
{
    struct sim_verdict one = {.lost = 0};

    if (seat->trainer->error)
        sim_fail("%s has failed: %s", sim_name(seat->actor), seat->trainer->message);
    sim_judge(job, &(struct sim_trainer *const){seat->trainer}, 1, &one);
    if (one.lost || one.repeated || one.wrong)
        sim_fail("%s (%s%s): lost=%" PRIu64 " repeated=%" PRIu64 " wrong=%" PRIu64,
                 sim_name(seat->actor), job->label, job->unordered ? ", unordered" : "", one.lost,
                 one.repeated, one.wrong);
    verdict->batches += one.batches;
    verdict->epochs += one.epochs;
}

static void run_seed(uint64_t seed, const struct options *options, struct total *total)
{
    struct sim_config config = {.seed = seed};
    struct sim_cluster cluster = {.seats_n = 0};
    struct sim_job jobs[SIM_TRAINERS_MAX];
    int jobs_n, workers, dispatchers;

    /* Which jobs there are is known before, by a world without actors: references need worlds. */
    sim_world_begin(&config);
    jobs_n = (int)sim_between(1, 3);
    workers = (int)sim_between(1, SIM_WORKERS_MAX);
    dispatchers = (int)sim_between(1, SIM_DISPATCHERS_MAX);
    for (int i = 0; i < jobs_n; i++)
        jobs[i] = sim_job_draw(i);
    sim_world_end();
    for (int i = 0; i < jobs_n; i++)
        (void)sim_reference(&jobs[i]);

    config.log_path = options->log;
    sim_world_begin(&config);
    for (int i = 0; i < dispatchers; i++)
        sim_seat_start(&cluster, sim_cluster_add(&cluster, SIM_DISPATCHER, i));
    for (int i = 0; i < workers; i++)
        sim_seat_start(&cluster, sim_cluster_add(&cluster, SIM_WORKER, i));
    for (int i = 0; i < jobs_n; i++) {
        struct sim_seat *seat = sim_cluster_add(&cluster, SIM_TRAINER, i);
        seat->trainer = sim_job_trainer(&jobs[i], 0);
        seat->trainer->save_every = 1 + sim_below(20);
        seat->trainer->with_last = sim_one_in(2);
        seat->trainer->step_ns = sim_between(0, 20 * SIM_MS);
        sim_seat_start(&cluster, seat);
    }
    int64_t until_ns = sim_now_ns() + sim_between(1, 30) * SIM_S;
    if (!options->no_faults)
        sim_faults_begin(&cluster, &total->faults, until_ns);
    enum sim_end end = sim_world_run(is_done, &cluster, until_ns + WHOLE_NS);
    if (end != SIM_END_DONE)
        sim_fail("%s", end == SIM_END_IDLE ? "nothing can happen any more"
                                           : "the jobs have not ended though nothing fails");
    for (size_t i = 0; i < cluster.seats_n; i++)
        if (cluster.seats[i].kind == SIM_TRAINER)
            judge(&jobs[cluster.seats[i].number], &cluster.seats[i], &total->verdict);
    sim_world_end();
    total->seeds++;
}

static void print_kills(const struct sim_faults *faults)
{
    static const char *const kinds[] = {"dispatcher", "worker", "trainer"};
    static const char *const held[] = {"lease", "output", "transaction", "message", "chunk"};

    for (int i = 0; i < SIM_KINDS_N; i++) {
        printf("kills of a %s: %" PRIu64, kinds[i], faults->kills[i]);
        for (int k = 0; k < SIM_HELD_N; k++)
            if (faults->held[i][k])
                printf(", %" PRIu64 " holding a %s", faults->held[i][k], held[k]);
        printf("\n");
    }
    printf("stops: %" PRIu64 ", crashes of a host: %" PRIu64 "\n", faults->stops,
           faults->host_crashes);
}

static void usage(void)
{
    fprintf(stderr, "usage: run [--seeds N] [--first SEED] [--minutes M] [--log FILE] "
                    "[--no-faults] [--verbose]\n");
    exit(2);
}

static struct options parse(int argc, char **argv)
{
    static const struct option names[] = {{"seeds", required_argument, NULL, 's'},
                                          {"first", required_argument, NULL, 'f'},
                                          {"minutes", required_argument, NULL, 'm'},
                                          {"log", required_argument, NULL, 'l'},
                                          {"no-faults", no_argument, NULL, 'n'},
                                          {"verbose", no_argument, NULL, 'v'},
                                          {NULL, 0, NULL, 0}};
    struct options options = {.seeds = 10, .first = 1};

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
        case 'v':
            options.is_verbose = true;
            break;
        default:
            usage();
        }
    }
    return options;
}

static double now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
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
    for (uint64_t i = 0; i < options.seeds && (options.minutes <= 0 || now_s() < end_s); i++) {
        double begin_s = now_s();
        run_seed(options.first + i, &options, &total);
        if (options.is_verbose)
            printf("seed %" PRIu64 ": %.3f s\n", options.first + i, now_s() - begin_s);
    }
    print_kills(&total.faults);
    uint64_t kills = total.faults.kills_that_count;
    printf("simulation: seeds=%" PRIu64 " kills=%" PRIu64 " epochs=%" PRIu64 " lost=%" PRIu64
           " repeated=%" PRIu64 " wrong_bytes=%" PRIu64 "\n",
           total.seeds, kills, total.verdict.epochs, total.verdict.lost, total.verdict.repeated,
           total.verdict.wrong);
    return 0;
}
