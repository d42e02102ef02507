/* SPDX-License-Identifier: Apache-2.0 */
/* cachew run FILE: runs a pipeline through the service and consumes its batches. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/pipeline.h"
#include "client/tool/consume.h"
#include "client/tool/steps.h"
#include "client/tool/tool.h"

#define STEP_LOOK_NS 100000000 /* a signal ends an emulated step */

struct run_options {
    const char *dispatcher, *name, *batches_path, *save_token, *resume, *mode, *cache_store,
        *autocache, *tenant, *autoscale, *autoplace, *step_ms, *identity;
    uint64_t cache_quota, seed, epochs, buffer, lease_items, stop_after, local_memory;
    int64_t workers, threads, window, timeout_ms, consumers, consumer;
    int64_t min_workers, max_workers, priority, local_workers, local_threads, local_nice;
    double weight, max_stall, client_price, local_cpus;
    bool no_order, json, skip_bad, no_hash, no_shm, quiet, at_most_once, stats, recipes;
};

struct run {
    struct run_options opt;
    struct cachew_client *client;
    struct cachew_job *job;
    struct tool_epoch_sum sum;
    FILE *batches;
    int64_t epoch_start_ns, line_ns, first_ns; /* first_ns: when the first batch came */
    struct tool_steps steps;
    int64_t late_ns; /* by which the last of them ended late */
    uint64_t given;
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
    cw_str_addf(&line, "/s %u workers", stats.workers);
    if (stats.epoch_done > 0.005) {
        cw_str_add(&line, " ETA ");
        tool_print_time(seconds * (1 - stats.epoch_done) / stats.epoch_done, &line);
    }
    tool_line_show(cw_str_text(&line));
}

static void print_epoch(struct run *run)
{
    double seconds = tool_seconds_since(run->epoch_start_ns);
    char hash[CW_HASH_TEXT_BYTES];
    cw_hash_text(tool_epoch_sum_get(&run->sum), hash);
    tool_line_clear();
    if (run->opt.json) {
        printf("{\"epoch\":%" PRIu64 ",\"batches\":%" PRIu64 ",\"elements\":%" PRIu64
               ",\"bytes\":%" PRIu64 ",\"hash\":\"%s\",\"seconds\":%.3f",
               run->sum.epoch, run->sum.batches, run->sum.elements, run->sum.bytes, hash, seconds);
        if (run->sum.skipped)
            printf(",\"skipped\":%" PRIu64, run->sum.skipped);
        printf("}\n");
        fflush(stdout);
        return;
    }
    CW_STR_AUTO line = {0};
    cw_str_addf(&line, "epoch %" PRIu64 ": %" PRIu64 " batches, %" PRIu64 " elements, ",
                run->sum.epoch, run->sum.batches, run->sum.elements);
    tool_print_bytes((double)run->sum.bytes, &line);
    cw_str_addf(&line, " in %.1f s (", seconds);
    tool_print_count((double)run->sum.elements / CW_MAX(seconds, 1e-9), &line);
    cw_str_add(&line, "/s, ");
    tool_print_bytes((double)run->sum.bytes / CW_MAX(seconds, 1e-9), &line);
    cw_str_add(&line, "/s)");
    if (run->sum.skipped)
        cw_str_addf(&line, ", %" PRIu64 " bad elements left out", run->sum.skipped);
    if (!run->opt.no_hash)
        cw_str_addf(&line, "\n  hash %s", hash);
    puts(cw_str_text(&line));
    fflush(stdout);
}

static void print_stats(const struct run *run)
{
    struct cachew_job_stats s = {.struct_size = sizeof s};
    if (!run->opt.stats || cachew_job_stats(run->job, &s) < 0)
        return;
    printf("{\"stats\":{\"batches\":%" PRIu64 ",\"duplicates\":%" PRIu64 ",\"shm_batches\":%" PRIu64
           ",\"grpc_batches\":%" PRIu64 ",\"copies\":%" PRIu64
           ",\"wait_seconds\":%.3f,\"lost_items\":%" PRIu64 ",\"reconnects\":%" PRIu64
           ",\"buffered_bytes\":%" PRIu64 "}}\n",
           s.batches, s.duplicates, s.shm_batches, s.grpc_batches, s.copies,
           (double)s.wait_ns / 1e9, s.lost_items, s.reconnects, s.buffered_bytes);
    fflush(stdout);
}

/* ---- tokens ---- */

