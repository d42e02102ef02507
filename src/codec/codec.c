/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec.h"

#include <zstd.h>

#define LEVEL 3

struct cw_buf *cw_codec_pack(const void *p, size_t n)
{
    size_t bound = ZSTD_compressBound(n);
    struct cw_buf *buf = cw_buf_new(bound);
    if (!buf)
        return NULL;
    size_t packed = ZSTD_compress(buf->data, bound, p, n, LEVEL);
    if (ZSTD_isError(packed))
        return cw_buf_unref(buf);
    buf->len = packed;
    return buf;
}

int cw_codec_unpack(const void *p, size_t n, size_t limit, const char *what, struct cw_buf **ret_buf, struct cw_err *err)
{
    unsigned long long bytes = n ? ZSTD_getFrameContentSize(p, n) : ZSTD_CONTENTSIZE_ERROR;
    if (bytes == ZSTD_CONTENTSIZE_ERROR || bytes == ZSTD_CONTENTSIZE_UNKNOWN)
        return cw_err_set(err, CW_E_CORRUPT, "%s: is not compressed data", what);
    if (bytes > limit)
        return cw_err_set(err, CW_E_LIMIT, "%s: would have %llu bytes, the limit is %zu", what, bytes, limit);
    struct cw_buf *buf = cw_buf_new((size_t)bytes + 1);
    if (!buf)
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory for %llu bytes", what, bytes);
    size_t got = ZSTD_decompress(buf->data, (size_t)bytes, p, n);
    if (ZSTD_isError(got) || got != bytes) {
        cw_buf_unref(buf);
        return cw_err_set(err, CW_E_CORRUPT, "%s: cannot be decompressed", what);
    }
    ((char *)buf->data)[got] = '\0';
    buf->len = got;
    *ret_buf = buf;
    return 0;
}
