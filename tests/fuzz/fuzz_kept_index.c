/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs of kept indices, and the indices inside of them, whose checksums anybody could have made. */
#include <string.h>

#include "base/mem.h"
#include "format/kept_index.h"
#include "format/line_index.h"
#include "format/read_ranges.h"
#include "format/webdataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { FIELDS_N = 3 };

static int read_range(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    (void)err;
    memcpy(dst, (const uint8_t *)arg + offset, n);
    return 0;
}

/* Looking through a blob piece by piece finds the same as reading it. */
static void scan(const void *blob, size_t n)
{
    struct cw_kept_index kept = {0};
    CW_STR_AUTO key = {0};
    uint64_t records = 0;
    bool is_good = false;
    void *arg;
    memcpy(&arg, &blob, sizeof(arg)); /* it is only read */
    CW_ASSERT(cw_kept_index_scan(read_range, arg, n, &key, &records, &is_good, NULL) == 0);
    CW_ASSERT(is_good == cw_kept_index_read(blob, n, NULL, &kept) || kept.key_n > 65536);
    CW_ASSERT(!is_good || (records == kept.records && key.len == kept.key_n &&
                           (key.len == 0 || memcmp(key.s, kept.key, key.len) == 0)));
}

static void read_blob(const uint8_t *data, size_t n)
{
    struct cw_kept_index kept;
    CW_STR_AUTO blob = {0};
    if (cw_kept_index_read(data, n, NULL, &kept))
        CW_ASSERT(kept.key_n + kept.n < n);
    cw_kept_index_write("a key", n, data, n, &blob);
    CW_ASSERT(cw_kept_index_read(blob.s, blob.len, "a key", &kept) && kept.records == n);
    CW_ASSERT(kept.n == n && (n == 0 || memcmp(kept.bytes, data, n) == 0));
    CW_ASSERT(!cw_kept_index_read(blob.s, blob.len, "another", &kept));
    scan(data, n);
    scan(blob.s, blob.len);
    scan(blob.s, blob.len - 1);
    CW_ASSERT(!cw_kept_index_read(blob.s, blob.len - 1, NULL, &kept));
}

static void read_lines(const uint8_t *data, size_t n)
{
    const uint64_t size = 1 << 20;
    struct cw_line_index *index = cw_line_index_unpack(data, n, size);
    CW_STR_AUTO again = {0};
    if (!index)
        return;
    for (uint64_t k = 0; k < cw_line_index_n(index); k++)
        CW_ASSERT(cw_line_index_at(index, k) <= cw_line_index_at(index, k + 1));
    CW_ASSERT(cw_line_index_at(index, cw_line_index_n(index)) <= size);
    cw_line_index_pack(index, &again);
    CW_ASSERT(again.len == n && memcmp(again.s, data, n) == 0);
    cw_line_index_free(index);
}

static void read_samples(const uint8_t *data, size_t n)
{
    const uint64_t size = 1 << 20;
    const struct cw_wds_want want = {.fields_n = FIELDS_N, .key_field = -1};
    struct cw_wds_index index;
    CW_STR_AUTO again = {0};
    if (cw_wds_index_unpack(data, n, size, &want, &index) < 0)
        return;
    for (uint64_t k = 0; k < index.n; k++) {
        struct cw_wds_part parts[FIELDS_N];
        cw_wds_find(&index, k, parts, FIELDS_N);
        for (size_t i = 0; i < FIELDS_N; i++)
            CW_ASSERT(parts[i].offset <= size && parts[i].bytes <= size - parts[i].offset);
    }
    cw_wds_index_pack(&index, &again);
    CW_ASSERT(again.len == n && memcmp(again.s, data, n) == 0);
    cw_wds_index_fini(&index);
}

static void read_ranges(const uint8_t *data, size_t n)
{
    struct cw_read_ranges ranges = {.kept = data, .kept_n = n};
    struct cw_readable file = cw_read_ranges_replay(&ranges, "f", 1 << 20);
    uint8_t bytes[64];
    for (size_t i = 0; i + 2 < n && i < 64; i++)
        (void)cw_readable_get(&file, data[i] * 16u + data[i + 1], bytes,
                              data[i + 2] % sizeof(bytes), NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    read_blob(data, n);
    read_lines(data, n);
    read_samples(data, n);
    read_ranges(data, n);
    return 0;
}
