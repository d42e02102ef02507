/* SPDX-License-Identifier: Apache-2.0 */
/* cachew analyze FILE: runs a pipeline once, and writes what its fields are like: means, deviations,
 * quantiles, and the strings that come most often. standardize and bucketize read that. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cachew/cachew.h"
#include "client/tool/column_stats.h"
#include "client/tool/shard/rows.h"
#include "client/tool/tool.h"
#include "client/tool/word_counts.h"
#include "data/strings.h"

/* values of all columns of a field that are kept for quantiles */
#define SAMPLE_VALUES ((size_t)4 << 20)
#define SAMPLE_MAX ((size_t)128 << 10)
#define SAMPLE_MIN ((size_t)4 << 10)

struct options {
    const char *dispatcher, *pipeline, *out;
    uint64_t seed, quantiles, words;
    int64_t workers, threads, timeout_ms;
    bool skip_bad, quiet;
};
struct analysis {
    struct options opt;
    struct tool_rows rows;
    bool begun;
    uint64_t elements;
    struct tool_column_stats numbers[CW_FIELDS_MAX]; /* of fields that are no strings */
    struct tool_word_counts words[CW_FIELDS_MAX];
    struct cachew_client *client;
    struct cachew_job *job;
    int64_t line_ns;
};

static int from_cachew(struct cw_err *err, const struct cachew_error *error)
{
    return cw_err_set(err, error->code, "%s", error->message);
}

static int start_job(struct analysis *a, const struct cachew_pipeline *pipeline, struct cw_err *err)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_connect_options connect = CACHEW_CONNECT_OPTIONS_INIT;
    struct cachew_job_options job = CACHEW_JOB_OPTIONS_INIT;
    tool_connect_options(&connect);
    connect.local_workers = (int)a->opt.workers;
    connect.local_threads = (int)a->opt.threads;
    connect.timeout_ms = a->opt.timeout_ms;
    connect.cancel = job.cancel = tool_cancel();
    if (cachew_connect(a->opt.dispatcher, &connect, &a->client, &error) < 0)
        return from_cachew(err, &error);
    job.seed = a->opt.seed;
    job.bad_elements = a->opt.skip_bad ? CACHEW_BAD_SKIP : CACHEW_BAD_FAIL;
    return cachew_job_start(a->client, pipeline, &job, &a->job, &error) < 0
               ? from_cachew(err, &error)
               : 0;
}

/* ---- elements ---- */

static int begin(struct analysis *a, const struct cachew_batch *batch, struct cw_err *err)
{
    int rc = a->rows.known ? 0 : tool_rows_take_spec(&a->rows, batch, err);
    for (size_t f = 0; rc == 0 && f < a->rows.spec.n; f++) {
        const struct cw_field *field = &a->rows.spec.fields[f];
        const size_t columns = tool_column_stats_columns(field);
        const size_t sample = CW_MIN(CW_MAX(SAMPLE_VALUES / columns, SAMPLE_MIN), SAMPLE_MAX);
        if (field->dtype != CW_DTYPE_STR)
            tool_column_stats_init(&a->numbers[f], columns, sample);
    }
    a->begun = rc == 0;
    return rc;
}

/* A string, or each of a list. */
static void add_strings(struct tool_word_counts *words, const struct cw_view *view)
{
    const int64_t count = view->rank > 0 ? cw_strings_count(view) : 0;
    if (view->rank == 0)
        tool_word_counts_add(words, view->data, view->bytes);
    for (int64_t i = 0; i < count; i++) {
        size_t n;
        const char *text = cw_strings_get(view->data, count, i, &n);
        tool_word_counts_add(words, text, n);
    }
}

static void add_element(struct analysis *a, const struct cw_element *element)
{
    for (size_t f = 0; f < element->n; f++) {
        const struct cw_view *view = &element->fields[f];
        if (view->dtype != CW_DTYPE_STR)
            tool_column_stats_add(&a->numbers[f], view);
        else
            add_strings(&a->words[f], view);
    }
    a->elements++;
}

