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

int cw_wds_read(const struct cw_readable *file, struct cw_wds_part *parts, size_t fields_n,
                struct cw_arena *arena, struct cw_err *err)
{
    struct cw_wds_part all = {.offset = UINT64_MAX};
    uint64_t sum = 0, end = 0;
    int rc = 0;
    for (size_t i = 0; i < fields_n; i++) {
        if (!parts[i].is_there)
            continue;
        all.offset = CW_MIN(all.offset, parts[i].offset);
        end = CW_MAX(end, parts[i].offset + parts[i].bytes);
        sum += parts[i].bytes;
    }
    all.bytes = end > all.offset ? end - all.offset : 0;
    bool at_once = all.bytes <= sum + sum / 2 + WASTE_BYTES;
    if (at_once && end > 0)
        rc = read_part(file, &all, arena, err);
    for (size_t i = 0; i < fields_n && rc == 0; i++) {
        if (parts[i].is_there && at_once)
            parts[i].data = (uint8_t *)all.data + (parts[i].offset - all.offset);
        else if (parts[i].is_there)
            rc = read_part(file, &parts[i], arena, err);
    }
    return rc;
}
