/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a stretch of pages: decompresses each, reads its levels, and appends its values. */
#include "format/parquet/slab.h"

#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "format/parquet/column.h"
#include "format/parquet/rle.h"
#include "format/parquet/unpack.h"

struct bytes {
    uint8_t *p;
    size_t cap;
};
struct reader {
    const struct cw_readable *file;
    const struct cw_pq_want *want;
    const struct cw_pq_chunk *chunk;
    const struct cw_pq_column *dict;
    struct cw_pq_slab *slab;
    size_t rows;      /* that the slab is to have */
    size_t entry_cap; /* lists: room in slab->entry */
    struct bytes raw, page, rep, def, mask;
};
/* A page behind its levels. */
struct part {
    const uint8_t *p, *end;
    size_t n; /* values with nulls */
};

void cw_pq_slab_fini(struct cw_pq_slab *slab)
{
    cw_pq_column_fini(&slab->values);
    cw_mem_free(slab->entry);
    cw_mem_free(slab->null);
    *slab = (struct cw_pq_slab){0};
}

static const char *room(struct bytes *b, size_t n, size_t max)
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

static const char *get_levels(struct bytes *dst, const uint8_t *p, size_t bytes, size_t n,
                              unsigned max, size_t limit)
{
    uint32_t some[256];
    unsigned width = max > 1 ? (unsigned)(32 - __builtin_clz(max)) : 1;
    struct cw_pq_rle r = cw_pq_rle_begin(p, bytes, width);
    const char *fault = room(dst, n, limit);
    for (size_t at = 0; !fault && at < n; at += CW_ARRAY_LEN(some)) {
        size_t k = CW_MIN(n - at, CW_ARRAY_LEN(some));
        fault = cw_pq_rle_get(&r, some, k);
        for (size_t i = 0; !fault && i < k; i++) {
            if (some[i] > max)
                fault = "a level is higher than the column's";
            dst->p[at + i] = (uint8_t)some[i];
        }
    }
    return fault;
}

/* Marks a row that has a null, unless nulls are filled. */
static const char *mark_null(struct reader *r, size_t row)
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

static const char *add_values(struct reader *r, const struct part *part, int encoding,
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
        fault = cw_pq_column_spread(c, r->want, r->mask.p, entries, present);
    return fault;
}

static const char *add_flat(struct reader *r, const struct part *part, int encoding,
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
        fault = get_levels(&r->mask, def, def_bytes, n, max, r->want->bytes_max);
        for (size_t i = 0; !fault && i < n; i++) {
            r->mask.p[i] = r->mask.p[i] == max;
            present += r->mask.p[i];
            if (!r->mask.p[i])
                fault = mark_null(r, row + i);
        }
    }
    if (!fault)
        fault = add_values(r, part, encoding, present, n);
    r->slab->rows += n;
    return fault;
}

static const char *begin_row(struct reader *r, size_t entries)
{
    struct cw_pq_slab *s = r->slab;
    if (s->rows == r->rows)
        return "it has more rows than the row group says";
    if (s->rows + 2 > r->entry_cap) {
        size_t cap = CW_MAX(2 * r->entry_cap, 1024);
        uint64_t *grown = cw_mem_try_grow(s->entry, cap * sizeof(*grown));
        if (!grown)
            return "no memory for its rows";
        s->entry = grown;
        r->entry_cap = cap;
    }
    s->entry[s->rows++] = entries;
    return NULL;
}

