/* SPDX-License-Identifier: Apache-2.0 */
/* cachew cache evict, pin, unpin, scan: the commands that change the cache. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"

#define LONG_MS 600000 /* The dispatcher asks the store before it answers, which may take long. */

#define ROW_TENANT(target)                                                                         \
    {                                                                                              \
        "tenant", 0, CW_ARG_STR, (target), "TENANT", "only of this tenant", 0, 0                   \
    }

static void print_done(const char *what, uint64_t chunks, uint64_t bytes)
{
    CW_STR_AUTO size = {0};
    tool_print_bytes((double)bytes, &size);
    printf("%s %" PRIu64 " chunks, %s\n", what, chunks, cw_str_text(&size));
}

int tool_cache_evict(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher(), *tenant = "", *cache = tool_cache();
    bool all = false;
    uint64_t bytes = 0;
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        TOOL_ROW_CACHE(&cache),
        ROW_TENANT(&tenant),
        {"all", 0, CW_ARG_FLAG, &all, NULL, "everything but what is pinned", 0, 0},
        {"bytes", 0, CW_ARG_BYTES, &bytes, "N", "so many bytes at least, what is worth least first",
         1, 9e18},
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew cache evict",
        .usage = "KEY | --all | --bytes N [options]",
        .about = "Deletes chunks of the cache: those of a key (as `cachew cache ls` shows it, or "
                 "its beginning), all, or as many as make room for N "
                 "bytes. Jobs that read them compute instead; what they deliver does not change.",
        .rows = rows,
        .tail = "examples:\n  cachew cache evict 3f09c1 --dispatcher host:7070\n  cachew cache "
                "evict --bytes 100G --dispatcher host:7070\n"};
    const char *words[1] = {""};
    size_t n = 0;
    int code = 0;
    if (!tool_parse(&spec, argc, argv, words, 1, &n, &code))
        return code;
    if ((int)(n > 0) + all + (bytes > 0) != 1) {
        fprintf(stderr, "cachew cache evict: give a key, --all or --bytes N: one of them\n");
        return TOOL_USAGE;
    }
    struct cw_err err = {0};
    Cachew__V1__CacheEvictRequest request = CACHEW__V1__CACHE_EVICT_REQUEST__INIT;
    cw_autofree char *key = cw_mem_strdup(words[0]), *of = cw_mem_strdup(tenant),
                     *in = cw_mem_strdup(cache);
    request.cache = in;
    request.key = key;
    request.tenant = of;
    request.all = all;
    request.bytes = bytes;
    ProtobufCMessage *message = NULL;
    if (tool_admin_call_within(dispatcher, "/cachew.v1.Admin/CacheEvict", LONG_MS, &request.base,
                               &cachew__v1__cache_evict_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    const Cachew__V1__CacheEvictReply *reply =
        (const Cachew__V1__CacheEvictReply *)(const void *)message;
    print_done("evicted", reply->chunks, reply->bytes);
    protobuf_c_message_free_unpacked(message, NULL);
    return TOOL_OK;
}

static int pin(int argc, char **argv, const struct cw_args_spec *of, bool pinned)
{
    const char *dispatcher = tool_dispatcher(), *tenant = "", *cache = tool_cache();
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        TOOL_ROW_CACHE(&cache),
        ROW_TENANT(&tenant),
        {0},
    };
    struct cw_args_spec spec = *of;
    const char *words[1];
    int code = 0;
    spec.rows = rows;
    spec.usage = "KEY [options]";
    if (!tool_parse_words(&spec, argc, argv, "which key (see cachew cache ls)?", words, 1, &code))
        return code;
    struct cw_err err = {0};
    Cachew__V1__CachePinRequest request = CACHEW__V1__CACHE_PIN_REQUEST__INIT;
    cw_autofree char *key = cw_mem_strdup(words[0]), *tenant_text = cw_mem_strdup(tenant),
                     *in = cw_mem_strdup(cache);
    request.cache = in;
    request.key = key;
    request.tenant = tenant_text;
    request.pin = pinned;
    ProtobufCMessage *message = NULL;
    if (tool_admin_change(dispatcher, "/cachew.v1.Admin/CachePin", &request.base,
                          &cachew__v1__cache_pin_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    printf("%s %s\n", pinned ? "pinned" : "unpinned", words[0]);
    protobuf_c_message_free_unpacked(message, NULL);
    return TOOL_OK;
}

int tool_cache_pin(int argc, char **argv)
{
    static const struct cw_args_spec spec = {
        .program = "cachew cache pin",
        .about = "What is cached of a key stays: no quota and no `evict` takes it away, until it "
                 "is unpinned. KEY may be its beginning."};
    return pin(argc, argv, &spec, true);
}

int tool_cache_unpin(int argc, char **argv)
{
    static const struct cw_args_spec spec = {
        .program = "cachew cache unpin",
        .about = "What is cached of a key may leave again, when a quota or `evict` says so."};
    return pin(argc, argv, &spec, false);
}

int tool_cache_scan(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher(), *cache = tool_cache();
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        TOOL_ROW_CACHE(&cache),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew cache scan",
        .usage = "[options]",
        .about = "Lists the store again, so that the catalogue is what is there: after chunks were "
                 "copied into it, or deleted, behind the "
                 "dispatcher's back. Answers when that is done.",
        .rows = rows};
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "", NULL, 0, &code))
        return code;
    struct cw_err err = {0};
    Cachew__V1__CacheScanRequest request = CACHEW__V1__CACHE_SCAN_REQUEST__INIT;
    cw_autofree char *in = cw_mem_strdup(cache);
    request.cache = in;
    ProtobufCMessage *message = NULL;
    if (tool_admin_call_within(dispatcher, "/cachew.v1.Admin/CacheScan", LONG_MS, &request.base,
                               &cachew__v1__cache_scan_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    const Cachew__V1__CacheScanReply *reply =
        (const Cachew__V1__CacheScanReply *)(const void *)message;
    print_done("the cache has", reply->chunks, reply->bytes);
    printf("%" PRIu64 " were not known, %" PRIu64 " are gone\n", reply->added, reply->removed);
    protobuf_c_message_free_unpacked(message, NULL);
    return TOOL_OK;
}
