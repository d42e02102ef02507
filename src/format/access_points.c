/* SPDX-License-Identifier: Apache-2.0 */
/* Finds access points, inflates from them, and keeps them as bytes:
 *
 *   u64     inflated bytes, number of points, bytes of all windows
 *   u64[4]  of each point: at, from, sum, window
 *   the windows
 *   u64[]   hashes of the blocks of long stretches
 *
 * All numbers are in little endian. */
#include "format/access_points.h"

#include <endian.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "codec/codec.h"

/* What lies between two points is read at once, unless it has more bytes. */
#define READ_MAX ((uint64_t)16 << 20)
enum { HEAD_BYTES = 3 * 8, POINT_BYTES = 4 * 8 };

void cw_access_points_free(struct cw_access_points *p)
{
    if (!p)
        return;
    cw_mem_free(p->v);
    cw_mem_free(p->windows);
    cw_mem_free(p->sums);
    cw_mem_free(p);
}

size_t cw_access_points_bytes(const struct cw_access_points *p)
{
    return sizeof(*p) + (size_t)p->n * sizeof(*p->v) + (size_t)p->windows_n +
           (size_t)p->sums_n * sizeof(*p->sums);
}

/* How many blocks with a hash a stretch has. */
static uint64_t blocks_of(const struct cw_access_points *p, uint64_t k)
{
    const uint64_t bytes = cw_access_points_end(p, k) - p->v[k].at;
    return bytes > CW_ACCESS_LONG_BYTES
               ? (bytes + CW_ACCESS_BLOCK_BYTES - 1) / CW_ACCESS_BLOCK_BYTES
               : 0;
}

/* How many all stretches before k have. */
static uint64_t blocks_before(const struct cw_access_points *p, uint64_t k)
{
    uint64_t n = 0;
    while (k > 0)
        n += blocks_of(p, --k);
    return n;
}

static struct cw_inflate_place place_of(const struct cw_access_point *v)
{
    return (struct cw_inflate_place){.from = v->from >> 4,
                                     .bits = (unsigned)(v->from >> 1) & 7,
                                     .needs_window = (v->from & 1) != 0};
}

/* ---- as bytes ---- */

static void add_u64(struct cw_str *out, uint64_t v)
{
    v = htole64(v);
    cw_str_add_bytes(out, &v, sizeof(v));
}

static uint64_t take_u64(const uint8_t **p)
{
    uint64_t v;
    memcpy(&v, *p, sizeof(v));
    *p += sizeof(v);
    return le64toh(v);
}

void cw_access_points_pack(const struct cw_access_points *p, struct cw_str *out)
{
    add_u64(out, p->size);
    add_u64(out, p->n);
    add_u64(out, p->windows_n);
    for (uint64_t k = 0; k < p->n; k++) {
        add_u64(out, p->v[k].at);
        add_u64(out, p->v[k].from);
        add_u64(out, p->v[k].sum);
        add_u64(out, p->v[k].window);
    }
    if (p->windows_n > 0)
        cw_str_add_bytes(out, p->windows, (size_t)p->windows_n);
    for (uint64_t i = 0; i < p->sums_n; i++)
        add_u64(out, p->sums[i]);
}

/* Whether a point lies behind the one before it, in the file and in what is inflated. */
static bool fits(const struct cw_access_points *p, uint64_t k, uint64_t size)
{
    const struct cw_access_point *v = &p->v[k], *before = k > 0 ? v - 1 : NULL;
    const struct cw_inflate_place place = place_of(v);
    if (v->at >= p->size || v->window > p->windows_n || place.from >= size)
        return false;
    if (!before)
        return v->at == 0 && v->from == 0 && v->window == 0;
    return v->at > before->at && place.from > place_of(before).from && v->window >= before->window;
}

