/* SPDX-License-Identifier: Apache-2.0 */
/* cachew cache ls: lists the dispatcher's catalogue of the cache. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"
#include "wire/reply_json.h"

#define KEY_SHOWN 12 /* The number of digits of a key that are shown in the table. */

void tool_print_ago(int64_t wall_ms, struct cw_str *out)
{
    static const struct {
        int64_t seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    int64_t s = (cw_clock_wall_ms() - wall_ms) / 1000;
    if (wall_ms == 0) {
        cw_str_add(out, "-");
        return;
    }
    for (size_t i = 0; i < CW_ARRAY_LEN(units); i++) {
        if (s >= 2 * units[i].seconds || i + 1 == CW_ARRAY_LEN(units)) {
            cw_str_addf(out, "%" PRId64 " %s ago", CW_MAX(s, 0) / units[i].seconds, units[i].unit);
            return;
        }
    }
}

static int compare(const void *a, const void *b)
{
    const Cachew__V1__CacheRow *x = *(Cachew__V1__CacheRow *const *)a,
                               *y = *(Cachew__V1__CacheRow *const *)b;
    int order = strcmp(x->tenant, y->tenant);
    if (order != 0)
        return order;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->key, y->key);
}

static void print_json(const Cachew__V1__CacheListReply *reply, bool chunks)
{
    CW_STR_AUTO out = {0};
    cw_wire_cache_list_json(reply, chunks, &out);
    puts(cw_str_text(&out));
}

/* ---- tables ---- */

static void print_use(const char *what, uint64_t bytes, uint64_t quota, uint64_t chunks,
                      const char *full)
{
    CW_STR_AUTO out = {0};
    tool_print_bytes((double)bytes, &out);
    if (quota > 0) {
        cw_str_add(&out, " of ");
        tool_print_bytes((double)quota, &out);
        cw_str_addf(&out, " (%.0f%%)", 100 * (double)bytes / (double)quota);
    }
    printf("%s: %s in %" PRIu64 " chunks%s%s\n", what, cw_str_text(&out), chunks,
           full ? "; full: " : "", full ? full : "");
}

/* NULL: it is not full. */
static const char *full_text(bool full, const char *why)
{
    return !full ? NULL : *why ? why : "nothing more is written";
}

static void print_store(const Cachew__V1__CacheListReply *reply)
{
    print_use(reply->url, reply->bytes, reply->quota, reply->chunks,
              full_text(reply->full, reply->full_why));
    for (size_t i = 0; i < reply->n_tenants; i++) {
        const Cachew__V1__CacheTenant *tenant = reply->tenants[i];
        CW_STR_AUTO what = {0};
        cw_str_addf(&what, "tenant %s", tenant->tenant);
        if (tenant->quota > 0)
            print_use(cw_str_text(&what), tenant->bytes, tenant->quota, tenant->chunks,
                      full_text(tenant->full, ""));
    }
    if (reply->store_total > 0) {
        CW_STR_AUTO space = {0};
        tool_print_bytes((double)reply->store_free, &space);
        cw_str_add(&space, " of ");
        tool_print_bytes((double)reply->store_total, &space);
        printf("free in the store: %s\n", cw_str_text(&space));
    }
    if (reply->away)
        printf("the cache store is unavailable: %s\n", reply->why);
    if (reply->scanning)
        puts("the store is being listed");
    if (reply->lost > 0)
        printf("%" PRIu64 " records could not be kept: %s\n", reply->lost,
               *reply->lost_why ? reply->lost_why : "no reason was given");
    if (reply->damaged > 0)
        printf("%" PRIu64 " chunks were damaged, and deleted\n", reply->damaged);
}

