/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a slab or a dictionary. */
#include "format/parquet/column.h"

#include <string.h>

#include "base/mem.h"
#include "format/parquet/change.h"
#include "format/parquet/rle.h"

enum { SOME = 1024 }; /* indices at a time */

void cw_pq_column_fini(struct cw_pq_column *c)
{
    if (c->fixed)
        cw_mem_free(c->fixed - CW_PQ_COLUMN_FRONT);
    cw_byte_strings_fini(&c->strings);
    *c = (struct cw_pq_column){0};
}

size_t cw_pq_column_cost(const struct cw_pq_column *c)
{
    return c->fixed_cap + c->strings.cap;
}

bool cw_pq_want_is_stored(const struct cw_pq_want *want)
{
    const struct cw_pq_leaf *leaf = want->leaf;
    return want->width > 0 && want->change == CW_PQ_SAME && leaf->physical != CW_PQ_BOOLEAN &&
           want->width == cw_pq_value_bytes(leaf->physical, leaf->type_bytes);
}

const char *cw_pq_column_room(struct cw_pq_column *c, const struct cw_pq_want *want, size_t n)
{
    size_t each = want->width > 0 ? want->width : sizeof(struct cw_byte_ref);
    size_t most = want->bytes_max / each;
    if (n > most || c->n > most - n)
        return "it has more values than the limit allows";
    size_t bytes = (c->n + n) * each;
    c->strings.max = want->bytes_max;
    if (bytes <= c->fixed_cap && c->fixed_cap > 0)
        return NULL;
    size_t cap = CW_MAX(CW_MAX(bytes, c->n > 0 ? 2 * c->fixed_cap : 0), 64);
    uint8_t *had = c->fixed ? c->fixed - CW_PQ_COLUMN_FRONT : NULL;
    void *grown = want->width > 0 ? cw_mem_try_grow(had, cap + CW_PQ_COLUMN_FRONT)
                                  : cw_mem_try_grow(c->strings.v, cap);
    if (!grown)
        return "no memory for its values";
    if (want->width > 0)
        c->fixed = (uint8_t *)grown + CW_PQ_COLUMN_FRONT;
    else
        c->strings.v = grown;
    c->fixed_cap = cap;
    return NULL;
}

/* Values that are changed after they were decoded. */
static const char *add_changed(struct cw_pq_column *c, const struct cw_pq_want *want, int encoding,
                               struct cw_pq_values *v)
{
    size_t bytes = cw_pq_value_bytes(v->physical, v->type_bytes), n = CW_MAX(v->n, 1);
    uint8_t *dst = c->fixed + c->n * want->width;
    struct cw_byte_strings s = {.max = want->bytes_max};
    cw_autofree uint8_t *plain = NULL;
    const char *fault = "no memory for its values";
    if (bytes > 0 && n <= want->bytes_max / bytes)
        plain = cw_mem_try(n * bytes);
    else if (bytes == 0 && n <= want->bytes_max / sizeof(*s.v))
        s.v = cw_mem_try(n * sizeof(*s.v));
    if (plain || s.v)
        fault = cw_pq_values_get(v, encoding, plain, &s);
    if (!fault)
        fault = plain ? cw_pq_change(want, plain, v->n, dst) : cw_pq_change_strings(want, &s, dst);
    cw_byte_strings_fini(&s);
    return fault;
}

const char *cw_pq_column_add(struct cw_pq_column *c, const struct cw_pq_want *want, int encoding,
                             const uint8_t *p, const uint8_t *end, size_t n)
{
    struct cw_pq_values v = {p, end, n, want->leaf->physical, want->leaf->type_bytes};
    const char *fault;
    if (want->change != CW_PQ_SAME)
        fault = add_changed(c, want, encoding, &v);
    else
        fault = cw_pq_values_get(&v, encoding, want->width ? c->fixed + c->n * want->width : NULL,
                                 &c->strings);
    if (!fault)
        c->n += n;
    return fault;
}

static void gather_4(uint8_t *dst, const uint8_t *from, const uint32_t *index, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memcpy(dst + 4 * i, from + 4 * (size_t)index[i], 4);
}

static void gather_8(uint8_t *dst, const uint8_t *from, const uint32_t *index, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memcpy(dst + 8 * i, from + 8 * (size_t)index[i], 8);
}

static void gather(struct cw_pq_column *c, size_t width, const struct cw_pq_column *dict,
                   const uint32_t *index, size_t n)
{
    uint8_t *dst = c->fixed + c->n * width;
    if (width == 4)
        gather_4(dst, dict->fixed, index, n);
    else if (width == 8)
        gather_8(dst, dict->fixed, index, n);
    else
        for (size_t i = 0; i < n; i++)
            memcpy(dst + i * width, dict->fixed + index[i] * width, width);
    c->n += n;
}