/* Takes the hashes, which are all that is left. */
static bool take_sums(struct cw_access_points *p, const uint8_t *bytes, uint64_t n)
{
    p->sums_n = blocks_before(p, p->n);
    if (n % sizeof(*p->sums) != 0 || n / sizeof(*p->sums) != p->sums_n)
        return false;
    p->sums = cw_mem_try((size_t)n + 1);
    for (uint64_t i = 0; p->sums && i < p->sums_n; i++)
        p->sums[i] = take_u64(&bytes);
    return p->sums != NULL;
}

/* n: bytes of all that is behind the head */
static bool take_points(struct cw_access_points *p, const uint8_t *bytes, uint64_t n, uint64_t size)
{
    p->v = cw_mem_try((size_t)p->n * sizeof(*p->v) + 1);
    p->windows = cw_mem_try((size_t)p->windows_n + 1);
    if (!p->v || !p->windows)
        return false;
    for (uint64_t k = 0; k < p->n; k++) {
        p->v[k].at = take_u64(&bytes);
        p->v[k].from = take_u64(&bytes);
        p->v[k].sum = take_u64(&bytes);
        p->v[k].window = take_u64(&bytes);
        if (!fits(p, k, size))
            return false;
    }
    memcpy(p->windows, bytes, (size_t)p->windows_n);
    return (p->n > 0) == (p->size > 0) &&
           take_sums(p, bytes + p->windows_n, n - p->n * POINT_BYTES - p->windows_n);
}

struct cw_access_points *cw_access_points_unpack(const void *bytes, size_t n, uint64_t size)
{
    const uint8_t *at = bytes;
    if (n < HEAD_BYTES)
        return NULL;
    struct cw_access_points *p = CW_NEW(struct cw_access_points);
    p->size = take_u64(&at);
    p->n = take_u64(&at);
    p->windows_n = take_u64(&at);
    const uint64_t rest = n - HEAD_BYTES;
    if (p->n <= rest / POINT_BYTES && p->windows_n <= rest - p->n * POINT_BYTES &&
        p->size <= INT64_MAX && take_points(p, at, rest, size))
        return p;
    cw_access_points_free(p);
    return NULL;
}

/* ---- stretches ---- */

uint64_t cw_access_points_find(const struct cw_access_points *p, uint64_t at)
{
    uint64_t low = 0, high = p->n; /* the point lies in [low, high) */
    CW_ASSERT(at < p->size);
    while (high - low > 1) {
        const uint64_t mid = low + (high - low) / 2;
        if (p->v[mid].at <= at)
            low = mid;
        else
            high = mid;
    }
    return low;
}

uint64_t cw_access_points_end(const struct cw_access_points *p, uint64_t k)
{
    return k + 1 < p->n ? p->v[k + 1].at : p->size;
}

void cw_access_points_range(const struct cw_access_points *p, uint64_t k, uint64_t size,
                            uint64_t *ret_from, uint64_t *ret_n)
{
    const struct cw_inflate_place begin = place_of(&p->v[k]);
    const uint64_t end = k + 1 < p->n ? place_of(&p->v[k + 1]).from : size;
    *ret_from = begin.from - (begin.bits > 0);
    *ret_n = end - *ret_from;
}

/* Reads of the file, as if it ended with the stretch. Of a short one all bytes are read at once. */
struct cw_access_reader {
    const struct cw_access_points *points;
    uint64_t k;
    const struct cw_readable *file;
    struct cw_readable part; /* what the inflater reads */
    char *bytes;             /* of the part, from `from` on, or NULL */
    uint64_t from, n;
    struct cw_inflater *in;
    struct cw_hasher *sum;
    uint64_t left; /* inflated bytes that were not read yet */
};

static int read_part(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    const struct cw_access_reader *r = arg;
    const uint64_t skip = offset - r->from;
    if (!r->bytes || offset < r->from || skip > r->n || n > r->n - skip)
        return r->file->read_at(r->file->arg, offset, dst, n, err);
    memcpy(dst, r->bytes + skip, n);
    return 0;
}

static int differs(const struct cw_access_points *p, uint64_t k, const struct cw_readable *file,
                   struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT,
                      "%s: damaged behind byte %llu: what is inflated there is not what it was "
                      "when the file was scanned",
                      file->name, (unsigned long long)(p->v[k].from >> 4));
}

