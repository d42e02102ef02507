/* SPDX-License-Identifier: Apache-2.0 */
/* cachew cache attach and detach: named caches come and go while the dispatcher runs. */
#include <inttypes.h>

#include "base/mem.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"

struct attach {
    const char *dispatcher, *tenant;
    uint64_t quota, source_quota;
    double high, low; /* percent; 0: the default */
};

static int send_attach(const struct attach *a, const char *name, const char *url)
{
    Cachew__V1__CacheAttachRequest request = CACHEW__V1__CACHE_ATTACH_REQUEST__INIT;
    cw_autofree char *name_text = cw_mem_strdup(name), *url_text = cw_mem_strdup(url),
                     *tenant = cw_mem_strdup(a->tenant);
    ProtobufCMessage *message = NULL;
    struct cw_err err = {0};
    request.name = name_text;
    request.url = url_text;
    request.tenant = tenant;
    request.quota = a->quota;
    request.source_quota = a->source_quota;
    request.high = a->high / 100;
    request.low = a->low / 100;
    if (tool_admin_change(a->dispatcher, "/cachew.v1.Admin/CacheAttach", &request.base,
                          &cachew__v1__cache_attach_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    printf("attached %s\n", name);
    protobuf_c_message_free_unpacked(message, NULL);
    return TOOL_OK;
}

int tool_cache_attach(int argc, char **argv)
{
    struct attach a = {.dispatcher = tool_dispatcher(), .tenant = ""};
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&a.dispatcher),
        {"quota", 0, CW_ARG_BYTES, &a.quota, "BYTES",
         "bytes of records at most (default: what its store has)", 1, 9e18},
        {"source-quota", 0, CW_ARG_BYTES, &a.source_quota, "BYTES",
         "bytes of source files at most (default: none are kept there)", 1, 9e18},
        {"tenant", 0, CW_ARG_STR, &a.tenant, "TENANT",
         "only jobs of this tenant may use it (default: all may)", 0, 0},
        {"high", 0, CW_ARG_F64, &a.high, "PERCENT",
         "of a quota at which eviction begins (default 95)", 1, 100},
        {"low", 0, CW_ARG_F64, &a.low, "PERCENT", "of a quota at which it ends (default 85)", 1,
         100},
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew cache attach",
        .usage = "NAME URL [options]",
        .about = "Adds a cache with a store of its own to a dispatcher, beside that of "
                 "--cache-store. Jobs that name it (cachew run --cache NAME) keep their records "
                 "there. A name that is attached already with this store gets the other options.",
        .rows = rows,
        .tail = "example:\n  cachew cache attach photos dir:/mnt/fast/photos --quota 500G -d "
                "host:7070\n"};
    const char *words[2];
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "which name, and which store?", words, 2, &code))
        return code;
    return send_attach(&a, words[0], words[1]);
}

int tool_cache_detach(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher();
    bool keep = false;
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        {"keep", 0, CW_ARG_FLAG, &keep, NULL, "its files stay, and can be attached again", 0, 0},
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew cache detach",
        .usage = "NAME [options]",
        .about = "Takes a named cache away from its dispatcher. Jobs that use it go on without a "
                 "cache; what they deliver does not change. Its files are deleted in the "
                 "background, also after a restart of the dispatcher; cachew cache describe shows "
                 "it until that is done.",
        .rows = rows};
    const char *words[1];
    int code = 0;
    struct cw_err err = {0};
    if (!tool_parse_words(&spec, argc, argv, "which cache?", words, 1, &code))
        return code;
    Cachew__V1__CacheDetachRequest request = CACHEW__V1__CACHE_DETACH_REQUEST__INIT;
    cw_autofree char *name = cw_mem_strdup(words[0]);
    ProtobufCMessage *message = NULL;
    request.name = name;
    request.keep = keep;
    if (tool_admin_change(dispatcher, "/cachew.v1.Admin/CacheDetach", &request.base,
                          &cachew__v1__cache_detach_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    uint64_t jobs = ((const Cachew__V1__CacheDetachReply *)(const void *)message)->jobs;
    printf("detached %s; %" PRIu64 " job%s without it\n", words[0], jobs,
           jobs == 1 ? " goes on" : "s go on");
    protobuf_c_message_free_unpacked(message, NULL);
    return TOOL_OK;
}
