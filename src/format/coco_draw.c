/* SPDX-License-Identifier: Apache-2.0 */
/* Draws polygons and run lengths. COCO counts pixels down the columns, and its reference, pycocotools,
 * fixes which pixels a polygon has: the outline is walked in fifths of a pixel, and where it goes from
 * one column to the next, the column begins or ends to be inside at the rounded height. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "format/coco.h"
#include "format/json_find.h"
#include "format/json_list.h"
#include "format/json_text.h"

#define FINE 5.0
/* How far a corner may lie outside of an image, in pixels, and how many steps an outline may have. */
#define OUTSIDE_MAX 1e6
#define STEPS_MAX (INT64_C(1) << 26)

/* An image under way: marks[i] is set where being inside changes at pixel i, down the columns. */
struct drawing {
    uint8_t *marks;
    int64_t h, w;
    int64_t low, high; /* all marks are in [low, high] */
    int64_t steps;     /* left */
};

static int no_shape(const char *what, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "segmentation: %s", what);
}

static void mark(struct drawing *d, int64_t i)
{
    d->marks[i] ^= 1;
    d->low = CW_MIN(d->low, i);
    d->high = CW_MAX(d->high, i);
}

/* The outline goes from fine column u0 to u1, at heights v0 and v1. */
static void cross(struct drawing *d, int64_t u0, int64_t v0, int64_t u1, int64_t v1)
{
    const double x = ((double)(u1 < u0 ? u1 : u1 - 1) + 0.5) / FINE - 0.5;
    double y = ((double)(v1 < v0 ? v1 : v0) + 0.5) / FINE - 0.5;
    if (floor(x) < x || x < 0 || x > (double)(d->w - 1))
        return;
    y = ceil(fmin(fmax(y, 0), (double)d->h));
    mark(d, (int64_t)x * d->h + (int64_t)y);
}

/* Walks along one side. (u, v) is where the walk is, and *is_first, whether it has yet to begin. */
static int walk(struct drawing *d, const int64_t from[2], const int64_t to[2], int64_t at[2],
                bool *is_first, struct cw_err *err)
{
    const int64_t dx = llabs(to[0] - from[0]), dy = llabs(to[1] - from[1]), n = CW_MAX(dx, dy);
    const bool wide = dx >= dy, flip = wide ? from[0] > to[0] : from[1] > to[1];
    const int64_t *a = flip ? to : from, *b = flip ? from : to;
    const double slope = n == 0 ? 0
                         : wide ? (double)(b[1] - a[1]) / (double)dx
                                : (double)(b[0] - a[0]) / (double)dy;
    d->steps -= n + 1;
    if (d->steps < 0)
        return no_shape("a polygon is too long", err);
    for (int64_t i = 0; i <= n; i++) {
        const int64_t t = flip ? n - i : i, along = t + a[wide ? 0 : 1];
        const int64_t across = (int64_t)((double)a[wide ? 1 : 0] + slope * (double)t + 0.5);
        const int64_t u = wide ? along : across, v = wide ? across : along;
        if (!*is_first && u != at[0])
            cross(d, at[0], at[1], u, v);
        *is_first = false;
        at[0] = u;
        at[1] = v;
    }
    return 0;
}

/* Returns the next mark from i on, or `end`. */
static int64_t next_mark(const struct drawing *d, int64_t i, int64_t end)
{
    const uint8_t *at = i < end ? memchr(d->marks + i, 1, (size_t)(end - i)) : NULL;
    return at ? at - d->marks : end;
}

/* Writes the pixels that are inside, and takes the marks away. */
static void fill(struct drawing *d, uint8_t value, uint8_t *dst)
{
    const int64_t pixels = d->h * d->w, end = CW_MIN(d->high + 1, pixels);
    for (int64_t from = next_mark(d, d->low, end), to; from < end;
         from = next_mark(d, to + 1, end)) {
        to = next_mark(d, from + 1, end);
        to = to < end ? to : pixels;
        int64_t x = from / d->h, y = from % d->h;
        for (int64_t i = from; i < to; i++) {
            dst[y * d->w + x] = value;
            if (++y == d->h) {
                y = 0;
                x++;
            }
        }
    }
    if (d->low <= d->high)
        memset(d->marks + d->low, 0, (size_t)(d->high + 1 - d->low));
    d->low = INT64_MAX;
    d->high = -1;
}