static int changed(const struct cw_access_reader *r, struct cw_err *err)
{
    return differs(r->points, r->k, r->file, err);
}

int cw_access_points_check(const struct cw_access_points *p, uint64_t k, uint64_t block,
                           const void *bytes, size_t n, const struct cw_readable *file,
                           struct cw_err *err)
{
    CW_ASSERT(block < blocks_of(p, k));
    return cw_hash_u64(bytes, n) == p->sums[blocks_before(p, k) + block] ? 0
                                                                         : differs(p, k, file, err);
}

static int enter(struct cw_access_reader *r, struct cw_err *err)
{
    const struct cw_access_points *p = r->points;
    const struct cw_inflate_place place = place_of(&p->v[r->k]);
    const uint64_t begin = p->v[r->k].window,
                   end = r->k + 1 < p->n ? p->v[r->k + 1].window : p->windows_n;
    struct cw_buf *window = NULL;
    if (!place.needs_window)
        return cw_inflater_enter(r->in, &place, NULL, 0, err);
    int rc = cw_codec_unpack(p->windows + begin, (size_t)(end - begin), CW_INFLATE_WINDOW_BYTES,
                             "window of an access point", &window, NULL);
    if (rc < 0)
        return changed(r, err);
    rc = cw_inflater_enter(r->in, &place, window->data, window->len, err);
    cw_buf_unref(window);
    return rc;
}

static int read_at_once(struct cw_access_reader *r, struct cw_err *err)
{
    r->bytes = r->n <= READ_MAX ? cw_mem_try((size_t)r->n + 1) : NULL;
    return r->bytes ? cw_readable_get(r->file, r->from, r->bytes, (size_t)r->n, err) : 0;
}

int cw_access_reader_new(const struct cw_access_points *points, uint64_t k,
                         const struct cw_readable *file, struct cw_access_reader **ret_reader,
                         struct cw_err *err)
{
    struct cw_access_reader *r = CW_NEW(struct cw_access_reader);
    r->points = points;
    r->k = k;
    r->file = file;
    r->left = cw_access_points_end(points, k) - points->v[k].at;
    r->sum = cw_hasher_new();
    cw_access_points_range(points, k, file->size, &r->from, &r->n);
    r->part = *file;
    r->part.size = r->from + r->n;
    r->part.read_at = read_part;
    r->part.arg = r;
    r->part.is_named = false;
    int rc = read_at_once(r, err);
    if (rc == 0)
        rc = cw_inflater_new(&r->part, &r->in, err);
    if (rc == 0)
        rc = enter(r, err);
    if (rc < 0)
        cw_access_reader_free(r);
    else
        *ret_reader = r;
    return rc;
}

void cw_access_reader_free(struct cw_access_reader *r)
{
    if (!r)
        return;
    cw_inflater_free(r->in);
    cw_hasher_free(r->sum);
    cw_mem_free(r->bytes);
    cw_mem_free(r);
}

int cw_access_reader_read(struct cw_access_reader *r, void *dst, size_t n, struct cw_err *err)
{
    size_t got = 0;
    CW_ASSERT(n <= r->left);
    int rc = cw_inflater_read(r->in, dst, n, &got, err);
    if (rc < 0)
        return rc;
    cw_hasher_add(r->sum, dst, got);
    r->left -= n;
    if (got < n || (r->left == 0 && cw_hasher_get_u64(r->sum) != r->points->v[r->k].sum))
        return changed(r, err);
    return 0;
}

int cw_access_points_inflate(const struct cw_access_points *points, uint64_t k,
                             const struct cw_readable *file, void *dst, struct cw_err *err)
{
    struct cw_access_reader *r = NULL;
    int rc = cw_access_reader_new(points, k, file, &r, err);
    if (rc == 0)
        rc = cw_access_reader_read(r, dst, (size_t)r->left, err);
    cw_access_reader_free(r);
    return rc;
}
