/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and reads samples by their index.
 *
 * The index is a string of codes. A member has two varints:
 *   zigzag(gap) << (field_bits + 1) | is_last << field_bits | field
 *   bytes
 * gap: blocks from the end of the member before it to its data; is_last: it is the last of its
 * sample. A mark stands before each SAMPLES_A_MARK samples, so that reading begins near. */
#include "format/webdataset_int.h"

#include "base/mem.h"

#include <endian.h>
#include <string.h>

/* Members that lie further apart than this share of their bytes are read one by one. */
#define WASTE_BYTES ((uint64_t)64 << 10)

bool cw_wds_split(const char *name, size_t n, size_t *ret_key_n)
{
    size_t base = n;
    while (base > 0 && name[base - 1] != '/')
        base--;
    const char *dot = memchr(name + base, '.', n - base);
    bool meta = n >= 4 && memcmp(name, "__", 2) == 0 && memcmp(name + n - 2, "__", 2) == 0;
    if (!dot || dot == name + base || dot + 1 == name + n || meta)
        return false;
    *ret_key_n = (size_t)(dot - name);
    return true;
}

void cw_wds_index_fini(struct cw_wds_index *index)
{
    if (!index)
        return;
    cw_mem_free(index->codes);
    cw_mem_free(index->marks);
    *index = (struct cw_wds_index){0};
}

size_t cw_wds_index_bytes(const struct cw_wds_index *index)
{
    return index->codes_n + index->marks_n * sizeof(*index->marks);
}

/* ---- as bytes ----
 * u64 n, field_bits, marks_n; marks of u64 at, block; codes. All in little endian. */

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

void cw_wds_index_pack(const struct cw_wds_index *index, struct cw_str *out)
{
    add_u64(out, index->n);
    add_u64(out, index->field_bits);
    add_u64(out, index->marks_n);
    for (size_t i = 0; i < index->marks_n; i++) {
        add_u64(out, index->marks[i].at);
        add_u64(out, index->marks[i].block);
    }
    if (index->codes_n > 0)
        cw_str_add_bytes(out, index->codes, index->codes_n);
}

/* Takes a number of bytes that may be anything. Returns false if they hold none. */
static bool check_number(const uint8_t **p, const uint8_t *end, uint64_t *ret_v)
{
    uint64_t v = 0;
    for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
        const uint8_t byte = *(*p)++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        *ret_v = v;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* A walk over all samples of an index whose bytes may be anything. */
struct walk {
    const struct cw_wds_index *index;
    const struct cw_wds_want *want;
    const uint8_t *p, *end;
    uint64_t block, size;
};

static bool check_member(struct walk *w, bool *ret_is_last)
{
    uint64_t code, bytes;
    const unsigned bits = w->index->field_bits;
    if (!check_number(&w->p, w->end, &code) || !check_number(&w->p, w->end, &bytes))
        return false;
    const uint64_t gap = code >> (bits + 1);
    const uint64_t at = w->block + ((gap >> 1) ^ (0 - (gap & 1)));
    if (at > w->size / CW_TAR_BLOCK_BYTES || bytes > w->size - at * CW_TAR_BLOCK_BYTES ||
        (code & ((UINT64_C(1) << bits) - 1)) >= w->want->fields_n)
        return false;
    w->block = cw_wds_end_block(at * CW_TAR_BLOCK_BYTES, bytes);
    *ret_is_last = (code >> bits) & 1;
    return true;
}

static bool is_sound(const struct cw_wds_index *index, uint64_t size,
                     const struct cw_wds_want *want)
{
    struct walk w = {.index = index,
                     .want = want,
                     .p = index->codes,
                     .end = index->codes + index->codes_n,
                     .size = size};
    for (uint64_t k = 0; k < index->n; k++) {
        const struct cw_wds_mark *mark = &index->marks[k / CW_WDS_SAMPLES_A_MARK];
        if (k % CW_WDS_SAMPLES_A_MARK == 0 &&
            (mark->at != (uint64_t)(w.p - index->codes) || mark->block != w.block))
            return false;
        for (bool is_last = false; !is_last;)
            if (!check_member(&w, &is_last))
                return false;
    }
    return w.p == w.end;
}

static int take_index(struct cw_wds_index *index, const uint8_t *p)
{
    index->marks = cw_mem_try(index->marks_n * sizeof(*index->marks) + 1);
    index->codes = cw_mem_try(index->codes_n + 1);
    if (!index->marks || !index->codes)
        return CW_E_NOMEM;
    for (size_t i = 0; i < index->marks_n; i++) {
        index->marks[i].at = take_u64(&p);
        index->marks[i].block = take_u64(&p);
    }
    memcpy(index->codes, p, index->codes_n);
    return 0;
}

int cw_wds_index_unpack(const void *bytes, size_t n, uint64_t size, const struct cw_wds_want *want,
                        struct cw_wds_index *ret_index)
{
    enum { HEAD = 3 * sizeof(uint64_t), A_MARK = 2 * sizeof(uint64_t) };
    const uint8_t *p = bytes;
    struct cw_wds_index index = {0};
    unsigned field_bits = 0;
    while ((UINT64_C(1) << field_bits) < want->fields_n)
        field_bits++;
    if (n < HEAD)
        return CW_E_CORRUPT;
    index.n = take_u64(&p);
    const uint64_t bits = take_u64(&p);
    const uint64_t marks = take_u64(&p);
    const uint64_t needed =
        index.n / CW_WDS_SAMPLES_A_MARK + (index.n % CW_WDS_SAMPLES_A_MARK ? 1 : 0);
    if (bits != field_bits || marks != needed || marks > (n - HEAD) / A_MARK)
        return CW_E_CORRUPT;
    index.field_bits = field_bits;
    index.marks_n = (size_t)marks;
    index.codes_n = n - HEAD - index.marks_n * A_MARK;
    int rc = take_index(&index, p);
    if (rc == 0 && !is_sound(&index, size, want))
        rc = CW_E_CORRUPT;
    if (rc < 0)
        cw_wds_index_fini(&index);
    else
        *ret_index = index;
    return rc;
}

/* ---- samples ---- */

static uint64_t take_number(const uint8_t **p)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = *(*p)++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return v;
    }
}

