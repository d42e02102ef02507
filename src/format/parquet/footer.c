/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and reads the footer: FileMetaData, in Thrift's compact protocol, its length, "PAR1". */
#include "format/parquet/footer.h"

#include <string.h>

#include "base/mem.h"
#include "format/parquet/schema.h"

enum { TAIL_BYTES = 8, HEAD_BYTES = 4 };

void cw_pq_footer_fini(struct cw_pq_footer *footer)
{
    for (size_t i = 0; i < footer->leaves_n; i++)
        cw_mem_free(footer->leaves[i].name);
    cw_mem_free(footer->leaves);
    cw_mem_free(footer->groups);
    cw_mem_free(footer->chunks);
    *footer = (struct cw_pq_footer){0};
}

int cw_pq_footer_find(const struct cw_pq_footer *footer, const char *name)
{
    for (size_t i = 0; i < footer->leaves_n; i++) {
        if (strcmp(footer->leaves[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

size_t cw_pq_footer_group_of(const struct cw_pq_footer *footer, int64_t row)
{
    size_t lo = 0, hi = footer->groups_n;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (footer->groups[mid].first <= row)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

struct offsets {
    int64_t data, dictionary, bytes, index, index_bytes;
    bool has_meta;
};

static void read_column_meta(struct cw_thrift *t, struct cw_pq_chunk *chunk, struct offsets *at)
{
    struct cw_thrift_field f = {0};
    at->has_meta = true;
    while (cw_thrift_next(t, &f)) {
        if (f.id == 4)
            chunk->codec = (int)cw_thrift_int(t, &f);
        else if (f.id == 5)
            chunk->values = cw_thrift_int(t, &f);
        else if (f.id == 7)
            at->bytes = cw_thrift_int(t, &f);
        else if (f.id == 9)
            at->data = cw_thrift_int(t, &f);
        else if (f.id == 11)
            at->dictionary = cw_thrift_int(t, &f);
        else
            cw_thrift_skip(t, &f);
    }
}

/* Some writers say 0 where there is no dictionary, and some begin with it at `data`. */
static void set_place(struct cw_thrift *t, const struct offsets *at, uint64_t file_bytes,
                      struct cw_pq_chunk *chunk)
{
    int64_t begin = at->dictionary > 0 && at->dictionary < at->data ? at->dictionary : at->data;
    uint64_t limit = file_bytes;
    if (!at->has_meta || begin < HEAD_BYTES || at->bytes < 0 || (uint64_t)begin > limit ||
        (uint64_t)at->bytes > limit - (uint64_t)begin || chunk->values < 0) {
        cw_thrift_fail(t, "the bytes of a column chunk lie outside of the file");
        return;
    }
    chunk->begin = (uint64_t)begin;
    chunk->data = (uint64_t)at->data;
    chunk->end = chunk->begin + (uint64_t)at->bytes;
    if (at->index > 0 && at->index_bytes > 0 && (uint64_t)at->index <= limit &&
        (uint64_t)at->index_bytes <= limit - (uint64_t)at->index) {
        chunk->index = (uint64_t)at->index;
        chunk->index_bytes = (uint32_t)at->index_bytes;
    }
}

static void read_chunk(struct cw_thrift *t, uint64_t file_bytes, struct cw_pq_chunk *chunk)
{
    struct cw_thrift_field f = {0};
    struct offsets at = {0};
    while (cw_thrift_next(t, &f)) {
        if (f.id == 1)
            cw_thrift_fail(t, "columns in other files are not supported");
        else if (f.id == 3 && cw_thrift_struct(t, &f))
            read_column_meta(t, chunk, &at);
        else if (f.id == 4)
            at.index = cw_thrift_int(t, &f);
        else if (f.id == 5)
            at.index_bytes = cw_thrift_int(t, &f);
        else if (f.id == 8 || f.id == 9)
            cw_thrift_fail(t, "encrypted columns are not supported");
        else
            cw_thrift_skip(t, &f);
    }
    set_place(t, &at, file_bytes, chunk);
}

static void read_chunks(struct cw_thrift *t, const struct cw_thrift_field *field,
                        uint64_t file_bytes, struct cw_pq_footer *footer)
{
    size_t n = cw_thrift_list(t, field, CW_THRIFT_STRUCT);
    if (n != footer->leaves_n)
        cw_thrift_fail(t, "a row group has another number of columns than the schema");
    for (size_t i = 0; i < n && !t->fault; i++) {
        struct cw_pq_chunk chunk = {0};
        read_chunk(t, file_bytes, &chunk);
        CW_GROW(footer->chunks, footer->chunks_n, footer->chunks_cap);
        footer->chunks[footer->chunks_n++] = chunk;
    }
}

static void read_group(struct cw_thrift *t, uint64_t file_bytes, struct cw_pq_footer *footer)
{
    struct cw_thrift_field f = {0};
    struct cw_pq_group group = {.first = footer->rows, .rows = -1};
    size_t before = footer->chunks_n;
    while (cw_thrift_next(t, &f)) {
        if (f.id == 1)
            read_chunks(t, &f, file_bytes, footer);
        else if (f.id == 3)
            group.rows = cw_thrift_int(t, &f);
        else
            cw_thrift_skip(t, &f);
    }
    if (footer->chunks_n - before != footer->leaves_n || group.rows < 0 ||
        group.rows > INT64_MAX - footer->rows)
        cw_thrift_fail(t, "a row group lacks its columns or its number of rows");
    if (t->fault)
        return;
    CW_GROW(footer->groups, footer->groups_n, footer->groups_cap);
    footer->groups[footer->groups_n++] = group;
    footer->rows += group.rows;
}

/* Drops row groups without rows, so that each row has one group. */
static void drop_empty(struct cw_pq_footer *footer)
{
    size_t n = 0;
    for (size_t g = 0; g < footer->groups_n; g++) {
        if (footer->groups[g].rows == 0)
            continue;
        footer->groups[n] = footer->groups[g];
        memmove(footer->chunks + n * footer->leaves_n, footer->chunks + g * footer->leaves_n,
                footer->leaves_n * sizeof(*footer->chunks));
        n++;
    }
    footer->groups_n = n;
    footer->chunks_n = n * footer->leaves_n;
}

static void read_meta(struct cw_thrift *t, uint64_t file_bytes, struct cw_pq_footer *footer)
{
    struct cw_thrift_field f = {0};
    int64_t rows = -1;
    while (cw_thrift_next(t, &f)) {
        if (f.id == 2) {
            cw_pq_schema_read(t, &f, footer);
        } else if (f.id == 3) {
            rows = cw_thrift_int(t, &f);
        } else if (f.id == 4) {
            size_t n = cw_thrift_list(t, &f, CW_THRIFT_STRUCT);
            for (size_t i = 0; i < n && !t->fault; i++)
                read_group(t, file_bytes, footer);
        } else {
            cw_thrift_skip(t, &f);
        }
    }
    if (!footer->leaves)
        cw_thrift_fail(t, "there is no schema");
    if (rows != footer->rows)
        cw_thrift_fail(t, "its row groups have another number of rows than the file");
    if (!t->fault && footer->leaves_n > 0)
        drop_empty(footer);
}

static int find_footer(const struct cw_readable *file, uint64_t *ret_at, size_t *ret_n,
                       struct cw_err *err)
{
    uint8_t tail[TAIL_BYTES];
    uint32_t n;
    if (file->size < HEAD_BYTES + TAIL_BYTES)
        return cw_err_set(err, CW_E_CORRUPT, "%s: not a Parquet file: it has %llu bytes only",
                          file->name, (unsigned long long)file->size);
    int rc = cw_readable_get(file, file->size - TAIL_BYTES, tail, sizeof(tail), err);
    if (rc < 0)
        return rc;
    if (memcmp(tail + 4, "PARE", 4) == 0)
        return cw_err_set(err, CW_E_UNSUPPORTED, "%s: encrypted Parquet files are not supported",
                          file->name);
    if (memcmp(tail + 4, "PAR1", 4) != 0)
        return cw_err_set(err, CW_E_CORRUPT,
                          "%s: not a Parquet file, or truncated: it does not end with PAR1",
                          file->name);
    memcpy(&n, tail, sizeof(n));
    if (n > file->size - HEAD_BYTES - TAIL_BYTES || n > CW_PQ_FOOTER_BYTES_MAX)
        return cw_err_set(err, CW_E_CORRUPT,
                          "%s: its footer would have %u bytes, which the file does not have",
                          file->name, (unsigned)n);
    *ret_n = n;
    *ret_at = file->size - TAIL_BYTES - n;
    return 0;
}

int cw_pq_footer_read(const struct cw_readable *file, struct cw_pq_footer *ret_footer,
                      struct cw_err *err)
{
    uint64_t at = 0;
    size_t n = 0;
    int rc = find_footer(file, &at, &n, err);
    if (rc < 0)
        return rc;
    cw_autofree uint8_t *bytes = cw_mem_try(n + 1);
    if (!bytes)
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory for %zu bytes of footer", file->name, n);
    rc = cw_readable_get(file, at, bytes, n, err);
    if (rc < 0)
        return rc;
    struct cw_thrift t = cw_thrift_begin(bytes, n);
    struct cw_pq_footer footer = {0};
    read_meta(&t, at, &footer);
    if (t.fault) {
        cw_pq_footer_fini(&footer);
        return cw_err_set(err, CW_E_CORRUPT, "%s: footer, byte %llu: %s", file->name,
                          (unsigned long long)(at + t.fault_at), t.fault);
    }
    *ret_footer = footer;
    return 0;
}
