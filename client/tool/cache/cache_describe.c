/* SPDX-License-Identifier: Apache-2.0 */
/* cachew cache describe: shows caches, who uses them, how full they are, and what was warmed into
 * them. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"
#include "wire/reply_json.h"

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : 100 * (double)part / (double)whole;
}

static double hit_percent(const Cachew__V1__CacheState *c)
{
    return percent(c->hits, c->hits + c->misses);
}

/* ---- text ---- */

static void print_line(const char *what, const char *text)
{
    printf("  %-10s %s\n", what, text);
}

static void print_bytes_of(const char *what, uint64_t bytes, uint64_t limit)
{
    CW_STR_AUTO out = {0};
    tool_print_bytes((double)bytes, &out);
    if (limit > 0) {
        cw_str_add(&out, " of ");
        tool_print_bytes((double)limit, &out);
        cw_str_addf(&out, " (%.0f%%)", percent(bytes, limit));
    }
    print_line(what, cw_str_text(&out));
}

static void print_users(const Cachew__V1__CacheState *c)
{
    CW_STR_AUTO out = {0};
    for (size_t i = 0; i < c->n_users; i++)
        cw_str_addf(&out, "%s%s", i ? ", " : "", c->users[i]);
    if (c->n_users == 0)
        cw_str_add(&out, "nobody");
    print_line("used by", cw_str_text(&out));
    CW_STR_AUTO ago = {0};
    tool_print_ago(c->used_ms, &ago);
    print_line("last use", c->n_users > 0 ? "now" : cw_str_text(&ago));
}

static void print_content(const Cachew__V1__CacheState *c)
{
    CW_STR_AUTO records = {0};
    tool_print_count((double)c->records, &records);
    cw_str_addf(&records, " in %" PRIu64 " chunks of %" PRIu64 " keys", c->chunks, c->keys);
    print_bytes_of("bytes", c->bytes, c->capacity);
    print_line("records", cw_str_text(&records));
    CW_STR_AUTO hits = {0};
    tool_print_count((double)c->hits, &hits);
    cw_str_addf(&hits, " (%.0f%% of reads)", hit_percent(c));
    print_line("hits", cw_str_text(&hits));
    if (c->source_quota > 0)
        print_bytes_of("blocks", c->source_bytes, c->source_quota);
    if (c->full)
        print_line("full", *c->full_why ? c->full_why : "nothing more is written");
}

static void print_sources(const Cachew__V1__CacheState *c)
{
    static const char *const heads[] = {"  SOURCE", "FILES", "SIZE", "CACHED", "", "LOOKED AT"};
    struct tool_table table;
    if (c->n_sources == 0)
        return;
    tool_table_init(&table, CW_ARRAY_LEN(heads), heads);
    for (size_t i = 0; i < c->n_sources; i++) {
        const Cachew__V1__CacheSource *s = c->sources[i];
        CW_STR_AUTO size = {0};
        CW_STR_AUTO cached = {0};
        CW_STR_AUTO ago = {0};
        tool_print_bytes((double)s->bytes, &size);
        tool_print_bytes((double)s->cached_bytes, &cached);
        tool_print_ago(s->time_ms, &ago);
        tool_table_add(&table, "  %s", s->source);
        tool_table_add(&table, "%" PRIu64, s->files);
        tool_table_add(&table, "%s", cw_str_text(&size));
        tool_table_add(&table, "%s", cw_str_text(&cached));
        tool_table_add(&table, "%.0f%%", percent(s->cached_bytes, s->bytes));
        tool_table_add(&table, "%s", cw_str_text(&ago));
    }
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
}

static void print_cache(const Cachew__V1__CacheState *c)
{
    bool leaving = strcmp(c->state, "leaving") == 0;
    printf("%s: %s\n", c->name, c->url);
    if (*c->tenant)
        print_line("tenant", c->tenant);
    if (strcmp(c->state, "closed") == 0)
        print_line("state", "closed to new jobs");
    if (c->away)
        print_line("away", c->why);
    if (leaving) {
        printf("  %-10s detached, its files are being deleted: %" PRIu64 " left\n", "state",
               c->files_left);
        return;
    }
    print_users(c);
    print_content(c);
    print_sources(c);
}

static void print_reply(const Cachew__V1__CacheDescribeReply *reply, bool json)
{
    CW_STR_AUTO out = {0};
    if (!json && reply->n_caches == 0)
        puts("there is no cache");
    for (size_t i = 0; !json && i < reply->n_caches; i++)
        print_cache(reply->caches[i]);
    if (!json)
        return;
    cw_str_addf(&out, "{\"generation\":%" PRIu64 ",\"caches\":[", reply->generation);
    for (size_t i = 0; i < reply->n_caches; i++) {
        cw_str_add(&out, i ? "," : "");
        cw_wire_cache_json(&out, reply->caches[i]);
    }
    cw_str_add(&out, "]}");
    puts(cw_str_text(&out));
}

int tool_cache_describe(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher();
    bool json = false;
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        TOOL_ROW_JSON(&json, "print one JSON object"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew cache describe",
        .usage = "[NAME] [options]",
        .about = "Shows caches, or the one of this name: its store, whether it can be reached, the "
                 "jobs that use it, the last use, bytes, records, the share of hits, what it can "
                 "hold, and of source files that were warmed into it (cachew cache warm) how much "
                 "is there.",
        .rows = rows};
    const char *words[1] = {""};
    size_t n = 0;
    int code = 0;
    if (!tool_parse(&spec, argc, argv, words, 1, &n, &code))
        return code;
    struct cw_err err = {0};
    Cachew__V1__CacheDescribeRequest request = CACHEW__V1__CACHE_DESCRIBE_REQUEST__INIT;
    cw_autofree char *name = cw_mem_strdup(words[0]);
    ProtobufCMessage *message = NULL;
    request.name = name;
    if (tool_admin_call(dispatcher, "/cachew.v1.Admin/CacheDescribe", &request.base,
                        &cachew__v1__cache_describe_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    print_reply((const Cachew__V1__CacheDescribeReply *)(const void *)message, json);
    protobuf_c_message_free_unpacked(message, NULL);
    return TOOL_OK;
}