/* ---- numbers in lists ---- */

struct reader {
    const char *p, *end;
};

static void pass_spaces(struct reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t'))
        r->p++;
}

/* Passes over a character, if it is there. */
static bool take(struct reader *r, char c)
{
    pass_spaces(r);
    if (r->p == r->end || *r->p != c)
        return false;
    r->p++;
    return true;
}

static int take_number(struct reader *r, double *ret_v, struct cw_err *err)
{
    size_t used;
    pass_spaces(r);
    const int rc = cw_json_scalar(r->p, (size_t)(r->end - r->p), CW_DTYPE_F64, ret_v, &used, err);
    if (rc < 0)
        return cw_err_wrap(err, "segmentation");
    r->p += used;
    return 0;
}

/* A corner in fifths of a pixel. */
static int take_corner(struct reader *r, int64_t ret_at[2], struct cw_err *err)
{
    for (int k = 0; k < 2; k++) {
        double v;
        if (k == 1 && !take(r, ','))
            return no_shape("a polygon with half a corner", err);
        const int rc = take_number(r, &v, err);
        if (rc < 0)
            return rc;
        if (!(fabs(v) < OUTSIDE_MAX))
            return no_shape("a corner is too far away", err);
        ret_at[k] = (int64_t)(FINE * v + 0.5);
    }
    return 0;
}

/* Marks one polygon, a list of x, y, x, y, ... */
static int mark_polygon(struct drawing *d, struct reader *r, struct cw_err *err)
{
    int64_t first[2], from[2], to[2], at[2] = {0};
    bool is_first = true;
    int corners = 0;
    if (!take(r, '['))
        return no_shape("a polygon is no list", err);
    int rc = take_corner(r, first, err);
    memcpy(from, first, sizeof(from));
    for (; rc == 0 && take(r, ','); corners++) {
        rc = take_corner(r, to, err);
        if (rc == 0)
            rc = walk(d, from, to, at, &is_first, err);
        memcpy(from, to, sizeof(from));
    }
    if (rc < 0)
        return rc;
    if (!take(r, ']') || corners < 2)
        return no_shape("a polygon has fewer than 3 corners, or is not closed", err);
    return walk(d, from, first, at, &is_first, err);
}

static int draw_polygons(struct drawing *d, struct reader *r, uint8_t value, uint8_t *dst,
                         struct cw_err *err)
{
    int rc = take(r, '[') ? 0 : no_shape("is no list", err);
    for (bool more = rc == 0 && !take(r, ']'); more; more = take(r, ',')) {
        rc = mark_polygon(d, r, err);
        if (rc < 0)
            return rc;
        fill(d, value, dst);
    }
    return rc;
}

/* ---- run lengths ---- */

/* Marks the end of a run that begins at *at. */
static int mark_run(struct drawing *d, int64_t length, int64_t *at, struct cw_err *err)
{
    if (length < 0 || length > d->h * d->w - *at)
        return no_shape("its run lengths are more than the image has pixels", err);
    *at += length;
    mark(d, *at);
    return 0;
}

static int mark_list(struct drawing *d, struct reader *r, int64_t *at, struct cw_err *err)
{
    int rc = take(r, '[') ? 0 : no_shape("its counts are no list", err);
    for (bool more = rc == 0 && !take(r, ']'); more; more = take(r, ',')) {
        double length;
        rc = take_number(r, &length, err);
        if (rc == 0)
            rc = length >= 0 && length <= 0x1p32 ? mark_run(d, (int64_t)length, at, err)
                                                 : no_shape("a run length", err);
        if (rc < 0)
            return rc;
    }
    return rc;
}

