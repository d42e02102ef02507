/* SPDX-License-Identifier: Apache-2.0 */
/* Compression: the only folder that touches zstd. Any thread. */
#ifndef CW_CODEC_CODEC_H
#define CW_CODEC_CODEC_H

#include "base/buf.h"
#include "base/err.h"

/* One zstd frame that says its content's size. NULL when memory is short. */
struct cw_buf *cw_codec_pack(const void *p, size_t n) CW_MUST_CHECK;
/* Back again; a frame that says more than `limit` bytes is refused (LIMIT), a damaged one too (CORRUPT). `what` names the
 * thing in messages ("manifest"). One zero byte stands behind the buffer's len. */
int cw_codec_unpack(const void *p, size_t n, size_t limit, const char *what, struct cw_buf **ret_buf, struct cw_err *err);

#endif
