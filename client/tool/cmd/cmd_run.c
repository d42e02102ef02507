/* SPDX-License-Identifier: Apache-2.0 */
/* cachew run FILE: runs a pipeline through the service and consumes its batches. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/pipeline.h"
#include "client/tool/bad_elements_file.h"
#include "client/tool/cmd/run_kept.h"
#include "client/tool/cmd/run_options.h"
#include "client/tool/cmd/run_plan.h"
#include "client/tool/consume.h"
#include "client/tool/steps.h"
#include "client/tool/tool.h"
#include "client/tool/waits_shown.h"

#define WAITS_SHOWN_MS 2000    /* The line of progress shows what a longer wait is for. */
#define STEP_LOOK_NS 100000000 /* An emulated step looks for a signal this often. */

struct run {
    struct tool_run_options opt;
    struct cachew_client *client;
    struct cachew_job *job;
    struct tool_epoch_sum sum;
    FILE *batches;
    int64_t epoch_start_ns, line_ns, first_ns; /* first_ns: the time when the first batch came. */
    struct tool_steps steps;
    int64_t late_ns; /* The time by which the last step ended too late. */
    uint64_t given;
    struct tool_waits waits;
    struct tool_bad_list bad;
    uint64_t bad_before; /* how many bad elements earlier epochs had */
    struct tool_run_planned planned;
};

/* ---- progress ---- */

static void show_progress(struct run *run)
{
    int64_t now = cw_clock_ns();
    if (run->opt.json || run->opt.quiet || !tool_line_wanted() ||
        now - run->line_ns < 100 * 1000000)
        return;
    run->line_ns = now;
    struct cachew_job_stats stats = {.struct_size = sizeof stats};
    if (cachew_job_stats(run->job, &stats) < 0)
        return;
    double seconds = CW_MAX(tool_seconds_since(run->epoch_start_ns), 1e-3);
    CW_STR_AUTO line = {0};
    cw_str_addf(&line, "epoch %" PRIu64 " ", run->sum.epoch);
    cw_str_add_char(&line, '[');
    int cells = 20, full = (int)(stats.epoch_done * cells);
    for (int i = 0; i < cells; i++)
        cw_str_add_char(&line, i < full ? '#' : '.');
    cw_str_addf(&line, "] %3.0f%% ", 100 * stats.epoch_done);
    tool_print_count((double)run->sum.elements / seconds, &line);
    cw_str_add(&line, "/s ");
    tool_print_bytes((double)run->sum.bytes / seconds, &line);
    cw_str_addf(&line, "/s %u worker%s", stats.workers, stats.workers == 1 ? "" : "s");
    struct cachew_waiting waiting = CACHEW_WAITING_INIT;
    if (cachew_job_waiting(run->job, &waiting) == 0 && waiting.since_ms >= WAITS_SHOWN_MS) {
        cw_str_addf(&line, " waits %lld s: %s", (long long)waiting.since_ms / 1000, waiting.text);
    } else if (stats.epoch_done > 0.005) {
        cw_str_add(&line, " ETA ");
        tool_print_time(seconds * (1 - stats.epoch_done) / stats.epoch_done, &line);
    }
    tool_line_show(cw_str_text(&line));
}

/* Returns how many bad elements were left out of this epoch. */
static uint64_t skipped(const struct run *run)
{
    return run->bad.n - run->bad_before;
}

static void print_epoch_json(const struct run *run, double seconds, const char *hash)
{
    printf("{\"epoch\":%" PRIu64 ",\"batches\":%" PRIu64 ",\"elements\":%" PRIu64
           ",\"bytes\":%" PRIu64,
           run->sum.epoch, run->sum.batches, run->sum.elements, run->sum.bytes);
    if (!run->opt.no_hash)
        printf(",\"hash\":\"%s\"", hash);
    printf(",\"seconds\":%.3f", seconds);
    if (skipped(run) > 0)
        printf(",\"skipped\":%" PRIu64, skipped(run));
    printf("}\n");
}

