/* SPDX-License-Identifier: Apache-2.0 */
/* How long the search for a plan takes (policies/optimize.h), in CPU time of a thread:
 *   build/release/tests/bench_plan_time [operators]
 * Behind a source stand so many operators (10, 15 and 20 without the argument) that may all change sides, of which
 * every third is a filter, and the others make their field larger or smaller; with and without a cache, and with one
 * worker and up to 64. Printed are also the time of the plan that is found, and by what part of it a better one could
 * take less at most. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/rng.h"
#include "policies/optimize.h"

#define FIELDS 3
#define SEED 7

struct random {
    struct cw_rng rng;
    uint32_t draws;
};

static double between(struct random *random, double a, double b)
{
    return cw_rng_range(&random->rng, random->draws++, a, b);
}

static void make_node(struct random *random, size_t i, struct cw_optimize_node *ret_node)
{
    *ret_node = (struct cw_optimize_node){.name = "n",
                                          .ns = between(random, 0, 1000),
                                          .ns_byte = between(random, 0, 2),
                                          .reads = UINT32_C(1) << i % FIELDS,
                                          .keep = i % 3 == 1 ? between(random, 0.1, 1) : 1,
                                          .behind = i > 0};
    ret_node->cpu_ns = ret_node->ns * between(random, 0.5, 1);
    ret_node->cpu_ns_byte = ret_node->ns_byte;
    for (size_t f = 0; f < FIELDS; f++)
        ret_node->ratio[f] = i % 3 == 2 && f == i % FIELDS ? between(random, 0.2, 4) : 1;
}

static void make_problem(size_t operators, bool has_store, unsigned workers,
                         struct cw_optimize_problem *ret_problem)
{
    struct random random = {0};

    cw_rng_init(&random.rng, SEED, 0, 0, 0, 0);
    *ret_problem = (struct cw_optimize_problem){
        .n = operators + 1,
        .fields_n = FIELDS,
        .bytes = {1000, 100, 10},
        .elements = 1e6,
        .epochs = 10,
        .threads = 4,
        .cores = 2,
        .remote_max = workers,
        .has_store = has_store,
        .store = {.read_ns = 500, .read_byte_ns = 0.2, .write_ns = 1000, .free_bytes = -1},
        .trainer_ns = 1e7,
        .worker_price = 1};
    for (size_t i = 0; i < ret_problem->n; i++)
        make_node(&random, i, &ret_problem->nodes[i]);
}

static void measure(size_t operators, bool has_store, unsigned workers)
{
    static struct cw_optimize_problem problem;
    struct cw_optimize_plan plan;

    make_problem(operators, has_store, workers, &problem);
    const int64_t begin_ns = cw_clock_thread_cpu_ns();
    cw_optimize(&problem, &plan);
    const double ms = (double)(cw_clock_thread_cpu_ns() - begin_ns) / 1e6;
    printf("operators %zu, %s, at most %2u workers: %10.3f ms, %zu sets, %zu plans priced, "
           "%.4g s, gap %.2g\n",
           operators, has_store ? "cache   " : "no cache", workers, ms, plan.states, plan.priced,
           plan.total_ns / 1e9, plan.gap);
}

int main(int argc, char **argv)
{
    static const size_t usual[] = {10, 15, 20};
    const size_t one = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;

    for (size_t i = 0; i < (one ? 1 : sizeof(usual) / sizeof(usual[0])); i++)
        for (int k = 0; k < 4; k++)
            measure(one ? one : usual[i], k % 2, k / 2 ? 64 : 1);
    return 0;
}
