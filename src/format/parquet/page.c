/* SPDX-License-Identifier: Apache-2.0 */
/* Appends a page to a slab: decompresses it, reads its levels, and appends its values. */
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "format/parquet/column.h"
#include "format/parquet/rle.h"
#include "format/parquet/slab_int.h"
#include "format/parquet/unpack.h"

/* A page behind its levels. */
struct part {
    const uint8_t *p, *end;
    size_t n; /* values with nulls */
};

const char *cw_pq_bytes_room(struct cw_pq_bytes *b, size_t n, size_t max)
{
    if (n <= b->cap && b->p)
        return NULL;
    if (n > max)
        return "a page is larger than the limit";
    cw_mem_free(b->p);
    b->cap = CW_MAX(n, 64);
    b->p = cw_mem_try(b->cap);
    if (b->p)
        return NULL;
    b->cap = 0;
    return "no memory for a page";
}

static const char *get_levels(struct cw_pq_bytes *dst, const uint8_t *p, size_t bytes, size_t n,
                              unsigned max, size_t limit)
{
    const unsigned width = max > 1 ? (unsigned)(32 - __builtin_clz(max)) : 1;
    struct cw_pq_rle r = cw_pq_rle_begin(p, bytes, width);
    const char *fault = width > 8 ? "a level is higher than 255" : cw_pq_bytes_room(dst, n, limit);
    uint8_t most = 0;
    if (!fault)
        fault = cw_pq_rle_get_bytes(&r, dst->p, n);
    for (size_t i = 0; !fault && max + 1 < 1U << width && i < n; i++)
        most = CW_MAX(most, dst->p[i]);
    return fault || most <= max ? fault : "a level is higher than the column's";
}

/* Marks a row that has a null, unless nulls are filled. */
static const char *mark_null(struct cw_pq_reader *r, size_t row)
{
    if (r->want->fill)
        return NULL;
    if (!r->slab->null) {
        r->slab->null = cw_mem_try(CW_MAX(r->rows, 1));
        if (!r->slab->null)
            return "no memory for its nulls";
        memset(r->slab->null, 0, r->rows);
    }
    r->slab->null[row] = 1;
    return NULL;
}

/* Whether the levels are one run of values. */
static bool are_all(const uint8_t *p, size_t bytes, size_t n, unsigned max)
{
    unsigned width = max > 1 ? (unsigned)(32 - __builtin_clz(max)) : 1;
    struct cw_pq_rle r = cw_pq_rle_begin(p, bytes, width);
    return cw_pq_rle_is_all(&r, n, max);
}

static const char *add_values(struct cw_pq_reader *r, const struct part *part, int encoding,
                              size_t present, size_t entries)
{
    struct cw_pq_column *c = &r->slab->values;
    const char *fault = cw_pq_column_room(c, r->want, entries);
    if (fault)
        return fault;
    if (encoding == CW_PQ_PLAIN_DICTIONARY || encoding == CW_PQ_RLE_DICTIONARY)
        fault = cw_pq_column_add_indices(c, r->want, r->dict, part->p, part->end, present);
    else
        fault = cw_pq_column_add(c, r->want, encoding, part->p, part->end, present);
    if (!fault && present < entries)
        fault = cw_pq_column_spread(c, r->want, r->scratch->mask.p, entries, present);
    return fault;
}

static const char *add_flat(struct cw_pq_reader *r, const struct part *part, int encoding,
                            const uint8_t *def, size_t def_bytes)
{
    size_t n = part->n, present = 0, row = r->slab->rows;
    unsigned max = r->want->leaf->max_def;
    const char *fault = NULL;
    if (n > r->rows - row)
        return "it has more values than rows";
    if (max == 0 || are_all(def, def_bytes, n, max)) {
        present = n;
    } else {
        fault = get_levels(&r->scratch->mask, def, def_bytes, n, max, r->want->bytes_max);
        for (size_t i = 0; !fault && i < n; i++) {
            r->scratch->mask.p[i] = r->scratch->mask.p[i] == max;
            present += r->scratch->mask.p[i];
            if (!r->scratch->mask.p[i])
                fault = mark_null(r, row + i);
        }
    }
    if (!fault)
        fault = add_values(r, part, encoding, present, n);
    r->slab->rows += n;
    return fault;
}

