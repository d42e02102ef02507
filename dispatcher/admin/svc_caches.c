/* SPDX-License-Identifier: Apache-2.0 */
/* Caches are attached, described, closed and detached. */
#include <stdlib.h>
#include <string.h>

#include "dispatcher/admin/admin_int.h"
#include "dispatcher/cache/cache.h"

static char *text(const char *s) /* The strings of protobuf-c messages are not const. */
{
    return (char *)(uintptr_t)s;
}

/* ---- attach and detach ---- */

static void handle_attach(void *arg, struct cw_call *call, struct cw_rpc_msg *message)
{
    struct cw_dispatcher *d = arg;
    ProtobufCMessage *unpacked =
        cw_svc_unpack(&cachew__v1__cache_attach_request__descriptor, call, message);
    if (!unpacked)
        return;
    const Cachew__V1__CacheAttachRequest *request =
        (const Cachew__V1__CacheAttachRequest *)unpacked;
    const struct cw_state_cache row = {
        .name = request->name,
        .url = request->url,
        .tenant = request->tenant,
        .quota = request->quota,
        .source_quota = request->source_quota,
        .high = request->high == 0 ? CW_CATALOGUE_HIGH : request->high * 100,
        .low = request->low == 0 ? CW_CATALOGUE_LOW : request->low * 100};
    struct cw_cache_service *cache;
    struct cw_err err = {0};
    if (d->stopping) {
        cw_call_fail(call, CW_E_UNAVAILABLE, "the dispatcher is stopping");
    } else if (cw_cache_attach(d, &row, &cache, &err) != 0) {
        cw_call_fail(call, err.code, err.msg);
    } else {
        Cachew__V1__CacheAttachReply answer = CACHEW__V1__CACHE_ATTACH_REPLY__INIT;
        answer.id = cache->id;
        cw_svc_reply_stored(d, call, &answer.base);
    }
    protobuf_c_message_free_unpacked(unpacked, NULL);
}

/* Finds a cache that may be changed by its name; NULL after failing the call. */
static struct cw_cache_service *find_named(struct cw_dispatcher *d, struct cw_call *call,
                                           const char *name)
{
    struct cw_cache_service *cache = cw_svc_find_cache(d, call, name);
    if (!cache || cache->id != 0)
        return cache;
    cw_call_fail(call, CW_E_INVALID,
                 "the cache \"default\" is the store of --cache-store, and stays as long as the "
                 "dispatcher");
    return NULL;
}

static void detach(struct cw_cache_service *cache, struct cw_call *call,
                   const Cachew__V1__CacheDetachRequest *request)
{
    struct cw_dispatcher *d = cache->d;
    if (request->if_closed && !cw_cache_is_closed(cache)) {
        cw_call_fail(call, CW_E_STATE, "the cache is open: close it first");
        return;
    }
    Cachew__V1__CacheDetachReply answer = CACHEW__V1__CACHE_DETACH_REPLY__INIT;
    answer.jobs = cw_cache_detach(cache, request->keep != 0);
    cw_svc_reply_stored(d, call, &answer.base);
}

static void handle_detach(void *arg, struct cw_call *call, struct cw_rpc_msg *message)
{
    ProtobufCMessage *unpacked =
        cw_svc_unpack(&cachew__v1__cache_detach_request__descriptor, call, message);
    if (!unpacked)
        return;
    const Cachew__V1__CacheDetachRequest *request =
        (const Cachew__V1__CacheDetachRequest *)unpacked;
    struct cw_cache_service *cache = find_named(arg, call, request->name);
    if (cache)
        detach(cache, call, request);
    protobuf_c_message_free_unpacked(unpacked, NULL);
}

/* ---- users ---- */

/* Returns the names of the jobs that use the cache, or their ids if they have none. The caller frees
 * the list; the texts belong to the jobs. own: the only tenant whose jobs are named; NULL: all. */
