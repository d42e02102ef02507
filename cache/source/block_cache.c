/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks in memory, and reads through the tiers. A block is loaded by one thread; other threads
 * that need it wait for that one. */
#include "cache/source/tiers.h"

#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"

#define MEMORY_DEFAULT ((uint64_t)256 << 20)
#define MEMORY_MIN ((uint64_t)8 << 20)
/* stands for the number of bytes read from the source if the block was found in memory */
#define FROM_MEMORY UINT64_MAX

struct entry {
    struct cw_hash key;
    struct cw_buf *buf; /* holds one reference; NULL: a thread is loading it */
    /* neighbours in the list ordered by last use, in which it is only if it has buf */
    struct entry *prev, *next;
};

struct cw_source_cache {
    uint64_t memory;
    struct cw_source_hook hook;
    struct cw_tier_dir *dir; /* NULL: there is no such tier */
    struct cw_store_tiers stores;
    int64_t idle_ms;
    struct cw_tier_counters in_memory, origin;
    struct cw_mutex mutex; /* guards all that follows */
    struct cw_cond loaded;
    struct cw_map map; /* maps key.lo to the entry */
    struct entry *newest, *oldest;
    uint64_t bytes;
};

static bool is_settled(const struct cw_source_file *file)
{
    return cw_source_is_settled(file, CW_SOURCE_SETTLE_MS);
}

static struct cw_hash key_of(const struct cw_source_file *file, uint64_t block)
{
    struct cw_hash path = cw_hash_bytes(file->path, strlen(file->path));
    const struct cw_file_stamp *stamp = &file->stamp;
    uint64_t words[] = {path.hi,
                        path.lo,
                        (uint64_t)stamp->size,
                        (uint64_t)stamp->mtime_ns,
                        block,
                        (uint64_t)stamp->identity,
                        stamp->sum.hi,
                        stamp->sum.lo};
    /* The time of change is part of the key even if the job identifies files by size alone. */
    if (!cw_identity_reads(stamp->identity))
        return cw_hash_bytes(words, 5 * sizeof(words[0]));
    /* All bytes are in the checksum: copies of a file with other times have the same blocks. */
    if (stamp->identity == CW_IDENTITY_CONTENT)
        words[3] = 0;
    return cw_hash_bytes(words, sizeof(words));
}

static size_t block_bytes(const struct cw_source_file *file, uint64_t block)
{
    return (size_t)CW_MIN((uint64_t)CW_SOURCE_BLOCK_BYTES,
                          (uint64_t)file->stamp.size - block * CW_SOURCE_BLOCK_BYTES);
}

/* ---- blocks in memory: all functions are called with the lock held ---- */

static void unlink_entry(struct cw_source_cache *c, struct entry *e)
{
    *(e->prev ? &e->prev->next : &c->newest) = e->next;
    *(e->next ? &e->next->prev : &c->oldest) = e->prev;
    e->prev = e->next = NULL;
}

static void link_newest(struct cw_source_cache *c, struct entry *e)
{
    e->next = c->newest;
    *(c->newest ? &c->newest->prev : &c->oldest) = e;
    c->newest = e;
}

static void drop(struct cw_source_cache *c, struct entry *e)
{
    cw_map_remove(&c->map, e->key.lo);
    if (e->buf) {
        unlink_entry(c, e);
        c->bytes -= e->buf->len;
        cw_buf_unref(e->buf);
    }
    cw_mem_free(e);
}

static uint64_t waiting_bytes(struct cw_source_cache *c)
{
    return (c->dir ? atomic_load(&cw_tier_dir_queue(c->dir)->pending) : 0) +
           cw_store_tiers_pending(&c->stores);
}

static void keep(struct cw_source_cache *c, struct entry *e, struct cw_buf *buf)
{
    e->buf = cw_buf_ref(buf);
    c->bytes += buf->len;
    link_newest(c, e);
    atomic_fetch_add(&c->in_memory.filled_bytes, buf->len);
    uint64_t waiting = waiting_bytes(c);
    while (c->oldest != e && c->bytes + waiting > c->memory)
        drop(c, c->oldest);
}

