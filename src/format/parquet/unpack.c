/* SPDX-License-Identifier: Apache-2.0 */
/* One function a codec. The size is known before, so no input can make more bytes than that. */
#include "format/parquet/unpack.h"

#include <brotli/decode.h>
#include <limits.h>
#include <lz4.h>
#include <snappy-c.h>
#include <string.h>
#define ZLIB_CONST /* zlib takes its input as const */
#include <zlib.h>

#include "codec/codec.h"

static bool unpack_snappy(const void *p, size_t n, void *dst, size_t bytes)
{
    size_t got = 0;
    return snappy_uncompressed_length(p, n, &got) == SNAPPY_OK && got == bytes &&
           snappy_uncompress(p, n, dst, &got) == SNAPPY_OK;
}

/* One or several gzip members, or a zlib stream. */
static bool unpack_gzip(const void *p, size_t n, void *dst, size_t bytes)
{
    z_stream z = {.next_in = p, .avail_in = (uInt)n, .next_out = dst, .avail_out = (uInt)bytes};
    int rc = inflateInit2(&z, 15 + 32);
    while (rc == Z_OK) {
        rc = inflate(&z, Z_FINISH);
        if (rc == Z_STREAM_END && z.avail_in > 0 && z.avail_out > 0)
            rc = inflateReset(&z);
    }
    inflateEnd(&z);
    return rc == Z_STREAM_END && z.avail_out == 0;
}

static bool unpack_brotli(const void *p, size_t n, void *dst, size_t bytes)
{
    size_t got = bytes;
    return BrotliDecoderDecompress(n, p, &got, dst) == BROTLI_DECODER_RESULT_SUCCESS &&
           got == bytes;
}

static bool unpack_lz4(const void *p, size_t n, void *dst, size_t bytes)
{
    return LZ4_decompress_safe(p, dst, (int)n, (int)bytes) == (int)bytes;
}

const char *cw_pq_unpack(int codec, const void *p, size_t n, void *dst, size_t bytes)
{
    bool good = false;
    if (n > INT_MAX || bytes > INT_MAX)
        return "a page has more bytes than a page can have";
    if (codec == CW_PQ_UNCOMPRESSED) {
        good = n == bytes;
        if (good && n > 0)
            memcpy(dst, p, n);
    } else if (codec == CW_PQ_SNAPPY) {
        good = unpack_snappy(p, n, dst, bytes);
    } else if (codec == CW_PQ_GZIP) {
        good = unpack_gzip(p, n, dst, bytes);
    } else if (codec == CW_PQ_BROTLI) {
        good = unpack_brotli(p, n, dst, bytes);
    } else if (codec == CW_PQ_ZSTD) {
        good = cw_codec_unpack_to(dst, bytes, p, n, "page", NULL) == 0;
    } else if (codec == CW_PQ_LZ4_RAW) {
        good = unpack_lz4(p, n, dst, bytes);
    } else {
        return "its compression is not supported (LZO, or LZ4 with Hadoop's frames)";
    }
    return good ? NULL : "it cannot be decompressed";
}