/* Written beside and renamed, so that a kill leaves the old one or the new one. */
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

/* A busy host wakes us late: the next step is shorter by that, so that they take on the average
 * what was asked for. */
static void emulate_step(struct run *run, int64_t now)
{
    int64_t step = tool_steps_at(&run->steps, now - run->first_ns),
            wait = CW_MAX(step - run->late_ns, (int64_t)0);

    for (int64_t left = wait; left > 0 && !tool_is_interrupted();
         left = wait - (cw_clock_ns() - now))
        cw_clock_sleep_ns(CW_MIN(left, STEP_LOOK_NS));
    run->late_ns = step ? CW_MIN(CW_MAX(cw_clock_ns() - now - wait, (int64_t)0), step) : 0;
}

static int take_batch(struct run *run, struct cachew_batch *batch)
{
    if (run->sum.batches == 0)
        run->sum.epoch = cachew_batch_epoch(batch);
    struct cw_hash digest = tool_epoch_sum_add(&run->sum, batch, !run->opt.no_hash);
    run->given++;
    if (run->batches) {
        char text[CW_HASH_TEXT_BYTES];
        cw_hash_text(digest, text);
        char recipe[160] = "";
        if (run->opt.recipes)
            (void)cachew_batch_recipe(batch, recipe, sizeof recipe);
        fprintf(run->batches, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %s%s%s\n",
                cachew_batch_epoch(batch), cachew_batch_number(batch), cachew_batch_elements(batch),
                text, *recipe ? " " : "", recipe);
        fflush(run->batches);
    }
    cachew_batch_release(batch);
    int64_t now = cw_clock_ns();
    if (run->first_ns == 0)
        run->first_ns = now;
    emulate_step(run, now);
    if (run->opt.save_token)
        return save_token(run);
    return TOOL_OK;
}

/* One epoch to its end. *ret_over: nothing more is to come. */
static int consume_epoch(struct run *run, bool *ret_over)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    for (;;) {
        struct cachew_batch *batch = NULL;
        int rc = cachew_job_next(run->job, 200, &batch, &error);
        if (tool_is_interrupted())
            return cachew_batch_release(batch), TOOL_INTERRUPTED;
        if (rc == CACHEW_E_TIMEOUT) {
            show_progress(run);
            continue;
        }
        if (rc < 0)
            return tool_fail_cachew(&error);
        if (rc == 0)
            break;
        int code = take_batch(run, batch);
        if (code != TOOL_OK)
            return code;
        show_progress(run);
        if (run->opt.stop_after && run->given >= run->opt.stop_after) {
            print_epoch(run);
            *ret_over = true;
            return TOOL_OK;
        }
    }
    print_epoch(run);
    return TOOL_OK;
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
        int code = consume_epoch(run, &over);
        if (code != TOOL_OK)
            return code;
        epoch = run->sum.epoch + 1;
    }
    print_stats(run);
    return TOOL_OK;
}

static void set_scaling(const struct run_options *o, struct cachew_job_options *job)
{
    job->autoscale = o->autoscale;
    job->autoplace = o->autoplace;
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
    job.autocache = run->opt.autocache;
    job.tenant = run->opt.tenant;
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
    set_scaling(&run->opt, &job);
    if (run->opt.consumers > 1)
        job.mode = strcmp(run->opt.mode, "shared") == 0 ? CACHEW_SHARED : CACHEW_COORDINATED;
    if (cachew_job_start(run->client, pipeline, &job, &run->job, &error) < 0)
        return tool_fail_cachew(&error);
    return TOOL_OK;
}

/* In one line, what the files' identity cannot notice. */
static void warn_of_identity(const struct run *run, const struct cachew_pipeline *pipeline)
{
    enum cw_identity identity = cw_pipeline_graph(pipeline)->identity;
    if (run->opt.identity && cw_identity_parse(run->opt.identity, "", &identity, NULL) != 0)
        return; /* the job's start says so */
    if (cw_identity_blind(identity) && !run->opt.quiet)
        fprintf(stderr, "cachew: %s\n", cw_identity_blind(identity));
}

