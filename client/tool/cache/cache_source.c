/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a job of the operator source_blocks and adds up its output; and adds up what workers report
 * of their source caches. */
#include "client/tool/cache/cache_source.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cachew/cachew.h"
#include "format/source_file.h"
#include "graph/graph.h"
#include "ops/op.h"

/* ---- which files ---- */

static void add_source(struct tool_sources *sources, const char *pattern)
{
    CW_GROW(sources->v, sources->n, sources->cap);
    sources->v[sources->n++] = cw_mem_strdup(pattern);
}

void tool_sources_fini(struct tool_sources *sources)
{
    for (size_t i = 0; i < sources->n; i++)
        cw_mem_free(sources->v[i]);
    cw_mem_free(sources->v);
}

static void add_patterns(struct tool_sources *sources, const struct cw_value *pattern)
{
    if (pattern->type == CW_VALUE_STR)
        add_source(sources, pattern->s);
    for (size_t i = 0; pattern->type == CW_VALUE_LIST && i < pattern->n; i++)
        if (pattern->items[i].type == CW_VALUE_STR)
            add_source(sources, pattern->items[i].s);
}

/* Returns by which identity the blocks of a source are found. Files that read_file reads are found
 * by their modification times, whatever the identity; others by their checksums, if the identity
 * has some. */
static enum cw_identity identity_of(const struct cw_graph *graph, const struct cw_op *op)
{
    return (op->traits & CW_OP_PATHS) || !cw_identity_reads(graph->identity) ? CW_IDENTITY_MTIME
                                                                             : graph->identity;
}

static int add_pipeline(struct tool_sources *sources, const char *path, struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    size_t before = sources->n;
    bool mixed = false;
    int rc = cw_graph_load(path, &graph, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < graph->n; i++) {
        const struct cw_op *op = cw_op_find(graph->nodes[i].op);
        const struct cw_value *pattern = cw_value_get(&graph->nodes[i].options, "pattern");
        if (!op || op->kind != CW_OP_SOURCE || !(op->traits & CW_OP_FILES) || !pattern)
            continue;
        enum cw_identity identity = identity_of(graph, op);
        mixed = mixed || (sources->n > 0 && identity != sources->identity);
        sources->identity = identity;
        add_patterns(sources, pattern);
    }
    cw_graph_unref(graph);
    if (mixed)
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "%s: blocks of its sources are found by another identity of files than "
                          "those of the other sources: one "
                          "command for each",
                          path);
    if (sources->n == before)
        return cw_err_set(err, CW_E_INVALID, "%s: has no source that reads files", path);
    return 0;
}

bool tool_source_parse(const struct cw_args_spec *spec, int argc, char **argv,
                       const struct tool_source_args *args, struct tool_sources *ret_sources,
                       int *ret_exit)
{
    cw_autofree const char **patterns = CW_NEW_ARRAY(const char *, (size_t)argc);
    struct tool_sources sources = {0};
    struct cw_err err = {0};
    size_t n = 0;
    if (!tool_parse(spec, argc, argv, patterns, (size_t)argc, &n, ret_exit))
        return false;
    if (!args->dispatcher) {
        fprintf(stderr, "%s: --dispatcher ADDRESS is required\n", spec->program);
        *ret_exit = TOOL_USAGE;
        return false;
    }
    for (size_t i = 0; i < n; i++)
        add_source(&sources, patterns[i]);
    for (size_t i = 0; i < args->pipelines.n; i++) {
        if (add_pipeline(&sources, args->pipelines.v[i], &err) < 0) {
            *ret_exit = tool_fail_err(&err);
            tool_sources_fini(&sources);
            return false;
        }
    }
    *ret_sources = sources;
    return true;
}

/* ---- a job of source_blocks ---- */

static int make_pipeline(const struct tool_source_run *run, struct cachew_pipeline **ret_pipeline)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_builder *b = cachew_builder_new(run->load ? "cache warm" : "cache status");
    const char **patterns = CW_NEW_ARRAY(const char *, run->sources->n);
    for (size_t i = 0; i < run->sources->n; i++)
        patterns[i] = run->sources->v[i];
    cachew_add(b, "source_blocks");
    cachew_set_strs(b, "pattern", patterns, run->sources->n);
    cachew_set_bool(b, "load", run->load);
    cachew_set_i64(b, "run", (int64_t)(cw_rng_process_id() + (uint64_t)cw_clock_ns()) & INT32_MAX);
    cachew_add(b, "batch");
    cachew_set_i64(b, "size", run->load ? 4 : 128);
    cw_mem_free(patterns);
    return cachew_builder_finish(b, ret_pipeline, &error) < 0 ? tool_fail_cachew(&error) : TOOL_OK;
}