static void print_epoch_text(const struct run *run, double seconds, const char *hash)
{
    CW_STR_AUTO line = {0};
    cw_str_addf(&line, "epoch %" PRIu64 ": %" PRIu64 " batches, %" PRIu64 " elements, ",
                run->sum.epoch, run->sum.batches, run->sum.elements);
    tool_print_bytes((double)run->sum.bytes, &line);
    cw_str_addf(&line, " in %.1f s (", seconds);
    tool_print_count((double)run->sum.elements / CW_MAX(seconds, 1e-9), &line);
    cw_str_add(&line, "/s, ");
    tool_print_bytes((double)run->sum.bytes / CW_MAX(seconds, 1e-9), &line);
    cw_str_add(&line, "/s)");
    if (skipped(run) > 0)
        cw_str_addf(&line, ", %" PRIu64 " bad element%s left out", skipped(run),
                    skipped(run) == 1 ? "" : "s");
    if (!run->opt.no_hash)
        cw_str_addf(&line, "\n  hash %s", hash);
    puts(cw_str_text(&line));
}

static int print_epoch(struct run *run)
{
    double seconds = tool_seconds_since(run->epoch_start_ns);
    char hash[CW_HASH_TEXT_BYTES];
    cw_hash_text(tool_epoch_sum_get(&run->sum), hash);
    tool_line_clear();
    if (run->opt.json)
        print_epoch_json(run, seconds, hash);
    else
        print_epoch_text(run, seconds, hash);
    int code = tool_flush_output();
    if (run->sum.batches == 0 && run->opt.consumers == 1 && !run->opt.resume)
        fprintf(stderr,
                "cachew: epoch %" PRIu64 " has no batch: no element is left at the end of the "
                "pipeline, or fewer than a batch with drop_remainder needs\n",
                run->sum.epoch);
    return code;
}

static int print_stats(const struct run *run)
{
    struct cachew_job_stats s = {.struct_size = sizeof s};
    if (!run->opt.stats || cachew_job_stats(run->job, &s) < 0)
        return TOOL_OK;
    printf("{\"stats\":{\"batches\":%" PRIu64 ",\"duplicates\":%" PRIu64 ",\"shm_batches\":%" PRIu64
           ",\"grpc_batches\":%" PRIu64 ",\"copies\":%" PRIu64
           ",\"wait_seconds\":%.3f,\"lost_items\":%" PRIu64 ",\"reconnects\":%" PRIu64
           ",\"buffered_bytes\":%" PRIu64 "}}\n",
           s.batches, s.duplicates, s.shm_batches, s.grpc_batches, s.copies,
           (double)s.wait_ns / 1e9, s.lost_items, s.reconnects, s.buffered_bytes);
    return tool_flush_output();
}

/* ---- tokens ---- */

/* The token is written to another file, which is then renamed. So after a kill there is the old
 * token or the new one. */
static int save_token(struct run *run)
{
    unsigned char token[65536];
    size_t n = 0;
    struct cachew_error error = CACHEW_ERROR_INIT;
    if (cachew_job_token(run->job, 1, token, sizeof token, &n, &error) < 0)
        return tool_fail_cachew(&error);
    cw_autofree char *partial = cw_mem_printf("%s.part", run->opt.save_token);
    FILE *file = fopen(partial, "wb");
    if (!file)
        return tool_fail("cannot write %s: %s", partial, strerror(errno));
    bool ok = fwrite(token, 1, n, file) == n;
    ok = fclose(file) == 0 && ok;
    if (!ok || rename(partial, run->opt.save_token) < 0)
        return tool_fail("cannot write %s: %s", run->opt.save_token, strerror(errno));
    return TOOL_OK;
}

static int load_token(const char *path, void **ret_token, size_t *ret_n)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return tool_fail("cannot read the token %s: %s", path, strerror(errno));
    *ret_token = cw_mem_new(65536);
    *ret_n = fread(*ret_token, 1, 65536, file);
    fclose(file);
    return TOOL_OK;
}

