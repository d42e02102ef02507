/* SPDX-License-Identifier: Apache-2.0 */
/* For bench_parquet.py and bench_tables.py: computes all items of an epoch of a pipeline on one thread,
 * and prints the CPU seconds from the opening of its files on, and the number of elements. With FILE the
 * bytes of all tensors are written there, batch after batch. With EPOCHS, two at least, the CPU seconds of
 * a further epoch are printed as well, and those of its calls of the last operator. usage: bench_parquet PIPELINE.json [FILE | EPOCHS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "exec/exec.h"

static void write_batch(const struct cw_batch *batch, FILE *out)
{
    for (size_t f = 0; out && batch->buf && f < batch->n; f++)
        fwrite((const char *)batch->buf->data + batch->tensors[f].offset, 1,
               batch->tensors[f].bytes, out);
}

static int run(struct cw_plan *plan, uint64_t epoch, FILE *out, uint64_t *ret_rows,
               struct cw_err *err)
{
    uint64_t items = cw_plan_info(plan)->items;
    int rc = 0;
    *ret_rows = 0;
    for (uint64_t i = 0; i < items && rc == 0; i++) {
        struct cw_batch *batch = NULL;
        rc = cw_exec_run(plan, epoch, i, CW_BAD_FAIL, &batch, err);
        if (rc == 0) {
            *ret_rows += batch->elements;
            write_batch(batch, out);
        }
        cw_batch_unref(batch);
    }
    return rc;
}

/* Runs the epochs behind the first. */
static int run_more(struct cw_plan *plan, uint64_t epochs, double *ret_seconds, struct cw_err *err)
{
    const int64_t begin = cw_clock_thread_cpu_ns();
    uint64_t rows;
    int rc = 0;
    for (uint64_t epoch = 1; rc == 0 && epoch < epochs; epoch++)
        rc = run(plan, epoch, NULL, &rows, err);
    if (rc == 0 && epochs > 1)
        *ret_seconds = (double)(cw_clock_thread_cpu_ns() - begin) / 1e9 / (double)(epochs - 1);
    return rc;
}

/* The CPU seconds of an epoch in which the last operator was called. */
static double last_seconds(const struct cw_plan *plan, const struct cw_graph *graph,
                           uint64_t epochs)
{
    const size_t n = graph->n;
    struct cw_exec_count *counts = CW_NEW_ARRAY(struct cw_exec_count, n);
    cw_exec_counts(plan, counts);
    const double seconds = (double)counts[n - 1].cpu_ns / 1e9 / (double)epochs;
    cw_mem_free(counts);
    return seconds;
}

int main(int argc, char **argv)
{
    struct cw_err err = {0};
    struct cw_value value = {0};
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    CW_STR_AUTO text = {0};
    uint64_t rows = 0;
    double again = 0;
    const uint64_t epochs = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    FILE *out = argc == 3 && epochs == 0 ? fopen(argv[2], "wb") : NULL;
    int rc = argc == 2 || epochs > 1 || out ? cw_value_load(argv[1], &value, &err)
                                            : cw_err_set(&err, -1, "no pipeline");
    cw_value_print(&value, &text);
    int64_t begin = cw_clock_thread_cpu_ns();
    if (rc == 0)
        rc = cw_graph_parse(cw_str_text(&text), strlen(cw_str_text(&text)), "", &graph, &err);
    if (rc == 0)
        rc = cw_graph_check(graph, &checked, &err);
    if (rc == 0)
        rc = cw_plan_new(checked, 1, NULL, &plan, &err);
    if (rc == 0)
        rc = run(plan, 0, out, &rows, &err);
    if (out && fclose(out) != 0)
        rc = cw_err_set(&err, -1, "%s: cannot be written", argv[2]);
    int64_t ns = cw_clock_thread_cpu_ns() - begin;
    if (rc == 0)
        rc = run_more(plan, epochs, &again, &err);
    if (rc < 0)
        fprintf(stderr, "%s\n", err.msg);
    else
        printf(epochs > 1 ? "%.4f %llu %.4f %.4f\n" : "%.4f %llu\n", (double)ns / 1e9,
               (unsigned long long)rows, again,
               epochs > 1 ? last_seconds(plan, graph, epochs) : 0.0);
    cw_plan_unref(plan);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    cw_value_fini(&value);
    return rc < 0;
}
