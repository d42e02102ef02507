/* SPDX-License-Identifier: Apache-2.0 */
/* cachew materialize FILE OUT: runs a pipeline once and writes its elements. Finished shards are
 * kept: a run that is killed continues behind the last one. A shard ends with the batch that makes
 * it long enough, so its contents depend only on the pipeline, the seed and the options. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "cachew/cachew.h"
#include "client/tool/bad_elements_file.h"
#include "client/tool/shard/output.h"
#include "client/tool/shard/rows.h"
#include "client/tool/tool.h"
#include "format/chunk.h"

struct options {
    const char *dispatcher, *pipeline, *out, *compress, *bad_list;
    uint64_t seed, shard_bytes;
    int64_t workers, threads, timeout_ms;
    bool keep_batches, force, skip_bad, json, quiet;
};
struct materialize {
    struct options opt;
    struct tool_rows rows;
    struct tool_output output;
    struct tool_output_state state;
    struct tool_shard_options shard_options;
    struct tool_shard *shard; /* The shard that is being filled; NULL if there is none. */
    uint64_t shard_elements;
    uint64_t resumed; /* The elements that an earlier run has written. */
    struct tool_bad_list bad;
    struct cachew_client *client;
    struct cachew_job *job;
    int64_t start_ns, line_ns;
};

static int from_cachew(struct cw_err *err, const struct cachew_error *error)
{
    return cw_err_set(err, error->code, "%s", error->message);
}

/* ---- the identity of the output ---- */

/* Returns a hash of everything that the output depends on, except the source files, which the token
 * covers. */
static struct cw_hash id_of(const struct materialize *m, const struct cachew_pipeline *pipeline)
{
    struct cw_hasher *hasher = cw_hasher_new();
    char *text = cachew_pipeline_text(pipeline);
    cw_hasher_add_str(hasher, text);
    cw_hasher_add_str(hasher, m->output.format->name);
    cw_hasher_add_u64(hasher, m->opt.seed);
    cw_hasher_add_u64(hasher, m->opt.shard_bytes);
    cw_hasher_add_u64(hasher, (uint64_t)m->opt.keep_batches << 1 | m->opt.skip_bad);
    cw_hasher_add_u64(hasher, (uint64_t)(int64_t)m->shard_options.level);
    for (size_t i = 0; i < m->shard_options.ext.n; i++)
        cw_hasher_add_str(hasher, m->shard_options.ext.v[i]);
    struct cw_hash id = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    cw_mem_free(text);
    return id;
}

/* Finds out what exists already: nothing, a part of the same output, or something else. */
static int inspect_output(struct materialize *m, struct cw_err *err)
{
    const struct cw_hash id = m->shard_options.id;
    struct tool_output_state *state = &m->state;
    int rc = m->opt.force ? tool_output_clear(&m->output, err)
                          : tool_output_load(&m->output, state, err);
    if (rc < 0)
        return rc;
    bool none = state->id.hi == 0 && state->id.lo == 0;
    if (!none && state->done)
        return cw_err_set(err, CW_E_EXISTS,
                          "%s is complete already (%" PRIu64
                          " shards): give --force to write it anew",
                          m->opt.out, state->shards);
    if (!none && !cw_hash_eq(state->id, id))
        return cw_err_set(err, CW_E_EXISTS,
                          "%s was begun with another pipeline, seed or other options: give --force "
                          "to write it anew",
                          m->opt.out);
    m->resumed = state->elements;
    state->id = id;
    return none ? tool_output_save(&m->output, state, err) : 0;
}

static int start_job(struct materialize *m, const struct cachew_pipeline *pipeline,
                     struct cw_err *err)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_connect_options connect = CACHEW_CONNECT_OPTIONS_INIT;
    struct cachew_job_options job = CACHEW_JOB_OPTIONS_INIT;
    tool_connect_options(&connect);
    connect.local_workers = (int)m->opt.workers;
    connect.local_threads = (int)m->opt.threads;
    connect.timeout_ms = m->opt.timeout_ms;
    connect.cancel = job.cancel = tool_cancel();
    if (cachew_connect(m->opt.dispatcher, &connect, &m->client, &error) < 0)
        return from_cachew(err, &error);
    job.seed = m->opt.seed;
    job.bad_elements = m->opt.skip_bad ? CACHEW_BAD_SKIP : CACHEW_BAD_FAIL;
    if (m->state.token_n) {
        job.token = m->state.token;
        job.token_bytes = m->state.token_n;
    }
    return cachew_job_start(m->client, pipeline, &job, &m->job, &error) < 0
               ? from_cachew(err, &error)
               : 0;
}

