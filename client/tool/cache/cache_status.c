/* SPDX-License-Identifier: Apache-2.0 */
/* cachew cache status [SOURCE...]: prints the tiers of the source cache, and how much of the source
 * files is in them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/tool/cache/cache_source.h"
#include "format/source_file.h"

static void add_bytes(struct tool_table *table, uint64_t n, bool there)
{
    CW_STR_AUTO text = {0};
    if (there)
        tool_print_bytes((double)n, &text);
    tool_table_add(table, "%s", there ? cw_str_text(&text) : "-");
}

static void add_tier(struct tool_table *table, const char *worker, const Cachew__V1__SourceTier *t)
{
    bool kept = strcmp(t->tier, "source") != 0;
    tool_table_add(table, "%s", worker);
    tool_table_add(table, "%s", t->tier);
    add_bytes(table, t->bytes, kept);
    add_bytes(table, t->capacity, kept);
    tool_table_add(table, "%" PRIu64, t->hits);
    add_bytes(table, t->hit_bytes, true);
    tool_table_add(table, "%" PRIu64, t->misses);
    tool_table_add(table, "%" PRIu64, t->refused);
    tool_table_add(table, "%" PRIu64, t->damaged);
    tool_table_add(table, "%s", t->trouble);
}

static void print_table(const struct tool_source_fleet *fleet)
{
    static const char *const heads[] = {"WORKER", "TIER",   "CACHED",  "CAPACITY", "READS",
                                        "READ",   "MISSES", "REFUSED", "DAMAGED",  "TROUBLE"};
    struct tool_table table;
    tool_table_init(&table, CW_ARRAY_LEN(heads), heads);
    for (size_t i = 0; i < fleet->reply->n_workers; i++) {
        const Cachew__V1__WorkerRow *w = fleet->reply->workers[i];
        for (size_t k = 0; k < w->n_source; k++)
            add_tier(&table, w->address, w->source[k]);
    }
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
}

static void print_json_tier(const Cachew__V1__WorkerRow *w, const Cachew__V1__SourceTier *t)
{
    CW_STR_AUTO out = {0};
    const struct {
        const char *key;
        uint64_t number;
    } numbers[] = {{"cached_bytes", t->bytes},
                   {"capacity_bytes", t->capacity},
                   {"hits", t->hits},
                   {"hit_bytes", t->hit_bytes},
                   {"misses", t->misses},
                   {"filled_bytes", t->filled_bytes},
                   {"refused", t->refused},
                   {"damaged", t->damaged},
                   {"pending_bytes", t->pending}};
    cw_str_add_char(&out, '{');
    cw_member_text(&out, "worker", w->address);
    cw_member_text(&out, "host", w->host_id);
    cw_member_text(&out, "tier", t->tier);
    for (size_t i = 0; i < CW_ARRAY_LEN(numbers); i++)
        cw_member_number(&out, numbers[i].key, numbers[i].number);
    cw_member_text(&out, "trouble", t->trouble);
    cw_str_add_char(&out, '}');
    puts(cw_str_text(&out));
}

static void print_sum(const struct tool_source_sum *sum, const struct tool_source_fleet *fleet,
                      unsigned counts, bool json)
{
    const struct tool_source_tier *tier = &fleet->tiers[counts == CW_SOURCE_IN_STORE ? 2
                                                        : counts == CW_SOURCE_IN_DIR ? 1
                                                                                     : 0];
    double percent = tool_source_percent(sum->cached, sum->bytes);
    if (json) {
        printf("{\"source_bytes\":%" PRIu64 ",\"cached_bytes\":%" PRIu64
               ",\"capacity_bytes\":%" PRIu64 ",\"percent\":%.2f,\"blocks\":%" PRIu64
               ",\"memory_bytes\":%" PRIu64 ",\"dir_bytes\":%" PRIu64 ",\"store_bytes\":%" PRIu64
               "}\n",
               sum->bytes, sum->cached, tier->capacity, percent, sum->blocks, sum->memory, sum->dir,
               sum->store);
        return;
    }
    CW_STR_AUTO text = {0};
    cw_str_add(&text, "source ");
    tool_print_bytes((double)sum->bytes, &text);
    cw_str_add(&text, ", cached ");
    tool_print_bytes((double)sum->cached, &text);
    cw_str_addf(&text, " (%.0f%%, %s), capacity ", percent, tool_source_counts_name(counts));
    tool_print_bytes((double)tier->capacity, &text);
    puts(cw_str_text(&text));
}

static int show(const struct tool_source_args *args, const struct tool_sources *sources, bool json)
{
    struct tool_source_fleet fleet = {0};
    struct tool_source_sum sum = {0};
    struct cw_err err = {0};
    uint64_t cache_id = 0, quota = 0;
    int code = TOOL_OK;
    if (tool_source_cache(args->dispatcher, args->cache, &cache_id, &quota, &err) < 0 ||
        tool_source_fleet(args->dispatcher, cache_id, &fleet, &err) < 0)
        return tool_fail_err(&err);
    for (size_t i = 0; json && i < fleet.reply->n_workers; i++)
        for (size_t k = 0; k < fleet.reply->workers[i]->n_source; k++)
            print_json_tier(fleet.reply->workers[i], fleet.reply->workers[i]->source[k]);
    if (!json && tool_source_counts(&fleet))
        print_table(&fleet);
    if (!json && !tool_source_counts(&fleet))
        puts("no worker has a source cache");
    if (sources->n > 0) {
        const struct tool_source_run run = {.dispatcher = args->dispatcher,
                                            .cache = args->cache,
                                            .sources = sources,
                                            .counts = quota > 0 ? CW_SOURCE_IN_STORE
                                                                : tool_source_counts(&fleet)};
        code = tool_source_run(&run, &sum);
        if (code == TOOL_OK)
            print_sum(&sum, &fleet, run.counts, json);
    }
    tool_source_fleet_fini(&fleet);
    return code;
}

int tool_cache_status(int argc, char **argv)
{
    struct tool_source_args args = {.dispatcher = getenv("CACHEW_DISPATCHER"),
                                    .cache = tool_cache()};
    struct tool_sources sources;
    bool json = false;
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&args.dispatcher),
        TOOL_ROW_CACHE(&args.cache),
        TOOL_ROW_PIPELINE(&args.pipelines),
        TOOL_ROW_JSON(&json, "print one JSON line a tier of a worker, and one for the source"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew cache status",
        .usage = "[SOURCE...] [options]",
        .about = "Shows the tiers of the workers' source caches: how full they are and what they "
                 "were good for. With source files (paths or "
                 "patterns) also their size, how much of them is cached, the capacity, and the "
                 "percentage.",
        .rows = rows,
        .tail = "example:\n  cachew cache status '/mnt/nfs/imagenet/**/*.tfrecord' -d host:7070\n"};
    int code = 0;
    if (!tool_source_parse(&spec, argc, argv, &args, &sources, &code))
        return code;
    tool_catch_signals();
    code = show(&args, &sources, json);
    tool_sources_fini(&sources);
    return code;
}
