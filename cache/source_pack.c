/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks in the cluster's store, many to a file since small files are dear there: "_source/HASH.pack" is
 *   the blocks one after the other, then for each its key, offset, bytes and checksum (rows), then a tail that says where the rows are.
 * HASH is of the keys. One thread writes packs, lists those of other workers, and makes room; readers look blocks up in memory. When a pack was
 * last used shows in the time of an empty file "_source/HASH.used", put again at most every ten minutes. */
#include "cache/source_cache_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

#define PREFIX "_source/"
#define PACK_BYTES_MAX ((uint64_t)64 << 20)
#define ROWS_MAX (1u << 20)
#define OPEN_MAX 128
#define LINGER_NS ((int64_t)1000 * 1000000)    /* a pack that does not get full is written after so long */
#define LIST_NS ((int64_t)30 * 1000000000)
#define LIST_MISSED_NS ((int64_t)3 * 1000000000) /* when something was not found */
#define MARK_MS 600000
#define FULL_NS ((int64_t)5 * 1000000000)

static const char magic[8] = "CWPACK01";
struct row {
    uint64_t key_hi, key_lo, offset, bytes, sum;
};
struct tail {
    char magic[8];
    uint64_t rows, rows_sum, bytes; /* of the file */
};

struct pack;
struct place {
    struct row row;
    struct pack *pack;
};
struct pack {
    char *name; /* with PREFIX */
    uint64_t bytes;
    struct place *places;
    size_t n;
    struct cw_store_file *file; /* open; NULL = not */
    int users;                  /* reads under way */
    bool gone;                  /* freed with the last of them */
    bool listed, used;
    int64_t used_ms; /* as others know it */
    uint64_t opened_at;
};

struct cw_source_packs {
    char *url;
    struct cw_store *store; /* the thread's, and that of who has found a pack; NULL = it cannot be */
    _Atomic uint64_t quota;
    int64_t idle_ms;
    uint64_t pack_bytes;
    struct cw_source_tally tally;
    struct cw_source_queue queue;
    struct cw_thread thread;
    _Atomic int64_t full_ns;
    _Atomic bool missed;
    struct cw_mutex mutex; /* guards what follows */
    struct cw_strmap packs;
    struct cw_map places; /* key.lo -> place */
    uint64_t bytes, clock;
    size_t open_n;
    /* the thread's own */
    struct cw_source_item *pending;
    size_t pending_n, pending_cap;
    uint64_t pending_bytes;
    int64_t listed_ns;
};

/* ---- packs that are known; the lock is held ---- */

static void pack_free(struct pack *p)
{
    cw_store_file_close(p->file);
    cw_mem_free(p->places);
    cw_mem_free(p->name);
    cw_mem_free(p);
}

/* Its blocks are not found any more. */
static void forget(struct cw_source_packs *s, struct pack *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (cw_map_get(&s->places, p->places[i].row.key_lo) == &p->places[i])
            cw_map_remove(&s->places, p->places[i].row.key_lo);
    if (cw_strmap_get(&s->packs, p->name) == p)
        cw_strmap_remove(&s->packs, p->name);
    s->bytes -= p->bytes;
    s->open_n -= p->file != NULL;
    p->gone = true;
    if (p->users == 0)
        pack_free(p);
}

/* Takes the places; a pack that is known already is left as it is. */
static void learn(struct cw_source_packs *s, const char *name, uint64_t bytes, struct place *places, size_t n, int64_t used_ms)
{
    cw_mutex_lock(&s->mutex);
    if (cw_strmap_get(&s->packs, name)) {
        cw_mem_free(places);
    } else {
        struct pack *p = CW_NEW(struct pack);
        *p = (struct pack){.name = cw_mem_strdup(name), .bytes = bytes, .places = places, .n = n, .listed = true, .used_ms = used_ms};
        cw_strmap_set(&s->packs, name, p);
        s->bytes += bytes;
        for (size_t i = 0; i < n; i++) {
            places[i].pack = p;
            if (!cw_map_get(&s->places, places[i].row.key_lo))
                cw_map_set(&s->places, places[i].row.key_lo, &places[i]);
        }
    }
    cw_mutex_unlock(&s->mutex);
}