/* ---- writing ---- */

static int finish_shard(struct materialize *m, bool done, struct cw_err *err)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    const struct iovec *parts = NULL;
    size_t parts_n = 0;
    int rc = 0;
    if (m->shard) {
        rc = m->output.format->finish(m->shard, &parts, &parts_n, err);
        if (rc == 0)
            rc = tool_output_put(&m->output, m->state.shards, parts, parts_n, err);
        for (size_t i = 0; i < parts_n; i++)
            m->state.bytes += parts[i].iov_len;
        m->state.shards++;
        m->state.elements += m->shard_elements;
        m->output.format->discard(m->shard);
        m->shard = NULL;
        m->shard_elements = 0;
    }
    if (rc == 0 && !done &&
        cachew_job_token(m->job, 1, m->state.token, sizeof(m->state.token), &m->state.token_n,
                         &error) < 0)
        rc = from_cachew(err, &error);
    m->state.done = done;
    return rc < 0 ? rc : tool_output_save(&m->output, &m->state, err);
}

/* Takes the spec from the first batch, if the pipeline did not say what its elements are. */
static int check_elements(struct materialize *m, const struct cachew_batch *batch,
                          struct cw_err *err)
{
    if (m->rows.known)
        return 0;
    int rc = tool_rows_take_spec(&m->rows, batch, err);
    m->shard_options.spec = cw_spec_borrow(&m->rows.spec);
    return rc < 0 ? rc : m->output.format->check(&m->shard_options, err);
}

static int add_rows(struct materialize *m, const struct cachew_batch *batch, struct cw_err *err)
{
    struct cw_element element = {0};
    struct cw_arena *arena = cw_arena_new((size_t)1 << 20);
    int rc = check_elements(m, batch, err);
    if (rc == 0 && !m->shard)
        m->shard = m->output.format->begin(&m->shard_options);
    for (uint64_t i = 0; rc == 0 && i < tool_rows_n(&m->rows, batch); i++) {
        cw_arena_reset(arena);
        rc = tool_rows_get(&m->rows, batch, i, &element, arena, err);
        if (rc == 0)
            rc = m->output.format->add(m->shard, m->state.elements + m->shard_elements, &element,
                                       err);
        m->shard_elements += rc == 0;
    }
    cw_arena_free(arena);
    return rc;
}

static bool is_full(const struct materialize *m)
{
    return m->shard && (m->output.format->bytes(m->shard) >= m->opt.shard_bytes ||
                        m->shard_elements >= CW_CHUNK_RECORDS_MAX / 2);
}

/* ---- progress ---- */

static void show_progress(struct materialize *m)
{
    int64_t now = cw_clock_ns();
    struct cachew_job_stats stats = {.struct_size = sizeof(stats)};
    if (m->opt.json || m->opt.quiet || !tool_line_wanted() || now - m->line_ns < 100 * 1000000 ||
        cachew_job_stats(m->job, &stats) < 0)
        return;
    m->line_ns = now;
    double seconds = CW_MAX(tool_seconds_since(m->start_ns), 1e-3);
    CW_STR_AUTO line = {0};
    cw_str_addf(&line, "%3.0f%%  ", 100 * stats.epoch_done);
    tool_print_count((double)(m->state.elements + m->shard_elements), &line);
    cw_str_addf(&line, " elements, %" PRIu64 " shards, ", m->state.shards);
    tool_print_bytes((double)m->state.bytes, &line);
    cw_str_add(&line, ", ");
    tool_print_count((double)(m->state.elements + m->shard_elements - m->resumed) / seconds, &line);
    cw_str_add(&line, "/s");
    tool_line_show(cw_str_text(&line));
}

