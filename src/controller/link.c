/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the Admin service. The caches are asked for as a whole, one call for all CacheBackends. */
#include "controller/link.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cachew/v1/admin.pb-c.h"
#include "rpc/rpc.h"
#include "wire/wire.h"

#define ASK_MS 10000
#define CHANGE_MS 60000

struct cw_link {
    struct cw_link_options options;
    struct cw_loop *loop;
    struct cw_rpc *rpc;
    struct cw_channel *channel;
    struct cw_timer *timer;
    struct cw_cache_facts *caches;
    size_t n;
    bool asking, again;
    int64_t begun_ms, heard_ms; /* heard_ms: when the last answer came; 0: none has */
    uint64_t answers;
    char why[512];
    struct change *changes; /* under way */
};
/* A change that was asked for. */
struct change {
    struct cw_link *link;
    struct change *prev, *next;
    const ProtobufCMessageDescriptor *type; /* of the answer */
    cw_link_fn *fn;
    void *arg;
};

static char *text(const char *s) /* The strings of protobuf-c messages are not const. */
{
    return (char *)(uintptr_t)s;
}

/* ---- what it has ---- */

static void free_facts(struct cw_link *link)
{
    for (size_t i = 0; i < link->n; i++) {
        struct cw_cache_facts *c = &link->caches[i];
        cw_mem_free(c->name);
        cw_mem_free(c->url);
        cw_mem_free(c->tenant);
        cw_mem_free(c->why);
        for (size_t k = 0; k < c->users_n; k++)
            cw_mem_free(c->users[k]);
        cw_mem_free(c->users);
    }
    cw_mem_free(cw_steal(&link->caches));
    link->n = 0;
}

static void read_users(const Cachew__V1__CacheState *row, struct cw_cache_facts *ret)
{
    ret->users = CW_NEW_ARRAY(char *, row->n_users + 1);
    ret->users_n = row->n_users;
    for (size_t i = 0; i < row->n_users; i++)
        ret->users[i] = cw_mem_strdup(row->users[i]);
}

static void read_row(const Cachew__V1__CacheState *row, struct cw_cache_facts *ret)
{
    *ret = (struct cw_cache_facts){.name = cw_mem_strdup(row->name),
                                   .url = cw_mem_strdup(row->url),
                                   .tenant = cw_mem_strdup(row->tenant),
                                   .why = cw_mem_strdup(row->away ? row->why : ""),
                                   .id = row->id,
                                   .leaving = strcmp(row->state, "leaving") == 0,
                                   .quota = row->quota,
                                   .source_quota = row->source_quota,
                                   .high_percent = lround(row->high * 100),
                                   .low_percent = lround(row->low * 100),
                                   .used_ms = row->used_ms,
                                   .bytes = row->bytes,
                                   .source_bytes = row->source_bytes,
                                   .hits = row->hits,
                                   .misses = row->misses,
                                   .capacity = row->capacity,
                                   .files_left = row->files_left};
    for (size_t i = 0; i < row->n_sources; i++) {
        ret->warmed_files += row->sources[i]->files;
        ret->warmed_bytes += row->sources[i]->bytes;
        ret->warmed_cached += row->sources[i]->cached_bytes;
    }
    read_users(row, ret);
}

static void take(struct cw_link *link, const Cachew__V1__CacheDescribeReply *reply)
{
    free_facts(link);
    link->caches = CW_NEW_ARRAY(struct cw_cache_facts, reply->n_caches + 1);
    for (size_t i = 0; i < reply->n_caches; i++)
        read_row(reply->caches[i], &link->caches[link->n++]);
    link->heard_ms = cw_clock_ms();
    link->answers++;
    link->why[0] = '\0';
}

