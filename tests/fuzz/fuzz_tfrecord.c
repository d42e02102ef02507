/* SPDX-License-Identifier: Apache-2.0 */
/* TFRecord files: as they come, and with lengths and checksums mended, so that records are
 * reached too. Found by an index, and by ranges of bytes: both are the same, or a range fails. */
#include <string.h>

#include "base/mem.h"
#include "format/crc32c.h"
#include "format/tfrecord.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Scans and reads everything. Returns the number of records or a code. */
static int64_t read_all(const void *p, size_t n, struct cw_arena *arena)
{
    struct cw_readable_bytes bytes = {p, n};
    struct cw_readable file = cw_readable_mem("f", &bytes);
    struct cw_line_index *index = NULL;
    struct cw_err err = {0};
    int rc = cw_tfrecord_scan(&file, &index, &err);
    CW_ASSERT(rc == 0 || (rc == CW_E_CORRUPT && err.msg[0]));
    if (rc < 0)
        return rc;
    const uint64_t records = cw_line_index_n(index);
    int64_t count = (int64_t)records;
    CW_ASSERT(cw_line_index_at(index, records) == n);
    for (uint64_t k = 0; k < records && count >= 0; k++) {
        void *record;
        size_t record_n;
        rc = cw_tfrecord_get(&file, index, k, arena, &record, &record_n, &err);
        CW_ASSERT(rc == CW_E_CORRUPT || rc == 0);
        if (rc < 0)
            count = rc;
        else
            CW_ASSERT(record_n == 0 || cw_crc32c(0, record, record_n) <= UINT32_MAX);
    }
    cw_line_index_free(index);
    cw_arena_reset(arena);
    return count;
}

/* Finds the records of all ranges of so many bytes. They are those of the index, or one of them fails. */
static void read_ranges(const void *p, size_t n, uint64_t range)
{
    struct cw_readable_bytes bytes = {p, n};
    struct cw_readable file = cw_readable_mem("f", &bytes);
    struct cw_line_index *index = NULL;
    struct cw_err err = {0};
    const bool is_whole = cw_tfrecord_scan(&file, &index, &err) == 0;
    uint64_t k = 0;
    bool same = is_whole, failed = false;
    for (uint64_t from = 0; from < n; from += range) {
        struct cw_tfrecord_part part = {0};
        int rc = cw_tfrecord_find(&file, from, from + range, &part, &err);
        CW_ASSERT(rc == 0 || (rc == CW_E_STATE && err.msg[0]));
        failed = failed || rc < 0;
        for (size_t i = 0; i < part.n && is_whole; i++, k++)
            same = same && k < cw_line_index_n(index) && part.at[i] == cw_line_index_at(index, k);
        cw_tfrecord_part_fini(&part);
    }
    CW_ASSERT(failed || (is_whole && same && k == cw_line_index_n(index)));
    cw_line_index_free(index);
}

/* Makes a right file of the bytes; returns how many of them it uses. */
static size_t mend(uint8_t *p, size_t n, int64_t *ret_records)
{
    size_t at = 0;
    *ret_records = 0;
    while (n - at >= CW_TFRECORD_FRAME_BYTES) {
        uint64_t room = n - at - CW_TFRECORD_FRAME_BYTES;
        uint64_t length = p[at] % (room + 1);
        memcpy(p + at, &length, 8);
        uint32_t crc = cw_crc32c_masked(p + at, 8);
        memcpy(p + at + 8, &crc, 4);
        crc = cw_crc32c_masked(p + at + 12, (size_t)length);
        memcpy(p + at + 12 + length, &crc, 4);
        at += CW_TFRECORD_FRAME_BYTES + (size_t)length;
        (*ret_records)++;
    }
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_arena *arena = cw_arena_new(1 << 16);
    int64_t records;
    (void)read_all(data, n, arena);
    if (n > 0) {
        const uint64_t range = 1 + data[n / 2];
        read_ranges(data, n, range);
        cw_autofree uint8_t *copy = cw_mem_dup(data, n);
        size_t used = mend(copy, n, &records);
        CW_ASSERT(read_all(copy, used, arena) == records);
        read_ranges(copy, used, range);
        /* one more damaged byte is found */
        if (used > 0) {
            copy[data[n - 1] % used] ^= 0x10;
            CW_ASSERT(read_all(copy, used, arena) == CW_E_CORRUPT);
        }
    }
    cw_arena_free(arena);
    return 0;
}