static const int64_t *column(const struct cachew_batch *batch, const char *name, uint64_t n)
{
    struct cachew_tensor tensor;
    bool ok = cachew_batch_find(batch, name, &tensor) == 0 && tensor.dtype == CACHEW_I64 &&
              tensor.bytes == n * sizeof(int64_t);
    return ok ? tensor.data : NULL;
}

static int add_batch(const struct tool_source_run *run, const struct cachew_batch *batch,
                     struct tool_source_sum *sum)
{
    uint64_t n = cachew_batch_elements(batch);
    const int64_t *bytes = column(batch, "bytes", n), *tiers = column(batch, "tiers", n),
                  *read = column(batch, "read", n), *first = column(batch, "first", n);
    if (!bytes || !tiers || !read)
        return tool_fail("what came is no list of blocks");
    for (uint64_t i = 0; i < n; i++) {
        uint64_t b = (uint64_t)bytes[i];
        unsigned in = (unsigned)tiers[i];
        sum->blocks++;
        sum->files += first && first[i] ? 1 : 0;
        sum->bytes += b;
        sum->cached += in & run->counts ? b : 0;
        sum->memory += in & CW_SOURCE_IN_MEMORY ? b : 0;
        sum->dir += in & CW_SOURCE_IN_DIR ? b : 0;
        sum->store += in & CW_SOURCE_IN_STORE ? b : 0;
        sum->read += (uint64_t)read[i];
    }
    return TOOL_OK;
}

static int consume(const struct tool_source_run *run, struct cachew_job *job,
                   struct tool_source_sum *sum)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    int code = TOOL_OK;
    while (code == TOOL_OK) {
        struct cachew_batch *batch = NULL;
        int rc = cachew_job_next(job, 200, &batch, &error);
        if (rc == 0)
            break;
        if (rc < 0 && rc != CACHEW_E_TIMEOUT)
            return tool_fail_cachew(&error);
        if (rc > 0)
            code = add_batch(run, batch, sum);
        cachew_batch_release(batch);
        if (tool_is_interrupted())
            code = TOOL_INTERRUPTED;
        if (code == TOOL_OK && run->on_report)
            code = run->on_report(run->report_arg, sum);
    }
    return code;
}

static bool is_named(const char *cache)
{
    return cache && *cache && strcmp(cache, "default") != 0;
}

/* Finds a named cache; *ret_state lies in the message, which the caller frees. */
static int find_cache(const char *dispatcher, const char *cache, ProtobufCMessage **ret_message,
                      const Cachew__V1__CacheState **ret_state, struct cw_err *err)
{
    Cachew__V1__CacheDescribeRequest request = CACHEW__V1__CACHE_DESCRIBE_REQUEST__INIT;
    cw_autofree char *name = cw_mem_strdup(cache);
    request.name = name;
    ProtobufCMessage *message = NULL;
    int rc = tool_admin_call(dispatcher, "/cachew.v1.Admin/CacheDescribe", &request.base,
                             &cachew__v1__cache_describe_reply__descriptor, &message, err);
    if (rc < 0)
        return rc;
    const Cachew__V1__CacheDescribeReply *reply =
        (const Cachew__V1__CacheDescribeReply *)(const void *)message;
    const Cachew__V1__CacheState *found = NULL;
    for (size_t i = 0; i < reply->n_caches; i++)
        if (strcmp(reply->caches[i]->state, "leaving") != 0)
            found = reply->caches[i];
    if (!found) {
        protobuf_c_message_free_unpacked(message, NULL);
        return cw_err_set(err, CW_E_NOT_FOUND, "there is no cache \"%s\"", cache);
    }
    *ret_message = message;
    *ret_state = found;
    return 0;
}

/* The tenant whose cache it is: another one's job would not get it. NULL: nobody's. */
static char *tenant_of(const struct tool_source_run *run)
{
    ProtobufCMessage *message = NULL;
    const Cachew__V1__CacheState *state = NULL;
    struct cw_err err = {0};
    if (!is_named(run->cache) ||
        find_cache(run->dispatcher, run->cache, &message, &state, &err) < 0)
        return NULL;
    char *tenant = state->tenant[0] ? cw_mem_strdup(state->tenant) : NULL;
    protobuf_c_message_free_unpacked(message, NULL);
    return tenant;
}

int tool_source_run(const struct tool_source_run *run, struct tool_source_sum *ret_sum)
{
    cw_autofree char *tenant = tenant_of(run);
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_client *client = NULL;
    struct cachew_job *job = NULL;
    struct cachew_connect_options connect = CACHEW_CONNECT_OPTIONS_INIT;
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    tool_connect_options(&connect);
    connect.cancel = options.cancel = tool_cancel();
    *ret_sum = (struct tool_source_sum){0};
    options.unordered = 1;
    options.autocache = "off";
    options.cache = run->cache;
    options.tenant = tenant;
    options.identity = cw_identity_name(run->sources->identity);
    int code = make_pipeline(run, &pipeline);
    if (code == TOOL_OK && cachew_connect(run->dispatcher, &connect, &client, &error) < 0)
        code = tool_fail_cachew(&error);
    if (code == TOOL_OK && cachew_job_start(client, pipeline, &options, &job, &error) < 0)
        code = tool_fail_cachew(&error);
    cachew_pipeline_release(pipeline);
    if (code == TOOL_OK)
        code = consume(run, job, ret_sum);
    cachew_job_close(job);
    cachew_disconnect(client);
    return code;
}

