/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the access points of a file while it is inflated. */
#include "base/hash.h"
#include "base/mem.h"
#include "codec/codec.h"
#include "format/access_points.h"

#define WINDOW_LEVEL 1 /* of zstd */
enum { SLACK = 64 };

struct make {
    const struct cw_readable *file;
    uint64_t every;
    const struct cw_access_sink *sink;
    struct cw_inflater *in;
    struct cw_hasher *sum;       /* of the stretch so far */
    struct cw_hasher *block_sum; /* of the block of it so far */
    uint64_t block_n;            /* bytes of that */
    uint64_t blocks;             /* how many of points->sums there were when the stretch began */
    struct cw_codec_packer *packer;
    struct cw_access_points *points;
    uint64_t points_cap, windows_cap, sums_cap;
    char *piece;
    size_t piece_n;
    uint8_t window[CW_INFLATE_WINDOW_BYTES];
};

static int no_memory(const struct make *m, struct cw_err *err)
{
    return cw_err_set(err, CW_E_NOMEM, "%s: no memory for its access points", m->file->name);
}

/* Grows an array of elements of `size` bytes for n of them. */
static void *room(void *old, uint64_t *cap, uint64_t n, size_t size)
{
    if (n <= *cap)
        return old;
    *cap = n + n / 2 + 16;
    return cw_mem_try_grow(old, (size_t)*cap * size);
}

/* Appends the window of the last point. */
static int add_window(struct make *m, size_t n, struct cw_err *err)
{
    struct cw_access_points *p = m->points;
    const size_t bound = cw_codec_bound(n);
    uint8_t *grown = room(p->windows, &m->windows_cap, p->windows_n + bound, 1);
    if (!m->packer)
        m->packer = cw_codec_packer_new(WINDOW_LEVEL);
    if (grown)
        p->windows = grown;
    const size_t packed =
        grown && m->packer ? cw_codec_pack_to(m->packer, grown + p->windows_n, bound, m->window, n)
                           : 0;
    p->windows_n += packed;
    return packed > 0 ? 0 : no_memory(m, err);
}

/* Adds a point where the inflater is. */
static int add_point(struct make *m, const struct cw_inflate_place *place, size_t window_n,
                     struct cw_err *err)
{
    struct cw_access_points *p = m->points;
    struct cw_access_point *grown = room(p->v, &m->points_cap, p->n + 1, sizeof(*p->v));
    if (!grown)
        return no_memory(m, err);
    p->v = grown;
    p->v[p->n++] =
        (struct cw_access_point){.at = p->size,
                                 .from = place->from << 4 | place->bits << 1 | place->needs_window,
                                 .window = p->windows_n};
    return place->needs_window ? add_window(m, window_n, err) : 0;
}

/* ---- hashes ---- */

static int end_block(struct make *m, struct cw_err *err)
{
    struct cw_access_points *p = m->points;
    uint64_t *grown = room(p->sums, &m->sums_cap, p->sums_n + 1, sizeof(*p->sums));
    if (!grown)
        return no_memory(m, err);
    p->sums = grown;
    p->sums[p->sums_n++] = cw_hasher_get_u64(m->block_sum);
    cw_hasher_reset(m->block_sum);
    m->block_n = 0;
    return 0;
}

/* Hashes the next bytes of the stretch. */
static int add_bytes(struct make *m, const char *p, size_t n, struct cw_err *err)
{
    int rc = 0;
    cw_hasher_add(m->sum, p, n);
    for (size_t part; rc == 0 && n > 0; p += part, n -= part) {
        part = (size_t)CW_MIN((uint64_t)n, CW_ACCESS_BLOCK_BYTES - m->block_n);
        cw_hasher_add(m->block_sum, p, part);
        m->block_n += part;
        rc = m->block_n == CW_ACCESS_BLOCK_BYTES ? end_block(m, err) : 0;
    }
    return rc;
}

/* Of a stretch that is not long the hashes of blocks are left out. */
static int end_stretch(struct make *m, struct cw_err *err)
{
    struct cw_access_points *p = m->points;
    int rc = m->block_n > 0 ? end_block(m, err) : 0;
    if (p->n > 0) {
        p->v[p->n - 1].sum = cw_hasher_get_u64(m->sum);
        if (p->size - p->v[p->n - 1].at <= CW_ACCESS_LONG_BYTES)
            p->sums_n = m->blocks;
    }
    m->blocks = p->sums_n;
    cw_hasher_reset(m->sum);
    return rc;
}

