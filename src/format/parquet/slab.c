/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a stretch of pages, and dictionaries. */
#include "format/parquet/slab.h"

#include <string.h>

#include "base/mem.h"
#include "format/parquet/column.h"
#include "format/parquet/slab_int.h"
#include "format/parquet/unpack.h"

void cw_pq_slab_fini(struct cw_pq_slab *slab)
{
    cw_pq_column_fini(&slab->values);
    cw_mem_free(slab->entry);
    cw_mem_free(slab->null);
    *slab = (struct cw_pq_slab){0};
}

void cw_pq_scratch_fini(struct cw_pq_scratch *scratch)
{
    cw_mem_free(scratch->raw.p);
    cw_mem_free(scratch->page.p);
    cw_mem_free(scratch->rep.p);
    cw_mem_free(scratch->def.p);
    cw_mem_free(scratch->mask.p);
    *scratch = (struct cw_pq_scratch){0};
}

size_t cw_pq_scratch_bytes(const struct cw_pq_scratch *s)
{
    return s->raw.cap + s->page.cap + s->rep.cap + s->def.cap + s->mask.cap;
}

static int fail(const struct cw_readable *file, const struct cw_pq_want *want, uint64_t at,
                const char *fault, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "%s: column %s, page at byte %llu: %s", file->name,
                      want->leaf->name, (unsigned long long)at, fault);
}

/* Reads bytes of the file into `raw`. */
static int read_raw(const struct cw_readable *file, const struct cw_pq_want *want, uint64_t begin,
                    uint64_t end, struct cw_pq_bytes *raw, struct cw_err *err)
{
    const char *fault = end - begin > SIZE_MAX / 2
                            ? "it is too large"
                            : cw_pq_bytes_room(raw, (size_t)(end - begin), want->bytes_max);
    if (fault)
        return fail(file, want, begin, fault, err);
    cw_mem_prefault(raw->p, (size_t)CW_MIN(end - begin, file->size));
    return cw_readable_get(file, begin, raw->p, (size_t)(end - begin), err);
}

static const char *finish(struct cw_pq_reader *r)
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

/* Memory is asked for at once as long as it is no more than so many times what is stored: no more of what a file only
 * claims. */
enum { CLAIM_RATIO = 64, PREFAULT_RATIO = 16 };

static void prefault(const struct cw_pq_column *c, size_t stored)
{
    cw_mem_prefault(c->fixed ? (void *)c->fixed : (void *)c->strings.v,
                    CW_MIN(c->fixed_cap, PREFAULT_RATIO * stored));
}

/* Adds up the values of all pages, as their heads say; those behind a damaged one are left out. */
static size_t values_of(const uint8_t *p, size_t bytes)
{
    size_t sum = 0;
    while (bytes > 0) {
        struct cw_pq_page_head head;
        bool cut;
        if (cw_pq_page_head_read(p, bytes, &head, &cut) ||
            head.stored_bytes > bytes - head.head_bytes)
            break;
        sum += head.values;
        p += head.head_bytes + head.stored_bytes;
        bytes -= head.head_bytes + head.stored_bytes;
    }
    return sum;
}

/* Makes one allocation for the values, and one for the entries, where it is known how many there are. */
static const char *make_room(struct cw_pq_reader *r, size_t stored)
{
    const size_t most = CLAIM_RATIO * stored,
                 each = r->want->width > 0 ? r->want->width : sizeof(struct cw_byte_ref);
    const char *fault = NULL;
    if (r->want->leaf->max_rep == 0) {
        fault = cw_pq_column_room(&r->slab->values, r->want, r->rows);
    } else {
        const size_t n = values_of(r->scratch->raw.p, stored);
        if (n <= most / each)
            fault = cw_pq_column_room(&r->slab->values, r->want, n);
        if (!fault && r->rows + 2 <= most / sizeof(*r->slab->entry))
            fault = cw_pq_entries_room(r, r->rows);
    }
    if (!fault)
        prefault(&r->slab->values, stored);
    return fault;
}

