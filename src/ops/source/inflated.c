/* SPDX-License-Identifier: Apache-2.0 */
/* Reads compressed files through a cache of their stretches. */
#include "ops/source/inflated.h"

#include <endian.h>
#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "io/ahead.h"
#include "ops/source/loaded.h"
#include "ops/source/long_stretch.h"
#include "ops/source/table_cache.h"

/* A long stretch takes long to inflate again, and is read through the source cache. Without one, all is held that the
 * source may hold. */

/* Memory that is given back piece by piece. */
#define CUT_BYTES ((size_t)4 << 20)

struct cw_inflated {
    uint64_t max, every;
    size_t budget; /* of the cache, unless a long stretch raises it */
    struct cw_table_cache *cache;
    _Atomic size_t collected; /* bytes of memory that scans have until their stretches are known */
    struct cw_long_stretches *longs;
};
struct stretch {
    struct cw_table_thing thing; /* of the file key.file, its stretch key.stretch */
    char *bytes;
};

static struct cw_table_key key_of(size_t file, uint64_t stretch)
{
    return (struct cw_table_key){.file = (uint32_t)file, .stretch = (uint32_t)stretch};
}

static void fini_stretch(struct cw_table_thing *thing)
{
    cw_mem_free(((struct stretch *)thing)->bytes);
}

static const struct cw_table_cache_kind cache_kind = {.thing_bytes = sizeof(struct stretch),
                                                      .fini = fini_stretch};

struct cw_inflated *cw_inflated_new(int64_t max, int64_t every)
{
    struct cw_inflated *all = CW_NEW(struct cw_inflated);
    all->max = (uint64_t)max;
    all->every = (uint64_t)every;
    all->budget = (size_t)CW_MIN(all->max, (uint64_t)cw_loaded_part_max());
    all->cache = cw_table_cache_new(all->budget, &cache_kind, NULL);
    all->longs = cw_long_stretches_new();
    return all;
}

void cw_inflated_free(struct cw_inflated *all)
{
    if (!all)
        return;
    cw_table_cache_free(all->cache);
    cw_long_stretches_free(all->longs);
    cw_mem_free(all);
}

/* ---- access points ---- */

static int check(const struct cw_inflated *all, const char *name, const struct cw_access_points *p,
                 struct cw_err *err)
{
    for (uint64_t k = 0; k < p->n; k++) {
        const uint64_t n = cw_access_points_end(p, k) - p->v[k].at;
        if ((n > all->max && !cw_source_keeps()) || p->n > UINT32_MAX)
            return cw_err_set(err, CW_E_LIMIT,
                              "%s: %llu inflated bytes, from %llu on, can only be inflated "
                              "together; option inflated_max allows %llu, and there is no source "
                              "cache on a disk or in a store",
                              name, (unsigned long long)n, (unsigned long long)p->v[k].at,
                              (unsigned long long)all->max);
    }
    return 0;
}

/* ---- what a scan has inflated already ---- */

/* The bytes of a file while it is scanned, as long as there is room for all of it. */
struct collection {
    struct cw_inflated *all;
    const struct cw_access_sink *sink; /* who sees them besides, or NULL */
    char *bytes;                       /* NULL, with is_over: there was no room */
    size_t n, cap;
    bool is_over;
};

/* Has it as much memory as it says, for which there is room. Returns false if it cannot be had. */
static bool resize(struct collection *c, size_t cap)
{
    char *bytes = cap > 0 ? cw_mem_try_grow(c->bytes, cap) : NULL;
    if (cap > 0 && !bytes)
        return false;
    if (cap == 0)
        cw_mem_free(c->bytes);
    c->bytes = bytes;
    cw_loaded_hold((int64_t)cap - (int64_t)c->cap);
    c->cap = cap;
    return true;
}

static void give_up(struct collection *c)
{
    atomic_fetch_sub(&c->all->collected, c->cap);
    (void)resize(c, 0);
    c->n = 0;
    c->is_over = true;
}

/* Makes room for n bytes more: twice as much memory as there is, or what others have left of it. */
static bool reserve(struct collection *c, size_t n)
{
    const size_t need = c->n + n - c->cap, before = c->cap;
    size_t more = CW_MAX(c->cap, need);
    const size_t others = cw_table_cache_bytes(c->all->cache) +
                          atomic_fetch_add(&c->all->collected, more); /* with its own so far */
    const size_t room = others < c->all->budget ? c->all->budget - others : 0;
    if (more > room) {
        atomic_fetch_sub(&c->all->collected, more - CW_MAX(room, need));
        more = CW_MAX(room, need);
    }
    if (need <= room && resize(c, before + more))
        return true;
    atomic_fetch_sub(&c->all->collected, more);
    return false;
}

static void collect(struct collection *c, const char *p, size_t n)
{
    if (!c->is_over && c->n + n > c->cap && !reserve(c, n))
        give_up(c);
    if (c->is_over)
        return;
    memcpy(c->bytes + c->n, p, n);
    c->n += n;
}

