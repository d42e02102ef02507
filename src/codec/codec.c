/* SPDX-License-Identifier: Apache-2.0 */
/* Compression and decompression with zstd. */
#include "codec/codec.h"

#include <zstd.h>

#include "base/mem.h"

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

int cw_codec_unpack(const void *p, size_t n, size_t limit, const char *what,
                    struct cw_buf **ret_buf, struct cw_err *err)
{
    unsigned long long bytes = n ? ZSTD_getFrameContentSize(p, n) : ZSTD_CONTENTSIZE_ERROR;
    if (bytes == ZSTD_CONTENTSIZE_ERROR || bytes == ZSTD_CONTENTSIZE_UNKNOWN)
        return cw_err_set(err, CW_E_CORRUPT, "%s: is not compressed data", what);
    if (bytes > limit)
        return cw_err_set(err, CW_E_LIMIT, "%s: would have %llu bytes, the limit is %zu", what,
                          bytes, limit);
    struct cw_buf *buf = cw_buf_new((size_t)bytes + 1);
    if (!buf)
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory for %llu bytes", what, bytes);
    int rc = cw_codec_unpack_to(buf->data, (size_t)bytes, p, n, what, err);
    if (rc < 0) {
        cw_buf_unref(buf);
        return rc;
    }
    ((char *)buf->data)[bytes] = '\0';
    buf->len = (size_t)bytes;
    *ret_buf = buf;
    return 0;
}

bool cw_codec_content_is(const void *p, size_t n, size_t bytes)
{
    return n > 0 && ZSTD_getFrameContentSize(p, n) == bytes;
}

int cw_codec_unpack_to(void *dst, size_t bytes, const void *p, size_t n, const char *what,
                       struct cw_err *err)
{
    size_t got = ZSTD_decompress(dst, bytes, p, n);
    if (ZSTD_isError(got) || got != bytes)
        return cw_err_set(err, CW_E_CORRUPT, "%s: cannot be decompressed", what);
    return 0;
}

struct cw_codec_packer {
    ZSTD_CCtx *zstd;
};

struct cw_codec_packer *cw_codec_packer_new(int level)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    if (!zstd)
        return NULL;
    struct cw_codec_packer *packer = CW_NEW(struct cw_codec_packer);
    packer->zstd = zstd;
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level);
    return packer;
}

void cw_codec_packer_free(struct cw_codec_packer *packer)
{
    if (!packer)
        return;
    ZSTD_freeCCtx(packer->zstd);
    cw_mem_free(packer);
}

size_t cw_codec_bound(size_t n)
{
    return ZSTD_compressBound(n);
}

size_t cw_codec_pack_to(struct cw_codec_packer *packer, void *dst, size_t cap, const void *p,
                        size_t n)
{
    size_t packed = ZSTD_compress2(packer->zstd, dst, cap, p, n);
    return ZSTD_isError(packed) ? 0 : packed;
}

struct cw_codec_reader {
    ZSTD_DCtx *zstd;
    bool is_between;
};

struct cw_codec_reader *cw_codec_reader_new(void)
{
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    if (!zstd)
        return NULL;
    struct cw_codec_reader *reader = CW_NEW(struct cw_codec_reader);
    *reader = (struct cw_codec_reader){.zstd = zstd, .is_between = true};
    ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, 27);
    return reader;
}

void cw_codec_reader_free(struct cw_codec_reader *reader)
{
    if (!reader)
        return;
    ZSTD_freeDCtx(reader->zstd);
    cw_mem_free(reader);
}

void cw_codec_reader_reset(struct cw_codec_reader *reader)
{
    ZSTD_DCtx_reset(reader->zstd, ZSTD_reset_session_only);
    reader->is_between = true;
}

int cw_codec_reader_step(struct cw_codec_reader *reader, const void *p, size_t n, size_t *ret_used,
                         void *dst, size_t cap, size_t *ret_made)
{
    ZSTD_inBuffer in = {.src = p, .size = n};
    ZSTD_outBuffer out = {.dst = dst, .size = cap};
    size_t left = ZSTD_decompressStream(reader->zstd, &out, &in);
    if (ZSTD_isError(left))
        return CW_E_CORRUPT;
    if (in.pos > 0 || out.pos > 0)
        reader->is_between = left == 0;
    *ret_used = in.pos;
    *ret_made = out.pos;
    return 0;
}

bool cw_codec_reader_is_between(const struct cw_codec_reader *reader)
{
    return reader->is_between;
}
