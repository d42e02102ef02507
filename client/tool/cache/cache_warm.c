/* SPDX-License-Identifier: Apache-2.0 */
/* cachew cache warm SOURCE...: loads source files into the source cache before the jobs that will
 * read them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/tool/cache/cache_source.h"
#include "format/source_file.h"

#define SETTLE_MS 8000 /* If no worker reports for this long, no more reports are expected. */
/* A worker that has just connected reports its cache within this time. */
#define FIRST_REPORT_MS 3000
#define LINE_NS ((int64_t)100 * 1000000)
#define JSON_NS ((int64_t)1000 * 1000000)

struct warm {
    struct tool_source_args args;
    bool json, quiet;
    struct tool_sources sources;
    unsigned counts;
    size_t hosts;
    uint64_t cache_id, source_quota;
    uint64_t total, cached_before;
    int64_t start_ns, line_ns;
};

static void show_line(const struct warm *w, const struct tool_source_sum *sum, double seconds)
{
    double share = tool_source_percent(sum->bytes, w->total) / 100;
    double rate = (double)sum->read / CW_MAX(seconds, 1e-3);
    CW_STR_AUTO line = {0};
    cw_str_add_char(&line, '[');
    for (int i = 0; i < 20; i++)
        cw_str_add_char(&line, i < (int)(share * 20) ? '#' : '.');
    cw_str_addf(&line, "] %3.0f%% ", 100 * share);
    tool_print_bytes((double)sum->bytes, &line);
    cw_str_add(&line, " of ");
    tool_print_bytes((double)w->total, &line);
    cw_str_add(&line, ", reading ");
    tool_print_bytes(rate, &line);
    cw_str_add(&line, "/s");
    if (share > 0.005 && share < 1) {
        cw_str_add(&line, " ETA ");
        tool_print_time(seconds * (1 - share) / share, &line);
    }
    tool_line_show(cw_str_text(&line));
}

static int on_report(void *arg, const struct tool_source_sum *sum)
{
    struct warm *w = arg;
    int64_t now = cw_clock_ns();
    if (now - w->line_ns < (w->json ? JSON_NS : LINE_NS))
        return TOOL_OK;
    w->line_ns = now;
    if (w->json) {
        printf("{\"progress\":{\"bytes\":%" PRIu64 ",\"total\":%" PRIu64 ",\"read\":%" PRIu64
               ",\"seconds\":%.3f}}\n",
               sum->bytes, w->total, sum->read, tool_seconds_since(w->start_ns));
        fflush(stdout);
    } else if (!w->quiet && tool_line_wanted()) {
        show_line(w, sum, tool_seconds_since(w->start_ns));
    }
    return TOOL_OK;
}

static int look(struct warm *w, struct tool_source_sum *ret_sum)
{
    const struct tool_source_run run = {.dispatcher = w->args.dispatcher,
                                        .cache = w->args.cache,
                                        .sources = &w->sources,
                                        .counts = w->counts};
    return tool_source_run(&run, ret_sum);
}

/* What was loaded is still being written to slower tiers: looks until everything is there, or
 * nothing changes any more. */
static int wait_written(struct warm *w, struct tool_source_sum *ret_sum)
{
    int64_t changed_ms = cw_clock_ms();
    uint64_t cached = 0;
    for (;;) {
        struct tool_source_fleet fleet = {0};
        struct cw_err err = {0};
        int code = look(w, ret_sum);
        if (code != TOOL_OK || ret_sum->cached == ret_sum->bytes)
            return code;
        uint64_t pending =
            tool_source_fleet(w->args.dispatcher, w->cache_id, &fleet, &err) == 0
                ? fleet.tiers[0].pending + fleet.tiers[1].pending + fleet.tiers[2].pending
                : 0;
        tool_source_fleet_fini(&fleet);
        if (ret_sum->cached > cached || pending > 0)
            changed_ms = cw_clock_ms();
        cached = ret_sum->cached;
        if (cw_clock_ms() - changed_ms > SETTLE_MS)
            return TOOL_OK;
        for (int i = 0; i < 5 && !tool_is_interrupted(); i++)
            cw_clock_sleep_ns(100 * 1000000);
        if (tool_is_interrupted())
            return TOOL_INTERRUPTED;
    }
}