/* Keeps the first n bytes alone, if that gives back as much as is worth it. */
static void cut(struct collection *c, size_t n)
{
    const size_t before = c->cap;
    if (n == 0 || c->cap - n < CUT_BYTES || !resize(c, n))
        return;
    c->n = n;
    atomic_fetch_sub(&c->all->collected, before - n);
}

static int collect_and_show(void *arg, char *p, size_t n, struct cw_err *err)
{
    struct collection *c = arg;
    collect(c, p, n);
    return c->sink ? c->sink->take(c->sink->arg, p, n, err) : 0;
}

static int copy_stretch(void *arg, struct cw_table_thing *thing, struct cw_err *err)
{
    struct stretch *s = (struct stretch *)thing;
    const struct cw_readable_bytes *from = arg;
    (void)err;
    s->bytes = cw_mem_try(from->n);
    if (!s->bytes)
        return CW_E_NOMEM;
    memcpy(s->bytes, from->p, from->n);
    thing->bytes = from->n;
    return 0;
}

/* Puts the stretches into the cache, the last one first, so that they are not in memory twice. */
static void keep_stretches(struct collection *c, size_t file, const struct cw_access_points *p)
{
    for (uint64_t k = p->n; !c->is_over && k-- > 0;) {
        cut(c, (size_t)cw_access_points_end(p, k));
        struct cw_readable_bytes from = {c->bytes + p->v[k].at,
                                         (size_t)(cw_access_points_end(p, k) - p->v[k].at)};
        const struct cw_table_key key = key_of(file, k);
        struct cw_table_thing *thing = NULL;
        (void)cw_table_cache_get_by(c->all->cache, &key, copy_stretch, &from, &thing, NULL);
        cw_table_cache_put(c->all->cache, thing);
    }
}

int cw_inflated_scan(struct cw_inflated *all, size_t i, const struct cw_readable *file,
                     const struct cw_access_sink *sink, struct cw_access_points **ret_points,
                     struct cw_err *err)
{
    struct collection c = {.all = all, .sink = sink};
    const struct cw_access_sink both = {collect_and_show, &c};
    struct cw_access_points *points = NULL;
    *ret_points = NULL;
    if (!cw_inflate_is_name(file->name))
        return 0;
    int rc = cw_access_points_make(file, all->every, &both, &points, err);
    if (rc == 0)
        rc = check(all, file->name, points, err);
    if (rc == 0)
        keep_stretches(&c, i, points);
    give_up(&c);
    if (rc < 0)
        cw_access_points_free(points);
    else
        *ret_points = points;
    return rc;
}

void cw_inflated_key(const struct cw_inflated *all, const char *path, struct cw_str *out)
{
    if (cw_inflate_is_name(path))
        cw_str_addf(out, "points 1 every %llu\n", (unsigned long long)all->every);
}

void cw_inflated_pack(const struct cw_access_points *points, struct cw_str *out)
{
    uint64_t n = 0;
    const size_t begin = out->len;
    if (!points)
        return;
    cw_str_add_bytes(out, &n, sizeof(n));
    cw_access_points_pack(points, out);
    n = htole64(out->len - begin - sizeof(n));
    memcpy(out->s + begin, &n, sizeof(n));
}

int cw_inflated_unpack(const struct cw_inflated *all, const char *path, uint64_t size,
                       const uint8_t **bytes, size_t *n, struct cw_access_points **ret_points)
{
    uint64_t own;
    *ret_points = NULL;
    if (!cw_inflate_is_name(path))
        return 0;
    if (*n < sizeof(own))
        return CW_E_CORRUPT;
    memcpy(&own, *bytes, sizeof(own));
    own = le64toh(own);
    if (own > *n - sizeof(own))
        return CW_E_CORRUPT;
    struct cw_access_points *p = cw_access_points_unpack(*bytes + sizeof(own), (size_t)own, size);
    if (!p || check(all, path, p, NULL) < 0) {
        cw_access_points_free(p);
        return CW_E_CORRUPT;
    }
    *bytes += sizeof(own) + own;
    *n -= sizeof(own) + (size_t)own;
    *ret_points = p;
    return 0;
}

/* ---- reading ---- */

/* The source cache was to have a stretch, and does not take it. A file that may be being written is tried again. */
static int not_kept(const struct cw_inflated_view *view, size_t n, struct cw_err *err)
{
    const bool is_new = view->source && !view->source->io->info.is_object && cw_source_keeps() &&
                        !cw_source_is_settled(view->source, CW_LONG_STRETCH_SETTLE_MS);
    return cw_err_set(
        err, is_new ? CW_E_UNAVAILABLE : CW_E_LIMIT,
        "%s: %zu inflated bytes can only be inflated together; option inflated_max "
        "allows %llu, and the source cache does not keep this file (%s)",
        view->packed->name, n, (unsigned long long)view->inflated->max,
        is_new ? "it has changed less than 2 s ago, or its time of change lies in the future"
               : "its server tells no version, or there is no such cache any more");
}

