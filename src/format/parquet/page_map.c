/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the pages of a column chunk. */
#include "format/parquet/page_map.h"

#include "base/mem.h"
#include "format/parquet/thrift.h"

enum { PROBE_BYTES = 256, HEAD_BYTES_MAX = 16 << 20, INDEX_BYTES_MAX = 64 << 20 };

void cw_pq_pages_fini(struct cw_pq_pages *pages)
{
    cw_mem_free(pages->v);
    *pages = (struct cw_pq_pages){0};
}

size_t cw_pq_pages_locate(const struct cw_pq_pages *pages, int64_t row)
{
    size_t lo = 0, hi = pages->n;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (pages->v[mid].first <= row)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

int64_t cw_pq_pages_rows(const struct cw_pq_pages *pages, size_t k)
{
    return (k + 1 < pages->n ? pages->v[k + 1].first : pages->rows) - pages->v[k].first;
}

struct search {
    const struct cw_readable *file;
    const struct cw_pq_chunk *chunk;
    const struct cw_pq_leaf *leaf;
    size_t join_bytes;
    struct cw_pq_pages *pages;
};

static int bad(const struct search *s, uint64_t at, const char *fault, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "%s: column %s, byte %llu: %s", s->file->name,
                      s->leaf->name, (unsigned long long)at, fault);
}

/* Reads the head of the page at a byte of the file. Statistics may make it long. */
static int probe(const struct search *s, uint64_t at, struct cw_pq_page_head *ret_head,
                 struct cw_err *err)
{
    uint64_t room = s->chunk->end - at;
    for (uint64_t want = PROBE_BYTES;; want *= 16) {
        size_t n = (size_t)CW_MIN(want, room);
        bool cut = false;
        cw_autofree uint8_t *bytes = cw_mem_try(CW_MAX(n, 1));
        if (!bytes)
            return cw_err_set(err, CW_E_NOMEM, "%s: no memory for the head of a page",
                              s->file->name);
        int rc = cw_readable_get(s->file, at, bytes, n, err);
        if (rc < 0)
            return rc;
        const char *fault = cw_pq_page_head_read(bytes, n, ret_head, &cut);
        if (!fault && ret_head->stored_bytes > room - ret_head->head_bytes)
            return bad(s, at, "a page is longer than its column chunk", err);
        if (!fault)
            return 0;
        if (!cut || n == room || want > HEAD_BYTES_MAX)
            return bad(s, at, fault, err);
    }
}

/* Adds pages from `begin` to `end`, or joins them to those before. */
static void add(struct search *s, uint64_t begin, uint64_t end, int64_t first)
{
    struct cw_pq_pages *p = s->pages;
    if (p->n > 0 && p->v[p->n - 1].end == begin && end - p->v[p->n - 1].begin <= s->join_bytes) {
        p->v[p->n - 1].end = end;
        return;
    }
    CW_GROW(p->v, p->n, p->cap);
    p->v[p->n++] = (struct cw_pq_stretch){begin, end, first};
}

/* By the heads: rows are values where there are no lists. */
static int find_by_heads(struct search *s, uint64_t begin, struct cw_err *err)
{
    int64_t row = 0;
    uint64_t at = begin;
    while (at < s->chunk->end && row < s->pages->rows) {
        struct cw_pq_page_head head;
        int rc = probe(s, at, &head, err);
        if (rc < 0)
            return rc;
        uint64_t end = at + head.head_bytes + head.stored_bytes;
        if (head.type == CW_PQ_DATA_PAGE || head.type == CW_PQ_DATA_PAGE_V2) {
            if (head.values > s->pages->rows - row)
                return bad(s, at, "its pages have more values than the row group has rows", err);
            if (head.values > 0)
                add(s, at, end, row);
            row += head.values;
        }
        at = end;
    }
    if (row < s->pages->rows)
        return bad(s, at, "its pages have fewer values than the row group has rows", err);
    return 0;
}

/* PageLocation {1: offset, 2: bytes with the head, 3: first row} */
static bool add_location(struct search *s, struct cw_thrift *t)
{
    struct cw_thrift_field f = {0};
    int64_t v[4] = {0, -1, -1, -1};
    while (cw_thrift_next(t, &f)) {
        if (f.id >= 1 && f.id <= 3)
            v[f.id] = cw_thrift_int(t, &f);
        else
            cw_thrift_skip(t, &f);
    }
    const struct cw_pq_pages *p = s->pages;
    uint64_t least = p->n > 0 ? p->v[p->n - 1].end : s->chunk->begin;
    int64_t row = p->n > 0 ? p->v[p->n - 1].first : -1;
    if (t->fault || v[1] < 0 || (uint64_t)v[1] < least || v[2] <= 0 || v[3] <= row ||
        v[3] >= p->rows || (p->n == 0 && v[3] != 0) || (uint64_t)v[1] > s->chunk->end ||
        (uint64_t)v[2] > s->chunk->end - (uint64_t)v[1])
        return false;
    add(s, (uint64_t)v[1], (uint64_t)v[1] + (uint64_t)v[2], v[3]);
    return true;
}

/* Returns 1 if the offset index is sound, 0 if there is none that can be used. */
static int find_by_index(struct search *s, struct cw_err *err)
{
    size_t n = s->chunk->index_bytes;
    if (s->chunk->index == 0 || n > INDEX_BYTES_MAX)
        return 0;
    cw_autofree uint8_t *bytes = cw_mem_try(n);
    if (!bytes)
        return 0;
    int rc = cw_readable_get(s->file, s->chunk->index, bytes, n, err);
    if (rc < 0)
        return rc;
    struct cw_thrift t = cw_thrift_begin(bytes, n);
    struct cw_thrift_field f = {0};
    bool sound = true;
    while (sound && cw_thrift_next(&t, &f)) {
        if (f.id == 1) {
            size_t pages = cw_thrift_list(&t, &f, CW_THRIFT_STRUCT);
            for (size_t i = 0; sound && i < pages; i++)
                sound = add_location(s, &t);
        } else {
            cw_thrift_skip(&t, &f);
        }
    }
    sound = sound && !t.fault && s->pages->n > 0;
    if (!sound)
        s->pages->n = 0;
    return sound;
}

int cw_pq_pages_find(const struct cw_readable *file, const struct cw_pq_footer *footer,
                     size_t group, size_t leaf, size_t join_bytes, struct cw_pq_pages *ret_pages,
                     struct cw_err *err)
{
    struct cw_pq_pages pages = {.rows = footer->groups[group].rows};
    const struct cw_pq_chunk *chunk = &footer->chunks[group * footer->leaves_n + leaf];
    struct search s = {file, chunk, &footer->leaves[leaf], join_bytes, &pages};
    struct cw_pq_page_head head;
    uint64_t data = chunk->begin;
    int rc = probe(&s, chunk->begin, &head, err);
    if (rc == 0 && head.type == CW_PQ_DICTIONARY_PAGE) {
        data = chunk->begin + head.head_bytes + head.stored_bytes;
        pages.dict_begin = chunk->begin;
        pages.dict_end = data;
    }
    if (rc == 0)
        rc = find_by_index(&s, err);
    if (rc == 0 && s.leaf->max_rep == 0)
        rc = find_by_heads(&s, data, err);
    else if (rc == 0)
        add(&s, data, chunk->end, 0);
    if (rc < 0)
        cw_pq_pages_fini(&pages);
    else
        *ret_pages = pages;
    return rc < 0 ? rc : 0;
}