/* Strings of a dictionary are shared: its bytes were copied once. */
static void gather_strings(struct cw_pq_column *c, const struct cw_pq_column *dict,
                           const uint32_t *index, size_t n)
{
    struct cw_byte_ref *dst = c->strings.v + c->n;
    for (size_t i = 0; i < n; i++) {
        dst[i] = dict->strings.v[index[i]];
        dst[i].at += c->dict_at;
    }
    c->n += n;
    c->strings.n = c->n;
}

static const char *copy_strings(struct cw_pq_column *c, const struct cw_byte_strings *from)
{
    struct cw_byte_strings *to = &c->strings;
    const char *fault = c->has_dict ? NULL : cw_byte_strings_room(to, from->used);
    if (fault || c->has_dict)
        return fault;
    if (from->used > 0)
        memcpy(to->bytes + to->used, from->bytes, from->used);
    c->dict_at = to->used;
    c->has_dict = true;
    to->used += from->used;
    return NULL;
}

static uint32_t greatest(const uint32_t *v, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = CW_MAX(most, v[i]);
    return most;
}

const char *cw_pq_column_add_indices(struct cw_pq_column *c, const struct cw_pq_want *want,
                                     const struct cw_pq_column *dict, const uint8_t *p,
                                     const uint8_t *end, size_t n)
{
    uint32_t some[SOME];
    if (n == 0)
        return NULL;
    if (!dict || dict->n == 0)
        return "it has indices of a dictionary, and there is no dictionary";
    if (p == end || *p > 32)
        return "the width of its indices is missing or impossible";
    const char *fault = want->width > 0 ? NULL : copy_strings(c, &dict->strings);
    struct cw_pq_rle r = cw_pq_rle_begin(p + 1, (size_t)(end - p) - 1, *p);
    for (size_t at = 0; !fault && at < n; at += SOME) {
        size_t k = CW_MIN(n - at, (size_t)SOME);
        fault = cw_pq_rle_get(&r, some, k);
        if (!fault && greatest(some, k) >= dict->n)
            fault = "an index lies outside of the dictionary";
        if (!fault && want->width > 0)
            gather(c, want->width, dict, some, k);
        else if (!fault)
            gather_strings(c, dict, some, k);
    }
    return fault;
}

static void spread_4(uint8_t *dst, const uint8_t *mask, size_t n, size_t k, const void *fill)
{
    for (size_t i = n; i-- > 0 && i + 1 != k;)
        memcpy(dst + 4 * i, mask[i] ? dst + 4 * --k : (const uint8_t *)fill, 4);
}

static void spread_8(uint8_t *dst, const uint8_t *mask, size_t n, size_t k, const void *fill)
{
    for (size_t i = n; i-- > 0 && i + 1 != k;)
        memcpy(dst + 8 * i, mask[i] ? dst + 8 * --k : (const uint8_t *)fill, 8);
}

static void spread_any(uint8_t *dst, size_t width, const uint8_t *mask, size_t n, size_t k,
                       const void *fill)
{
    for (size_t i = n; i-- > 0 && i + 1 != k;) {
        if (mask[i])
            memmove(dst + i * width, dst + --k * width, width);
        else if (fill)
            memcpy(dst + i * width, fill, width);
        else
            memset(dst + i * width, 0, width);
    }
}

static void spread_strings(struct cw_byte_ref *dst, const uint8_t *mask, size_t n, size_t k,
                           struct cw_byte_ref fill)
{
    for (size_t i = n; i-- > 0 && i + 1 != k;)
        dst[i] = mask[i] ? dst[--k] : fill;
}

static const char *fill_string(struct cw_pq_column *c, const struct cw_pq_want *want,
                               struct cw_byte_ref *ret_fill)
{
    size_t n = want->fill ? want->fill_bytes : 0;
    const char *fault = cw_byte_strings_room(&c->strings, n);
    *ret_fill = (struct cw_byte_ref){c->strings.used, n};
    if (!fault && n > 0)
        memcpy(c->strings.bytes + c->strings.used, want->fill, n);
    if (!fault)
        c->strings.used += n;
    return fault;
}

const char *cw_pq_column_spread(struct cw_pq_column *c, const struct cw_pq_want *want,
                                const uint8_t *mask, size_t n, size_t present)
{
    static const uint64_t zero;
    const void *fill = want->fill ? want->fill : &zero;
    size_t at = c->n - present;
    const char *fault = NULL;
    if (want->width == 0) {
        struct cw_byte_ref ref;
        fault = fill_string(c, want, &ref);
        if (!fault)
            spread_strings(c->strings.v + at, mask, n, present, ref);
    } else if (want->width == 4) {
        spread_4(c->fixed + 4 * at, mask, n, present, fill);
    } else if (want->width == 8) {
        spread_8(c->fixed + 8 * at, mask, n, present, fill);
    } else {
        spread_any(c->fixed + want->width * at, want->width, mask, n, present, want->fill);
    }
    c->n = at + n;
    if (want->width == 0)
        c->strings.n = c->n;
    return fault;
}