static void add_row(struct tool_table *table, const Cachew__V1__CacheRow *row)
{
    CW_STR_AUTO records = {0};
    CW_STR_AUTO bytes = {0};
    CW_STR_AUTO hits = {0};
    CW_STR_AUTO used = {0};
    tool_print_count((double)row->records, &records);
    if (row->ids > 0)
        cw_str_addf(&records, " (%.0f%%)",
                    100 * CW_MIN((double)row->records / (double)row->ids, 1.0));
    tool_print_bytes((double)row->bytes, &bytes);
    tool_print_count((double)row->hits, &hits);
    tool_print_ago(row->used_ms, &used);
    tool_table_add(table, "%s", row->tenant);
    tool_table_add(table, "%.*s", KEY_SHOWN, row->key);
    if (*row->node)
        tool_table_add(table, "%s/%s", row->pipeline, row->node);
    else
        tool_table_add(table, "-");
    tool_table_add(table, "%s", cw_str_text(&records));
    tool_table_add(table, "%" PRIu64, row->chunks);
    tool_table_add(table, "%s", cw_str_text(&bytes));
    tool_table_add(table, "%s", cw_str_text(&hits));
    tool_table_add(table, "%.1f s", (double)row->saved_ns / 1e9);
    tool_table_add(table, "%s", cw_str_text(&used));
    tool_table_add(table, "%s", row->pinned ? "pinned" : row->readers ? "in use" : "-");
}

static void print_chunks(const Cachew__V1__CacheListReply *reply)
{
    static const char *const heads[] = {"CHUNK", "RECORDS", "BYTES", "WRITTEN"};
    struct tool_table table;
    tool_table_init(&table, CW_ARRAY_LEN(heads), heads);
    for (size_t i = 0; i < reply->n_rows; i++) {
        for (size_t k = 0; k < reply->rows[i]->n_chunk; k++) {
            const Cachew__V1__CacheChunkRow *chunk = reply->rows[i]->chunk[k];
            CW_STR_AUTO bytes = {0};
            CW_STR_AUTO written = {0};
            tool_print_bytes((double)chunk->bytes, &bytes);
            tool_print_ago(chunk->created_ms, &written);
            tool_table_add(&table, "%s", chunk->name);
            tool_table_add(&table, "%" PRIu64, chunk->records);
            tool_table_add(&table, "%s", cw_str_text(&bytes));
            tool_table_add(&table, "%s", cw_str_text(&written));
        }
    }
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
}

static void print_table(const Cachew__V1__CacheListReply *reply, bool chunks)
{
    static const char *const heads[] = {"TENANT", "KEY",  "PIPELINE/NODE", "RECORDS",  "CHUNKS",
                                        "BYTES",  "HITS", "CPU SAVED",     "LAST USE", ""};
    print_store(reply);
    if (reply->n_rows > 0) {
        struct tool_table table;
        putchar('\n');
        tool_table_init(&table, CW_ARRAY_LEN(heads), heads);
        for (size_t i = 0; i < reply->n_rows; i++)
            add_row(&table, reply->rows[i]);
        tool_table_print(&table, stdout);
        tool_table_fini(&table);
    }
    if (chunks && reply->n_rows > 0) {
        putchar('\n');
        print_chunks(reply);
    }
}

int tool_cache_ls(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher(), *cache = tool_cache();
    bool json = false, chunks = false;
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        TOOL_ROW_CACHE(&cache),
        {"chunks", 0, CW_ARG_FLAG, &chunks, NULL, "list the chunks, too", 0, 0},
        TOOL_ROW_JSON(&json, "print one JSON object"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew cache ls",
        .usage = "[KEY] [options]",
        .about = "Lists what a dispatcher's cache holds: of each node of a pipeline (a key) the "
                 "records, of how many, chunks, bytes, how often one "
                 "was read, the CPU time that this has saved, and the last use. KEY: only those "
                 "that begin so.",
        .rows = rows};
    const char *words[1] = {""};
    size_t n = 0;
    int code = 0;
    if (!tool_parse(&spec, argc, argv, words, 1, &n, &code))
        return code;
    struct cw_err err = {0};
    Cachew__V1__CacheListRequest request = CACHEW__V1__CACHE_LIST_REQUEST__INIT;
    cw_autofree char *key = cw_mem_strdup(words[0]), *in = cw_mem_strdup(cache);
    request.cache = in;
    request.key = key;
    request.chunks = chunks;
    ProtobufCMessage *message = NULL;
    if (tool_admin_call(dispatcher, "/cachew.v1.Admin/CacheList", &request.base,
                        &cachew__v1__cache_list_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    Cachew__V1__CacheListReply *reply = (Cachew__V1__CacheListReply *)(void *)message;
    if (reply->n_rows > 0)
        qsort(reply->rows, reply->n_rows, sizeof(*reply->rows), compare);
    if (json)
        print_json(reply, chunks);
    else
        print_table(reply, chunks);
    protobuf_c_message_free_unpacked(message, NULL);
    return TOOL_OK;
}