static char **users_of(const struct cw_cache_service *cache, const char *own, size_t *ret_n)
{
    char **list = CW_NEW_ARRAY(char *, cache->d->jobs_n + 1);
    int64_t now = cw_clock_ms();
    size_t n = 0;
    for (struct cw_job *job = cache->d->jobs; job; job = job->next)
        if (cw_cache_is_user(cache, job, now) && (!own || strcmp(own, job->tenant->name) == 0))
            list[n++] = job->name[0] != '\0' ? job->name : job->id;
    *ret_n = n;
    return list;
}

static void close_unused(struct cw_cache_service *cache, struct cw_call *call,
                         const Cachew__V1__CacheCloseRequest *request)
{
    Cachew__V1__CacheCloseReply answer = CACHEW__V1__CACHE_CLOSE_REPLY__INIT;
    answer.used_ms = cw_cache_last_use(cache);
    answer.users = users_of(cache, NULL, &answer.n_users);
    answer.closed = !request->reopen && answer.n_users == 0 && answer.used_ms <= request->since_ms;
    cache->closed_until_ms = answer.closed ? cw_clock_ms() + CW_CACHE_CLOSED_MS : 0;
    cw_svc_reply(call, &answer.base);
    cw_mem_free(answer.users);
}

static void handle_close(void *arg, struct cw_call *call, struct cw_rpc_msg *message)
{
    ProtobufCMessage *unpacked =
        cw_svc_unpack(&cachew__v1__cache_close_request__descriptor, call, message);
    if (!unpacked)
        return;
    const Cachew__V1__CacheCloseRequest *request = (const Cachew__V1__CacheCloseRequest *)unpacked;
    struct cw_cache_service *cache = find_named(arg, call, request->name);
    if (cache)
        close_unused(cache, call, request);
    protobuf_c_message_free_unpacked(unpacked, NULL);
}

/* ---- describe ---- */

static void add_keys(const struct cw_catalogue *catalogue, Cachew__V1__CacheState *row)
{
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&catalogue->keys, &i, &name, &value);) {
        const struct cw_catalogue_key *key = value;
        row->keys += key->chunks_n > 0;
        row->records += key->records;
        row->hits += key->hits;
        row->misses += key->misses;
    }
}

static void add_availability(struct cw_cache_service *cache, Cachew__V1__CacheState *row)
{
    uint64_t id;
    void *why;
    size_t i = 0;
    row->away = cache->unavailable;
    row->why = cache->unavailable_why;
    if (cache->unavailable || !cw_map_next(&cache->away, &i, &id, &why))
        return;
    row->away = true;
    row->why = why;
}

static void add_sources(const struct cw_cache_service *cache, Cachew__V1__CacheState *row)
{
    for (const struct cw_cache_source *s = cache->sources; s; s = s->next)
        row->n_sources++;
    char *block = cw_mem_new_array(row->n_sources + 1, sizeof(Cachew__V1__CacheSource *) +
                                                           sizeof(Cachew__V1__CacheSource));
    row->sources = (Cachew__V1__CacheSource **)(void *)block;
    Cachew__V1__CacheSource *v =
        (Cachew__V1__CacheSource *)(void *)(block + (row->n_sources + 1) * sizeof(*row->sources));
    size_t n = 0;
    for (const struct cw_cache_source *s = cache->sources; s; s = s->next, n++) {
        cachew__v1__cache_source__init(&v[n]);
        v[n].source = s->source;
        v[n].bytes = s->bytes;
        v[n].files = s->files;
        v[n].cached_bytes = s->cached_bytes;
        v[n].time_ms = s->time_ms;
        row->sources[n] = &v[n];
    }
}