/* Takes one member. Returns whether it is the last of its sample. */
static bool take_member(const struct cw_wds_index *index, const uint8_t **p, uint64_t *block,
                        size_t *ret_field, struct cw_wds_part *ret_part)
{
    uint64_t code = take_number(p), gap = code >> (index->field_bits + 1);
    ret_part->bytes = take_number(p);
    ret_part->offset = (*block + ((gap >> 1) ^ (0 - (gap & 1)))) * CW_TAR_BLOCK_BYTES;
    ret_part->is_there = true;
    *block = cw_wds_end_block(ret_part->offset, ret_part->bytes);
    *ret_field = code & ((UINT64_C(1) << index->field_bits) - 1);
    return (code >> index->field_bits) & 1;
}

void cw_wds_find(const struct cw_wds_index *index, uint64_t k, struct cw_wds_part *parts,
                 size_t fields_n)
{
    const struct cw_wds_mark *mark = &index->marks[k / CW_WDS_SAMPLES_A_MARK];
    const uint8_t *p = index->codes + mark->at;
    uint64_t block = mark->block;
    size_t field;
    struct cw_wds_part part = {0};
    for (uint64_t i = k % CW_WDS_SAMPLES_A_MARK; i > 0;)
        i -= take_member(index, &p, &block, &field, &part);
    memset(parts, 0, fields_n * sizeof(*parts));
    for (bool is_last = false; !is_last;) {
        is_last = take_member(index, &p, &block, &field, &part);
        parts[field] = part;
    }
}

static int read_part(const struct cw_readable *file, struct cw_wds_part *part,
                     struct cw_arena *arena, struct cw_err *err)
{
    part->data = cw_arena_alloc(arena, (size_t)part->bytes);
    if (!part->data)
        return cw_err_set(err, CW_E_NOMEM, "%s: byte %llu: no memory for a member of %llu bytes",
                          file->name, (unsigned long long)part->offset,
                          (unsigned long long)part->bytes);
    return part->bytes == 0
               ? 0
               : cw_readable_get(file, part->offset, part->data, (size_t)part->bytes, err);
}

bool cw_wds_span(const struct cw_wds_part *parts, size_t fields_n, uint64_t *ret_offset,
                 uint64_t *ret_bytes)
{
    uint64_t begin = UINT64_MAX, sum = 0, end = 0;
    for (size_t i = 0; i < fields_n; i++) {
        if (!parts[i].is_there)
            continue;
        begin = CW_MIN(begin, parts[i].offset);
        end = CW_MAX(end, parts[i].offset + parts[i].bytes);
        sum += parts[i].bytes;
    }
    *ret_offset = begin;
    *ret_bytes = end > begin ? end - begin : 0;
    return *ret_bytes <= sum + sum / 2 + WASTE_BYTES;
}

int cw_wds_read(const struct cw_readable *file, struct cw_wds_part *parts, size_t fields_n,
                struct cw_arena *arena, struct cw_err *err)
{
    struct cw_wds_part all = {0};
    int rc = 0;
    bool at_once = cw_wds_span(parts, fields_n, &all.offset, &all.bytes);
    if (at_once && all.offset < UINT64_MAX)
        rc = read_part(file, &all, arena, err);
    for (size_t i = 0; i < fields_n && rc == 0; i++) {
        if (parts[i].is_there && at_once)
            parts[i].data = (uint8_t *)all.data + (parts[i].offset - all.offset);
        else if (parts[i].is_there)
            rc = read_part(file, &parts[i], arena, err);
    }
    return rc;
}