static void print_result(const struct warm *w, const struct tool_source_sum *after,
                         const struct tool_source_sum *loaded, double seconds)
{
    double percent = tool_source_percent(after->cached, after->bytes);
    tool_line_clear();
    if (w->json) {
        printf("{\"source_bytes\":%" PRIu64 ",\"cached_bytes\":%" PRIu64
               ",\"cached_before\":%" PRIu64 ",\"read_bytes\":%" PRIu64 ",\"blocks\":%" PRIu64
               ",\"tier\":\"%s\",\"percent\":%.2f,\"seconds\":%.3f}\n",
               after->bytes, after->cached, w->cached_before, loaded->read, after->blocks,
               tool_source_counts_name(w->counts), percent, seconds);
        return;
    }
    CW_STR_AUTO text = {0};
    tool_print_bytes((double)after->cached, &text);
    cw_str_add(&text, " of ");
    tool_print_bytes((double)after->bytes, &text);
    cw_str_addf(&text, " cached (%s, %.0f%%), ", tool_source_counts_name(w->counts), percent);
    tool_print_bytes((double)loaded->read, &text);
    cw_str_addf(&text, " read from the source in %.1f s", seconds);
    puts(cw_str_text(&text));
    if (after->cached < after->bytes)
        fprintf(stderr, "cachew cache warm: the rest did not fit, or could not be kept: see cachew "
                        "cache status\n");
    if (w->hosts > 1)
        fprintf(stderr,
                "cachew cache warm: there is no store for blocks (cachew-dispatcher "
                "--source-cache-quota): each of %zu hosts has a part\n",
                w->hosts);
}

static int find_tier(struct warm *w)
{
    struct tool_source_fleet fleet = {0};
    struct cw_err err = {0};
    size_t workers = 0;
    for (int64_t end_ms = cw_clock_ms() + FIRST_REPORT_MS; !w->counts;) {
        if (tool_source_fleet(w->args.dispatcher, w->cache_id, &fleet, &err) < 0)
            return tool_fail_err(&err);
        /* A worker opens the store of a named cache when the first job needs it. */
        w->counts = w->source_quota > 0 ? CW_SOURCE_IN_STORE : tool_source_counts(&fleet);
        w->hosts = w->counts == CW_SOURCE_IN_STORE ? 0 : fleet.hosts;
        workers = fleet.workers;
        tool_source_fleet_fini(&fleet);
        if (w->counts || workers == 0 || cw_clock_ms() >= end_ms)
            break;
        cw_clock_sleep_ns(100 * 1000000);
    }
    if (w->counts)
        return TOOL_OK;
    return workers == 0
               ? tool_fail("the dispatcher at %s has no workers", w->args.dispatcher)
               : tool_fail("no worker has a source cache: give cachew-worker --source-cache-dir, "
                           "or cachew-dispatcher --source-cache-quota");
}

/* ---- what the dispatcher remembers (cachew cache describe) ---- */

/* Looks at one of the sources alone. */
static int look_at(struct warm *w, size_t i, struct tool_source_sum *ret_sum)
{
    const struct tool_sources one = {
        .v = &w->sources.v[i], .n = 1, .identity = w->sources.identity};
    const struct tool_source_run run = {.dispatcher = w->args.dispatcher,
                                        .cache = w->args.cache,
                                        .sources = &one,
                                        .counts = w->counts};
    return tool_source_run(&run, ret_sum);
}