static struct place *find(struct cw_source_packs *s, struct cw_hash key, size_t n)
{
    struct place *place = cw_map_get(&s->places, key.lo);
    return place && place->row.key_hi == key.hi && place->row.bytes == n ? place : NULL;
}

/* ---- reading ---- */

/* Too many are open: one that nobody reads is closed. */
static struct cw_store_file *close_one(struct cw_source_packs *s)
{
    struct pack *oldest = NULL;
    const char *name;
    void *value;
    for (size_t i = 0; s->open_n > OPEN_MAX && cw_strmap_next(&s->packs, &i, &name, &value);) {
        struct pack *p = value;
        if (p->file && p->users == 0 && (!oldest || p->opened_at < oldest->opened_at))
            oldest = p;
    }
    struct cw_store_file *file = oldest ? oldest->file : NULL;
    if (oldest) {
        oldest->file = NULL;
        s->open_n--;
    }
    return file;
}

/* p is in use by us. */
static int open_pack(struct cw_source_packs *s, struct pack *p, struct cw_store_file **ret_file, struct cw_err *err)
{
    struct cw_store_file *file = NULL, *closing = NULL;
    uint64_t bytes = 0;
    cw_mutex_lock(&s->mutex);
    *ret_file = p->file;
    cw_mutex_unlock(&s->mutex);
    if (*ret_file)
        return 0;
    int rc = cw_store_file_open(s->store, p->name, &file, &bytes, err);
    if (rc < 0)
        return rc;
    cw_mutex_lock(&s->mutex);
    if (p->file) {
        closing = file;
    } else {
        p->file = file;
        p->opened_at = ++s->clock;
        s->open_n += !p->gone;
        closing = close_one(s);
    }
    *ret_file = p->file;
    cw_mutex_unlock(&s->mutex);
    cw_store_file_close(closing);
    return 0;
}

/* A reader is done. A pack that is damaged or not there any more is forgotten. */
static void leave(struct cw_source_packs *s, struct pack *p, int rc)
{
    cw_mutex_lock(&s->mutex);
    p->users--;
    p->used = p->used || rc == 0;
    if (p->gone) {
        if (p->users == 0)
            pack_free(p);
    } else if (rc == CW_E_NOT_FOUND || rc == CW_E_CORRUPT) {
        forget(s, p);
    }
    cw_mutex_unlock(&s->mutex);
}

static int read_place(struct cw_source_packs *s, struct pack *p, const struct row *row, void *dst, struct cw_err *err)
{
    struct cw_store_file *file;
    int rc = open_pack(s, p, &file, err);
    if (rc == 0)
        rc = cw_store_file_read(file, row->offset, dst, (size_t)row->bytes, err);
    if (rc == 0 && cw_hash_u64(dst, (size_t)row->bytes) != row->sum)
        rc = cw_err_set(err, CW_E_CORRUPT, "%s: a block's checksum does not match", p->name);
    return rc;
}

struct cw_buf *cw_source_packs_get(struct cw_source_packs *s, struct cw_hash key, size_t n)
{
    struct pack *p = NULL;
    struct row row;
    struct cw_err err = {0};
    cw_mutex_lock(&s->mutex);
    const struct place *place = find(s, key, n);
    if (place) {
        p = place->pack;
        p->users++;
        row = place->row;
    }
    cw_mutex_unlock(&s->mutex);
    struct cw_buf *buf = p ? cw_buf_new(n) : NULL;
    if (!p)
        atomic_store(&s->missed, true);
    else {
        int rc = buf ? read_place(s, p, &row, buf->data, &err) : CW_E_NOMEM;
        leave(s, p, rc);
        if (rc == CW_E_CORRUPT)
            atomic_fetch_add(&s->tally.damaged, 1);
        if (rc < 0) {
            cw_source_tally_trouble(&s->tally, err.msg);
            buf = cw_buf_unref(buf);
        }
    }
    atomic_fetch_add(buf ? &s->tally.hits : &s->tally.misses, 1);
    if (buf)
        atomic_fetch_add(&s->tally.hit_bytes, n);
    return buf;
}