static int read_pages(struct cw_pq_reader *r, const struct cw_pq_stretch *at, struct cw_err *err)
{
    size_t bytes = (size_t)(at->end - at->begin), begin = 0;
    int rc = read_raw(r->file, r->want, at->begin, at->end, &r->scratch->raw, err);
    const char *fault = rc == 0 ? make_room(r, bytes) : NULL;
    while (rc == 0 && !fault && begin < bytes && (r->slab->rows < r->rows || r->slab->entry)) {
        size_t page = 0;
        fault = cw_pq_page_add(r, r->scratch->raw.p + begin, bytes - begin, &page);
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
                    const struct cw_pq_column *dict, struct cw_pq_scratch *scratch,
                    struct cw_pq_slab *ret_slab, struct cw_err *err)
{
    struct cw_pq_slab slab = {.first = pages->v[k].first};
    struct cw_pq_reader r = {.file = file,
                             .want = want,
                             .chunk = chunk,
                             .dict = dict,
                             .slab = &slab,
                             .rows = (size_t)cw_pq_pages_rows(pages, k),
                             .scratch = scratch};
    int rc = read_pages(&r, &pages->v[k], err);
    if (rc < 0)
        cw_pq_slab_fini(&slab);
    else
        *ret_slab = slab;
    return rc;
}

/* Decompresses the values of a dictionary to where they belong, if they are stored as they become; else by way of
 * `page`. */
static const char *unpack_dictionary(const struct cw_pq_want *want, const struct cw_pq_chunk *chunk,
                                     const uint8_t *p, const struct cw_pq_page_head *head,
                                     struct cw_pq_bytes *page, struct cw_pq_column *dict)
{
    const bool is_same = cw_pq_want_is_stored(want) && head->bytes == head->values * want->width;
    const char *fault = is_same ? NULL : cw_pq_bytes_room(page, head->bytes, want->bytes_max);
    if (fault)
        return fault;
    prefault(dict, head->stored_bytes);
    fault = cw_pq_unpack(chunk->codec, p, head->stored_bytes, is_same ? dict->fixed : page->p,
                         head->bytes);
    if (!fault && is_same)
        dict->n = head->values;
    else if (!fault)
        fault =
            cw_pq_column_add(dict, want, CW_PQ_PLAIN, page->p, page->p + head->bytes, head->values);
    return fault;
}

static const char *add_dictionary(const struct cw_pq_want *want, const struct cw_pq_chunk *chunk,
                                  const uint8_t *p, size_t bytes, struct cw_pq_bytes *page,
                                  struct cw_pq_column *ret_dict)
{
    struct cw_pq_page_head head;
    bool cut;
    const char *fault = cw_pq_page_head_read(p, bytes, &head, &cut);
    if (!fault)
        fault = cw_pq_page_check(&head, p + head.head_bytes, bytes - head.head_bytes);
    if (!fault && head.encoding != CW_PQ_PLAIN && head.encoding != CW_PQ_PLAIN_DICTIONARY)
        fault = "a dictionary has an unknown encoding";
    if (!fault)
        fault = cw_pq_column_room(ret_dict, want, head.values);
    if (!fault)
        fault = unpack_dictionary(want, chunk, p + head.head_bytes, &head, page, ret_dict);
    return fault;
}

int cw_pq_dictionary_read(const struct cw_readable *file, const struct cw_pq_want *want,
                          const struct cw_pq_chunk *chunk, const struct cw_pq_pages *pages,
                          struct cw_pq_scratch *scratch, struct cw_pq_column *ret_dict,
                          struct cw_err *err)
{
    struct cw_pq_column dict = {0};
    int rc = read_raw(file, want, pages->dict_begin, pages->dict_end, &scratch->raw, err);
    if (rc == 0) {
        size_t bytes = (size_t)(pages->dict_end - pages->dict_begin);
        const char *fault =
            add_dictionary(want, chunk, scratch->raw.p, bytes, &scratch->page, &dict);
        rc = fault ? fail(file, want, pages->dict_begin, fault, err) : 0;
    }
    if (rc < 0)
        cw_pq_column_fini(&dict);
    else
        *ret_dict = dict;
    return rc;
}