/* Compressed counts: six bits a byte, five of them the number's, the least first; from the third on
 * they are differences to the one before the last. */
static int mark_text(struct drawing *d, const uint8_t *p, size_t n, int64_t *at, struct cw_err *err)
{
    int64_t before[2] = {0};
    const uint8_t *end = p + n;
    for (size_t i = 0; p < end; i++) {
        int64_t v = 0;
        int bits = 0;
        uint8_t c;
        do {
            if (p == end || bits > 30 || *p < 48 || *p > 48 + 63)
                return no_shape("its compressed counts are damaged", err);
            c = (uint8_t)(*p++ - 48);
            v |= (int64_t)(c & 31) << bits;
            bits += 5;
        } while (c & 32);
        if (c & 16)
            v -= INT64_C(1) << bits;
        v += i > 2 ? before[i % 2] : 0;
        before[i % 2] = v;
        const int rc = mark_run(d, v, at, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int check_size(const struct drawing *d, const struct cw_json_slice *size, struct cw_err *err)
{
    const bool is_list = size->kind == CW_JSON_LIST;
    struct reader r = {size->p, is_list ? size->p + size->n : NULL};
    double h = -1, w = -1;
    if (!is_list || !take(&r, '[') || take_number(&r, &h, err) < 0 || !take(&r, ',') ||
        take_number(&r, &w, err) < 0)
        return no_shape("size is no list of 2 numbers", err);
    if (h < (double)d->h || h > (double)d->h || w < (double)d->w || w > (double)d->w)
        return cw_err_set(err, CW_E_CORRUPT,
                          "segmentation: its size is %g x %g, and its image is %lld x %lld", h, w,
                          (long long)d->h, (long long)d->w);
    return 0;
}

static int mark_counts(struct drawing *d, const struct cw_json_slice *counts, int64_t *at,
                       struct cw_err *err)
{
    size_t n = 0;
    if (counts->kind != CW_JSON_LIST && counts->kind != CW_JSON_STRING)
        return no_shape("there are no counts", err);
    struct reader r = {counts->p, counts->p + counts->n};
    if (counts->kind == CW_JSON_LIST)
        return mark_list(d, &r, at, err);
    cw_autofree char *text = cw_mem_new(counts->n + 1);
    int rc = 0;
    if (counts->n > 0)
        rc = cw_json_unescape(counts->p, counts->n, text, &n, err);
    return rc < 0 ? rc : mark_text(d, (const uint8_t *)text, n, at, err);
}

static int draw_runs(struct drawing *d, const struct cw_coco_object *object, uint8_t value,
                     uint8_t *dst, struct cw_err *err)
{
    static const char *const keys[] = {"size", "counts"};
    struct cw_json_slice slices[2];
    struct cw_json_plan *plan = NULL;
    int64_t at = 0;
    int rc = cw_json_plan_new(keys, 2, &plan, err);
    if (rc == 0)
        rc = cw_json_find(plan, object->shape, object->shape_n, slices, err);
    cw_json_plan_free(plan);
    if (rc == 0)
        rc = check_size(d, &slices[0], err);
    if (rc == 0)
        rc = mark_counts(d, &slices[1], &at, err);
    if (rc < 0)
        return rc;
    if (at != d->h * d->w)
        return no_shape("its run lengths are fewer than the image has pixels", err);
    fill(d, value, dst);
    return 0;
}

int cw_coco_draw(const struct cw_coco_object *object, int64_t h, int64_t w, uint8_t value,
                 uint8_t *work, uint8_t *dst, struct cw_err *err)
{
    struct drawing d = {
        .marks = work, .h = h, .w = w, .low = INT64_MAX, .high = -1, .steps = STEPS_MAX};
    if (!object->shape)
        return 0;
    struct reader r = {object->shape, object->shape + object->shape_n};
    return object->shape[0] == '{' ? draw_runs(&d, object, value, dst, err)
                                   : draw_polygons(&d, &r, value, dst, err);
}