/* ---- loading ---- */

static bool is_unchanged(const struct cw_source_file *file)
{
    return file->io->info.size == file->stamp.size &&
           cw_io_mark(&file->io->info) == file->stamp.mtime_ns && cw_io_is_unchanged(file->io);
}

static struct cw_buf *read_origin(struct cw_source_cache *c, const struct cw_source_file *file,
                                  uint64_t block)
{
    size_t n = block_bytes(file, block);
    struct cw_buf *buf = cw_buf_new(n);
    struct cw_err err;
    if (!buf)
        return NULL;
    atomic_fetch_add(&c->origin.hits, 1);
    atomic_fetch_add(&c->origin.hit_bytes, n);
    /* A block that was read before the file changed, or while it did, is not given to anybody
     * else. */
    if (cw_io_read(file->io, block * CW_SOURCE_BLOCK_BYTES, buf->data, n, file->stop, &err) < 0 ||
        !is_unchanged(file))
        buf = cw_buf_unref(buf);
    return buf;
}

static void fill(struct cw_source_cache *c, struct cw_tier_store *packs, struct cw_hash key,
                 struct cw_buf *buf, unsigned tiers, bool wait)
{
    if (c->dir && !(tiers & CW_SOURCE_IN_DIR))
        (void)cw_fill_queue_push(cw_tier_dir_queue(c->dir), key, buf, wait);
    if (packs && !(tiers & CW_SOURCE_IN_STORE) && !cw_tier_store_has(packs, key, buf->len))
        (void)cw_fill_queue_push(cw_tier_store_queue(packs), key, buf, wait);
}

/* Loads a block. Returns a new reference, or NULL: then the caller reads from the file what it
 * needs. */
static struct cw_buf *load(struct cw_source_cache *c, struct cw_tier_store *packs,
                           const struct cw_source_file *file, uint64_t block, struct cw_hash key,
                           bool wait, uint64_t *ret_read)
{
    size_t n = block_bytes(file, block);
    unsigned tiers = CW_SOURCE_IN_DIR;
    struct cw_buf *buf = c->dir ? cw_tier_dir_get(c->dir, key, n) : NULL;
    if (!buf) {
        tiers = CW_SOURCE_IN_STORE;
        buf = packs ? cw_tier_store_get(packs, key, n) : NULL;
    }
    if (!buf) {
        tiers = 0;
        buf = read_origin(c, file, block);
        *ret_read = buf ? n : 0;
    }
    if (buf)
        fill(c, packs, key, buf, tiers, wait);
    return buf;
}

/* Returns a new reference to the block, or NULL. wait: waits for room in the queues of the tiers to
 * which the block is added. */
static struct cw_buf *get(struct cw_source_cache *c, const struct cw_source_file *file,
                          uint64_t block, bool wait, uint64_t *ret_read)
{
    struct cw_hash key = key_of(file, block);
    struct entry *e;
    cw_mutex_lock(&c->mutex);
    while ((e = cw_map_get(&c->map, key.lo)) != NULL && cw_hash_eq(e->key, key) && !e->buf)
        cw_cond_wait(&c->loaded, &c->mutex);
    if (e) {
        struct cw_buf *buf = cw_hash_eq(e->key, key) ? cw_buf_ref(e->buf) : NULL;
        if (buf && e != c->newest) {
            unlink_entry(c, e);
            link_newest(c, e);
        }
        cw_mutex_unlock(&c->mutex);
        return buf;
    }
    e = CW_NEW(struct entry);
    e->key = key;
    cw_map_set(&c->map, key.lo, e);
    cw_mutex_unlock(&c->mutex);
    atomic_fetch_add(&c->in_memory.misses, 1);
    struct cw_tier_of_store *tier = cw_store_tiers_take(&c->stores, cw_source_store_used());
    struct cw_buf *buf = load(c, tier ? tier->packs : NULL, file, block, key, wait, ret_read);
    cw_store_tiers_give(&c->stores, tier);
    cw_mutex_lock(&c->mutex);
    if (buf)
        keep(c, e, buf);
    else
        drop(c, e);
    cw_cond_broadcast(&c->loaded);
    cw_mutex_unlock(&c->mutex);
    return buf;
}