static int add_batch(struct analysis *a, const struct cachew_batch *batch, struct cw_err *err)
{
    struct cw_element element = {0};
    struct cw_arena *arena = cw_arena_new((size_t)1 << 20);
    int rc = a->begun ? 0 : begin(a, batch, err);
    for (uint64_t i = 0; rc == 0 && i < tool_rows_n(&a->rows, batch); i++) {
        cw_arena_reset(arena);
        rc = tool_rows_get(&a->rows, batch, i, &element, arena, err);
        if (rc == 0)
            add_element(a, &element);
    }
    cw_arena_free(arena);
    return rc;
}

static void show_progress(struct analysis *a)
{
    const int64_t now = cw_clock_ns();
    struct cachew_job_stats stats = {.struct_size = sizeof(stats)};
    if (a->opt.quiet || !tool_line_wanted() || now - a->line_ns < 100 * 1000000 ||
        cachew_job_stats(a->job, &stats) < 0)
        return;
    a->line_ns = now;
    CW_STR_AUTO line = {0};
    cw_str_addf(&line, "%3.0f%%  ", 100 * stats.epoch_done);
    tool_print_count((double)a->elements, &line);
    cw_str_add(&line, " elements");
    tool_line_show(cw_str_text(&line));
}

static int run_job(struct analysis *a, struct cw_err *err)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    int rc = 0;
    while (rc == 0 && !cachew_job_done(a->job)) {
        struct cachew_batch *batch = NULL;
        const int got = cachew_job_next(a->job, 200, &batch, &error);
        show_progress(a);
        if (tool_is_interrupted())
            rc = cw_err_set(err, CW_E_CANCELLED, "interrupted");
        else if (got < 0 && got != CACHEW_E_TIMEOUT)
            rc = from_cachew(err, &error);
        else if (got > 0)
            rc = add_batch(a, batch, err);
        cachew_batch_release(batch);
        if (got == 0)
            break;
    }
    tool_line_clear();
    return rc;
}

/* ---- the result ---- */

static void print_fields(struct analysis *a, struct cw_value *fields)
{
    cw_value_set_object(fields);
    for (size_t f = 0; a->begun && f < a->rows.spec.n; f++) {
        const struct cw_field *field = &a->rows.spec.fields[f];
        struct cw_value *object = cw_value_member(fields, field->name);
        cw_value_set_object(object);
        cw_value_set_str(cw_value_member(object, "dtype"), cw_dtype_name(field->dtype));
        if (field->dtype == CW_DTYPE_STR)
            tool_word_counts_print(&a->words[f], (size_t)a->opt.words, object);
        else
            tool_column_stats_print(&a->numbers[f], (size_t)a->opt.quantiles, object);
    }
}

static int write_text(const char *path, const struct cw_str *text, struct cw_err *err)
{
    FILE *file = fopen(path, "we");
    bool wrong = !file || fwrite(cw_str_text(text), 1, text->len, file) != text->len;
    if (file)
        wrong = fclose(file) != 0 || wrong;
    return wrong ? cw_err_set(err, CW_E_IO, "%s: %s", path, strerror(errno)) : 0;
}

/* Whether the file can be written is better known before the pass over the data. */
static int check_out(const char *path, struct cw_err *err)
{
    const bool is_there = access(path, F_OK) == 0;
    FILE *file = fopen(path, "ae");
    if (!file)
        return cw_err_set(err, CW_E_IO, "%s cannot be written: %s", path, strerror(errno));
    (void)fclose(file);
    if (!is_there)
        (void)unlink(path);
    return 0;
}

static int write_result(struct analysis *a, struct cw_err *err)
{
    struct cw_value value = {0};
    CW_STR_AUTO text = {0};
    cw_value_set_object(&value);
    cw_value_set_i64(cw_value_member(&value, "elements"), (int64_t)a->elements);
    print_fields(a, cw_value_member(&value, "fields"));
    cw_value_print(&value, &text);
    cw_str_add(&text, "\n");
    cw_value_fini(&value);
    if (a->opt.out)
        return write_text(a->opt.out, &text, err);
    fputs(cw_str_text(&text), stdout);
    return tool_flush_output() == TOOL_OK
               ? 0
               : cw_err_set(err, CW_E_IO, "standard output cannot be written");
}