/* The bytes that blocks of source files have in the store; all workers report the same store. */
static uint64_t source_bytes(const struct cw_cache_service *cache)
{
    uint64_t bytes = 0;
    for (const struct cw_worker *worker = cache->d->workers; worker; worker = worker->next) {
        Cachew__V1__SourceTier *const *tiers =
            cache->id ? worker->named_tiers : worker->source_tiers;
        size_t n = cache->id ? worker->named_tiers_n : worker->source_tiers_n;
        for (size_t i = 0; i < n; i++)
            if (strcmp(tiers[i]->tier, "store") == 0 && tiers[i]->cache == cache->id)
                bytes = CW_MAX(bytes, tiers[i]->bytes);
    }
    return bytes;
}

static void fill_open(struct cw_cache_service *cache, const char *own, Cachew__V1__CacheState *row)
{
    const struct cw_catalogue *catalogue = cache->catalogue;
    uint64_t limit = cw_cache_limit(cache);
    cachew__v1__cache_state__init(row);
    row->name = cache->name;
    row->id = cache->id;
    row->url = cache->url;
    row->tenant = cache->tenant;
    row->state = text(cw_cache_is_closed(cache) ? "closed" : "open");
    row->quota = catalogue->quota;
    row->source_quota = cache->source_quota;
    row->high = (double)catalogue->high / 100;
    row->low = (double)catalogue->low / 100;
    row->users = users_of(cache, own, &row->n_users);
    row->created_ms = cache->created_ms;
    row->used_ms = cw_cache_last_use(cache);
    row->bytes = catalogue->bytes;
    row->chunks = catalogue->chunks_n;
    row->capacity = limit == UINT64_MAX ? 0 : limit;
    row->full = cache->full;
    row->full_why = cache->full_why;
    row->source_bytes = source_bytes(cache);
    add_keys(catalogue, row);
    add_availability(cache, row);
    /* What others have warmed into a cache that all share says what they read. */
    if (!own || cache->tenant[0] != '\0')
        add_sources(cache, row);
}

static void fill_leaving(const struct cw_leaving_cache *leaving, Cachew__V1__CacheState *row)
{
    const struct cw_leaving_facts facts = cw_leaving_facts(leaving);
    cachew__v1__cache_state__init(row);
    row->name = text(facts.name);
    row->id = facts.id;
    row->url = text(facts.url);
    row->tenant = text(facts.tenant);
    row->state = text("leaving");
    row->created_ms = facts.created_ms;
    row->used_ms = facts.used_ms;
    row->files_left = facts.files_left;
    row->away = facts.why[0] != '\0';
    row->why = text(facts.why);
}

struct describe {
    const char *name, *own;
    Cachew__V1__CacheState **list;
    size_t n, cap;
};

/* Returns a new row at the end of the list, if the cache of this name and tenant is asked for. */
static Cachew__V1__CacheState *add_row(struct describe *what, const char *name, const char *tenant)
{
    bool mine = !what->own || tenant[0] == '\0' || strcmp(tenant, what->own) == 0;
    if (!mine || (what->name[0] != '\0' && strcmp(what->name, name) != 0))
        return NULL;
    CW_GROW(what->list, what->n, what->cap);
    what->list[what->n] = CW_NEW(Cachew__V1__CacheState);
    return what->list[what->n++];
}

static void collect(const struct cw_dispatcher *d, struct describe *what)
{
    Cachew__V1__CacheState *row;
    for (struct cw_cache_service *cache = d->caches; cache; cache = cache->next)
        if ((row = add_row(what, cache->name, cache->tenant)) != NULL)
            fill_open(cache, what->own, row);
    for (const struct cw_leaving_cache *left = NULL; (left = cw_leaving_next(d, left));) {
        const struct cw_leaving_facts facts = cw_leaving_facts(left);
        if ((row = add_row(what, facts.name, facts.tenant)) != NULL)
            fill_leaving(left, row);
    }
}