/* Whether just this part of a block was read ahead: then the block is not read for it. */
static bool is_part_there(const struct cw_source_file *file, uint64_t offset, size_t part,
                          uint64_t block)
{
    const struct cw_io_info *info = &file->io->info;
    return info->is_object && cw_ahead_has(file->path, info->state, offset, part) &&
           !cw_ahead_has(file->path, info->state, block * CW_SOURCE_BLOCK_BYTES,
                         block_bytes(file, block));
}

static int read_direct(struct cw_source_cache *c, const struct cw_source_file *file,
                       uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    atomic_fetch_add(&c->origin.hits, 1);
    atomic_fetch_add(&c->origin.hit_bytes, n);
    return cw_io_read(file->io, offset, dst, n, file->stop, err);
}

/* Reads a part of one block. Returns false if the block cannot be had. */
static bool read_block(struct cw_source_cache *c, const struct cw_source_file *file,
                       uint64_t offset, char *dst, size_t n)
{
    uint64_t read = FROM_MEMORY;
    struct cw_buf *buf = get(c, file, offset / CW_SOURCE_BLOCK_BYTES, false, &read);
    if (!buf)
        return false;
    if (read == FROM_MEMORY) {
        atomic_fetch_add(&c->in_memory.hits, 1);
        atomic_fetch_add(&c->in_memory.hit_bytes, n);
    }
    memcpy(dst, (const char *)buf->data + offset % CW_SOURCE_BLOCK_BYTES, n);
    cw_buf_unref(buf);
    return true;
}

static int read_through(void *arg, const struct cw_source_file *file, uint64_t offset, void *dst,
                        size_t n, struct cw_err *err)
{
    struct cw_source_cache *c = arg;
    char *p = dst;
    if (!is_settled(file) || offset + n > (uint64_t)file->stamp.size)
        return read_direct(c, file, offset, dst, n, err);
    for (size_t part; n > 0; p += part, offset += part, n -= part) {
        uint64_t block = offset / CW_SOURCE_BLOCK_BYTES;
        part = CW_MIN(n, block_bytes(file, block) - (size_t)(offset % CW_SOURCE_BLOCK_BYTES));
        if (is_part_there(file, offset, part, block)) {
            int rc = read_direct(c, file, offset, p, part, err);
            if (rc < 0)
                return rc;
            continue;
        }
        if (!read_block(c, file, offset, p, part))
            /* reads as if there were no cache, which also gives the same error */
            return read_direct(c, file, offset, p, n, err);
    }
    return 0;
}

/* ---- what the tiers have ---- */

static unsigned find(struct cw_source_cache *c, struct cw_tier_store *packs, struct cw_hash key,
                     size_t n)
{
    unsigned tiers = 0;
    cw_mutex_lock(&c->mutex);
    const struct entry *e = cw_map_get(&c->map, key.lo);
    if (e && e->buf && cw_hash_eq(e->key, key))
        tiers |= CW_SOURCE_IN_MEMORY;
    cw_mutex_unlock(&c->mutex);
    if (c->dir && cw_tier_dir_has(c->dir, key, n))
        tiers |= CW_SOURCE_IN_DIR;
    if (packs && cw_tier_store_has(packs, key, n))
        tiers |= CW_SOURCE_IN_STORE;
    return tiers;
}

/* Returns those tiers of the set that should have the block and have room for it. */
static unsigned missing(const struct cw_source_cache *c, struct cw_tier_store *packs,
                        unsigned tiers)
{
    unsigned want = 0;
    if (c->dir && !cw_tier_dir_is_full(c->dir))
        want |= CW_SOURCE_IN_DIR;
    if (packs && !cw_tier_store_is_full(packs))
        want |= CW_SOURCE_IN_STORE;
    if (!c->dir && !packs)
        want |= CW_SOURCE_IN_MEMORY;
    return want & ~tiers;
}

/* ---- reading ahead ---- */