/* ---- consuming ---- */

/* A busy host wakes the process late. The next step is shorter by that, so that steps have the
 * requested length on average. */
static void emulate_step(struct run *run, int64_t now)
{
    int64_t step = tool_steps_at(&run->steps, now - run->first_ns),
            wait = CW_MAX(step - run->late_ns, (int64_t)0);

    for (int64_t left = wait; left > 0 && !tool_is_interrupted();
         left = wait - (cw_clock_ns() - now))
        cw_clock_sleep_ns(CW_MIN(left, STEP_LOOK_NS));
    run->late_ns = step ? CW_MIN(CW_MAX(cw_clock_ns() - now - wait, (int64_t)0), step) : 0;
}

/* Appends the batch to the list of --batches. */
static int list_batch(const struct run *run, const struct cachew_batch *batch,
                      struct cw_hash digest)
{
    char text[CW_HASH_TEXT_BYTES] = "-";
    char recipe[160] = "";
    if (!run->opt.no_hash)
        cw_hash_text(digest, text);
    if (run->opt.recipes)
        (void)cachew_batch_recipe(batch, recipe, sizeof recipe);
    fprintf(run->batches, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %s%s%s\n", cachew_batch_epoch(batch),
            cachew_batch_number(batch), cachew_batch_elements(batch), text, *recipe ? " " : "",
            recipe);
    if (fflush(run->batches) == 0 || tool_is_interrupted())
        return TOOL_OK;
    return tool_fail("cannot write %s: %s", run->opt.batches_path, strerror(errno));
}

/* Lists what was left out of what the job gave out last. */
static int list_bad(struct run *run)
{
    struct cw_err err = {0};
    if (tool_bad_list_take(&run->bad, run->job, &err) == 0 || tool_is_interrupted())
        return TOOL_OK;
    return tool_fail_err(&err);
}

static int take_batch(struct run *run, struct cachew_batch *batch)
{
    if (run->sum.batches == 0)
        run->sum.epoch = cachew_batch_epoch(batch);
    struct cw_hash digest = tool_epoch_sum_add(&run->sum, batch, !run->opt.no_hash);
    run->given++;
    int code = run->batches ? list_batch(run, batch, digest) : TOOL_OK;
    if (code == TOOL_OK)
        code = list_bad(run);
    cachew_batch_release(batch);
    if (code != TOOL_OK)
        return code;
    int64_t now = cw_clock_ns();
    if (run->first_ns == 0)
        run->first_ns = now;
    emulate_step(run, now);
    if (run->opt.save_token)
        return save_token(run);
    return TOOL_OK;
}

/* Consumes one epoch to its end. *ret_over says whether it was the last one. */
static int consume_epoch(struct run *run, bool *ret_over)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    for (;;) {
        struct cachew_batch *batch = NULL;
        int rc = cachew_job_next(run->job, 200, &batch, &error);
        if (tool_is_interrupted())
            return cachew_batch_release(batch), TOOL_INTERRUPTED;
        if (rc == CACHEW_E_TIMEOUT) {
            struct cachew_waiting waiting = CACHEW_WAITING_INIT;
            if (cachew_job_waiting(run->job, &waiting) == 0)
                tool_waits_tell(&run->waits, &waiting);
            show_progress(run);
            continue;
        }
        tool_waits_end(&run->waits);
        if (rc < 0)
            return tool_bad_fail(&error, run->opt.skip_bad);
        if (rc == 0)
            break;
        int code = take_batch(run, batch);
        if (code != TOOL_OK)
            return code;
        show_progress(run);
        if (run->opt.stop_after && run->given >= run->opt.stop_after) {
            *ret_over = true;
            return print_epoch(run);
        }
    }
    int code = list_bad(run);
    return code == TOOL_OK ? print_epoch(run) : code;
}

