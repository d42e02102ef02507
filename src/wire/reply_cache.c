/* SPDX-License-Identifier: Apache-2.0 */
/* Caches, and what the catalogue of one holds, as JSON. */
#include <inttypes.h>
#include <string.h>

#include "base/json_member.h"
#include "wire/reply_json.h"

static double share(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (double)part / (double)whole;
}

static void add_sources(struct cw_str *out, const Cachew__V1__CacheState *c)
{
    cw_str_add(out, ",\"sources\":[");
    for (size_t i = 0; i < c->n_sources; i++) {
        const Cachew__V1__CacheSource *s = c->sources[i];
        cw_str_addf(out, "%s{\"time_ms\":%" PRId64, i ? "," : "", s->time_ms);
        cw_member_text(out, "source", s->source);
        cw_member_number(out, "bytes", s->bytes);
        cw_member_number(out, "files", s->files);
        cw_member_number(out, "cached_bytes", s->cached_bytes);
        cw_member_real(out, "percent", 100 * share(s->cached_bytes, s->bytes));
        cw_str_add_char(out, '}');
    }
    cw_str_add_char(out, ']');
}

void cw_wire_cache_json(struct cw_str *out, const Cachew__V1__CacheState *c)
{
    const char *const texts[][2] = {{"name", c->name},         {"url", c->url},
                                    {"tenant", c->tenant},     {"state", c->state},
                                    {"full_why", c->full_why}, {"why", c->why}};
    const struct {
        const char *key;
        uint64_t number;
    } numbers[] = {{"id", c->id},
                   {"quota", c->quota},
                   {"source_quota", c->source_quota},
                   {"bytes", c->bytes},
                   {"records", c->records},
                   {"chunks", c->chunks},
                   {"keys", c->keys},
                   {"hits", c->hits},
                   {"misses", c->misses},
                   {"capacity", c->capacity},
                   {"source_bytes", c->source_bytes},
                   {"files_left", c->files_left}};
    cw_str_addf(out, "{\"away\":%s,\"full\":%s,\"created_ms\":%" PRId64 ",\"used_ms\":%" PRId64,
                c->away ? "true" : "false", c->full ? "true" : "false", c->created_ms, c->used_ms);
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++)
        cw_member_text(out, texts[i][0], texts[i][1]);
    for (size_t i = 0; i < CW_ARRAY_LEN(numbers); i++)
        cw_member_number(out, numbers[i].key, numbers[i].number);
    cw_member_real(out, "high", c->high);
    cw_member_real(out, "low", c->low);
    cw_member_real(out, "hit_share", share(c->hits, c->hits + c->misses));
    cw_str_add(out, ",\"users\":[");
    for (size_t i = 0; i < c->n_users; i++) {
        cw_str_add(out, i ? "," : "");
        cw_str_add_json(out, c->users[i], strlen(c->users[i]));
    }
    cw_str_add_char(out, ']');
    add_sources(out, c);
    cw_str_add_char(out, '}');
}

static void add_store(struct cw_str *out, const Cachew__V1__CacheListReply *reply)
{
    cw_str_addf(out, "{\"generation\":%" PRIu64, reply->generation);
    cw_member_text(out, "url", reply->url);
    cw_member_text(out, "evict", reply->evict);
    cw_member_number(out, "bytes", reply->bytes);
    cw_member_number(out, "chunks", reply->chunks);
    cw_member_number(out, "quota", reply->quota);
    cw_member_number(out, "store_free", reply->store_free);
    cw_member_number(out, "store_total", reply->store_total);
    cw_member_number(out, "evicted", reply->evicted);
    cw_member_number(out, "damaged", reply->damaged);
    cw_member_number(out, "lost", reply->lost);
    cw_member_text(out, "lost_why", reply->lost_why);
    cw_str_addf(out, ",\"full\":%s,\"away\":%s,\"scanning\":%s", reply->full ? "true" : "false",
                reply->away ? "true" : "false", reply->scanning ? "true" : "false");
    cw_member_text(out, "full_why", reply->full_why);
    cw_member_text(out, "why", reply->why);
    cw_str_add(out, ",\"tenants\":[");
    for (size_t i = 0; i < reply->n_tenants; i++) {
        const Cachew__V1__CacheTenant *tenant = reply->tenants[i];
        cw_str_addf(out, "%s{\"full\":%s", i ? "," : "", tenant->full ? "true" : "false");
        cw_member_text(out, "tenant", tenant->tenant);
        cw_member_number(out, "bytes", tenant->bytes);
        cw_member_number(out, "chunks", tenant->chunks);
        cw_member_number(out, "quota", tenant->quota);
        cw_str_add_char(out, '}');
    }
    cw_str_add_char(out, ']');
}

static void add_chunks(struct cw_str *out, const Cachew__V1__CacheRow *row)
{
    cw_str_add(out, ",\"chunk\":[");
    for (size_t i = 0; i < row->n_chunk; i++) {
        const Cachew__V1__CacheChunkRow *chunk = row->chunk[i];
        cw_str_addf(out, "%s{\"records\":%" PRIu64, i ? "," : "", chunk->records);
        cw_member_text(out, "name", chunk->name);
        cw_member_number(out, "bytes", chunk->bytes);
        cw_str_addf(out, ",\"created_ms\":%" PRId64 ",\"used_ms\":%" PRId64 "}", chunk->created_ms,
                    chunk->used_ms);
    }
    cw_str_add_char(out, ']');
}

void cw_wire_cache_list_json(const Cachew__V1__CacheListReply *reply, bool chunks,
                             struct cw_str *out)
{
    add_store(out, reply);
    cw_str_add(out, ",\"rows\":[");
    for (size_t i = 0; i < reply->n_rows; i++) {
        const Cachew__V1__CacheRow *row = reply->rows[i];
        cw_str_addf(out, "%s{\"pinned\":%s", i ? "," : "", row->pinned ? "true" : "false");
        const char *const texts[][2] = {{"tenant", row->tenant},
                                        {"key", row->key},
                                        {"pipeline", row->pipeline},
                                        {"node", row->node},
                                        {"op", row->op}};
        const struct {
            const char *key;
            uint64_t number;
        } numbers[] = {{"chunks", row->chunks},     {"records", row->records},
                       {"bytes", row->bytes},       {"ids", row->ids},
                       {"hits", row->hits},         {"cost_ns", row->cost_ns},
                       {"saved_ns", row->saved_ns}, {"readers", row->readers}};
        for (size_t k = 0; k < CW_ARRAY_LEN(texts); k++)
            cw_member_text(out, texts[k][0], texts[k][1]);
        for (size_t k = 0; k < CW_ARRAY_LEN(numbers); k++)
            cw_member_number(out, numbers[k].key, numbers[k].number);
        cw_str_addf(out, ",\"created_ms\":%" PRId64 ",\"used_ms\":%" PRId64, row->created_ms,
                    row->used_ms);
        if (chunks)
            add_chunks(out, row);
        cw_str_add_char(out, '}');
    }
    cw_str_add(out, "]}");
}