/* Whether a block would be kept: then all of it is read, else only what is needed of it. */
static bool is_worth_keeping(struct cw_source_cache *c, struct cw_tier_store *packs, size_t n)
{
    if (c->dir || packs)
        return missing(c, packs, 0) != 0;
    cw_mutex_lock(&c->mutex);
    bool has_room = c->bytes + n <= c->memory;
    cw_mutex_unlock(&c->mutex);
    return has_room;
}

/* Adds a range inside one block. */
static void block_ahead(struct cw_source_cache *c, struct cw_tier_store *packs,
                        struct cw_ahead *ahead, const struct cw_source_file *file, uint64_t offset,
                        size_t n)
{
    uint64_t block = offset / CW_SOURCE_BLOCK_BYTES;
    size_t all = block_bytes(file, block);
    if (find(c, packs, key_of(file, block), all) != 0)
        return;
    if (is_worth_keeping(c, packs, all))
        cw_ahead_add(ahead, file->path, block * CW_SOURCE_BLOCK_BYTES, all);
    else
        cw_ahead_add(ahead, file->path, offset, n);
}

/* By size or a sample of its bytes alone a file is not found in the tiers before it is open: what is
 * asked for is then read again, or not ahead where a slow tier may have it. */
static void ahead_through(void *arg, struct cw_ahead *ahead, const char *path,
                          const struct cw_file_stamp *stamp, uint64_t offset, uint64_t n)
{
    struct cw_source_cache *c = arg;
    struct cw_source_file file = {.path = path, .stamp = *stamp};
    bool is_known = stamp->identity == CW_IDENTITY_CONTENT ||
                    (stamp->identity == CW_IDENTITY_MTIME && stamp->mtime_ns != 0);
    struct cw_tier_of_store *tier = cw_store_tiers_take(&c->stores, cw_source_store_used());
    struct cw_tier_store *packs = tier ? tier->packs : NULL;
    if (!is_known && !c->dir && !packs)
        cw_ahead_add(ahead, path, offset, n);
    for (size_t part; is_known && n > 0; offset += part, n -= part) {
        part = (size_t)CW_MIN(n, CW_SOURCE_BLOCK_BYTES - offset % CW_SOURCE_BLOCK_BYTES);
        block_ahead(c, packs, ahead, &file, offset, part);
    }
    cw_store_tiers_give(&c->stores, tier);
}

/* ---- warming ---- */

static int settle(const struct cw_source_file *file, struct cw_err *err)
{
    int64_t deadline = cw_clock_ns() + (int64_t)(CW_SOURCE_SETTLE_MS + 500) * 1000000;
    while (!is_settled(file)) {
        if (cw_clock_ns() > deadline)
            return cw_err_set(err, CW_E_STATE,
                              "%s: its time of change lies in the future: it cannot be kept",
                              file->path);
        cw_clock_sleep_ns(50 * 1000000);
    }
    return 0;
}

static int block_in(struct cw_source_cache *c, struct cw_tier_store *packs,
                    const struct cw_source_file *file, uint64_t block, bool load_it,
                    struct cw_source_block *ret, struct cw_err *err)
{
    struct cw_hash key = key_of(file, block);
    uint64_t read = FROM_MEMORY;
    ret->tiers = find(c, packs, key, (size_t)ret->bytes);
    if (!load_it || missing(c, packs, ret->tiers) == 0)
        return 0;
    int rc = settle(file, err);
    if (rc < 0)
        return rc;
    struct cw_buf *buf = get(c, file, block, true, &read);
    if (!buf)
        return cw_err_set(err, CW_E_STATE, "%s: block %llu cannot be read, or the file changes",
                          file->path, (unsigned long long)block);
    if (read == FROM_MEMORY) /* The block was in memory; the slower tiers may not have it. */
        fill(c, packs, key, buf, find(c, packs, key, (size_t)ret->bytes), true);
    else
        ret->read_bytes = read;
    cw_buf_unref(buf);
    return 0;
}