static int note_source(const struct warm *w, const char *source, const struct tool_source_sum *sum)
{
    Cachew__V1__CacheNoteSourceRequest request = CACHEW__V1__CACHE_NOTE_SOURCE_REQUEST__INIT;
    Cachew__V1__CacheSource row = CACHEW__V1__CACHE_SOURCE__INIT, *list = &row;
    cw_autofree char *cache = cw_mem_strdup(w->args.cache), *text = cw_mem_strdup(source);
    ProtobufCMessage *message = NULL;
    struct cw_err err = {0};
    row.source = text;
    row.bytes = sum->bytes;
    row.files = sum->files;
    row.cached_bytes = sum->cached;
    request.cache = cache;
    request.sources = &list;
    request.n_sources = 1;
    int rc =
        tool_admin_change(w->args.dispatcher, "/cachew.v1.Admin/CacheNoteSource", &request.base,
                          &cachew__v1__cache_note_source_reply__descriptor, &message, &err);
    if (rc == 0)
        protobuf_c_message_free_unpacked(message, NULL);
    /* Without a store there is no cache that could remember it, and an older dispatcher does not. In a
     * cache that all share it is not remembered what one tenant has warmed. */
    return rc < 0 && w->cache_id != 0 && err.code != CW_E_DENIED ? tool_fail_err(&err) : TOOL_OK;
}

static int note_sources(struct warm *w, const struct tool_source_sum *all)
{
    int code = TOOL_OK;
    if (w->counts != CW_SOURCE_IN_STORE)
        return TOOL_OK;
    for (size_t i = 0; code == TOOL_OK && i < w->sources.n; i++) {
        struct tool_source_sum sum = *all;
        if (w->sources.n > 1)
            code = look_at(w, i, &sum);
        if (code == TOOL_OK)
            code = note_source(w, w->sources.v[i], &sum);
    }
    return code;
}

static int warm_all(struct warm *w)
{
    struct tool_source_sum before, loaded, after;
    struct cw_err err = {0};
    if (tool_source_cache(w->args.dispatcher, w->args.cache, &w->cache_id, &w->source_quota, &err) <
        0)
        return tool_fail_err(&err);
    int code = find_tier(w);
    if (code == TOOL_OK)
        code = look(w, &before);
    if (code != TOOL_OK)
        return code;
    w->total = before.bytes;
    w->cached_before = before.cached;
    w->start_ns = cw_clock_ns();
    const struct tool_source_run run = {
        w->args.dispatcher, w->args.cache, &w->sources, w->counts, true, on_report, w};
    code = tool_source_run(&run, &loaded);
    double seconds = tool_seconds_since(w->start_ns);
    if (code == TOOL_OK)
        code = wait_written(w, &after);
    if (code == TOOL_OK)
        code = note_sources(w, &after);
    if (code == TOOL_OK)
        print_result(w, &after, &loaded, seconds);
    tool_line_clear();
    return code;
}

/* Whoever reads the lines is told why there is no result. */
static void print_failure(void)
{
    CW_STR_AUTO line = {0};
    cw_str_add(&line, "{\"error\":");
    cw_str_add_json(&line, tool_last_failure(), strlen(tool_last_failure()));
    cw_str_add_char(&line, '}');
    puts(cw_str_text(&line));
}

int tool_cache_warm(int argc, char **argv)
{
    struct warm w = {.args = {.dispatcher = getenv("CACHEW_DISPATCHER"), .cache = tool_cache()}};
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&w.args.dispatcher),
        TOOL_ROW_CACHE(&w.args.cache),
        TOOL_ROW_PIPELINE(&w.args.pipelines),
        TOOL_ROW_JSON(&w.json,
                      "print JSON: a line of progress each second, and the result or the error"),
        TOOL_ROW_QUIET(&w.quiet, "no progress bar"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew cache warm",
        .usage = "SOURCE... [options]",
        .about = "Reads source files (paths or patterns) into the source cache of the workers, "
                 "each block once, by all of them together. What is "
                 "there already is not read again, so an interrupted run goes on where it was.",
        .rows = rows,
        .tail = "example:\n  cachew cache warm '/mnt/nfs/imagenet/**/*.tfrecord' -d host:7070\n"};
    int code = 0;
    if (!tool_source_parse(&spec, argc, argv, &w.args, &w.sources, &code))
        return code;
    if (w.sources.n == 0) {
        fprintf(stderr, "cachew cache warm: which files? usage: cachew cache warm SOURCE...\n");
        code = TOOL_USAGE;
    }
    tool_catch_signals();
    if (code == TOOL_OK)
        code = warm_all(&w);
    if (code == TOOL_FAILED && w.json)
        print_failure();
    tool_sources_fini(&w.sources);
    return code;
}
