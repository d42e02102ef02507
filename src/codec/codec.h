/* SPDX-License-Identifier: Apache-2.0 */
/* Compression: the only folder that touches zstd. Any thread. */
#ifndef CW_CODEC_CODEC_H
#define CW_CODEC_CODEC_H

#include <stdbool.h>
#include "base/buf.h"
#include "base/err.h"

/* One zstd frame that says its content's size. NULL when memory is short. */
struct cw_buf *cw_codec_pack(const void *p, size_t n) CW_MUST_CHECK;
/* Back again; a frame that says more than `limit` bytes is refused (LIMIT), a damaged one too
 * (CORRUPT). `what` names the thing in messages ("manifest"). One zero byte stands behind the
 * buffer's len. */
int cw_codec_unpack(const void *p, size_t n, size_t limit, const char *what,
                    struct cw_buf **ret_buf, struct cw_err *err);

/* Whether a frame says that its content has `bytes` bytes: to ask before memory is taken for
 * what a peer or a file claims. */
bool cw_codec_says(const void *p, size_t n, size_t bytes);
/* The same into memory of the caller's; the content must have exactly `bytes` bytes. */
int cw_codec_unpack_to(void *dst, size_t bytes, const void *p, size_t n, const char *what,
                       struct cw_err *err);

/* Packs one thing after the other, with a level of zstd (1 fast to 19 small). One thread at a
 * time; equal input gives equal bytes. */
struct cw_codec_packer;
/* NULL when memory is short */
struct cw_codec_packer *cw_codec_packer_new(int level) CW_MUST_CHECK;
void cw_codec_packer_free(struct cw_codec_packer *packer);
size_t cw_codec_bound(size_t n); /* what n bytes take at most */
/* Bytes written to dst, 0 when they do not fit or memory is short. */
size_t cw_codec_pack_to(struct cw_codec_packer *packer, void *dst, size_t cap, const void *p,
                        size_t n);

#endif
