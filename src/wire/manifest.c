/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with manifests of sources: canonical JSON, compressed. Lists of a million files become
 * ten times smaller. */
#include "codec/codec.h"
#include "wire/wire_int.h"

struct cw_buf *cw_wire_manifest_pack(const struct cw_value *manifest)
{
    CW_STR_AUTO text = {0};
    cw_value_print(manifest, &text);
    struct cw_buf *buf = cw_codec_pack(cw_str_text(&text), text.len);
    CW_ASSERT(buf);
    return buf;
}

/* Returns how many bytes the values of a JSON text take at most: each but the first follows one of
 * these characters. */
static size_t value_bytes(const struct cw_buf *text)
{
    const char *p = text->data;
    size_t n = 1;
    for (size_t i = 0; i < text->len; i++)
        n += p[i] == ',' || p[i] == '[' || p[i] == ':';
    return n * 2 * sizeof(struct cw_value);
}

int cw_wire_manifest_unpack(const void *p, size_t n, size_t max_bytes,
                            struct cw_value *ret_manifest, struct cw_err *err)
{
    struct cw_buf *text = NULL;
    int rc = cw_codec_unpack(p, n, max_bytes, "manifest", &text, err);
    if (rc == 0 && text->len + value_bytes(text) > max_bytes)
        rc = cw_err_set(err, CW_E_LIMIT,
                        "the list of files takes %zu bytes of memory, the limit is %zu",
                        text->len + value_bytes(text), max_bytes);
    if (rc == 0)
        rc = cw_value_parse(text->data, text->len, "manifest", ret_manifest, err);
    cw_buf_unref(text);
    return rc;
}