static void print_summary(const struct materialize *m)
{
    const struct tool_output_state *s = &m->state;
    CW_STR_AUTO out = {0};
    tool_line_clear();
    if (m->opt.json) {
        cw_str_add(&out, "{\"out\":");
        cw_str_add_json(&out, m->opt.out, strlen(m->opt.out));
        cw_str_addf(&out,
                    ",\"format\":\"%s\",\"shards\":%" PRIu64 ",\"elements\":%" PRIu64
                    ",\"bytes\":%" PRIu64 ",\"resumed_at\":%" PRIu64 ",\"skipped\":%" PRIu64
                    ",\"seconds\":%.3f}",
                    m->output.format->name, s->shards, s->elements, s->bytes, m->resumed, m->bad.n,
                    tool_seconds_since(m->start_ns));
        puts(cw_str_text(&out));
        return;
    }
    cw_str_addf(&out, "%s: %" PRIu64 " elements in %" PRIu64 " shards, ", m->opt.out, s->elements,
                s->shards);
    tool_print_bytes((double)s->bytes, &out);
    cw_str_addf(&out, ", %.1f s", tool_seconds_since(m->start_ns));
    if (m->resumed)
        cw_str_addf(&out, " (%" PRIu64 " elements were there)", m->resumed);
    if (m->bad.n > 0)
        cw_str_addf(&out, ", %" PRIu64 " bad element%s left out", m->bad.n,
                    m->bad.n == 1 ? "" : "s");
    puts(cw_str_text(&out));
}

/* ---- running ---- */

static int run_job(struct materialize *m, struct cw_err *err)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    int rc = 0;
    while (rc == 0 && !cachew_job_done(m->job)) {
        struct cachew_batch *batch = NULL;
        int got = cachew_job_next(m->job, 200, &batch, &error);
        if (tool_is_interrupted()) {
            cachew_batch_release(batch);
            return cw_err_set(
                err, CW_E_CANCELLED,
                "interrupted: run the same command again to continue after shard %" PRIu64,
                m->state.shards);
        }
        show_progress(m);
        if (got == CACHEW_E_TIMEOUT)
            continue;
        if (got < 0)
            return from_cachew(err, &error);
        rc = tool_bad_list_take(&m->bad, m->job, err);
        if (got == 0)
            break;
        rc = rc == 0 ? add_rows(m, batch, err) : rc;
        cachew_batch_release(batch);
        if (rc == 0 && is_full(m))
            rc = finish_shard(m, false, err);
    }
    return rc < 0 ? rc : finish_shard(m, true, err);
}

static int prepare(struct materialize *m, const struct cachew_pipeline *pipeline,
                   struct cw_err *err)
{
    int rc = tool_rows_init(&m->rows, m->opt.pipeline, m->opt.keep_batches, err);
    if (rc == 0)
        rc = tool_output_open(&m->output, m->opt.out, err);
    if (rc < 0)
        return rc;
    m->shard_options.spec = cw_spec_borrow(&m->rows.spec);
    m->shard_options.id = id_of(m, pipeline);
    if (m->rows.known)
        rc = m->output.format->check(&m->shard_options, err);
    return rc < 0 ? rc : inspect_output(m, err);
}

static int materialize(struct materialize *m, struct cw_err *err)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_pipeline *pipeline = NULL;
    if (cachew_pipeline_load(m->opt.pipeline, &pipeline, &error) < 0)
        return from_cachew(err, &error);
    m->start_ns = cw_clock_ns();
    int rc = prepare(m, pipeline, err);
    if (rc == 0)
        rc = start_job(m, pipeline, err);
    cachew_pipeline_release(pipeline);
    if (rc == 0)
        rc = tool_bad_list_open(&m->bad, m->opt.bad_list, m->opt.quiet,
                                tool_bad_list_is_fresh(m->job), err);
    if (rc == 0)
        rc = run_job(m, err);
    int closed = tool_bad_list_close(&m->bad, rc == 0 ? err : NULL);
    rc = rc == 0 ? closed : rc;
    if (rc == 0)
        print_summary(m);
    m->output.format = m->output.format ? m->output.format : &tool_shard_chunks;
    m->output.format->discard(m->shard);
    cachew_job_close(m->job);
    cachew_disconnect(m->client);
    tool_output_close(&m->output);
    cw_spec_fini(&m->rows.spec);
    return rc;
}

