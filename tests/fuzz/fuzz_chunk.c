/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks: as they come, and with the sums of footer, index, head and frames mended, so that what
 * lies behind those is reached too. What passes the check must be readable record by record. */
#include <endian.h>
#include <string.h>

#include "base/mem.h"
#include "format/chunk_int.h"
#include "format/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_records(const struct cw_readable *file, const struct cw_chunk_index *index)
{
    struct cw_err err = {0};
    for (uint32_t i = 0; i < CW_MIN(index->records_n, 64u); i++) {
        const struct cw_chunk_record *record = cw_chunk_find(index, index->records[i].id);
        struct cw_buf *frame = NULL;
        struct cw_element element;
        uint64_t sum = 0;
        CW_ASSERT(record == &index->records[i]);
        if (record->bytes == CW_CHUNK_LEFT_OUT)
            continue;
        CW_ASSERT(cw_chunk_frame_load(file, index, record->frame, &frame, &err) == 0);
        CW_ASSERT(cw_record_decode(&index->head.spec, (char *)frame->data + record->offset,
                                   record->bytes, &element, &err) == 0);
        for (size_t f = 0; f < element.n; f++)
            sum += cw_hash_u64(element.fields[f].data, element.fields[f].bytes);
        CW_ASSERT(cw_record_bytes(&index->head.spec, &element) == record->bytes || sum == 0);
        cw_buf_unref(frame);
    }
}

static void check(const uint8_t *data, size_t n)
{
    const struct cw_readable_bytes bytes = {data, n};
    const struct cw_readable file = cw_readable_mem("it", &bytes);
    struct cw_chunk_index *index = NULL;
    struct cw_err err = {0};
    int rc = cw_chunk_check(&file, &index, &err);
    if (rc < 0) {
        CW_ASSERT((rc == CW_E_CORRUPT || rc == CW_E_NOMEM) && err.msg[0]);
        return;
    }
    read_records(&file, index);
    cw_chunk_index_free(index);
}

static uint64_t get(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    memcpy(&v, p, n);
    return le64toh(v);
}

static void put(uint8_t *p, uint64_t v)
{
    v = htole64(v);
    memcpy(p, &v, sizeof(v));
}

static void mend_head(uint8_t *p, size_t n)
{
    memcpy(p, cw_chunk_magic, sizeof(cw_chunk_magic));
    size_t head_n = get(p + 24, 4);
    if (head_n >= 40 && head_n <= n)
        put(p + head_n - 8, cw_hash_u64(p, head_n - 8));
}

/* The index is taken as not packed. */
static void mend_index(uint8_t *p, size_t n, uint64_t offset, size_t stored)
{
    uint8_t *index = p + offset;
    size_t head_n = get(index + 24, 4);
    mend_head(index, stored);
    if (head_n > stored || stored - head_n < 8)
        return;
    size_t frames_n = get(index + head_n, 4);
    uint8_t *frame = index + head_n + 8;
    for (size_t i = 0;
         i < frames_n && (size_t)(index + stored - frame) >= CW_CHUNK_FRAME_ENTRY_BYTES;
         i++, frame += CW_CHUNK_FRAME_ENTRY_BYTES) {
        uint64_t at = get(frame, 8), bytes = get(frame + 8, 4);
        if (at <= n && bytes <= n - at)
            put(frame + 16, cw_hash_u64(p + at, bytes));
    }
}

static void mend(uint8_t *p, size_t n)
{
    uint8_t *footer = p + n - CW_CHUNK_FOOTER_BYTES;
    uint64_t offset = get(footer, 8), stored = n - CW_CHUNK_FOOTER_BYTES - offset;
    mend_head(p, n - CW_CHUNK_FOOTER_BYTES);
    if (offset > n - CW_CHUNK_FOOTER_BYTES || stored < 40)
        return;
    if (get(footer + 8, 4) == get(footer + 12, 4)) {
        mend_index(p, n, offset, stored);
        memcpy(p + offset, p, CW_MIN(stored, CW_MIN((uint64_t)get(p + 24, 4), offset)));
        memcpy(footer + 32, p + offset + 8, 16);
    }
    put(footer + 16, cw_hash_u64(p + offset, stored));
    put(footer + 24, n);
    put(footer + 48, cw_hash_u64(footer, 48));
    memcpy(footer + 56, cw_chunk_end_magic, sizeof(cw_chunk_end_magic));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    check(data, n);
    if (n >= CW_CHUNK_FOOTER_BYTES + 64) {
        cw_autofree uint8_t *copy = cw_mem_dup(data, n);
        mend(copy, n);
        check(copy, n);
    }
    return 0;
}