static int run_pipeline(struct run *run, const char *path)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_pipeline *pipeline = NULL;
    if (cachew_pipeline_load(path, &pipeline, &error) < 0)
        return tool_fail_cachew(&error);
    warn_of_identity(run, pipeline);
    int code = connect_and_start(run, pipeline);
    cachew_pipeline_release(pipeline);
    if (code == TOOL_OK && run->opt.batches_path) {
        run->batches = fopen(run->opt.batches_path, "a");
        if (!run->batches)
            code = tool_is_interrupted()
                       ? TOOL_INTERRUPTED
                       : tool_fail("cannot write %s: %s", run->opt.batches_path, strerror(errno));
    }
    if (code == TOOL_OK)
        code = consume(run);
    cachew_job_close(run->job);
    cachew_disconnect(run->client);
    if (run->batches && fclose(run->batches) != 0)
        code = tool_fail("cannot write %s: %s", run->opt.batches_path, strerror(errno));
    return code;
}

int tool_cmd_run(int argc, char **argv)
{
    struct run run = {
        .opt = {
            .dispatcher = tool_dispatcher(), .epochs = 1, .mode = "coordinated", .consumers = 1}};
    struct run_options *o = &run.opt;
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER_OR_LOCAL(&o->dispatcher),
        {"epochs", 'e', CW_ARG_U64, &o->epochs, "N",
         "passes over the data; 0 = without end (default 1)", 0, 0},
        {"seed", 's', CW_ARG_U64, &o->seed, "S", "of shuffling and augmentation (default 0)", 0, 0},
        {"workers", 'w', CW_ARG_I64, &o->workers, "N", "local: only: worker processes (default 1)",
         0, 1024},
        {"threads", 't', CW_ARG_I64, &o->threads, "N",
         "local: only: threads of each worker (default: CPUs)", 0, 1024},
        {"no-order", 0, CW_ARG_FLAG, &o->no_order, NULL,
         "take batches as they are ready; the hash is then a sum", 0, 0},
        TOOL_ROW_JSON(&o->json, "print one JSON line an epoch, and nothing else"),
        {"name", 'n', CW_ARG_STR, &o->name, "NAME",
         "name the job: it outlives its clients, and can be joined", 0, 0},
        {"identity", 0, CW_ARG_STR, &o->identity, "WORD",
         "what tells one source file from another: mtime, size, sample or content (default: as the "
         "pipeline says, else mtime)",
         0, 0},
        {"skip-bad", 0, CW_ARG_FLAG, &o->skip_bad, NULL,
         "leave out bad elements and count them, instead of failing", 0, 0},
        {"step-ms", 0, CW_ARG_STR, &o->step_ms, "N",
         "emulate a training step of N milliseconds a batch; N,N@TIME,...: others from TIME after "
         "the first batch on",
         0, 0},
        {"stop-after", 0, CW_ARG_U64, &o->stop_after, "N", "stop after N batches", 0, 0},
        {"save-token", 0, CW_ARG_STR, &o->save_token, "FILE", "save the position after each batch",
         0, 0},
        {"resume", 0, CW_ARG_STR, &o->resume, "FILE", "go on behind a saved position", 0, 0},
        {"batches", 0, CW_ARG_STR, &o->batches_path, "FILE",
         "append a line per batch: epoch, number, elements, digest", 0, 0},
        {"recipes", 0, CW_ARG_FLAG, &o->recipes, NULL,
         "with --batches: a fifth column, what `cachew replay` takes", 0, 0},
        {"consumers", 0, CW_ARG_I64, &o->consumers, "N", "consumers of the job in all (default 1)",
         1, 1024},
        {"consumer", 0, CW_ARG_I64, &o->consumer, "I", "which of them this is, from 0", 0, 1023},
        {"mode", 0, CW_ARG_STR, &o->mode, "WORD",
         "several consumers: coordinated (default) or shared", 0, 0},
        {"at-most-once", 0, CW_ARG_FLAG, &o->at_most_once, NULL,
         "leave out what a dead worker held", 0, 0},
        {"cache-store", 0, CW_ARG_STR, &o->cache_store, "URL",
         "local: only: where elements are cached, for example dir:/var/cache/cachew (default: "
         "nowhere)",
         0, 0},
        {"cache-quota", 0, CW_ARG_BYTES, &o->cache_quota, "BYTES",
         "local: only: bytes there at most (default: no limit)", 0, 0},
        {"autocache", 0, CW_ARG_STR, &o->autocache, "POLICY",
         "what is cached: auto, cachew, off, force:NODE (default: the dispatcher's)", 0, 0},
        {"tenant", 0, CW_ARG_STR, &o->tenant, "NAME",
         "whose job it is: caches are shared within a tenant only", 0, 0},
        {"autoscale", 0, CW_ARG_STR, &o->autoscale, "POLICY",
         "how many workers it gets: auto, cachew, hpa, fixed:N, off = all (default: the "
         "dispatcher's)",
         0, 0},
        {"autoplace", 0, CW_ARG_STR, &o->autoplace, "POLICY",
         "with --local-workers, which run here: auto, fixed:R,L, pecan, off (default: the "
         "dispatcher's)",
         0, 0},
        {"min-workers", 0, CW_ARG_I64, &o->min_workers, "N",
         "workers that it has a right to (default 1)", 0, 1e6},
        {"max-workers", 0, CW_ARG_I64, &o->max_workers, "N",
         "workers at most (default: the dispatcher's limit)", 0, 1e6},
        {"priority", 0, CW_ARG_I64, &o->priority, "N",
         "jobs of a higher one are served first, above the minimum of all (default 0)", -1e6, 1e6},
        {"weight", 0, CW_ARG_F64, &o->weight, "W", "of the tenant's share (default 1)", 0, 1e6},
        {"max-stall", 0, CW_ARG_F64, &o->max_stall, "SHARE",
         "of its time that the trainer may wait (default: the dispatcher's)", 0, 1},
        {"client-price", 0, CW_ARG_F64, &o->client_price, "PRICE",
         "of this host, an hour (default: the dispatcher's)", 0, 1e9},
        {"local-workers", 0, CW_ARG_I64, &o->local_workers, "N",
         "workers that may be started on this host for this job (default none)", 0, 64},
        {"local-threads", 0, CW_ARG_I64, &o->local_threads, "N", "threads of each (default: CPUs)",
         0, 1024},
        {"local-nice", 0, CW_ARG_I64, &o->local_nice, "N",
         "nice level of each, on top of our own (default 0)", 0, 19},
        {"local-cpus", 0, CW_ARG_F64, &o->local_cpus, "CPUS",
         "CPU time that each may use, in seconds a second (default: no limit)", 0, 4096},
        {"local-memory", 0, CW_ARG_BYTES, &o->local_memory, "BYTES",
         "memory that all of them may hold together (default: a quarter of the RAM)", 0, 0},
        {"buffer", 0, CW_ARG_BYTES, &o->buffer, "BYTES",
         "received and not yet consumed (default 256M)", 0, 0},
        {"window", 0, CW_ARG_I64, &o->window, "N", "batches computed ahead (default: chosen)", 0,
         1e9},
        {"lease-items", 0, CW_ARG_U64, &o->lease_items, "N",
         "fixed length of leases, for tests (default: adapts)", 0, 0},
        {"no-shm", 0, CW_ARG_FLAG, &o->no_shm, NULL, "batches come by gRPC also on one host", 0, 0},
        {"no-hash", 0, CW_ARG_FLAG, &o->no_hash, NULL, "do not digest batches (benchmarks)", 0, 0},
        {"stats", 0, CW_ARG_FLAG, &o->stats, NULL, "print a JSON line of statistics at the end", 0,
         0},
        {"timeout", 0, CW_ARG_MS, &o->timeout_ms, "TIME",
         "to reach the dispatcher, and for the job to begin since something last moved (default "
         "10s; local: starts in 30s)",
         0, 0},
        TOOL_ROW_QUIET(&o->quiet, "no progress bar"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew run",
        .usage = "FILE.json [options]",
        .about = "Runs a pipeline through the service and consumes its batches. Prints for each "
                 "epoch what came, and a "
                 "128-bit hash of it: equal for the same pipeline and seed, whatever computed it.",
        .rows = rows,
        .tail = "examples:\n  cachew run photos.json\n  cachew run photos.json --dispatcher "
                "host:7070 --epochs 3 --json\n",
    };
    const char *files[1];
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "which file?", files, 1, &code))
        return code;
    if (strcmp(o->mode, "coordinated") != 0 && strcmp(o->mode, "shared") != 0)
        return tool_fail("option --mode: must be coordinated or shared (given \"%s\")", o->mode),
               TOOL_USAGE;
    struct cw_err err = {0};
    if (o->step_ms && tool_steps_parse(o->step_ms, &run.steps, &err) < 0)
        return tool_fail_err(&err), TOOL_USAGE;
    tool_catch_signals();
    tool_epoch_sum_init(&run.sum, o->no_order);
    code = run_pipeline(&run, files[0]);
    tool_epoch_sum_fini(&run.sum);
    return code;
}