static int consume(struct run *run)
{
    uint64_t epoch = 0;
    bool over = false;
    struct cachew_job_stats stats = {.struct_size = sizeof stats};
    if (cachew_job_stats(run->job, &stats) == 0)
        epoch = stats.epoch;
    while (!over && !cachew_job_done(run->job)) {
        tool_epoch_sum_begin(&run->sum, epoch);
        run->epoch_start_ns = cw_clock_ns();
        run->bad_before = run->bad.n;
        int code = consume_epoch(run, &over);
        if (code != TOOL_OK)
            return code;
        epoch = run->sum.epoch + 1;
    }
    return print_stats(run);
}

static void set_scaling(const struct tool_run_options *o, struct cachew_job_options *job)
{
    job->autoscale = o->autoscale;
    job->autoplace = o->autoplace;
    job->optimize = tool_run_is_planned(o) ? "off" : o->optimize;
    job->fusion = o->no_fusion ? "off" : NULL;
    job->min_workers = (uint32_t)o->min_workers;
    job->max_workers = (uint32_t)o->max_workers;
    job->priority = (int)o->priority;
    job->weight = o->weight;
    job->max_stall = o->max_stall;
    job->client_price = o->client_price;
    job->local_workers = (uint32_t)o->local_workers;
    job->local_threads = (uint32_t)o->local_threads;
    job->local_nice = (int)o->local_nice;
    job->local_cpus = o->local_cpus;
    job->local_memory = o->local_memory;
}

static int connect_and_start(struct run *run, const struct cachew_pipeline *pipeline)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_connect_options connect = CACHEW_CONNECT_OPTIONS_INIT;
    tool_connect_options(&connect);
    connect.local_workers = (int)run->opt.workers;
    connect.local_threads = (int)run->opt.threads;
    connect.no_shared_memory = run->opt.no_shm;
    connect.timeout_ms = run->opt.timeout_ms;
    connect.cache_store = run->opt.cache_store;
    connect.cache_quota = run->opt.cache_quota;
    connect.cancel = tool_cancel();
    if (cachew_connect(run->opt.dispatcher, &connect, &run->client, &error) < 0)
        return tool_fail_cachew(&error);

    struct cachew_job_options job = CACHEW_JOB_OPTIONS_INIT;
    job.cancel = tool_cancel();
    cw_autofree void *token = NULL;
    if (run->opt.resume && load_token(run->opt.resume, &token, &job.token_bytes) != TOOL_OK)
        return TOOL_FAILED;
    job.token = token;
    job.name = run->opt.name;
    job.autocache = run->opt.autocache ? run->opt.autocache : run->planned.autocache;
    job.tenant = run->opt.tenant;
    job.cache = run->opt.cache;
    job.identity = run->opt.identity;
    job.seed = run->opt.seed;
    job.epochs = run->opt.epochs;
    job.unordered = run->opt.no_order;
    job.bad_elements = run->opt.skip_bad ? CACHEW_BAD_SKIP : CACHEW_BAD_FAIL;
    job.buffer_bytes = run->opt.buffer;
    job.window = (uint32_t)run->opt.window;
    job.lease_items = run->opt.lease_items;
    job.at_most_once = run->opt.at_most_once;
    job.consumers = (uint32_t)run->opt.consumers;
    job.consumer = (uint32_t)run->opt.consumer;
    job.on_waiting = tool_waits_on_waiting;
    job.on_waiting_arg = &run->waits;
    set_scaling(&run->opt, &job);
    if (run->opt.consumers > 1)
        job.mode = strcmp(run->opt.mode, "shared") == 0 ? CACHEW_SHARED : CACHEW_COORDINATED;
    if (cachew_job_start(run->client, pipeline, &job, &run->job, &error) < 0)
        return tool_fail_cachew(&error);
    tool_waits_end(&run->waits);
    return TOOL_OK;
}

