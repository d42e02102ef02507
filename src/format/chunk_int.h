/* SPDX-License-Identifier: Apache-2.0 */
/* Constants and functions that both the writing and the reading of chunks need. */
#ifndef CW_FORMAT_CHUNK_INT_H
#define CW_FORMAT_CHUNK_INT_H

#include <endian.h>
#include <string.h>

#include "format/chunk.h"

#define CW_CHUNK_ALIGN ((uint64_t)64) /* frames and the index begin at multiples of this */
#define CW_CHUNK_PREFIX_BYTES 32      /* bytes of the head before its fields */
/* Enough for all fields that there may be, with the longest names and all dims. */
#define CW_CHUNK_HEAD_MAX 65536
#define CW_CHUNK_FRAME_ENTRY_BYTES 24
#define CW_CHUNK_RECORD_ENTRY_BYTES 20
extern const char cw_chunk_magic[8], cw_chunk_end_magic[8];

void cw_chunk_head_put(const struct cw_chunk_head *head, struct cw_str *out);
/* Reads the head at the start of p. *ret_bytes receives its size. */
int cw_chunk_head_get(const void *p, size_t n, struct cw_chunk_head *ret_head, size_t *ret_bytes,
                      struct cw_err *err);
/* How a writer compresses; what it calls is that of codec/codec.h. A table, so that libcachew, which only
 * writes plain chunks, links no library for it. */
struct cw_codec_packer;
struct cw_chunk_packing {
    struct cw_codec_packer *(*begin)(int level);
    void (*end)(struct cw_codec_packer *packer);
    size_t (*bound)(size_t n);
    size_t (*pack)(struct cw_codec_packer *packer, void *dst, size_t cap, const void *p, size_t n);
};
struct cw_chunk_writer *cw_chunk_writer_new_by(const struct cw_chunk_head *head,
                                               const struct cw_chunk_packing *packing,
                                               int level) CW_MUST_CHECK;
/* Returns the XXH3-64 of the ids, each as 8 bytes, in the order of the index. */
uint64_t cw_chunk_ids_sum(const struct cw_chunk_record *records, size_t n);

static inline uint64_t cw_chunk_u64(const unsigned char *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return le64toh(v);
}

static inline uint32_t cw_chunk_u32(const unsigned char *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return le32toh(v);
}

static inline uint64_t cw_chunk_up(uint64_t at)
{
    return CW_ALIGN_UP(at, CW_CHUNK_ALIGN);
}

#endif
