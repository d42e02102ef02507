/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with manifests of sources: canonical JSON, compressed. Lists of a million files become
 * ten times smaller. */
#include "codec/codec.h"
#include "wire/wire_int.h"

#define TEXT_MAX ((size_t)1 << 30)

struct cw_buf *cw_wire_manifest_pack(const struct cw_value *manifest)
{
    CW_STR_AUTO text = {0};
    cw_value_print(manifest, &text);
    struct cw_buf *buf = cw_codec_pack(cw_str_text(&text), text.len);
    CW_ASSERT(buf);
    return buf;
}

int cw_wire_manifest_unpack(const void *p, size_t n, struct cw_value *ret_manifest,
                            struct cw_err *err)
{
    struct cw_buf *text = NULL;
    int rc = cw_codec_unpack(p, n, TEXT_MAX, "manifest", &text, err);
    if (rc == 0)
        rc = cw_value_parse(text->data, text->len, "manifest", ret_manifest, err);
    cw_buf_unref(text);
    return rc;
}
