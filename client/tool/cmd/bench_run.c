/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/cmd/bench_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cachew/cachew.h"
#include "client/tool/cmd/run_plan.h"
#include "client/tool/steps.h"
#include "client/tool/tool.h"

#define LOOK_MS 200 /* how often an interrupt is looked for */

struct bench {
    const struct tool_bench_options *o;
    struct tool_run_options run;
    struct tool_run_planned planned;
    struct tool_steps steps;
    struct cachew_client *client;
    struct cachew_job *job;
    FILE *output;
    struct tool_bench_result result;
    int64_t first_ns;          /* when the first batch of all came */
    int64_t start_ns;          /* of the present epoch's clock */
    uint64_t batches, samples; /* of the present epoch */
    uint64_t samples_all;      /* of all epochs */
    struct cachew_error error;
};

/* ---- the pipeline ---- */

/* The text form always has this list. */
static struct cw_value *nodes_of(const struct cw_value *pipeline)
{
    size_t i = 0;

    while (strcmp(pipeline->keys[i], "pipeline") != 0)
        i++;
    return &pipeline->items[i];
}

static struct cw_value *find_batch(struct cw_value *nodes)
{
    for (size_t i = nodes->n; i-- > 0;) {
        const struct cw_value *op = cw_value_get(&nodes->items[i], "op");
        if (op && op->type == CW_VALUE_STR && strcmp(op->s, "batch") == 0)
            return &nodes->items[i];
    }
    return NULL;
}

/* Appends a node behind the last one, which it reads. */
static struct cw_value *append_batch(struct cw_value *nodes)
{
    struct cw_value longer = {0};

    cw_value_set_list(&longer, nodes->n + 1);
    for (size_t i = 0; i < nodes->n; i++)
        cw_value_copy(&longer.items[i], &nodes->items[i]);
    struct cw_value *node = &longer.items[nodes->n];
    cw_value_set_object(node);
    cw_value_set_str(cw_value_member(node, "op"), "batch");
    cw_value_fini(nodes);
    *nodes = longer;
    return node;
}

static void set_size(struct cw_value *nodes, uint64_t batch_size, uint64_t *ret_size)
{
    struct cw_value *batch = find_batch(nodes);

    if (batch_size > 0)
        cw_value_set_i64(cw_value_member(batch ? batch : append_batch(nodes), "size"),
                         (int64_t)batch_size);
    batch = find_batch(nodes);
    const struct cw_value *size = batch ? cw_value_get(batch, "size") : NULL;
    *ret_size = size && size->type == CW_VALUE_I64 && size->i > 0 ? (uint64_t)size->i : 1;
}

int tool_bench_pipeline(const char *path, uint64_t batch_size, struct cw_str *ret_text,
                        uint64_t *ret_size, struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    struct cw_value value = {0};
    CW_STR_AUTO text = {0};
    int rc = cw_graph_load(path, &graph, err);

    if (rc < 0)
        return rc;
    cw_graph_print(graph, &text);
    cw_graph_unref(graph);
    rc = cw_value_parse(cw_str_text(&text), text.len, path, &value, err);
    if (rc < 0)
        return rc;
    set_size(nodes_of(&value), batch_size, ret_size);
    cw_value_print(&value, ret_text);
    cw_value_fini(&value);
    return 0;
}

/* ---- the job ---- */

static int make_pipeline(struct bench *b, struct cachew_pipeline **ret_pipeline)
{
    struct cw_err err = {0};
    CW_STR_AUTO text = {0};
    const struct tool_bench_options *o = b->o;

    int rc = tool_bench_pipeline(o->file, o->batch_size, &text, &b->result.batch_size, &err);
    if (rc == 0 && tool_run_is_planned(&b->run))
        rc = tool_run_plan_text(cw_str_text(&text), o->file, &b->run, tool_bench_is_local(o),
                                &b->planned, &err);
    if (rc < 0)
        return tool_fail_err(&err);
    *ret_pipeline = cw_steal(&b->planned.pipeline);
    if (!*ret_pipeline &&
        cachew_pipeline_parse(cw_str_text(&text), text.len, ret_pipeline, &b->error) < 0)
        return tool_fail_cachew(&b->error);
    return TOOL_OK;
}

static int connect_to(struct bench *b)
{
    struct cachew_connect_options connect = CACHEW_CONNECT_OPTIONS_INIT;

    tool_connect_options(&connect);
    connect.cancel = tool_cancel();
    if (tool_bench_is_local(b->o)) {
        connect.local_workers = (int)b->run.workers;
        connect.local_threads = (int)b->run.threads;
        connect.cache_store = b->o->cache_store;
    }
    return cachew_connect(b->o->dispatcher, &connect, &b->client, &b->error) < 0
               ? tool_fail_cachew(&b->error)
               : TOOL_OK;
}

/* Workers on this host, for a job at a dispatcher: all that there are, if none may be elsewhere. */
static void set_local(const struct bench *b, char *place, size_t place_n,
                      struct cachew_job_options *job)
{
    if (tool_bench_is_local(b->o))
        return;
    job->local_workers = (uint32_t)b->run.workers;
    job->local_threads = (uint32_t)b->run.threads;
    if (!b->o->no_offload)
        return;
    job->local_workers = CW_MAX(job->local_workers, 1U);
    snprintf(place, place_n, "fixed:0,%u", job->local_workers);
    job->autoplace = place;
}

