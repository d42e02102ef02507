/* SPDX-License-Identifier: Apache-2.0 */
/* Compression with zstd; no other folder calls zstd. Any thread may call these functions. */
#ifndef CW_CODEC_CODEC_H
#define CW_CODEC_CODEC_H

#include <stdbool.h>
#include "base/buf.h"
#include "base/err.h"

/* Compresses to one zstd frame that contains the size of its content. Returns NULL if there is no
 * memory. */
struct cw_buf *cw_codec_pack(const void *p, size_t n) CW_MUST_CHECK;
/* Decompresses such a frame. A frame of more than `limit` bytes is refused (LIMIT), and so is a
 * damaged one (CORRUPT). `what` names the data in messages ("manifest"). One zero byte follows
 * behind the buffer's len. */
int cw_codec_unpack(const void *p, size_t n, size_t limit, const char *what,
                    struct cw_buf **ret_buf, struct cw_err *err);

/* Whether a frame claims that its content has `bytes` bytes. This is asked before memory is
 * allocated for what a peer or a file claims. */
bool cw_codec_content_is(const void *p, size_t n, size_t bytes);
/* Decompresses to memory of the caller; the content must have exactly `bytes` bytes. */
int cw_codec_unpack_to(void *dst, size_t bytes, const void *p, size_t n, const char *what,
                       struct cw_err *err);

/* Compresses many pieces, each to a frame, with a level of zstd (1 is fast, 19 gives the smallest
 * output). One thread at a time may use it; equal input gives equal bytes. */
struct cw_codec_packer;
/* Returns NULL if there is no memory. */
struct cw_codec_packer *cw_codec_packer_new(int level) CW_MUST_CHECK;
void cw_codec_packer_free(struct cw_codec_packer *packer);
size_t cw_codec_bound(size_t n); /* Returns the most bytes to which n bytes can be compressed. */
/* Returns the number of bytes written to dst; 0 if they do not fit, or there is no memory. */
size_t cw_codec_pack_to(struct cw_codec_packer *packer, void *dst, size_t cap, const void *p,
                        size_t n);

/* Decompresses a stream of frames, also those that do not say how large they are. One thread. */
struct cw_codec_reader;
/* Returns NULL if there is no memory. */
struct cw_codec_reader *cw_codec_reader_new(void) CW_MUST_CHECK;
void cw_codec_reader_free(struct cw_codec_reader *reader);
/* The next input is the beginning of a frame. */
void cw_codec_reader_reset(struct cw_codec_reader *reader);
/* Takes some of n bytes of input and writes at most `cap` bytes to dst; says how many of each. A
 * window of more than 128 MiB is refused, as damage is: CORRUPT. */
int cw_codec_reader_step(struct cw_codec_reader *reader, const void *p, size_t n, size_t *ret_used,
                         void *dst, size_t cap, size_t *ret_made);
/* Whether the input may end here: at the end of a frame, or before the first. */
bool cw_codec_reader_is_between(const struct cw_codec_reader *reader);

#endif