static void on_described(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    struct cw_link *link = arg;
    struct cw_err err = {0};
    ProtobufCMessage *unpacked =
        reply ? cw_wire_unpack(&cachew__v1__cache_describe_reply__descriptor, reply, &err) : NULL;
    link->asking = false;
    if (unpacked) {
        take(link, (const Cachew__V1__CacheDescribeReply *)(const void *)unpacked);
        protobuf_c_message_free_unpacked(unpacked, NULL);
    } else {
        snprintf(link->why, sizeof(link->why), "the dispatcher at %.200s: %.250s",
                 link->options.address, reply ? err.msg : msg);
    }
    (void)code;
    cw_timer_start(link->timer, link->again ? 0 : link->options.period_ms, 0);
    link->again = false;
    link->options.described(link->options.arg);
}

static void call(struct cw_link *link, const char *method, const ProtobufCMessage *request,
                 int64_t timeout_ms, cw_unary_fn *fn, void *arg)
{
    struct cw_buf *packed = cw_wire_pack(request);
    cw_channel_unary(link->channel, method, packed, timeout_ms, fn, arg);
    cw_buf_unref(packed);
}

static void on_timer(void *arg)
{
    struct cw_link *link = arg;
    Cachew__V1__CacheDescribeRequest request = CACHEW__V1__CACHE_DESCRIBE_REQUEST__INIT;
    request.name = text("");
    link->asking = true;
    call(link, "/cachew.v1.Admin/CacheDescribe", &request.base, ASK_MS, on_described, link);
}

void cw_link_ask(struct cw_link *link)
{
    link->again = link->asking;
    if (!link->asking)
        cw_timer_start(link->timer, 0, 0);
}

/* ---- questions ---- */

bool cw_link_is_known(const struct cw_link *link)
{
    return link->heard_ms > 0 && cw_clock_ms() - link->heard_ms < link->options.away_ms;
}

bool cw_link_is_away(const struct cw_link *link)
{
    int64_t since_ms = link->heard_ms > 0 ? link->heard_ms : link->begun_ms;
    return cw_clock_ms() - since_ms >= link->options.away_ms;
}

const char *cw_link_why(const struct cw_link *link)
{
    return link->why;
}

uint64_t cw_link_answers(const struct cw_link *link)
{
    return link->answers;
}

uint64_t cw_link_fresh(const struct cw_link *link)
{
    return link->answers + 1 + link->asking;
}

const struct cw_cache_facts *cw_link_next(const struct cw_link *link, size_t *i)
{
    return *i < link->n ? &link->caches[(*i)++] : NULL;
}

/* Whether a URL ends in the uid, as the places of engines here do. */
static bool is_of(const char *url, const char *uid)
{
    size_t n = strlen(url), uid_n = strlen(uid);
    return n > uid_n && strcmp(url + n - uid_n, uid) == 0;
}

void cw_link_find(const struct cw_link *link, const char *name, const char *url, const char *uid,
                  const struct cw_cache_facts **ret_cache,
                  const struct cw_cache_facts **ret_another)
{
    *ret_cache = *ret_another = NULL;
    for (size_t i = 0; i < link->n; i++) {
        const struct cw_cache_facts *c = &link->caches[i];
        if (strcmp(c->name, name) != 0)
            continue;
        bool own = strcmp(c->url, url) == 0 || is_of(c->url, uid);
        const struct cw_cache_facts **ret = own ? ret_cache : ret_another;
        if (!*ret || (*ret)->leaving)
            *ret = c;
    }
}

/* ---- changes ---- */

static void free_change(struct change *change)
{
    if (change->prev)
        change->prev->next = change->next;
    else
        change->link->changes = change->next;
    if (change->next)
        change->next->prev = change->prev;
    cw_mem_free(change);
}

