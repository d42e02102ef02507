/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk: records of one node, found by element id, in one immutable file (docs/cache-format.md).
 *
 *   head    magic, version, key of the node, spec of its elements
 *   frames  runs of records, each with a checksum (XXH3-64), compressed with zstd or not; they
 *           begin at multiples of 64 bytes
 *   index   the head again, frames, then (id, frame, offset, bytes) of each record in ascending
 *           order of ids, compressed with zstd or not; with a checksum
 *   footer  64 bytes: place of the index, its checksum, the chunk's length, key again, magic
 *
 * Equal key and records, added in the same order, give equal bytes. The name of a chunk is made
 * from its content:
 *   TENANT/KEY/FIRST-COUNT-HASH.chunk   key and the XXH3-64 of the ids in hex, first id and
 *                                       count in decimal
 * so two writers of one chunk write the same bytes to the same name. Which ids share a chunk
 * follows from the order in which a worker computed them: in a pipeline that is not shuffled they
 * are blocks of neighbouring positions. */
#ifndef CW_FORMAT_CHUNK_H
#define CW_FORMAT_CHUNK_H

#include <stdbool.h>
#include <sys/uio.h>
#include "base/buf.h"
#include "base/hash.h"
#include "base/name.h"
#include "data/spec.h"
#include "format/read_at.h"

#define CW_CHUNK_FOOTER_BYTES 64
#define CW_CHUNK_END "cachewE1" /* the last 8 bytes of the footer, and so of the file */
#define CW_CHUNK_END_BYTES 8
#define CW_CHUNK_RECORDS_MAX (1u << 24)
/* A frame ends with the record that reaches this size; a larger record is a frame of its own. */
#define CW_CHUNK_FRAME_BYTES ((size_t)64 << 10)
#define CW_CHUNK_FRAME_MAX ((size_t)1 << 31)

/* special levels of compression; other levels are those of zstd, 1 to 19 */
enum { CW_CHUNK_PLAIN = 0, CW_CHUNK_AUTO = -1 };

struct cw_chunk_head {
    struct cw_hash key;
    struct cw_spec spec;
};
struct cw_chunk_record {
    uint64_t id;
    uint32_t offset; /* offset in the frame's uncompressed bytes */
    uint32_t bytes;  /* CW_CHUNK_LEFT_OUT: a filter left the element out */
    uint32_t frame;
    uint32_t unused;
};
#define CW_CHUNK_LEFT_OUT UINT32_MAX

/* ---- writing: a writer is used by one thread at a time ---- */
struct cw_chunk_writer;
/* Returns the offset of the first frame. */
uint64_t cw_chunk_frames_at(const struct cw_chunk_head *head);
/* Makes a writer. level: one of zstd; CW_CHUNK_PLAIN; or CW_CHUNK_AUTO, which tries a few frames
 * and stops compressing if they shrink by less than 10 %. */
struct cw_chunk_writer *cw_chunk_writer_new(const struct cw_chunk_head *head,
                                            int level) CW_MUST_CHECK;
/* The same, which compresses not even the index. */
struct cw_chunk_writer *cw_chunk_writer_new_plain(const struct cw_chunk_head *head) CW_MUST_CHECK;
void cw_chunk_writer_free(struct cw_chunk_writer *writer);
/* Adds a frame. Its uncompressed bytes are data[0, n), which must live until the writer is freed.
 * The records have offsets into them, and get their frame number here. sum: cw_hash_u64 of the data
 * if it is known, otherwise NULL. The only error is NOMEM. */
int cw_chunk_writer_add(struct cw_chunk_writer *writer, const void *data, size_t n,
                        const uint64_t *sum, const struct cw_chunk_record *records,
                        size_t records_n, struct cw_err *err);
/* For CW_CHUNK_AUTO: whether frames shrank by enough, or too few were added to decide. */
bool cw_chunk_writer_packs(const struct cw_chunk_writer *writer);
/* Ends the chunk. Returns the parts of the file in order (valid until the writer is freed; the
 * zeros behind a frame are a part of their own), and its name without the tenant
 * ("KEY/FIRST-COUNT-HASH.chunk"). INVALID if an id occurs twice. */
int cw_chunk_writer_finish(struct cw_chunk_writer *writer, const struct iovec **ret_parts,
                           size_t *ret_parts_n, uint64_t *ret_bytes, struct cw_str *ret_name,
                           struct cw_err *err);

/* ---- reading ---- */
struct cw_chunk_frame {
    uint64_t offset; /* offset in the file */
    /* bytes in the file, and uncompressed; they are equal if the frame is not compressed */
    uint32_t stored, plain;
    uint64_t sum; /* checksum of the stored bytes */
};
struct cw_chunk_index { /* the index of a chunk; immutable */
    struct cw_chunk_head head;
    uint32_t frames_n, records_n;
    struct cw_chunk_frame *frames;
    struct cw_chunk_record *records; /* by ascending id */
    uint64_t bytes;                  /* bytes of the file */
};
/* Finds the index, from the last CW_CHUNK_FOOTER_BYTES bytes of a file of `bytes` bytes. */
int cw_chunk_footer_read(const void *footer, uint64_t bytes, uint64_t *ret_offset,
                         size_t *ret_bytes, struct cw_err *err);
/* Reads the index. p: the range that the footer names, followed by the footer. Everything is
 * checked: checksums, bounds, order, overlaps. The result is freed with cw_chunk_index_free. */
int cw_chunk_index_read(const void *p, size_t n, uint64_t file_bytes,
                        struct cw_chunk_index **ret_index, struct cw_err *err);
void cw_chunk_index_free(struct cw_chunk_index *index);
/* Finds the record of an id, or NULL. */
const struct cw_chunk_record *cw_chunk_find(const struct cw_chunk_index *index, uint64_t id);
/* Checks the stored bytes of a frame; the message of CORRUPT says which frame it is. */
int cw_chunk_frame_check(const struct cw_chunk_index *index, uint32_t frame, const void *stored,
                         struct cw_err *err);
/* Uncompresses a checked frame into dst (frame.plain bytes). Only for compressed frames. */
int cw_chunk_frame_unpack(const struct cw_chunk_index *index, uint32_t frame, const void *stored,
                          void *dst, struct cw_err *err);

/* ---- chunks in files ---- */

/* Reads footer and index of a file. Messages begin with its name. */
int cw_chunk_load(const struct cw_readable *file, struct cw_chunk_index **ret_index,
                  struct cw_err *err);
/* Verifies the whole file: every byte is read, every record decoded. ret_index may be NULL. */
int cw_chunk_check(const struct cw_readable *file, struct cw_chunk_index **ret_index,
                   struct cw_err *err);
/* Reads, checks and uncompresses a frame. */
int cw_chunk_frame_load(const struct cw_readable *file, const struct cw_chunk_index *index,
                        uint32_t frame, struct cw_buf **ret_buf, struct cw_err *err);

/* Reads the fields of a chunk's name (with its tenant). Returns false if it is no chunk's name. */
#define CW_CHUNK_TENANT_BYTES (CW_TENANT_NAME_MAX + 1)
struct cw_chunk_name {
    char tenant[CW_CHUNK_TENANT_BYTES];
    struct cw_hash key;
    uint64_t first, count, ids_sum;
};
bool cw_chunk_name_parse(const char *name, struct cw_chunk_name *ret_name);
/* Whether a name agrees with what the chunk contains. */
bool cw_chunk_name_fits(const struct cw_chunk_name *name, const struct cw_chunk_index *index);

#endif