static int analyze(struct analysis *a, struct cw_err *err)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_pipeline *pipeline = NULL;
    if (cachew_pipeline_load(a->opt.pipeline, &pipeline, &error) < 0)
        return from_cachew(err, &error);
    int rc = a->opt.out ? check_out(a->opt.out, err) : 0;
    if (rc == 0)
        rc = tool_rows_init(&a->rows, a->opt.pipeline, false, err);
    if (rc == 0)
        rc = start_job(a, pipeline, err);
    cachew_pipeline_release(pipeline);
    if (rc == 0)
        rc = run_job(a, err);
    if (rc == 0)
        rc = write_result(a, err);
    for (size_t f = 0; f < CW_FIELDS_MAX; f++) {
        tool_column_stats_fini(&a->numbers[f]);
        tool_word_counts_fini(&a->words[f]);
    }
    cw_spec_fini(&a->rows.spec);
    cachew_job_close(a->job);
    cachew_disconnect(a->client);
    return rc;
}

int tool_cmd_analyze(int argc, char **argv)
{
    struct analysis *a = CW_NEW(struct analysis);
    struct options *o = &a->opt;
    *o = (struct options){.dispatcher = tool_dispatcher(), .quantiles = 100, .words = 50000};
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER_OR_LOCAL(&o->dispatcher),
        {"out", 'o', CW_ARG_STR, &o->out, "FILE", "write there (default: standard output)", 0, 0},
        {"quantiles", 0, CW_ARG_U64, &o->quantiles, "N",
         "how many equal parts the quantiles make (default 100)", 2, 10000},
        {"words", 0, CW_ARG_U64, &o->words, "N",
         "how many of the most frequent strings are written (default 50000)", 1, 0x1p22},
        {"seed", 's', CW_ARG_U64, &o->seed, "S", "of shuffling and augmentation (default 0)", 0, 0},
        {"workers", 'w', CW_ARG_I64, &o->workers, "N", "local: only: worker processes (default 1)",
         0, 1024},
        {"threads", 't', CW_ARG_I64, &o->threads, "N",
         "local: only: threads of each worker (default: CPUs)", 0, 1024},
        TOOL_ROW_PLUGIN("local: only: load operators of one's own; may stand several times"),
        {"skip-bad", 0, CW_ARG_FLAG, &o->skip_bad, NULL,
         "leave out bad elements, instead of failing", 0, 0},
        {"timeout", 0, CW_ARG_MS, &o->timeout_ms, "TIME",
         "to reach the dispatcher, and for the job to begin since something last moved (default "
         "10s; local: starts in 30s)",
         0, 0},
        TOOL_ROW_QUIET(&o->quiet, "no progress line"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew analyze",
        .usage = "FILE.json [options]",
        .about = "Runs a pipeline once, and writes a JSON object that says what its fields are "
                 "like: of numbers the mean, deviation, least and largest value and quantiles of "
                 "each column (each place in the last dimension), without NaN and infinite values; "
                 "of strings how often each comes. The operators standardize and bucketize read it "
                 "(option `file`). Quantiles are exact for up to 131,072 values of a column (fewer "
                 "for more than 32 columns), else those of a sample.",
        .rows = rows,
        .tail = "examples:\n  cachew analyze table.json -o stats.json\n",
    };
    const char *words[1];
    int code = 0;
    struct cw_err err = {0};
    if (!tool_parse_words(&spec, argc, argv, "which file?", words, 1, &code)) {
        cw_mem_free(a);
        return code;
    }
    o->pipeline = words[0];
    tool_catch_signals();
    const int rc = analyze(a, &err);
    cw_mem_free(a);
    if (rc == 0)
        return TOOL_OK;
    tool_fail_err(&err);
    return tool_is_interrupted() ? TOOL_INTERRUPTED : TOOL_FAILED;
}