static const char *add_lists(struct reader *r, const struct part *part, int encoding)
{
    const struct cw_pq_leaf *leaf = r->want->leaf;
    size_t entries = 0, present = 0, before = r->slab->values.n;
    const char *fault = room(&r->mask, part->n, r->want->bytes_max);
    for (size_t i = 0; !fault && i < part->n; i++) {
        uint8_t def = r->def.p[i];
        if (r->rep.p[i] == 0)
            fault = begin_row(r, before + entries);
        else if (r->slab->rows == 0)
            fault = "it begins in the middle of a list";
        if (fault)
            break;
        if (def != leaf->max_def && def + 1 != leaf->entry_def)
            fault = mark_null(r, r->slab->rows - 1);
        if (def >= leaf->entry_def) {
            r->mask.p[entries++] = def == leaf->max_def;
            present += def == leaf->max_def;
        }
    }
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

static const char *add_part(struct reader *r, struct part *part, int encoding, const uint8_t *rep,
                            size_t rep_n, const uint8_t *def, size_t def_n)
{
    const struct cw_pq_leaf *leaf = r->want->leaf;
    size_t limit = r->want->bytes_max;
    if (leaf->max_rep == 0)
        return add_flat(r, part, encoding, def, def_n);
    const char *fault = get_levels(&r->rep, rep, rep_n, part->n, leaf->max_rep, limit);
    if (!fault)
        fault = get_levels(&r->def, def, def_n, part->n, leaf->max_def, limit);
    return fault ? fault : add_lists(r, part, encoding);
}

static const char *add_v1(struct reader *r, const struct cw_pq_page_head *head, const uint8_t *p)
{
    const uint8_t *def = NULL, *rep = NULL;
    size_t def_n = 0, rep_n = 0;
    const char *fault = NULL;
    struct part part = {p, p + head->bytes, head->values};
    if (r->chunk->codec != CW_PQ_UNCOMPRESSED) {
        fault = room(&r->page, head->bytes, r->want->bytes_max);
        if (!fault)
            fault = cw_pq_unpack(r->chunk->codec, p, head->stored_bytes, r->page.p, head->bytes);
        part.p = r->page.p;
        part.end = r->page.p + head->bytes;
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

static const char *add_v2(struct reader *r, const struct cw_pq_page_head *head, const uint8_t *p)
{
    uint64_t levels = (uint64_t)head->rep_bytes + head->def_bytes;
    if (levels > head->stored_bytes || levels > head->bytes)
        return "its levels are longer than the page";
    size_t stored = head->stored_bytes - (size_t)levels, bytes = head->bytes - (size_t)levels;
    const uint8_t *rep = p, *def = p + head->rep_bytes, *values = def + head->def_bytes;
    struct part part = {values, values + bytes, head->values};
    const char *fault = NULL;
    if (r->chunk->codec != CW_PQ_UNCOMPRESSED && head->packed && stored > 0) {
        fault = room(&r->page, bytes, r->want->bytes_max);
        if (!fault)
            fault = cw_pq_unpack(r->chunk->codec, values, stored, r->page.p, bytes);
        part.p = r->page.p;
        part.end = r->page.p + bytes;
    } else if (stored != bytes) {
        fault = "its two sizes differ, and it is not compressed";
    }
    return fault ? fault
                 : add_part(r, &part, head->encoding, rep, head->rep_bytes, def, head->def_bytes);
}

static const char *check_page(const struct cw_pq_page_head *head, const uint8_t *p, size_t left)
{
    if (head->stored_bytes > left)
        return "a page is cut";
    if (head->has_crc && crc32(0, p, head->stored_bytes) != head->crc)
        return "the checksum of a page does not match";
    return NULL;
}

static const char *add_page(struct reader *r, const uint8_t *p, size_t left, size_t *ret_bytes)
{
    struct cw_pq_page_head head;
    bool cut;
    const char *fault = cw_pq_page_head_read(p, left, &head, &cut);
    if (fault)
        return fault;
    p += head.head_bytes;
    *ret_bytes = head.head_bytes + head.stored_bytes;
    fault = check_page(&head, p, left - head.head_bytes);
    if (!fault && head.type == CW_PQ_DATA_PAGE)
        fault = add_v1(r, &head, p);
    else if (!fault && head.type == CW_PQ_DATA_PAGE_V2)
        fault = add_v2(r, &head, p);
    return fault;
}

static int fail(const struct cw_readable *file, const struct cw_pq_want *want, uint64_t at,
                const char *fault, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "%s: column %s, page at byte %llu: %s", file->name,
                      want->leaf->name, (unsigned long long)at, fault);
}

/* Reads bytes of the file into `raw`. */
static int read_raw(const struct cw_readable *file, const struct cw_pq_want *want, uint64_t begin,
                    uint64_t end, struct bytes *raw, struct cw_err *err)
{
    const char *fault = end - begin > SIZE_MAX / 2
                            ? "it is too large"
                            : room(raw, (size_t)(end - begin), want->bytes_max);
    if (fault)
        return fail(file, want, begin, fault, err);
    return cw_readable_get(file, begin, raw->p, (size_t)(end - begin), err);
}

static const char *finish(struct reader *r)
{
    struct cw_pq_slab *s = r->slab;
    if (s->rows < r->rows)
        return "it has fewer rows than the row group says";
    if (s->entry)
        s->entry[s->rows] = s->values.n;
    s->bytes = sizeof(*s) + cw_pq_column_cost(&s->values) + r->entry_cap * sizeof(*s->entry) +
               (s->null ? s->rows : 0);
    return NULL;
}

static int read_pages(struct reader *r, const struct cw_pq_stretch *at, struct cw_err *err)
{
    size_t bytes = (size_t)(at->end - at->begin), begin = 0;
    int rc = read_raw(r->file, r->want, at->begin, at->end, &r->raw, err);
    const char *fault = NULL;
    /* one allocation for flat columns, whose number of values is known */
    if (rc == 0 && r->want->leaf->max_rep == 0)
        fault = cw_pq_column_room(&r->slab->values, r->want, r->rows);
    while (rc == 0 && !fault && begin < bytes && (r->slab->rows < r->rows || r->slab->entry)) {
        size_t page = 0;
        fault = add_page(r, r->raw.p + begin, bytes - begin, &page);
        if (fault)
            break;
        begin += page;
    }
    if (rc == 0 && !fault)
        fault = finish(r);
    return fault ? fail(r->file, r->want, at->begin + begin, fault, err) : rc;
}

int cw_pq_slab_read(const struct cw_readable *file, const struct cw_pq_want *want,
                    const struct cw_pq_chunk *chunk, const struct cw_pq_pages *pages, size_t k,
                    const struct cw_pq_column *dict, struct cw_pq_slab *ret_slab,
                    struct cw_err *err)
{
    struct cw_pq_slab slab = {.first = pages->v[k].first};
    struct reader r = {.file = file, .want = want, .chunk = chunk, .dict = dict, .slab = &slab};
    r.rows = (size_t)cw_pq_pages_rows(pages, k);
    int rc = read_pages(&r, &pages->v[k], err);
    cw_mem_free(r.raw.p);
    cw_mem_free(r.page.p);
    cw_mem_free(r.rep.p);
    cw_mem_free(r.def.p);
    cw_mem_free(r.mask.p);
    if (rc < 0)
        cw_pq_slab_fini(&slab);
    else
        *ret_slab = slab;
    return rc;
}

static const char *add_dictionary(const struct cw_pq_want *want, const struct cw_pq_chunk *chunk,
                                  const uint8_t *p, size_t bytes, struct bytes *page,
                                  struct cw_pq_column *ret_dict)
{
    struct cw_pq_page_head head;
    bool cut;
    const char *fault = cw_pq_page_head_read(p, bytes, &head, &cut);
    if (!fault)
        fault = check_page(&head, p + head.head_bytes, bytes - head.head_bytes);
    if (!fault && head.encoding != CW_PQ_PLAIN && head.encoding != CW_PQ_PLAIN_DICTIONARY)
        fault = "a dictionary has an unknown encoding";
    if (!fault)
        fault = room(page, head.bytes, want->bytes_max);
    if (!fault)
        fault =
            cw_pq_unpack(chunk->codec, p + head.head_bytes, head.stored_bytes, page->p, head.bytes);
    if (!fault)
        fault = cw_pq_column_room(ret_dict, want, head.values);
    if (!fault)
        fault = cw_pq_column_add(ret_dict, want, CW_PQ_PLAIN, page->p, page->p + head.bytes,
                                 head.values);
    return fault;
}

int cw_pq_dictionary_read(const struct cw_readable *file, const struct cw_pq_want *want,
                          const struct cw_pq_chunk *chunk, const struct cw_pq_pages *pages,
                          struct cw_pq_column *ret_dict, struct cw_err *err)
{
    struct bytes raw = {0}, page = {0};
    struct cw_pq_column dict = {0};
    int rc = read_raw(file, want, pages->dict_begin, pages->dict_end, &raw, err);
    if (rc == 0) {
        size_t bytes = (size_t)(pages->dict_end - pages->dict_begin);
        const char *fault = add_dictionary(want, chunk, raw.p, bytes, &page, &dict);
        rc = fault ? fail(file, want, pages->dict_begin, fault, err) : 0;
    }
    cw_mem_free(raw.p);
    cw_mem_free(page.p);
    if (rc < 0)
        cw_pq_column_fini(&dict);
    else
        *ret_dict = dict;
    return rc;
}
