/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine costs an element, on one thread: pipelines whose operators do next to nothing,
 * without and with a `mark` that nothing is cached at, and without measuring what operators cost, in
 * turn. Prints nanoseconds of CPU time per element (the least of the rounds) and the ratios: of the
 * mark, and of measuring. To compare two versions, build both and run them in turn.
 * With the number of a pipeline it computes that one alone, for a program that counts instructions
 * (valgrind --tool=callgrind): with 1 behind it as always, with 0 unmeasured.
 * usage: bench_exec [ROUNDS [PIPELINE MEASURES]] */
#include "base/clock.h"
#include "base/mem.h"
#include "exec/exec.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX 200

static const struct {
    const char *what, *front, *back;
} pipelines[] = {
    {"runs of numbers", "{\"op\":\"range\",\"stop\":4000000}",
     ",{\"op\":\"batch\",\"size\":20000}"},
    {"shuffled numbers", "{\"op\":\"range\",\"stop\":40000},{\"op\":\"shuffle\"}",
     ",{\"op\":\"batch\",\"size\":200}"},
    {"one operator",
     "{\"op\":\"range\",\"stop\":40000},{\"op\":\"shuffle\"},{\"op\":\"cast\",\"dtype\":\"i32\"}",
     ",{\"op\":\"batch\",\"size\":200}"},
    {"four operators",
     "{\"op\":\"range\",\"stop\":40000},{\"op\":\"shuffle\"},{\"op\":\"cast\",\"dtype\":\"i32\"},{"
     "\"op\":\"cast\",\"dtype\":\"i64\"}",
     ",{\"op\":\"cast\",\"dtype\":\"u8\"},{\"op\":\"cast\",\"dtype\":\"f32\"},{\"op\":\"batch\","
     "\"size\":200}"},
    {"an expression", "{\"op\":\"range\",\"stop\":400000},{\"op\":\"eval\",\"expr\":\"x * 2 + 1\"}",
     ",{\"op\":\"batch\",\"size\":1024}"},
    {"behind the batch", "{\"op\":\"range\",\"stop\":400000},{\"op\":\"batch\",\"size\":1024}",
     ",{\"op\":\"eval\",\"expr\":\"x * 2 + 1\"}"},
    {"strings",
     "{\"op\":\"from_values\",\"values\":[\"abc\",\"defgh\"]},{\"op\":\"repeat\",\"count\":20000}",
     ",{\"op\":\"batch\",\"size\":200}"},
    {"50 packed to 200", "{\"op\":\"range\",\"stop\":400000},{\"op\":\"batch\",\"size\":50}",
     ",{\"op\":\"pack\",\"length\":200,\"span\":1000}"},
    {"50 rebatched to 200", "{\"op\":\"range\",\"stop\":400000},{\"op\":\"batch\",\"size\":50}",
     ",{\"op\":\"rebatch\",\"size\":200,\"span\":1000}"},
};

static struct cw_plan *plan_of(const char *front, const char *mark, const char *back)
{
    struct cw_err err = {0};
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    cw_autofree char *text = cw_mem_printf("{\"pipeline\": [%s%s%s]}", front, mark, back);
    if (cw_graph_parse(text, strlen(text), "", &graph, &err) == 0 &&
        cw_graph_check(graph, &checked, &err) == 0)
        (void)!cw_plan_new(checked, 1, NULL, &plan, &err);
    if (!plan && !mark[0]) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return plan;
}

static double ns_per_element(struct cw_plan *plan)
{
    uint64_t items = CW_MIN(cw_plan_info(plan)->items, ITEMS_MAX), rows = 0;
    int64_t begin = cw_clock_thread_cpu_ns();
    for (uint64_t i = 0; i < items; i++) {
        struct cw_batch *batch = NULL;
        struct cw_err err = {0};
        if (cw_exec_run(plan, 0, i, CW_BAD_FAIL, &batch, &err) < 0) {
            fprintf(stderr, "%s\n", err.msg);
            exit(1);
        }
        rows += batch->elements;
        cw_batch_unref(batch);
    }
    return (double)(cw_clock_thread_cpu_ns() - begin) / (double)rows;
}

/* The least of the rounds, of each plan that is there; who comes first changes with each round. */
static void measure(struct cw_plan *const *plans, size_t n, int rounds, double *ret_least)
{
    for (size_t i = 0; i < n; i++)
        ret_least[i] = 1e18;
    for (size_t k = 0; k < n * (size_t)rounds; k++) {
        const size_t i = (k + k / n) % n;
        if (plans[i])
            ret_least[i] = CW_MIN(ret_least[i], ns_per_element(plans[i]));
    }
}

static int run_one(size_t pipeline, bool measures, int rounds)
{
    struct cw_plan *plan = plan_of(pipelines[pipeline].front, "", pipelines[pipeline].back);
    if (!measures)
        cw_plan_set_unmeasured(plan);
    for (int k = 0; k < rounds; k++)
        (void)ns_per_element(plan);
    cw_plan_unref(plan);
    return 0;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 30;
    if (argc > 3)
        return run_one(strtoul(argv[2], NULL, 10) % CW_ARRAY_LEN(pipelines), argv[3][0] == '1',
                       rounds);
    /* Memory that comes from the system and goes back there would be measured as well. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, INT32_MAX);
    printf("%-20s %12s %12s %8s %12s %10s\n", "ns per element", "plain", "with a mark", "ratio",
           "unmeasured", "measuring");
    for (size_t i = 0; i < CW_ARRAY_LEN(pipelines); i++) {
        struct cw_plan *plans[] = {
            plan_of(pipelines[i].front, "", pipelines[i].back),
            plan_of(pipelines[i].front, ",{\"op\":\"mark\",\"name\":\"m\"}", pipelines[i].back),
            plan_of(pipelines[i].front, "", pipelines[i].back)};
        double least[3];
        cw_plan_set_unmeasured(plans[2]);
        measure(plans, 3, rounds, least);
        printf("%-20s %12.2f %12.2f %8.3f %12.2f %10.4f\n", pipelines[i].what, least[0], least[1],
               least[1] / least[0], least[2], least[0] / least[2]);
        for (size_t k = 0; k < 3; k++)
            cw_plan_unref(plans[k]);
    }
    return 0;
}