/* ---- the fleet ---- */

static const char *const tier_names[TOOL_TIERS] = {"memory", "dir", "store", "source"};

static void add_tier(struct tool_source_fleet *fleet, const Cachew__V1__SourceTier *t,
                     bool first_of_host)
{
    for (size_t i = 0; i < TOOL_TIERS; i++) {
        struct tool_source_tier *sum = &fleet->tiers[i];
        bool shared = i == 2; /* All workers report the same store. */
        if (strcmp(t->tier, tier_names[i]) != 0 || (shared && t->cache != fleet->cache_id))
            continue;
        bool adds = i != 1 || first_of_host;
        sum->bytes = shared ? CW_MAX(sum->bytes, t->bytes) : sum->bytes + (adds ? t->bytes : 0);
        sum->capacity =
            shared ? CW_MAX(sum->capacity, t->capacity) : sum->capacity + (adds ? t->capacity : 0);
        sum->pending += t->pending;
        sum->workers++;
    }
}

static bool has_dir(const Cachew__V1__WorkerRow *w)
{
    for (size_t i = 0; i < w->n_source; i++)
        if (strcmp(w->source[i]->tier, "dir") == 0)
            return true;
    return false;
}

/* Returns whether the worker is the first of its host. The workers of a host are assumed to share
 * their directory, as they should. */
static bool is_first_of_host(const Cachew__V1__ListWorkersReply *reply, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (has_dir(reply->workers[k]) &&
            strcmp(reply->workers[k]->host_id, reply->workers[i]->host_id) == 0)
            return false;
    return has_dir(reply->workers[i]);
}

int tool_source_fleet(const char *dispatcher, uint64_t cache_id, struct tool_source_fleet *ret,
                      struct cw_err *err)
{
    Cachew__V1__ListWorkersRequest request = CACHEW__V1__LIST_WORKERS_REQUEST__INIT;
    ProtobufCMessage *message = NULL;
    int rc = tool_admin_call(dispatcher, "/cachew.v1.Admin/ListWorkers", &request.base,
                             &cachew__v1__list_workers_reply__descriptor, &message, err);
    if (rc < 0)
        return rc;
    *ret = (struct tool_source_fleet){.reply = (Cachew__V1__ListWorkersReply *)(void *)message,
                                      .cache_id = cache_id};
    for (size_t i = 0; i < ret->reply->n_workers; i++) {
        const Cachew__V1__WorkerRow *w = ret->reply->workers[i];
        bool first = is_first_of_host(ret->reply, i);
        ret->workers++;
        ret->hosts += first;
        for (size_t k = 0; k < w->n_source; k++)
            add_tier(ret, w->source[k], first);
        for (size_t k = 0; k < w->n_named_source; k++)
            add_tier(ret, w->named_source[k], first);
    }
    return 0;
}

int tool_source_cache(const char *dispatcher, const char *cache, uint64_t *ret_id,
                      uint64_t *ret_quota, struct cw_err *err)
{
    ProtobufCMessage *message = NULL;
    const Cachew__V1__CacheState *state = NULL;
    *ret_id = *ret_quota = 0;
    if (!is_named(cache))
        return 0;
    int rc = find_cache(dispatcher, cache, &message, &state, err);
    if (rc < 0)
        return rc;
    *ret_id = state->id;
    *ret_quota = state->source_quota;
    protobuf_c_message_free_unpacked(message, NULL);
    return 0;
}

void tool_source_fleet_fini(struct tool_source_fleet *fleet)
{
    if (fleet->reply)
        protobuf_c_message_free_unpacked(&fleet->reply->base, NULL);
    fleet->reply = NULL;
}

unsigned tool_source_counts(const struct tool_source_fleet *fleet)
{
    if (fleet->tiers[2].workers > 0)
        return CW_SOURCE_IN_STORE;
    if (fleet->tiers[1].workers > 0)
        return CW_SOURCE_IN_DIR;
    return fleet->tiers[0].workers > 0 ? CW_SOURCE_IN_MEMORY : 0;
}

const char *tool_source_counts_name(unsigned tier)
{
    return tier == CW_SOURCE_IN_STORE ? "store" : tier == CW_SOURCE_IN_DIR ? "dir" : "memory";
}

double tool_source_percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 100 : 100 * (double)part / (double)whole;
}