static void on_changed(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    struct change *change = arg;
    struct cw_err err = {0};
    ProtobufCMessage *unpacked = reply ? cw_wire_unpack(change->type, reply, &err) : NULL;
    struct cw_link_answer answer = {.code = code, .msg = msg};
    if (reply && !unpacked)
        answer = (struct cw_link_answer){.code = CW_E_CORRUPT, .msg = err.msg};
    if (unpacked && change->type == &cachew__v1__cache_close_reply__descriptor)
        answer.closed = ((const Cachew__V1__CacheCloseReply *)(const void *)unpacked)->closed;
    if (unpacked)
        answer.code = CW_OK;
    change->fn(change->arg, &answer);
    if (unpacked)
        protobuf_c_message_free_unpacked(unpacked, NULL);
    free_change(change);
}

static void ask(struct cw_link *link, const char *method, const ProtobufCMessage *request,
                const ProtobufCMessageDescriptor *type, cw_link_fn *fn, void *arg)
{
    struct change *change = CW_NEW(struct change);
    *change =
        (struct change){.link = link, .next = link->changes, .type = type, .fn = fn, .arg = arg};
    if (link->changes)
        link->changes->prev = change;
    link->changes = change;
    call(link, method, request, CHANGE_MS, on_changed, change);
}

void cw_link_attach(struct cw_link *link, const struct cw_cachebackend *backend, const char *url,
                    cw_link_fn *fn, void *arg)
{
    Cachew__V1__CacheAttachRequest request = CACHEW__V1__CACHE_ATTACH_REQUEST__INIT;
    cw_autofree char *name = cw_cachebackend_cache_name(backend);
    request.name = name;
    request.url = text(url);
    request.tenant = backend->name_space;
    request.quota = (uint64_t)backend->quota;
    request.source_quota = (uint64_t)backend->source_quota;
    request.high = (double)backend->high_percent / 100;
    request.low = (double)backend->low_percent / 100;
    ask(link, "/cachew.v1.Admin/CacheAttach", &request.base,
        &cachew__v1__cache_attach_reply__descriptor, fn, arg);
}

void cw_link_detach(struct cw_link *link, const char *name, bool keep, cw_link_fn *fn, void *arg)
{
    Cachew__V1__CacheDetachRequest request = CACHEW__V1__CACHE_DETACH_REQUEST__INIT;
    request.name = text(name);
    request.keep = keep;
    ask(link, "/cachew.v1.Admin/CacheDetach", &request.base,
        &cachew__v1__cache_detach_reply__descriptor, fn, arg);
}

void cw_link_close(struct cw_link *link, const char *name, int64_t since_ms, bool reopen,
                   cw_link_fn *fn, void *arg)
{
    Cachew__V1__CacheCloseRequest request = CACHEW__V1__CACHE_CLOSE_REQUEST__INIT;
    request.name = text(name);
    request.since_ms = since_ms;
    request.reopen = reopen;
    ask(link, "/cachew.v1.Admin/CacheClose", &request.base,
        &cachew__v1__cache_close_reply__descriptor, fn, arg);
}

/* ---- beginning and end ---- */

struct cw_link *cw_link_new(struct cw_loop *loop, const struct cw_link_options *options)
{
    struct cw_link *link = CW_NEW(struct cw_link);
    link->options = *options;
    link->loop = loop;
    link->rpc = cw_rpc_new(loop);
    if (options->tls && !cw_rpc_address_is_unix(options->address))
        (void)cw_rpc_set_tls(link->rpc, options->tls, NULL); /* The channel has the error. */
    link->channel = cw_channel_open(link->rpc, options->address);
    cw_channel_set_token(link->channel, NULL, options->token_file);
    link->timer = cw_timer_new(loop, on_timer, link);
    link->begun_ms = cw_clock_ms();
    cw_timer_start(link->timer, 0, 0);
    return link;
}

void cw_link_free(struct cw_link *link)
{
    if (!link)
        return;
    cw_timer_free(link->timer);
    cw_channel_close(link->channel);
    cw_rpc_free(link->rpc);
    while (link->changes)
        free_change(link->changes);
    free_facts(link);
    cw_mem_free(link);
}