const char *cw_pq_entries_room(struct cw_pq_reader *r, size_t rows)
{
    struct cw_pq_slab *s = r->slab;
    if (s->rows + rows + 2 <= r->entry_cap)
        return NULL;
    const size_t cap = CW_MAX(2 * r->entry_cap, s->rows + rows + 2);
    uint64_t *grown = cw_mem_try_grow(s->entry, cap * sizeof(*grown));
    if (!grown)
        return "no memory for its rows";
    s->entry = grown;
    r->entry_cap = cap;
    return NULL;
}

#define ONES UINT64_C(0x0101010101010101)

static uint64_t eight(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

/* Makes room for the entries of the rows that begin in a page: at each level 0, and the others are 1. */
static const char *room_for_rows(struct cw_pq_reader *r, size_t values)
{
    const uint8_t *rep = r->scratch->rep.p;
    size_t n = values, i = 0;
    for (; i + 8 <= values; i += 8)
        n -= (size_t)(eight(rep + i) * ONES >> 56);
    for (; i < values; i++)
        n -= rep[i];
    return n > r->rows - r->slab->rows ? "it has more rows than the row group says"
                                       : cw_pq_entries_room(r, n);
}

/* Whether each level says that there is a value, or that the list is empty. Levels are small numbers. */
static bool has_no_null(const struct cw_pq_leaf *leaf, const uint8_t *def, size_t n)
{
    const uint64_t max = leaf->max_def, empty = (uint64_t)leaf->entry_def - 1;
    uint64_t others = 0;
    size_t i = 0;
    if (max > 127)
        return false;
    for (; i + 8 <= n; i += 8) { /* the highest bit of a byte: it is neither */
        const uint64_t v = eight(def + i);
        others |= ((v ^ max * ONES) + 127 * ONES) & ((v ^ empty * ONES) + 127 * ONES);
    }
    for (; i < n; i++)
        others |= def[i] != max && def[i] != empty ? 128 : 0;
    return (others & 128 * ONES) == 0;
}

/* Notes where the rows of a page begin if there are no nulls. Returns the number of entries. */
static size_t add_full_rows(struct cw_pq_reader *r, size_t n)
{
    const uint8_t *rep = r->scratch->rep.p, *def = r->scratch->def.p,
                  max = (uint8_t)r->want->leaf->max_def;
    const size_t before = r->slab->values.n;
    uint64_t *entry = r->slab->entry;
    size_t rows = r->slab->rows, entries = before;
    for (size_t i = 0; i < n; i++) {
        entry[rows] = entries; /* there is room for one that is no row */
        rows += rep[i] == 0;
        entries += def[i] == max;
    }
    r->slab->rows = rows;
    return entries - before;
}

/* The same if there are nulls, which are marked, and in the mask. */
static const char *add_rows(struct cw_pq_reader *r, size_t n, size_t *ret_entries,
                            size_t *ret_present)
{
    const struct cw_pq_leaf *leaf = r->want->leaf;
    struct cw_pq_slab *s = r->slab;
    size_t entries = 0, present = 0;
    const char *fault = cw_pq_bytes_room(&r->scratch->mask, n, r->want->bytes_max);
    for (size_t i = 0; !fault && i < n; i++) {
        const uint8_t def = r->scratch->def.p[i];
        if (r->scratch->rep.p[i] == 0)
            s->entry[s->rows++] = s->values.n + entries;
        if (def != leaf->max_def && def + 1 != leaf->entry_def)
            fault = mark_null(r, s->rows - 1);
        if (def >= leaf->entry_def) {
            r->scratch->mask.p[entries++] = def == leaf->max_def;
            present += def == leaf->max_def;
        }
    }
    *ret_entries = entries;
    *ret_present = present;
    return fault;
}

static const char *add_lists(struct cw_pq_reader *r, const struct part *part, int encoding)
{
    size_t entries = 0, present = 0;
    const char *fault = room_for_rows(r, part->n);
    if (fault)
        return fault;
    if (part->n > 0 && r->slab->rows == 0 && r->scratch->rep.p[0] != 0)
        return "it begins in the middle of a list";
    if (has_no_null(r->want->leaf, r->scratch->def.p, part->n))
        entries = present = add_full_rows(r, part->n);
    else
        fault = add_rows(r, part->n, &entries, &present);
    return fault ? fault : add_values(r, part, encoding, present, entries);
}

/* Takes the length and the bytes of levels from a page of version 1. */
static const char *take_levels(struct part *part, const uint8_t **ret_p, size_t *ret_n)
{
    uint32_t n;
    if (part->end - part->p < 4)
        return "its levels are cut";
    memcpy(&n, part->p, sizeof(n));
    if (n > (size_t)(part->end - part->p) - 4)
        return "its levels are longer than the page";
    *ret_p = part->p + 4;
    *ret_n = n;
    part->p += 4 + (size_t)n;
    return NULL;
}

static const char *add_part(struct cw_pq_reader *r, struct part *part, int encoding,
                            const uint8_t *rep, size_t rep_n, const uint8_t *def, size_t def_n)
{
    const struct cw_pq_leaf *leaf = r->want->leaf;
    size_t limit = r->want->bytes_max;
    if (leaf->max_rep == 0)
        return add_flat(r, part, encoding, def, def_n);
    const char *fault = get_levels(&r->scratch->rep, rep, rep_n, part->n, leaf->max_rep, limit);
    if (!fault)
        fault = get_levels(&r->scratch->def, def, def_n, part->n, leaf->max_def, limit);
    return fault ? fault : add_lists(r, part, encoding);
}

/* Whether the page is decompressed to the place of its values, with the levels in front of them: they take no more
 * than *ret_front bytes if no value is null. */
static bool is_in_place(const struct cw_pq_reader *r, const struct cw_pq_page_head *head,
                        size_t *ret_front)
{
    const struct cw_pq_want *want = r->want;
    const size_t n = head->values, bytes = n * want->width;
    if (r->chunk->codec == CW_PQ_UNCOMPRESSED || head->encoding != CW_PQ_PLAIN ||
        want->leaf->max_rep > 0 || !cw_pq_want_is_stored(want))
        return false;
    *ret_front = head->bytes - bytes;
    if (n > r->rows - r->slab->rows || bytes > head->bytes || *ret_front > CW_PQ_COLUMN_FRONT)
        return false;
    return want->leaf->max_def == 0 ? *ret_front == 0
                                    : *ret_front > 4 && head->def_encoding == CW_PQ_RLE;
}

/* Whether the levels in front of the values say that each is there. */
static bool are_full(const struct cw_pq_leaf *leaf, const uint8_t *levels, size_t front, size_t n)
{
    uint32_t bytes;
    if (leaf->max_def == 0)
        return true;
    memcpy(&bytes, levels, sizeof(bytes));
    return bytes == front - 4 && are_all(levels + 4, bytes, n, leaf->max_def);
}

/* Decompresses a page to where its values belong. *ret_is_done: it was possible. */
static const char *add_in_place(struct cw_pq_reader *r, const struct cw_pq_page_head *head,
                                const uint8_t *p, size_t front, bool *ret_is_done)
{
    struct cw_pq_column *c = &r->slab->values;
    uint8_t saved[CW_PQ_COLUMN_FRONT];
    const char *fault = cw_pq_column_room(c, r->want, head->values);
    if (fault)
        return fault;
    uint8_t *dst = c->fixed + c->n * r->want->width - front;
    memcpy(saved, dst, front);
    fault = cw_pq_unpack(r->chunk->codec, p, head->stored_bytes, dst, head->bytes);
    *ret_is_done = !fault && are_full(r->want->leaf, dst, front, head->values);
    memcpy(dst, saved, front);
    if (*ret_is_done) {
        c->n += head->values;
        r->slab->rows += head->values;
    }
    return fault;
}

static const char *add_v1(struct cw_pq_reader *r, const struct cw_pq_page_head *head,
                          const uint8_t *p)
{
    const uint8_t *def = NULL, *rep = NULL;
    size_t def_n = 0, rep_n = 0;
    const char *fault = NULL;
    struct part part = {p, p + head->bytes, head->values};
    bool is_done = false;
    size_t front = 0;
    if (is_in_place(r, head, &front))
        fault = add_in_place(r, head, p, front, &is_done);
    if (fault || is_done)
        return fault;
    if (r->chunk->codec != CW_PQ_UNCOMPRESSED) {
        fault = cw_pq_bytes_room(&r->scratch->page, head->bytes, r->want->bytes_max);
        if (!fault)
            fault = cw_pq_unpack(r->chunk->codec, p, head->stored_bytes, r->scratch->page.p,
                                 head->bytes);
        part.p = r->scratch->page.p;
        part.end = r->scratch->page.p + head->bytes;
    } else if (head->bytes != head->stored_bytes) {
        fault = "its two sizes differ, and it is not compressed";
    }
    if (!fault && r->want->leaf->max_rep > 0)
        fault = head->rep_encoding == CW_PQ_RLE ? take_levels(&part, &rep, &rep_n)
                                                : "levels in the old form are not supported";
    if (!fault && r->want->leaf->max_def > 0)
        fault = head->def_encoding == CW_PQ_RLE ? take_levels(&part, &def, &def_n)
                                                : "levels in the old form are not supported";
    return fault ? fault : add_part(r, &part, head->encoding, rep, rep_n, def, def_n);
}

static const char *add_v2(struct cw_pq_reader *r, const struct cw_pq_page_head *head,
                          const uint8_t *p)
{
    uint64_t levels = (uint64_t)head->rep_bytes + head->def_bytes;
    if (levels > head->stored_bytes || levels > head->bytes)
        return "its levels are longer than the page";
    size_t stored = head->stored_bytes - (size_t)levels, bytes = head->bytes - (size_t)levels;
    const uint8_t *rep = p, *def = p + head->rep_bytes, *values = def + head->def_bytes;
    struct part part = {values, values + bytes, head->values};
    const char *fault = NULL;
    if (r->chunk->codec != CW_PQ_UNCOMPRESSED && head->packed && stored > 0) {
        fault = cw_pq_bytes_room(&r->scratch->page, bytes, r->want->bytes_max);
        if (!fault)
            fault = cw_pq_unpack(r->chunk->codec, values, stored, r->scratch->page.p, bytes);
        part.p = r->scratch->page.p;
        part.end = r->scratch->page.p + bytes;
    } else if (stored != bytes) {
        fault = "its two sizes differ, and it is not compressed";
    }
    return fault ? fault
                 : add_part(r, &part, head->encoding, rep, head->rep_bytes, def, head->def_bytes);
}

const char *cw_pq_page_check(const struct cw_pq_page_head *head, const uint8_t *p, size_t left)
{
    if (head->stored_bytes > left)
        return "a page is cut";
    if (head->has_crc && crc32(0, p, head->stored_bytes) != head->crc)
        return "the checksum of a page does not match";
    return NULL;
}

const char *cw_pq_page_add(struct cw_pq_reader *r, const uint8_t *p, size_t left, size_t *ret_bytes)
{
    struct cw_pq_page_head head;
    bool cut;
    const char *fault = cw_pq_page_head_read(p, left, &head, &cut);
    if (fault)
        return fault;
    p += head.head_bytes;
    *ret_bytes = head.head_bytes + head.stored_bytes;
    fault = cw_pq_page_check(&head, p, left - head.head_bytes);
    if (!fault && head.type == CW_PQ_DATA_PAGE)
        fault = add_v1(r, &head, p);
    else if (!fault && head.type == CW_PQ_DATA_PAGE_V2)
        fault = add_v2(r, &head, p);
    return fault;
}