static bool parse_compress(const char *text, int *ret_level)
{
    int64_t level = 0;
    if (strcmp(text, "auto") == 0)
        level = CW_CHUNK_AUTO;
    else if (strcmp(text, "off") == 0)
        level = CW_CHUNK_PLAIN;
    else if (!cw_str_to_i64(text, &level) || level < 1 || level > 19)
        return false;
    *ret_level = (int)level;
    return true;
}

int tool_cmd_materialize(int argc, char **argv)
{
    struct materialize m = {.opt = {.dispatcher = tool_dispatcher(),
                                    .compress = "off",
                                    .shard_bytes = (uint64_t)64 << 20}};
    struct options *o = &m.opt;
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER_OR_LOCAL(&o->dispatcher),
        {"seed", 's', CW_ARG_U64, &o->seed, "S", "of shuffling and augmentation (default 0)", 0, 0},
        {"workers", 'w', CW_ARG_I64, &o->workers, "N", "local: only: worker processes (default 1)",
         0, 1024},
        {"threads", 't', CW_ARG_I64, &o->threads, "N",
         "local: only: threads of each worker (default: CPUs)", 0, 1024},
        {"shard-bytes", 0, CW_ARG_BYTES, &o->shard_bytes, "BYTES",
         "a shard ends with the batch that reaches this (default 64M)", 1, 0x1p40},
        {"compress", 0, CW_ARG_STR, &o->compress, "LEVEL",
         "chunks: zstd 1 to 19, auto, or off (default)", 0, 0},
        {"ext", 0, CW_ARG_LIST, &m.shard_options.ext, "FIELD=EXT",
         "tar: extension of a field: jpg, txt, cls (default npy, strings bin)", 0, 0},
        {"keep-batches", 0, CW_ARG_FLAG, &o->keep_batches, NULL,
         "write batches as they are, instead of their rows", 0, 0},
        TOOL_ROW_PLUGIN("local: only: load operators of one's own; may stand several times"),
        {"skip-bad", 0, CW_ARG_FLAG, &o->skip_bad, NULL,
         "leave out bad elements and count them, instead of failing", 0, 0},
        {"bad-list", 0, CW_ARG_STR, &o->bad_list, "FILE",
         "with --skip-bad: a line of JSON for each bad element: file, record, operator, reason", 0,
         0},
        {"force", 0, CW_ARG_FLAG, &o->force, NULL, "remove what is there of OUT, and write it anew",
         0, 0},
        {"timeout", 0, CW_ARG_MS, &o->timeout_ms, "TIME",
         "to reach the dispatcher, and for the job to begin since something last moved (default "
         "10s; local: starts in 30s)",
         0, 0},
        TOOL_ROW_JSON(&o->json, "print one JSON object at the end, and nothing else"),
        TOOL_ROW_QUIET(&o->quiet, "no progress line"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew materialize",
        .usage = "FILE.json OUT [options]",
        .about = "Runs a pipeline once and writes its elements: OUT is a directory or chunks:STORE "
                 "(chunks, read back by the operator `chunks`), "
                 "NAME.tfrecord (tf.train.Example), or NAME.tar (WebDataset). A run that was "
                 "killed goes on when it is started again.",
        .rows = rows,
        .tail = "examples:\n  cachew materialize photos.json /data/photos\n  cachew materialize "
                "photos.json /data/photos.tar --ext label=cls\n"
                "  cachew materialize photos.json chunks:gluster://host/volume/photos\n",
    };
    const char *words[2];
    int code = 0;
    struct cw_err err = {0};
    if (!tool_parse_words(&spec, argc, argv, "which file, and where to?", words, 2, &code))
        return code;
    if (!parse_compress(o->compress, &m.shard_options.level))
        return tool_fail("option --compress: \"%s\" is not 1 to 19, auto or off", o->compress),
               TOOL_USAGE;
    o->pipeline = words[0];
    o->out = words[1];
    tool_catch_signals();
    if (materialize(&m, &err) == 0)
        return TOOL_OK;
    tool_fail_err(&err);
    return tool_is_interrupted() ? TOOL_INTERRUPTED : TOOL_FAILED;
}