/* ---- inflating ---- */

/* Decides whether the stretch ends at the place where the inflater is. */
static int at_place(struct make *m, struct cw_err *err)
{
    const struct cw_access_points *p = m->points;
    const uint64_t length = p->size - p->v[p->n - 1].at;
    struct cw_inflate_place place;
    if (length < CW_MIN(m->every, CW_ACCESS_SMALL_BYTES))
        return 0;
    const size_t window_n = cw_inflater_place(m->in, &place, m->window);
    if (place.needs_window && length < m->every)
        return 0;
    int rc = end_stretch(m, err);
    return rc < 0 ? rc : add_point(m, &place, window_n, err);
}

static int give_piece(struct make *m, struct cw_err *err)
{
    const size_t n = m->piece_n;
    m->piece_n = 0;
    return m->sink && n > 0 ? m->sink->take(m->sink->arg, m->piece, n, err) : 0;
}

/* Inflates some bytes. Returns 1 at the end of the file. */
static int step(struct make *m, struct cw_err *err)
{
    size_t got = 0;
    bool is_place = false;
    const int end = cw_inflater_step(m->in, m->piece + m->piece_n,
                                     CW_ACCESS_PIECE_BYTES - m->piece_n, &got, &is_place, err);
    if (end < 0)
        return end;
    int rc = add_bytes(m, m->piece + m->piece_n, got, err);
    m->points->size += got;
    m->piece_n += got;
    if (rc == 0 && is_place && end == 0)
        rc = at_place(m, err);
    if (rc == 0 && m->piece_n == CW_ACCESS_PIECE_BYTES)
        rc = give_piece(m, err);
    return rc < 0 ? rc : end;
}

static int make_all(struct make *m, struct cw_err *err)
{
    const struct cw_inflate_place begin = {0};
    int rc = add_point(m, &begin, 0, err);
    for (unsigned k = 0; rc == 0; k++) {
        rc = step(m, err);
        if (rc == 0 && k % 64 == 0)
            rc = cw_stop_check_at(m->file->stop, m->file->name, err);
    }
    if (rc > 0)
        rc = give_piece(m, err);
    const int ended = end_stretch(m, err);
    return rc < 0 ? rc : ended;
}

/* A stretch without bytes is none. And the room in which the arrays grew is given back. */
static void tidy(struct cw_access_points *p)
{
    while (p->n > 0 && p->v[p->n - 1].at == p->size)
        p->windows_n = p->v[--p->n].window;
    void *v = cw_mem_try_grow(p->v, CW_MAX(p->n, 1) * sizeof(*p->v));
    void *windows = cw_mem_try_grow(p->windows, CW_MAX(p->windows_n, 1));
    p->v = v ? v : p->v;
    p->windows = windows ? windows : p->windows;
    uint64_t *sums = cw_mem_try_grow(p->sums, CW_MAX(p->sums_n, 1) * sizeof(*p->sums));
    p->sums = sums ? sums : p->sums;
}

int cw_access_points_make(const struct cw_readable *file, uint64_t every,
                          const struct cw_access_sink *sink, struct cw_access_points **ret_points,
                          struct cw_err *err)
{
    cw_autofree struct make *m = CW_NEW(struct make);
    cw_autofree char *piece = cw_mem_try(CW_ACCESS_PIECE_BYTES + SLACK);
    m->file = file;
    m->every = every;
    m->sink = sink;
    m->piece = piece;
    m->points = CW_NEW(struct cw_access_points);
    m->sum = cw_hasher_new();
    m->block_sum = cw_hasher_new();
    int rc = piece ? cw_inflater_new(file, &m->in, err) : no_memory(m, err);
    if (rc == 0)
        rc = make_all(m, err);
    cw_inflater_free(m->in);
    cw_codec_packer_free(m->packer);
    cw_hasher_free(m->sum);
    cw_hasher_free(m->block_sum);
    if (rc < 0) {
        cw_access_points_free(m->points);
        return rc;
    }
    tidy(m->points);
    *ret_points = m->points;
    return 0;
}