bool cw_source_packs_has(struct cw_source_packs *s, struct cw_hash key, size_t n)
{
    cw_mutex_lock(&s->mutex);
    bool has = find(s, key, n) != NULL;
    cw_mutex_unlock(&s->mutex);
    if (!has)
        atomic_store(&s->missed, true);
    return has;
}

/* ---- listing ---- */

static bool rows_are_good(const struct place *places, size_t n, uint64_t end)
{
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &places[i].row;
        if (r->offset != at || r->bytes == 0 || r->bytes > CW_SOURCE_BLOCK_BYTES || r->bytes > end - at)
            return false;
        at += r->bytes;
    }
    return at == end;
}

static int read_rows(struct cw_store_file *file, const struct tail *tail, struct place **ret_places, struct cw_err *err)
{
    size_t bytes = (size_t)tail->rows * sizeof(struct row);
    uint64_t end = tail->bytes - sizeof(*tail) - bytes;
    struct row *rows = cw_mem_try(bytes);
    struct place *places = cw_mem_try((size_t)tail->rows * sizeof(*places));
    int rc = rows && places ? cw_store_file_read(file, end, rows, bytes, err) : cw_err_set(err, CW_E_NOMEM, "no memory for a list of blocks");
    if (rc == 0 && cw_hash_u64(rows, bytes) != tail->rows_sum)
        rc = cw_err_set(err, CW_E_CORRUPT, "its list of blocks is damaged");
    for (size_t i = 0; rc == 0 && i < tail->rows; i++)
        places[i] = (struct place){.row = rows[i]};
    if (rc == 0 && !rows_are_good(places, (size_t)tail->rows, end))
        rc = cw_err_set(err, CW_E_CORRUPT, "its list of blocks cannot be");
    cw_mem_free(rows);
    if (rc < 0)
        cw_mem_free(places);
    else
        *ret_places = places;
    return rc;
}

static int read_pack(struct cw_source_packs *s, const char *name, struct place **ret_places, size_t *ret_n, struct cw_err *err)
{
    struct cw_store_file *file = NULL;
    struct tail tail;
    uint64_t bytes = 0;
    int rc = cw_store_file_open(s->store, name, &file, &bytes, err);
    if (rc < 0)
        return rc;
    if (bytes < sizeof(tail))
        rc = cw_err_set(err, CW_E_CORRUPT, "it is cut");
    if (rc == 0)
        rc = cw_store_file_read(file, bytes - sizeof(tail), &tail, sizeof(tail), err);
    if (rc == 0 && (memcmp(tail.magic, magic, sizeof(magic)) != 0 || tail.bytes != bytes || tail.rows == 0 || tail.rows > ROWS_MAX ||
                    tail.rows * sizeof(struct row) > bytes - sizeof(tail)))
        rc = cw_err_set(err, CW_E_CORRUPT, "its tail is damaged");
    if (rc == 0)
        rc = read_rows(file, &tail, ret_places, err);
    cw_store_file_close(file);
    *ret_n = rc == 0 ? (size_t)tail.rows : 0;
    return rc < 0 ? cw_err_wrap(err, "%s", name) : 0;
}

struct listed {
    struct cw_source_packs *packs;
    struct listed_file {
        char name[CW_STORE_NAME_MAX + 1];
        uint64_t bytes;
        int64_t mtime_ms;
    } *v;
    size_t n, cap;
};

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n > m && strcmp(s + n - m, end) == 0;
}

static int on_listed(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    struct listed *l = arg;
    if (!cw_str_starts(name, PREFIX) || strlen(name) > CW_STORE_NAME_MAX)
        return 0;
    CW_GROW(l->v, l->n, l->cap);
    struct listed_file *f = &l->v[l->n++];
    snprintf(f->name, sizeof(f->name), "%s", name);
    f->bytes = bytes;
    f->mtime_ms = mtime_ms;
    return 0;
}

/* A pack by the name of its .pack or .used file. */
static struct pack *pack_of(struct cw_source_packs *s, const char *name)
{
    char text[CW_STORE_NAME_MAX + 1];
    snprintf(text, sizeof(text), "%s", name);
    char *dot = strrchr(text, '.');
    if (dot && strcmp(dot, ".used") == 0)
        memcpy(dot, ".pack", 5);
    return cw_strmap_get(&s->packs, text);
}

