/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests of sources: canonical JSON, compressed with zstd. Lists of a million files compress tenfold. */
#include <zstd.h>

#include "base/mem.h"
#include "wire/wire_int.h"

#define LEVEL 3
#define TEXT_MAX ((size_t)1 << 30)

struct cw_buf *cw_wire_manifest_pack(const struct cw_value *manifest)
{
    CW_STR_AUTO text = {0};
    cw_value_print(manifest, &text);
    size_t bound = ZSTD_compressBound(text.len);
    struct cw_buf *buf = cw_buf_new(bound);
    CW_ASSERT(buf);
    size_t n = ZSTD_compress(buf->data, bound, cw_str_text(&text), text.len, LEVEL);
    CW_ASSERT(!ZSTD_isError(n));
    buf->len = n;
    return buf;
}

int cw_wire_manifest_unpack(const void *p, size_t n, struct cw_value *ret_manifest, struct cw_err *err)
{
    unsigned long long bytes = n ? ZSTD_getFrameContentSize(p, n) : ZSTD_CONTENTSIZE_ERROR;
    if (bytes == ZSTD_CONTENTSIZE_ERROR || bytes == ZSTD_CONTENTSIZE_UNKNOWN)
        return cw_err_set(err, CW_E_CORRUPT, "a manifest that is not compressed text");
    if (bytes > TEXT_MAX)
        return cw_err_set(err, CW_E_LIMIT, "a manifest of %llu bytes", bytes);
    cw_autofree char *text = cw_mem_try((size_t)bytes + 1);
    if (!text)
        return cw_err_set(err, CW_E_NOMEM, "no memory for a manifest of %llu bytes", bytes);
    size_t got = ZSTD_decompress(text, (size_t)bytes, p, n);
    if (ZSTD_isError(got) || got != bytes)
        return cw_err_set(err, CW_E_CORRUPT, "a manifest that cannot be decompressed");
    return cw_value_parse(text, got, "manifest", ret_manifest, err);
}
