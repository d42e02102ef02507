/* SPDX-License-Identifier: Apache-2.0 */
/* For bench_audio.py: computes all elements of a pipeline on one thread, several times, and prints the
 * least CPU seconds of a time. The first tensors of the elements are written to a file, each behind the number
 * of its bytes. usage: bench_audio PIPELINE.json TIMES RESULTS */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "exec/exec.h"

static void put(FILE *results, const struct cw_batch *batch)
{
    const uint64_t bytes = batch->tensors[0].bytes;
    fwrite(&bytes, sizeof(bytes), 1, results);
    fwrite(cw_batch_data(batch, 0), 1, bytes, results);
}

/* One time over all elements; results: NULL, or where they go. */
static int run(struct cw_plan *plan, FILE *results, int64_t *ret_ns, struct cw_err *err)
{
    const uint64_t items = cw_plan_info(plan)->items;
    const int64_t begin = cw_clock_thread_cpu_ns();
    int rc = 0;
    for (uint64_t i = 0; i < items && rc == 0; i++) {
        struct cw_batch *batch = NULL;
        rc = cw_exec_run(plan, 0, i, CW_BAD_FAIL, &batch, err);
        if (rc == 0 && results)
            put(results, batch);
        cw_batch_unref(batch);
    }
    *ret_ns = cw_clock_thread_cpu_ns() - begin;
    return rc;
}

static int run_times(struct cw_plan *plan, int times, const char *path, struct cw_err *err)
{
    FILE *results = fopen(path, "wb");
    int64_t ns, least = INT64_MAX;
    int rc = results ? run(plan, results, &ns, err) : cw_err_set(err, -1, "%s: no file", path);
    if (results)
        fclose(results);
    for (int i = 0; i < times && rc == 0; i++) {
        rc = run(plan, NULL, &ns, err);
        least = CW_MIN(least, ns);
    }
    if (rc == 0)
        printf("%.4f\n", (double)least / 1e9);
    return rc;
}

/* Memory of elements is kept from one to the next, as the threads of a worker keep it. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

int main(int argc, char **argv)
{
    keep_memory();
    struct cw_err err = {0};
    struct cw_value value = {0};
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    CW_STR_AUTO text = {0};
    int rc = argc == 4 ? cw_value_load(argv[1], &value, &err) : cw_err_set(&err, -1, "no pipeline");
    cw_value_print(&value, &text);
    if (rc == 0)
        rc = cw_graph_parse(cw_str_text(&text), strlen(cw_str_text(&text)), "", &graph, &err);
    if (rc == 0)
        rc = cw_graph_check(graph, &checked, &err);
    if (rc == 0)
        rc = cw_plan_new(checked, 1, NULL, &plan, &err);
    if (rc == 0)
        rc = run_times(plan, (int)strtol(argv[2], NULL, 10), argv[3], &err);
    if (rc < 0)
        fprintf(stderr, "%s\n", err.msg);
    cw_plan_unref(plan);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    cw_value_fini(&value);
    return rc < 0;
}
