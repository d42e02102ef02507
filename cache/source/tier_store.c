/* SPDX-License-Identifier: Apache-2.0 */
/* The tier in the cluster's store, seen by readers: which packs are known, and how their blocks are
 * read. */
#include "cache/source/tier_store.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

#define OPEN_MAX 128
#define FULL_NS ((int64_t)5 * 1000000000)

/* ---- packs that are known ---- */

static void pack_free(struct cw_source_pack *p)
{
    cw_store_file_close(p->file);
    cw_mem_free(p->places);
    cw_mem_free(p->name);
    cw_mem_free(p);
}

void cw_tier_store_forget(struct cw_tier_store *s, struct cw_source_pack *p)
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

void cw_tier_store_learn(struct cw_tier_store *s, const char *name, uint64_t bytes,
                         struct cw_source_place *places, size_t n, int64_t used_ms)
{
    cw_mutex_lock(&s->mutex);
    if (cw_strmap_get(&s->packs, name)) {
        cw_mem_free(places);
    } else {
        struct cw_source_pack *p = CW_NEW(struct cw_source_pack);
        *p = (struct cw_source_pack){.name = cw_mem_strdup(name),
                                     .bytes = bytes,
                                     .places = places,
                                     .n = n,
                                     .listed = true,
                                     .used_ms = used_ms};
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

static struct cw_source_place *find(struct cw_tier_store *s, struct cw_hash key, size_t n)
{
    struct cw_source_place *place = cw_map_get(&s->places, key.lo);
    return place && place->row.key_hi == key.hi && place->row.bytes == n ? place : NULL;
}

/* ---- reading ---- */

/* Closes a pack that nobody reads, because too many are open. Returns its file, which the caller
 * closes. */
static struct cw_store_file *close_one(struct cw_tier_store *s)
{
    struct cw_source_pack *oldest = NULL;
    const char *name;
    void *value;
    for (size_t i = 0; s->open_n > OPEN_MAX && cw_strmap_next(&s->packs, &i, &name, &value);) {
        struct cw_source_pack *p = value;
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

/* Opens a pack that the calling thread uses. */
static int open_pack(struct cw_tier_store *s, struct cw_source_pack *p,
                     struct cw_store_file **ret_file, struct cw_err *err)
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

/* Ends a read of the calling thread. A pack that is damaged, or that no longer exists, is
 * forgotten. */
static void leave(struct cw_tier_store *s, struct cw_source_pack *p, int rc)
{
    cw_mutex_lock(&s->mutex);
    p->users--;
    p->used = p->used || rc == 0;
    if (p->gone) {
        if (p->users == 0)
            pack_free(p);
    } else if (rc == CW_E_NOT_FOUND || rc == CW_E_CORRUPT) {
        cw_tier_store_forget(s, p);
    }
    cw_mutex_unlock(&s->mutex);
}

static int read_place(struct cw_tier_store *s, struct cw_source_pack *p,
                      const struct cw_source_row *row, void *dst, struct cw_err *err)
{
    struct cw_store_file *file;
    int rc = open_pack(s, p, &file, err);
    if (rc == 0)
        rc = cw_store_file_read(file, row->offset, dst, (size_t)row->bytes, err);
    if (rc == 0 && cw_hash_u64(dst, (size_t)row->bytes) != row->sum)
        rc = cw_err_set(err, CW_E_CORRUPT, "%s: a block's checksum does not match", p->name);
    return rc;
}

struct cw_buf *cw_tier_store_get(struct cw_tier_store *s, struct cw_hash key, size_t n)
{
    struct cw_source_pack *p = NULL;
    struct cw_source_row row;
    struct cw_err err = {0};
    cw_mutex_lock(&s->mutex);
    const struct cw_source_place *place = find(s, key, n);
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
            cw_tier_counters_error(&s->tally, err.msg);
            buf = cw_buf_unref(buf);
        }
    }
    atomic_fetch_add(buf ? &s->tally.hits : &s->tally.misses, 1);
    if (buf)
        atomic_fetch_add(&s->tally.hit_bytes, n);
    return buf;
}

bool cw_tier_store_has(struct cw_tier_store *s, struct cw_hash key, size_t n)
{
    cw_mutex_lock(&s->mutex);
    bool has = find(s, key, n) != NULL;
    cw_mutex_unlock(&s->mutex);
    if (!has)
        atomic_store(&s->missed, true);
    return has;
}

void cw_tier_store_set_quota(struct cw_tier_store *s, uint64_t quota)
{
    atomic_store(&s->quota, quota);
}

struct cw_fill_queue *cw_tier_store_queue(struct cw_tier_store *s)
{
    return &s->queue;
}

bool cw_tier_store_is_full(struct cw_tier_store *s)
{
    int64_t full_ns = atomic_load(&s->full_ns);
    return full_ns != 0 && cw_clock_ns() - full_ns < FULL_NS;
}

void cw_tier_store_counts(struct cw_tier_store *s, struct cw_source_counts *ret)
{
    cw_tier_counters_read(&s->tally, ret);
    cw_mutex_lock(&s->mutex);
    ret->bytes = s->bytes;
    cw_mutex_unlock(&s->mutex);
    ret->capacity = atomic_load(&s->quota);
    ret->refused += atomic_load(&s->queue.refused);
    ret->pending = atomic_load(&s->queue.pending);
}
