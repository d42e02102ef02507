/* SPDX-License-Identifier: Apache-2.0 */
/* Batch frames: as they come, and with their checksums mended, so that what lies behind those is
 * reached too. What decodes must encode to a frame that decodes to the same. */
#include <endian.h>
#include <string.h>

#include "base/mem.h"
#include "data/batch.h"

#define PREFIX_BYTES 40u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct cw_hash hash(const struct cw_batch *batch)
{
    struct cw_hasher *hasher = cw_hasher_new();

    cw_batch_hash(batch, hasher);
    struct cw_hash h = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return h;
}

static void decode(const void *p, size_t n)
{
    struct cw_batch *batch = NULL, *again = NULL;
    CW_STR_AUTO out = {0};
    struct cw_err err = {0};
    size_t used = 0;

    int rc = cw_frame_decode(p, n, &batch, &used, &err);
    if (rc != CW_OK) {
        CW_ASSERT(rc == CW_E_CORRUPT && err.msg[0] != '\0');
        return;
    }
    CW_ASSERT(used <= n);
    CW_ASSERT(cw_frame_encode(batch, &out, &err) == CW_OK);
    CW_ASSERT(cw_frame_decode(out.s, out.len, &again, &used, &err) == CW_OK && used == out.len);
    CW_ASSERT(cw_hash_eq(hash(batch), hash(again)));
    cw_batch_unref(batch);
    cw_batch_unref(again);
}

static void mend(unsigned char *p, size_t n)
{
    uint32_t header_n;
    uint64_t payload_n, sum;

    memcpy(p, "cachewF1", 8);
    memcpy(&header_n, p + 24, sizeof(header_n));
    memcpy(&payload_n, p + 32, sizeof(payload_n));
    header_n = le32toh(header_n);
    payload_n = le64toh(payload_n);
    if (header_n > n - PREFIX_BYTES || payload_n > n - PREFIX_BYTES - header_n)
        return;
    sum = htole64(cw_hash_u64(p + PREFIX_BYTES + header_n, payload_n));
    memcpy(p + 16, &sum, sizeof(sum));
    sum = htole64(cw_hash_u64(p + 16, PREFIX_BYTES - 16 + header_n));
    memcpy(p + 8, &sum, sizeof(sum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    decode(data, n);
    if (n >= PREFIX_BYTES) {
        cw_autofree unsigned char *copy = cw_mem_dup(data, n);
        mend(copy, n);
        decode(copy, n);
    }
    return 0;
}