static void forget_unlisted(struct cw_source_packs *s)
{
    const char *name;
    void *value;
    cw_mutex_lock(&s->mutex);
    for (size_t i = 0; cw_strmap_next(&s->packs, &i, &name, &value);) {
        struct pack *p = value;
        if (p->listed)
            p->listed = false;
        else
            forget(s, p);
    }
    cw_mutex_unlock(&s->mutex);
}

/* Whether it is known; notes that it is there, and when it was used. */
static bool note(struct cw_source_packs *s, const struct listed_file *f)
{
    cw_mutex_lock(&s->mutex);
    struct pack *p = pack_of(s, f->name);
    if (p) {
        p->used_ms = CW_MAX(p->used_ms, f->mtime_ms);
        p->listed = p->listed || ends_with(f->name, ".pack");
    }
    cw_mutex_unlock(&s->mutex);
    return p != NULL;
}

static void list(struct cw_source_packs *s)
{
    struct listed l = {.packs = s};
    struct cw_err err = {0};
    s->listed_ns = cw_clock_ns();
    atomic_store(&s->missed, false);
    if (!s->store)
        return;
    if (cw_store_list(s->store, PREFIX, on_listed, &l, &err) < 0) {
        cw_source_tally_trouble(&s->tally, err.msg);
        cw_mem_free(l.v);
        return;
    }
    for (size_t i = 0; i < l.n; i++) {
        struct place *places = NULL;
        size_t n = 0;
        if (note(s, &l.v[i]) || !ends_with(l.v[i].name, ".pack"))
            continue;
        int rc = read_pack(s, l.v[i].name, &places, &n, &err);
        if (rc == 0) {
            learn(s, l.v[i].name, l.v[i].bytes, places, n, l.v[i].mtime_ms);
            continue;
        }
        cw_source_tally_trouble(&s->tally, err.msg);
        if (rc == CW_E_CORRUPT) {
            atomic_fetch_add(&s->tally.damaged, 1);
            (void)cw_store_remove(s->store, l.v[i].name, &err);
        }
    }
    for (size_t i = 0; i < l.n; i++)
        (void)note(s, &l.v[i]);
    forget_unlisted(s);
    cw_mem_free(l.v);
}

/* ---- making room ---- */

static char *used_name(const char *pack)
{
    char *name = cw_mem_strdup(pack);
    memcpy(name + strlen(name) - 5, ".used", 5);
    return name;
}

/* The pack used longest ago, if it is idle: forgotten, its name for the caller. */
static char *take_idle(struct cw_source_packs *s)
{
    struct pack *oldest = NULL;
    const char *key;
    void *value;
    char *name = NULL;
    cw_mutex_lock(&s->mutex);
    for (size_t i = 0; cw_strmap_next(&s->packs, &i, &key, &value);) {
        struct pack *p = value;
        if (!p->used && (!oldest || p->used_ms < oldest->used_ms))
            oldest = p;
    }
    if (oldest && cw_clock_wall_ms() - oldest->used_ms >= s->idle_ms) {
        name = cw_mem_strdup(oldest->name);
        forget(s, oldest);
    }
    cw_mutex_unlock(&s->mutex);
    return name;
}

static bool has_room(struct cw_source_packs *s, uint64_t n)
{
    cw_mutex_lock(&s->mutex);
    bool ok = s->bytes + n <= atomic_load(&s->quota);
    cw_mutex_unlock(&s->mutex);
    return ok;
}