static void describe(struct cw_dispatcher *d, struct cw_call *call, const char *name)
{
    struct describe what = {.name = name, .own = cw_access_tenant_of(cw_call_caller(call))};
    collect(d, &what);
    Cachew__V1__CacheDescribeReply answer = CACHEW__V1__CACHE_DESCRIBE_REPLY__INIT;
    answer.caches = what.list;
    answer.n_caches = what.n;
    answer.generation = d->generation;
    cw_autofree char *msg = cw_mem_printf("there is no cache \"%.300s\"", name);
    if (what.n == 0 && name[0] != '\0')
        cw_call_fail(call, CW_E_NOT_FOUND, msg);
    else
        cw_svc_reply(call, &answer.base);
    for (size_t i = 0; i < what.n; i++) {
        cw_mem_free(what.list[i]->users);
        cw_mem_free(what.list[i]->sources);
        cw_mem_free(what.list[i]);
    }
    cw_mem_free(what.list);
}

static void handle_describe(void *arg, struct cw_call *call, struct cw_rpc_msg *message)
{
    ProtobufCMessage *unpacked =
        cw_svc_unpack(&cachew__v1__cache_describe_request__descriptor, call, message);
    if (!unpacked)
        return;
    describe(arg, call, ((const Cachew__V1__CacheDescribeRequest *)unpacked)->name);
    protobuf_c_message_free_unpacked(unpacked, NULL);
}

/* ---- what was warmed ---- */

#define SOURCES_MAX 1000 /* More sources of one cache are not remembered. */

static size_t count_sources(const struct cw_cache_service *cache)
{
    size_t n = 0;
    for (const struct cw_cache_source *source = cache->sources; source; source = source->next)
        n++;
    return n;
}

static void note_sources(struct cw_cache_service *cache,
                         const Cachew__V1__CacheNoteSourceRequest *request)
{
    for (size_t i = 0; i < request->n_sources && count_sources(cache) < SOURCES_MAX; i++) {
        const Cachew__V1__CacheSource *source = request->sources[i];
        const struct cw_state_cache_source row = {.cache = cache->id,
                                                  .source = source->source,
                                                  .bytes = source->bytes,
                                                  .files = source->files,
                                                  .cached_bytes = source->cached_bytes,
                                                  .time_ms = cw_clock_wall_ms()};
        cw_cache_set_source(cache, &row);
    }
}

static void handle_note_source(void *arg, struct cw_call *call, struct cw_rpc_msg *message)
{
    ProtobufCMessage *unpacked =
        cw_svc_unpack(&cachew__v1__cache_note_source_request__descriptor, call, message);
    if (!unpacked)
        return;
    const Cachew__V1__CacheNoteSourceRequest *request =
        (const Cachew__V1__CacheNoteSourceRequest *)unpacked;
    struct cw_cache_service *cache = cw_svc_find_cache(arg, call, request->cache);
    if (cache && cw_access_tenant_of(cw_call_caller(call)) && cache->tenant[0] == '\0') {
        cw_call_fail(
            call, CW_E_DENIED,
            "what is warmed into a cache that all tenants share is noted by operators only");
    } else if (cache) {
        Cachew__V1__CacheNoteSourceReply answer = CACHEW__V1__CACHE_NOTE_SOURCE_REPLY__INIT;
        note_sources(cache, request);
        cw_svc_reply_stored(arg, call, &answer.base);
    }
    protobuf_c_message_free_unpacked(unpacked, NULL);
}

void cw_svc_caches_add(struct cw_dispatcher *d)
{
    const struct cw_method methods[] = {
        {"/cachew.v1.Admin/CacheAttach", handle_attach, NULL, d},
        {"/cachew.v1.Admin/CacheDetach", handle_detach, NULL, d},
        {"/cachew.v1.Admin/CacheClose", handle_close, NULL, d},
        {"/cachew.v1.Admin/CacheDescribe", handle_describe, NULL, d},
        {"/cachew.v1.Admin/CacheNoteSource", handle_note_source, NULL, d},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(methods); i++)
        cw_server_add(d->server, &methods[i]);
}