static int start_job(struct bench *b)
{
    struct cachew_job_options job = CACHEW_JOB_OPTIONS_INIT;
    struct cachew_pipeline *pipeline = NULL;
    char place[32];

    int code = make_pipeline(b, &pipeline);
    if (code == TOOL_OK)
        code = connect_to(b);
    if (code == TOOL_OK) {
        job.cancel = tool_cancel();
        job.seed = b->run.seed;
        job.epochs = b->run.epochs;
        job.window = (uint32_t)b->run.window;
        job.optimize = b->run.optimize;
        job.fusion = b->run.no_fusion ? "off" : NULL;
        job.autoscale = b->run.autoscale;
        job.autoplace = b->run.autoplace;
        job.autocache = b->run.autocache ? b->run.autocache : b->planned.autocache;
        set_local(b, place, sizeof(place), &job);
        if (cachew_job_start(b->client, pipeline, &job, &b->job, &b->error) < 0)
            code = tool_fail_cachew(&b->error);
    }
    cachew_pipeline_release(pipeline);
    return code;
}

/* A job at a dispatcher goes over to the plan while it runs. */
static void use_plan(const struct bench *b)
{
    struct cw_err err = {0};

    if (b->planned.order &&
        tool_run_replan(b->o->dispatcher, cachew_job_id(b->job), b->planned.order, &err) < 0)
        fprintf(stderr, "cachew: warning: the plan is not used: %s\n", err.msg);
}

/* ---- consuming ---- */

static int write_batch(struct bench *b, const struct cachew_batch *batch)
{
    for (size_t i = 0; b->output && i < cachew_batch_tensors(batch); i++) {
        struct cachew_tensor tensor;
        if (cachew_batch_tensor(batch, i, &tensor) == 0 && tensor.bytes > 0 &&
            fwrite(tensor.data, 1, tensor.bytes, b->output) != tensor.bytes)
            return tool_fail("cannot write %s: %s", b->o->output, strerror(errno));
    }
    return TOOL_OK;
}

static int take_batch(struct bench *b, struct cachew_batch *batch)
{
    int code = write_batch(b, batch);
    int64_t now = cw_clock_ns();

    b->first_ns = b->first_ns ? b->first_ns : now;
    if (++b->batches == 2)
        b->start_ns = now;
    b->samples += cachew_batch_elements(batch);
    b->samples_all += cachew_batch_elements(batch);
    cachew_batch_release(batch);
    int64_t step_ns = tool_steps_at(&b->steps, now - b->first_ns);
    if (step_ns > 0 && !tool_is_interrupted())
        cw_clock_sleep_ns(step_ns);
    return code;
}

static bool has_enough(const struct bench *b)
{
    return b->o->samples > 0 && b->samples_all >= b->o->samples;
}

static void end_epoch(struct bench *b)
{
    struct tool_bench_result *r = &b->result;

    CW_GROW(r->epochs, r->n, r->cap);
    r->epochs[r->n++] = (struct tool_bench_epoch){.seconds = tool_seconds_since(b->start_ns),
                                                  .samples = b->samples};
    if (!b->o->quiet)
        printf("epoch %zu: %llu elements in %.3f s%s, %.1f/s\n", r->n - 1,
               (unsigned long long)b->samples, r->epochs[r->n - 1].seconds,
               b->batches > 1 ? " from the second batch on" : "",
               (double)b->samples / CW_MAX(r->epochs[r->n - 1].seconds, 1e-9));
}

static int consume_epoch(struct bench *b)
{
    int rc = 0;

    b->start_ns = cw_clock_ns();
    b->batches = b->samples = 0;
    while (!has_enough(b)) {
        struct cachew_batch *batch = NULL;
        rc = cachew_job_next(b->job, LOOK_MS, &batch, &b->error);
        if (tool_is_interrupted())
            return cachew_batch_release(batch), TOOL_INTERRUPTED;
        if (rc == CACHEW_E_TIMEOUT)
            continue;
        if (rc < 0)
            return tool_fail_cachew(&b->error);
        if (rc == 0)
            break;
        int code = take_batch(b, batch);
        if (code != TOOL_OK)
            return code;
    }
    end_epoch(b);
    return TOOL_OK;
}

static int consume(struct bench *b)
{
    int code = TOOL_OK;

    while (code == TOOL_OK && !cachew_job_done(b->job) && !has_enough(b))
        code = consume_epoch(b);
    return code;
}

static int open_output(struct bench *b)
{
    if (!b->o->output)
        return TOOL_OK;
    b->output = fopen(b->o->output, "wbe");
    return b->output ? TOOL_OK : tool_fail("cannot write %s: %s", b->o->output, strerror(errno));
}

static int close_output(struct bench *b)
{
    return b->output && fclose(b->output) != 0
               ? tool_fail("cannot write %s: %s", b->o->output, strerror(errno))
               : TOOL_OK;
}

int tool_bench_run(const struct tool_bench_options *o, struct tool_bench_result *ret_result)
{
    struct bench b = {.o = o, .error = CACHEW_ERROR_INIT};
    struct cw_err err = {0};

    if (o->step_ms && tool_steps_parse(o->step_ms, &b.steps, &err) < 0)
        return tool_fail_err(&err), TOOL_USAGE;
    tool_bench_run_options(o, &b.run);
    int code = open_output(&b);
    if (code == TOOL_OK)
        code = start_job(&b);
    if (code == TOOL_OK) {
        use_plan(&b);
        code = consume(&b);
    }
    cachew_job_close(b.job);
    cachew_disconnect(b.client);
    int closed = close_output(&b);
    cw_mem_free(b.planned.autocache);
    cw_graph_unref(b.planned.order);
    *ret_result = b.result;
    return code != TOOL_OK ? code : closed;
}

void tool_bench_result_fini(struct tool_bench_result *result)
{
    cw_mem_free(result->epochs);
    *result = (struct tool_bench_result){0};
}