static bool make_room(struct cw_source_packs *s, uint64_t n)
{
    struct cw_err err;
    if (has_room(s, n + atomic_load(&s->quota) / 5))
        return true;
    if (cw_clock_ns() - s->listed_ns > LIST_MISSED_NS || !has_room(s, n))
        list(s); /* others may have written, or removed some, or used what we take for idle */
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

/* Packs that were read since: others shall know. */
static void mark_used(struct cw_source_packs *s)
{
    const char *key;
    void *value;
    struct cw_err err;
    int64_t now = cw_clock_wall_ms();
    char *names[16];
    size_t n = 0;
    cw_mutex_lock(&s->mutex);
    for (size_t i = 0; n < CW_ARRAY_LEN(names) && cw_strmap_next(&s->packs, &i, &key, &value);) {
        struct pack *p = value;
        bool tell = p->used && now - p->used_ms > MARK_MS;
        if (p->used)
            p->used_ms = now;
        p->used = false;
        if (tell)
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

static void drop_pending(struct cw_source_packs *s, bool refused)
{
    if (refused) {
        atomic_fetch_add(&s->tally.refused, s->pending_n);
        atomic_store(&s->full_ns, cw_clock_ns());
    }
    for (size_t i = 0; i < s->pending_n; i++)
        cw_source_queue_done(&s->queue, &s->pending[i]);
    s->pending_n = 0;
    s->pending_bytes = 0;
}

static void pack_name(const struct row *rows, size_t n, char *ret, size_t cap)
{
    struct cw_hasher *hasher = cw_hasher_new();
    char text[CW_HASH_TEXT_BYTES];
    for (size_t i = 0; i < n; i++) {
        cw_hasher_add_u64(hasher, rows[i].key_hi);
        cw_hasher_add_u64(hasher, rows[i].key_lo);
    }
    cw_hash_text(cw_hasher_get(hasher), text);
    cw_hasher_free(hasher);
    snprintf(ret, cap, PREFIX "%s.pack", text);
}

static int put_pack(struct cw_source_packs *s, const struct row *rows, struct cw_err *err)
{
    size_t n = s->pending_n, rows_bytes = n * sizeof(*rows);
    struct row *rows_copy = cw_mem_dup(rows, rows_bytes);
    struct tail tail = {.rows = n, .rows_sum = cw_hash_u64(rows, rows_bytes), .bytes = s->pending_bytes + rows_bytes + sizeof(tail)};
    struct iovec *parts = CW_NEW_ARRAY(struct iovec, n + 2);
    char name[CW_STORE_NAME_MAX];
    memcpy(tail.magic, magic, sizeof(magic));
    for (size_t i = 0; i < n; i++)
        parts[i] = (struct iovec){s->pending[i].buf->data, s->pending[i].buf->len};
    parts[n] = (struct iovec){rows_copy, rows_bytes};
    parts[n + 1] = (struct iovec){&tail, sizeof(tail)};
    pack_name(rows, n, name, sizeof(name));
    cw_fault_point("source.pack");
    int rc = cw_store_put(s->store, name, parts, n + 2, err);
    cw_fault_point("source.packed");
    if (rc == 0) {
        struct place *places = CW_NEW_ARRAY(struct place, n);
        for (size_t i = 0; i < n; i++)
            places[i].row = rows[i];
        learn(s, name, tail.bytes, places, n, cw_clock_wall_ms());
        atomic_fetch_add(&s->tally.filled_bytes, s->pending_bytes);
    }
    cw_mem_free(rows_copy);
    cw_mem_free(parts);
    return rc;
}

static void write_pending(struct cw_source_packs *s)
{
    struct cw_err err = {0};
    if (s->pending_n == 0)
        return;
    if (!s->store) {
        drop_pending(s, true);
        return;
    }
    uint64_t bytes = s->pending_bytes + s->pending_n * sizeof(struct row) + sizeof(struct tail), at = 0;
    if (cw_store_is_away(s->store, NULL) || !make_room(s, bytes)) {
        drop_pending(s, true);
        return;
    }
    struct row *rows = CW_NEW_ARRAY(struct row, s->pending_n);
    for (size_t i = 0; i < s->pending_n; i++) {
        const struct cw_source_item *item = &s->pending[i];
        rows[i] = (struct row){item->key.hi, item->key.lo, at, item->buf->len, cw_hash_u64(item->buf->data, item->buf->len)};
        at += item->buf->len;
    }
    int rc = put_pack(s, rows, &err);
    if (rc < 0)
        cw_source_tally_trouble(&s->tally, err.msg);
    cw_mem_free(rows);
    drop_pending(s, rc < 0);
}

static void take(struct cw_source_packs *s, struct cw_source_item *item)
{
    bool twice = cw_source_packs_has(s, item->key, item->buf->len);
    for (size_t i = 0; i < s->pending_n && !twice; i++)
        twice = cw_hash_eq(s->pending[i].key, item->key);
    if (twice) {
        cw_source_queue_done(&s->queue, item);
        return;
    }
    CW_GROW(s->pending, s->pending_n, s->pending_cap);
    s->pending[s->pending_n++] = *item;
    s->pending_bytes += item->buf->len;
}

static void work(void *arg)
{
    struct cw_source_packs *s = arg;
    struct cw_source_item item;
    struct cw_err err;
    int64_t begun_ns = 0;
    if (cw_store_open_lazily(s->url, &s->store, &err) < 0)
        cw_source_tally_trouble(&s->tally, err.msg);
    list(s);
    for (;;) {
        int64_t list_ns = s->listed_ns + (atomic_load(&s->missed) ? LIST_MISSED_NS : LIST_NS);
        int64_t wake_ns = CW_MIN(list_ns, cw_clock_ns() + LIST_MISSED_NS); /* something may be missed meanwhile */
        int rc = cw_source_queue_pop(&s->queue, s->pending_n ? CW_MIN(begun_ns + LINGER_NS, wake_ns) : wake_ns, &item);
        if (rc > 0) {
            if (s->pending_n == 0)
                begun_ns = cw_clock_ns();
            take(s, &item);
        }
        if (rc < 0 || s->pending_bytes >= s->pack_bytes || (s->pending_n && cw_clock_ns() - begun_ns >= LINGER_NS))
            write_pending(s);
        if (rc < 0)
            return;
        if (cw_clock_ns() >= list_ns) {
            list(s);
            mark_used(s);
        }
    }
}

/* ---- the whole ---- */

struct cw_source_packs *cw_source_packs_new(const char *url, uint64_t quota, uint64_t queue_limit, int64_t idle_ms)
{
    struct cw_source_packs *s = CW_NEW(struct cw_source_packs);
    s->url = cw_mem_strdup(url);
    atomic_store(&s->quota, quota);
    s->idle_ms = idle_ms;
    s->pack_bytes = CW_MIN(PACK_BYTES_MAX, queue_limit / 2);
    cw_mutex_init(&s->mutex);
    cw_mutex_init(&s->tally.mutex);
    cw_source_queue_init(&s->queue, queue_limit / 2);
    cw_thread_start(&s->thread, "cachew-srcpack", work, s);
    return s;
}

void cw_source_packs_free(struct cw_source_packs *s)
{
    if (!s)
        return;
    cw_source_queue_stop(&s->queue);
    cw_thread_join(&s->thread);
    const char *name;
    void *value;
    cw_mutex_lock(&s->mutex);
    for (size_t i = 0; cw_strmap_next(&s->packs, &i, &name, &value);)
        forget(s, value);
    cw_mutex_unlock(&s->mutex);
    cw_strmap_fini(&s->packs);
    cw_map_fini(&s->places);
    cw_source_queue_fini(&s->queue);
    cw_mem_free(s->pending);
    cw_store_close(s->store);
    cw_mem_free(s->url);
    cw_mutex_fini(&s->mutex);
    cw_mutex_fini(&s->tally.mutex);
    cw_mem_free(s);
}

void cw_source_packs_set_quota(struct cw_source_packs *s, uint64_t quota)
{
    atomic_store(&s->quota, quota);
}

struct cw_source_queue *cw_source_packs_queue(struct cw_source_packs *s)
{
    return &s->queue;
}

bool cw_source_packs_is_full(struct cw_source_packs *s)
{
    int64_t full_ns = atomic_load(&s->full_ns);
    return full_ns != 0 && cw_clock_ns() - full_ns < FULL_NS;
}

void cw_source_packs_counts(struct cw_source_packs *s, struct cw_source_counts *ret)
{
    cw_source_tally_read(&s->tally, ret);
    cw_mutex_lock(&s->mutex);
    ret->bytes = s->bytes;
    cw_mutex_unlock(&s->mutex);
    ret->capacity = atomic_load(&s->quota);
    ret->refused += atomic_load(&s->queue.refused);
    ret->pending = atomic_load(&s->queue.pending);
}