static int load_stretch(void *arg, struct cw_table_thing *thing, struct cw_err *err)
{
    const struct cw_inflated_view *view = arg;
    struct stretch *s = (struct stretch *)thing;
    const uint64_t k = thing->key.stretch;
    const size_t n = (size_t)(cw_access_points_end(view->points, k) - view->points->v[k].at);
    if (n > view->inflated->max)
        return not_kept(view, n, err);
    if (n > CW_ACCESS_LONG_BYTES)
        cw_table_cache_allow(view->inflated->cache, (size_t)view->inflated->max);
    s->bytes = cw_mem_try(n);
    if (!s->bytes)
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory for %zu inflated bytes",
                          view->packed->name, n);
    thing->bytes = n;
    return cw_access_points_inflate(view->points, k, view->packed, s->bytes, err);
}

/* Reads bytes of a stretch through the source cache. UNSUPPORTED: it is to be held in memory. */
static int read_long(const struct cw_inflated_view *view, uint64_t k, uint64_t skip, char *dst,
                     size_t n, struct cw_err *err)
{
    const struct cw_long_stretch stretch = {view->points, k, view->source, view->packed};
    const uint64_t all = cw_access_points_end(view->points, k) - view->points->v[k].at;
    return all > CW_ACCESS_LONG_BYTES ? cw_long_stretch_read(view->inflated->longs, &stretch,
                                                             view->inflated->max, skip, dst, n, err)
                                      : CW_E_UNSUPPORTED;
}

/* Copies bytes of one stretch, at most n from `offset` on. */
static int copy_some(const struct cw_inflated_view *view, uint64_t offset, char *dst, size_t n,
                     size_t *ret_n, struct cw_err *err)
{
    const struct cw_access_points *p = view->points;
    const uint64_t k = cw_access_points_find(p, offset), skip = offset - p->v[k].at;
    const struct cw_table_key key = key_of(view->file, k);
    struct cw_table_cache *cache = view->inflated->cache;
    void *arg;
    memcpy(&arg, &view, sizeof(arg)); /* it is only read */
    *ret_n = (size_t)CW_MIN(cw_access_points_end(p, k) - offset, (uint64_t)n);
    int rc = 0;
    struct cw_table_thing *thing = cw_table_cache_peek(cache, &key);
    if (!thing) {
        rc = read_long(view, k, skip, dst, *ret_n, err);
        if (rc != CW_E_UNSUPPORTED)
            return rc;
        rc = cw_table_cache_get_by(cache, &key, load_stretch, arg, &thing, err);
    }
    if (rc < 0)
        return rc;
    memcpy(dst, ((const struct stretch *)thing)->bytes + skip, *ret_n);
    cw_table_cache_put(cache, thing);
    return 0;
}

static int read_inflated(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    const struct cw_inflated_view *view = arg;
    char *to = dst;
    if (offset > view->points->size || n > view->points->size - offset)
        return cw_err_set(err, CW_E_CORRUPT, "%s: %zu inflated bytes at byte %llu are past the end",
                          view->packed->name, n, (unsigned long long)offset);
    for (size_t got; n > 0; n -= got, to += got, offset += got) {
        int rc = copy_some(view, offset, to, n, &got, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

struct cw_readable cw_inflated_readable(struct cw_inflated_view *view)
{
    struct cw_readable plain = *view->packed;
    if (!view->points)
        return plain;
    plain.size = view->points->size;
    plain.read_at = read_inflated;
    plain.arg = view;
    plain.is_named = true;
    return plain;
}

/* ---- reading ahead ---- */

static void stretch_ahead(struct cw_inflated *all, const struct cw_file_set *files, size_t file,
                          const struct cw_access_points *p, uint64_t k, struct cw_ahead *ahead)
{
    const uint64_t words[] = {file, k};
    const struct cw_table_key key = key_of(file, k);
    uint64_t from, n;
    if (cw_access_points_end(p, k) - p->v[k].at > CW_ACCESS_LONG_BYTES)
        return; /* the source cache has it */
    struct cw_table_thing *thing = cw_table_cache_peek(all->cache, &key);
    cw_table_cache_put(all->cache, thing);
    if (thing || !cw_ahead_note(ahead, cw_hash_u64(words, sizeof(words))))
        return;
    cw_access_points_range(p, k, (uint64_t)files->v[file].stamp.size, &from, &n);
    cw_file_set_ahead(files, file, from, n, ahead);
}

void cw_inflated_ahead(struct cw_inflated *all, const struct cw_file_set *files, size_t file,
                       const struct cw_access_points *p, uint64_t offset, uint64_t n,
                       struct cw_ahead *ahead)
{
    if (!p) {
        cw_file_set_ahead(files, file, offset, n, ahead);
        return;
    }
    if (n == 0 || offset >= p->size)
        return;
    const uint64_t last = cw_access_points_find(p, CW_MIN(offset + n, p->size) - 1);
    for (uint64_t k = cw_access_points_find(p, offset); k <= last; k++)
        stretch_ahead(all, files, file, p, k, ahead);
}
