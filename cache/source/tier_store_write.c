/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of the tier in the store: it makes room and writes packs. The tier is made and freed
 * here, too. */
#include "cache/source/tier_store.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"

/* A pack that does not get full is written after this time. */
#define LINGER_NS ((int64_t)1000 * 1000000)
#define PACK_BYTES_MAX ((uint64_t)64 << 20)
#define LIST_NS ((int64_t)30 * 1000000000)
#define MARK_MS 600000

/* ---- making room ---- */

static char *used_name(const char *pack)
{
    char *name = cw_mem_strdup(pack);
    memcpy(name + strlen(name) - 5, ".used", 5);
    return name;
}

/* Forgets the pack whose last use is longest ago, if it is idle, and returns its name, which the
 * caller frees. */
static char *take_idle(struct cw_tier_store *s)
{
    struct cw_source_pack *oldest = NULL;
    const char *key;
    void *value;
    char *name = NULL;
    cw_mutex_lock(&s->mutex);
    for (size_t i = 0; cw_strmap_next(&s->packs, &i, &key, &value);) {
        struct cw_source_pack *p = value;
        if (!p->used && (!oldest || p->used_ms < oldest->used_ms))
            oldest = p;
    }
    if (oldest && cw_clock_wall_ms() - oldest->used_ms >= s->idle_ms) {
        name = cw_mem_strdup(oldest->name);
        cw_tier_store_forget(s, oldest);
    }
    cw_mutex_unlock(&s->mutex);
    return name;
}

static bool has_room(struct cw_tier_store *s, uint64_t n)
{
    cw_mutex_lock(&s->mutex);
    bool ok = s->bytes + n <= atomic_load(&s->quota);
    cw_mutex_unlock(&s->mutex);
    return ok;
}

static bool make_room(struct cw_tier_store *s, uint64_t n)
{
    struct cw_err err;
    if (has_room(s, n + atomic_load(&s->quota) / 5))
        return true;
    if (cw_clock_ns() - s->listed_ns > CW_SOURCE_LIST_MISSED_NS || !has_room(s, n))
        /* Other processes may have written or removed packs meanwhile, or used those that seem idle
         * here. */
        cw_tier_store_list(s);
    while (!has_room(s, n)) {
        cw_autofree char *name = take_idle(s);
        if (!name)
            return false;
        cw_autofree char *used = used_name(name);
        (void)cw_store_remove(s->store, name, &err);
        (void)cw_store_remove(s->store, used, &err);
    }
    return true;
}

/* Writes the .used files of packs that were read since the last time, so that other processes see
 * it. */
static void mark_used(struct cw_tier_store *s)
{
    const char *key;
    void *value;
    struct cw_err err;
    int64_t now = cw_clock_wall_ms();
    char *names[16];
    size_t n = 0;
    cw_mutex_lock(&s->mutex);
    for (size_t i = 0; n < CW_ARRAY_LEN(names) && cw_strmap_next(&s->packs, &i, &key, &value);) {
        struct cw_source_pack *p = value;
        bool is_stale = p->used && now - p->used_ms > MARK_MS;
        if (p->used)
            p->used_ms = now;
        p->used = false;
        if (is_stale)
            names[n++] = used_name(p->name);
    }
    cw_mutex_unlock(&s->mutex);
    const struct iovec nothing = {names, 0};
    for (size_t i = 0; i < n; i++) {
        (void)cw_store_put(s->store, names[i], &nothing, 1, &err);
        cw_mem_free(names[i]);
    }
}

/* ---- writing ---- */

static void drop_pending(struct cw_tier_store *s, bool refused)
{
    if (refused) {
        atomic_fetch_add(&s->tally.refused, s->pending_n);
        atomic_store(&s->full_ns, cw_clock_ns());
    }
    for (size_t i = 0; i < s->pending_n; i++)
        cw_fill_queue_done(&s->queue, &s->pending[i]);
    s->pending_n = 0;
    s->pending_bytes = 0;
}

static void pack_name(const struct cw_source_row *rows, size_t n, char *ret, size_t cap)
{
    struct cw_hasher *hasher = cw_hasher_new();
    char text[CW_HASH_TEXT_BYTES];
    for (size_t i = 0; i < n; i++) {
        cw_hasher_add_u64(hasher, rows[i].key_hi);
        cw_hasher_add_u64(hasher, rows[i].key_lo);
    }
    cw_hash_text(cw_hasher_get(hasher), text);
    cw_hasher_free(hasher);
    snprintf(ret, cap, CW_SOURCE_PACK_PREFIX "%s.pack", text);
}

static int put_pack(struct cw_tier_store *s, const struct cw_source_row *rows, struct cw_err *err)
{
    size_t n = s->pending_n, rows_bytes = n * sizeof(*rows);
    struct cw_source_row *rows_copy = cw_mem_dup(rows, rows_bytes);
    struct cw_source_tail tail = {.rows = n,
                                  .rows_sum = cw_hash_u64(rows, rows_bytes),
                                  .bytes = s->pending_bytes + rows_bytes + sizeof(tail)};
    struct iovec *parts = CW_NEW_ARRAY(struct iovec, n + 2);
    char name[CW_STORE_NAME_MAX];
    memcpy(tail.magic, CW_SOURCE_PACK_MAGIC, sizeof(tail.magic));
    for (size_t i = 0; i < n; i++)
        parts[i] = (struct iovec){s->pending[i].buf->data, s->pending[i].buf->len};
    parts[n] = (struct iovec){rows_copy, rows_bytes};
    parts[n + 1] = (struct iovec){&tail, sizeof(tail)};
    pack_name(rows, n, name, sizeof(name));
    cw_fault_point("source.pack");
    int rc = cw_store_put(s->store, name, parts, n + 2, err);
    cw_fault_point("source.packed");
    if (rc == 0) {
        struct cw_source_place *places = CW_NEW_ARRAY(struct cw_source_place, n);
        for (size_t i = 0; i < n; i++)
            places[i].row = rows[i];
        cw_tier_store_learn(s, name, tail.bytes, places, n, cw_clock_wall_ms());
        atomic_fetch_add(&s->tally.filled_bytes, s->pending_bytes);
    }
    cw_mem_free(rows_copy);
    cw_mem_free(parts);
    return rc;
}