/* Warns of changes of source files that their identity does not notice. */
static void warn_of_identity(const struct run *run, const struct cachew_pipeline *pipeline)
{
    enum cw_identity identity = cw_pipeline_graph(pipeline)->identity;
    if (run->opt.identity && cw_identity_parse(run->opt.identity, "", &identity, NULL) != 0)
        return; /* The identity is invalid, which cachew_job_start will report. */
    if (cw_identity_blind(identity) && !run->opt.quiet)
        fprintf(stderr, "cachew: %s\n", cw_identity_blind(identity));
}

static bool is_local(const struct run *run)
{
    return !run->opt.dispatcher || strcmp(run->opt.dispatcher, "local:") == 0;
}

/* The job begins in the written order, and goes over to the plan while it runs. */
static void use_plan(const struct run *run)
{
    struct cw_err err = {0};
    if (run->planned.order &&
        tool_run_replan(run->opt.dispatcher, cachew_job_id(run->job), run->planned.order, &err) < 0)
        fprintf(stderr, "cachew: warning: the plan is not used: %s\n", err.msg);
}

static int load(struct run *run, const char *path, struct cachew_pipeline **ret_pipeline)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cw_err err = {0};
    if (!tool_run_is_planned(&run->opt))
        return cachew_pipeline_load(path, ret_pipeline, &error) < 0 ? tool_fail_cachew(&error)
                                                                    : TOOL_OK;
    if (tool_run_plan(path, &run->opt, is_local(run), &run->planned, &err) < 0)
        return tool_fail_err(&err);
    *ret_pipeline = cw_steal(&run->planned.pipeline);
    if (run->planned.autocache && is_local(run) && !run->opt.cache_store)
        fputs("cachew: warning: the plan's cache cannot be had without --cache-store\n", stderr);
    return TOOL_OK;
}

static int run_pipeline(struct run *run, const char *path)
{
    struct cw_err err = {0};
    struct cachew_pipeline *pipeline = NULL;
    int code = load(run, path, &pipeline);
    if (code != TOOL_OK)
        return code;
    warn_of_identity(run, pipeline);
    code = connect_and_start(run, pipeline);
    cachew_pipeline_release(pipeline);
    if (code == TOOL_OK)
        use_plan(run);
    if (code == TOOL_OK && run->opt.batches_path) {
        run->batches = fopen(run->opt.batches_path, "a");
        if (!run->batches)
            code = tool_is_interrupted()
                       ? TOOL_INTERRUPTED
                       : tool_fail("cannot write %s: %s", run->opt.batches_path, strerror(errno));
    }
    if (code == TOOL_OK && tool_bad_list_open(&run->bad, run->opt.bad_list, run->opt.quiet,
                                              tool_bad_list_is_fresh(run->job), &err) != 0)
        code = tool_fail_err(&err);
    if (code == TOOL_OK)
        code = consume(run);
    if (code == TOOL_OK && run->opt.cache_store && !run->opt.quiet)
        tool_run_tell_kept(run->client, run->job);
    if (tool_bad_list_close(&run->bad, &err) != 0 && code == TOOL_OK)
        code = tool_fail_err(&err);
    cachew_job_close(run->job);
    cachew_disconnect(run->client);
    if (run->batches && fclose(run->batches) != 0 && code == TOOL_OK)
        code = tool_fail("cannot write %s: %s", run->opt.batches_path, strerror(errno));
    return code;
}

int tool_cmd_run(int argc, char **argv)
{
    struct run run = {0};
    const char *file;
    int code = 0;
    if (!tool_run_options_parse(argc, argv, &run.opt, &file, &code))
        return code;
    struct cw_err err = {0};
    if (run.opt.step_ms && tool_steps_parse(run.opt.step_ms, &run.steps, &err) < 0)
        return tool_fail_err(&err), TOOL_USAGE;
    tool_catch_signals();
    tool_epoch_sum_init(&run.sum, run.opt.no_order);
    code = run_pipeline(&run, file);
    cw_mem_free(run.planned.autocache);
    cw_graph_unref(run.planned.order);
    tool_epoch_sum_fini(&run.sum);
    return code;
}