static int block_through(void *arg, const struct cw_source_file *file, uint64_t block, bool load_it,
                         struct cw_source_block *ret, struct cw_err *err)
{
    struct cw_source_cache *c = arg;
    struct cw_tier_of_store *tier = cw_store_tiers_take(&c->stores, cw_source_store_used());
    int rc = block_in(c, tier ? tier->packs : NULL, file, block, load_it, ret, err);
    cw_store_tiers_give(&c->stores, tier);
    return rc;
}

static bool keeps(void *arg)
{
    struct cw_source_cache *c = arg;
    return c->dir || cw_store_tiers_has(&c->stores, cw_source_store_used());
}

/* ---- the cache as a whole ---- */

int cw_source_cache_new(const struct cw_source_cache_options *o, struct cw_source_cache **ret_cache,
                        struct cw_err *err)
{
    struct cw_source_cache *c = CW_NEW(struct cw_source_cache);
    c->memory = CW_MAX(o->memory ? o->memory : MEMORY_DEFAULT, MEMORY_MIN);
    c->idle_ms = o->idle_ms ? o->idle_ms : CW_SOURCE_IDLE_MS;
    c->hook = (struct cw_source_hook){read_through, block_through, ahead_through, keeps, c};
    cw_mutex_init(&c->mutex);
    cw_mutex_init(&c->in_memory.mutex);
    cw_mutex_init(&c->origin.mutex);
    cw_cond_init(&c->loaded);
    cw_store_tiers_init(&c->stores);
    int rc = o->dir ? cw_tier_dir_new(o, c->memory / 4, &c->dir, err) : 0;
    if (rc < 0)
        cw_source_cache_free(c);
    else
        *ret_cache = c;
    return rc;
}

void cw_source_cache_free(struct cw_source_cache *c)
{
    if (!c)
        return;
    cw_tier_dir_free(c->dir);
    cw_store_tiers_fini(&c->stores);
    while (c->oldest)
        drop(c, c->oldest);
    cw_map_fini(&c->map);
    cw_cond_fini(&c->loaded);
    cw_mutex_fini(&c->mutex);
    cw_mutex_fini(&c->in_memory.mutex);
    cw_mutex_fini(&c->origin.mutex);
    cw_mem_free(c);
}

void cw_source_cache_set_store(struct cw_source_cache *c, uint64_t cache_id, const char *url,
                               uint64_t quota)
{
    if (cw_store_tiers_set_quota(&c->stores, cache_id, quota))
        return;
    cw_store_tiers_add(&c->stores, cache_id,
                       cw_tier_store_new(url, quota, c->memory / 4, c->idle_ms));
}

void cw_source_cache_drop_store(struct cw_source_cache *c, uint64_t cache_id)
{
    cw_store_tiers_drop(&c->stores, cache_id);
}

const struct cw_source_hook *cw_source_cache_hook(struct cw_source_cache *c)
{
    return &c->hook;
}

void cw_source_cache_counts(struct cw_source_cache *c,
                            struct cw_source_counts ret[CW_SOURCE_TIERS_N])
{
    memset(ret, 0, CW_SOURCE_TIERS_N * sizeof(*ret));
    cw_tier_counters_read(&c->in_memory, &ret[CW_SOURCE_MEMORY]);
    cw_tier_counters_read(&c->origin, &ret[CW_SOURCE_ORIGIN]);
    ret[CW_SOURCE_MEMORY].capacity = c->memory;
    cw_mutex_lock(&c->mutex);
    ret[CW_SOURCE_MEMORY].bytes = c->bytes;
    cw_mutex_unlock(&c->mutex);
    struct cw_tier_of_store *tier = cw_store_tiers_take(&c->stores, 0);
    if (tier)
        cw_tier_store_counts(tier->packs, &ret[CW_SOURCE_STORE]);
    cw_store_tiers_give(&c->stores, tier);
    if (c->dir)
        cw_tier_dir_counts(c->dir, &ret[CW_SOURCE_DIR]);
}

size_t cw_source_cache_named_counts(struct cw_source_cache *c, uint64_t *ret_ids,
                                    struct cw_source_counts *ret_counts, size_t max)
{
    return cw_store_tiers_counts(&c->stores, ret_ids, ret_counts, max);
}