static void write_pending(struct cw_tier_store *s)
{
    struct cw_err err = {0};
    if (s->pending_n == 0)
        return;
    if (!s->store) {
        drop_pending(s, true);
        return;
    }
    uint64_t bytes = s->pending_bytes + s->pending_n * sizeof(struct cw_source_row) +
                     sizeof(struct cw_source_tail),
             at = 0;
    if (cw_store_is_unavailable(s->store, NULL) || !make_room(s, bytes)) {
        drop_pending(s, true);
        return;
    }
    struct cw_source_row *rows = CW_NEW_ARRAY(struct cw_source_row, s->pending_n);
    for (size_t i = 0; i < s->pending_n; i++) {
        const struct cw_fill_item *item = &s->pending[i];
        rows[i] = (struct cw_source_row){item->key.hi, item->key.lo, at, item->buf->len,
                                         cw_hash_u64(item->buf->data, item->buf->len)};
        at += item->buf->len;
    }
    int rc = put_pack(s, rows, &err);
    if (rc < 0)
        cw_tier_counters_error(&s->tally, err.msg);
    cw_mem_free(rows);
    drop_pending(s, rc < 0);
}

static void take(struct cw_tier_store *s, struct cw_fill_item *item)
{
    bool twice = cw_tier_store_has(s, item->key, item->buf->len);
    for (size_t i = 0; i < s->pending_n && !twice; i++)
        twice = cw_hash_eq(s->pending[i].key, item->key);
    if (twice) {
        cw_fill_queue_done(&s->queue, item);
        return;
    }
    CW_GROW(s->pending, s->pending_n, s->pending_cap);
    s->pending[s->pending_n++] = *item;
    s->pending_bytes += item->buf->len;
}

static void work(void *arg)
{
    struct cw_tier_store *s = arg;
    struct cw_fill_item item;
    struct cw_err err;
    int64_t begun_ns = 0;
    if (cw_store_open_lazily(s->url, &s->store, &err) < 0)
        cw_tier_counters_error(&s->tally, err.msg);
    cw_tier_store_list(s);
    for (;;) {
        int64_t list_ns =
            s->listed_ns + (atomic_load(&s->missed) ? CW_SOURCE_LIST_MISSED_NS : LIST_NS);
        /* A reader may look for a block in vain meanwhile. */
        int64_t wake_ns = CW_MIN(list_ns, cw_clock_ns() + CW_SOURCE_LIST_MISSED_NS);
        int rc = cw_fill_queue_pop(
            &s->queue, s->pending_n ? CW_MIN(begun_ns + LINGER_NS, wake_ns) : wake_ns, &item);
        if (rc > 0) {
            if (s->pending_n == 0)
                begun_ns = cw_clock_ns();
            take(s, &item);
        }
        if (rc < 0 || s->pending_bytes >= s->pack_bytes ||
            (s->pending_n && cw_clock_ns() - begun_ns >= LINGER_NS))
            write_pending(s);
        if (rc < 0)
            return;
        if (cw_clock_ns() >= list_ns) {
            cw_tier_store_list(s);
            mark_used(s);
        }
    }
}

/* ---- the tier as a whole ---- */

struct cw_tier_store *cw_tier_store_new(const char *url, uint64_t quota, uint64_t queue_limit,
                                        int64_t idle_ms)
{
    struct cw_tier_store *s = CW_NEW(struct cw_tier_store);
    s->url = cw_mem_strdup(url);
    atomic_store(&s->quota, quota);
    s->idle_ms = idle_ms;
    s->pack_bytes = CW_MIN(PACK_BYTES_MAX, queue_limit / 2);
    cw_mutex_init(&s->mutex);
    cw_mutex_init(&s->tally.mutex);
    cw_fill_queue_init(&s->queue, queue_limit / 2);
    cw_thread_start(&s->thread, "cachew-srcpack", work, s);
    return s;
}

void cw_tier_store_free(struct cw_tier_store *s)
{
    if (!s)
        return;
    cw_fill_queue_stop(&s->queue);
    cw_thread_join(&s->thread);
    const char *name;
    void *value;
    cw_mutex_lock(&s->mutex);
    for (size_t i = 0; cw_strmap_next(&s->packs, &i, &name, &value);)
        cw_tier_store_forget(s, value);
    cw_mutex_unlock(&s->mutex);
    cw_strmap_fini(&s->packs);
    cw_map_fini(&s->places);
    cw_fill_queue_fini(&s->queue);
    cw_mem_free(s->pending);
    cw_store_close(s->store);
    cw_mem_free(s->url);
    cw_mutex_fini(&s->mutex);
    cw_mutex_fini(&s->tally.mutex);
    cw_mem_free(s);
}
