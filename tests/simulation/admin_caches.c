/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about named caches, in the command's program. */
#include "admin.h"

#include "cachew/v1/admin.pb-c.h"

static void free_reply(ProtobufCMessage *reply)
{
    if (reply)
        protobuf_c_message_free_unpacked(reply, NULL);
}

void sim_admin_attach(struct sim_admin *admin)
{
    Cachew__V1__CacheAttachRequest request = CACHEW__V1__CACHE_ATTACH_REQUEST__INIT;

    request.name = admin->cache;
    request.url = admin->url;
    request.quota = admin->quota;
    request.source_quota = admin->source_quota;
    sim_log("attaches cache %s: %s", admin->cache, admin->url);
    free_reply(sim_admin_ask(admin, "/cachew.v1.Admin/CacheAttach", &request.base,
                             &cachew__v1__cache_attach_reply__descriptor));
}

void sim_admin_detach(struct sim_admin *admin)
{
    Cachew__V1__CacheDetachRequest request = CACHEW__V1__CACHE_DETACH_REQUEST__INIT;

    request.name = admin->cache;
    request.keep = admin->keep;
    request.if_closed = admin->if_closed;
    sim_log("detaches cache %s%s%s", admin->cache, admin->keep ? ", keeps its files" : "",
            admin->if_closed ? ", if it is closed" : "");
    ProtobufCMessage *message = sim_admin_ask(admin, "/cachew.v1.Admin/CacheDetach", &request.base,
                                              &cachew__v1__cache_detach_reply__descriptor);
    if (message)
        admin->users = (size_t)((Cachew__V1__CacheDetachReply *)(void *)message)->jobs;
    free_reply(message);
}

void sim_admin_close(struct sim_admin *admin)
{
    Cachew__V1__CacheCloseRequest request = CACHEW__V1__CACHE_CLOSE_REQUEST__INIT;

    request.name = admin->cache;
    request.since_ms = INT64_MAX;
    request.reopen = admin->reopen;
    ProtobufCMessage *message = sim_admin_ask(admin, "/cachew.v1.Admin/CacheClose", &request.base,
                                              &cachew__v1__cache_close_reply__descriptor);
    if (!message)
        return;
    const Cachew__V1__CacheCloseReply *reply =
        (const Cachew__V1__CacheCloseReply *)(const void *)message;
    admin->is_closed = reply->closed;
    admin->users = reply->n_users;
    if (reply->closed && reply->n_users > 0)
        sim_fail("cache %s is closed, and has %zu users", admin->cache, reply->n_users);
    sim_log("cache %s: %s", admin->cache, reply->closed ? "closed" : "open");
    free_reply(message);
}

void sim_admin_describe(struct sim_admin *admin)
{
    Cachew__V1__CacheDescribeRequest request = CACHEW__V1__CACHE_DESCRIBE_REQUEST__INIT;

    free_reply(sim_admin_ask(admin, "/cachew.v1.Admin/CacheDescribe", &request.base,
                             &cachew__v1__cache_describe_reply__descriptor));
}

void sim_admin_note_source(struct sim_admin *admin)
{
    static char pattern[] = "files:/data/*";
    Cachew__V1__CacheSource source = CACHEW__V1__CACHE_SOURCE__INIT, *sources[] = {&source};
    Cachew__V1__CacheNoteSourceRequest request = CACHEW__V1__CACHE_NOTE_SOURCE_REQUEST__INIT;

    source.source = pattern;
    request.cache = admin->cache;
    request.sources = sources;
    request.n_sources = 1;
    free_reply(sim_admin_ask(admin, "/cachew.v1.Admin/CacheNoteSource", &request.base,
                             &cachew__v1__cache_note_source_reply__descriptor));
}
