/* SPDX-License-Identifier: Apache-2.0 */
/* TFRecord framing: u64 length, masked crc32c of the length, data, masked crc32c of the data, all
 * in little endian. Compressed TFRecord files have the format of gzip instead: they are inflated
 * before, and one that was not gives an error that says so. */
#ifndef CW_FORMAT_TFRECORD_H
#define CW_FORMAT_TFRECORD_H

#include "base/arena.h"
#include "format/line_index.h"
#include "format/read_at.h"

#define CW_TFRECORD_HEADER_BYTES 12
#define CW_TFRECORD_FOOTER_BYTES 4
#define CW_TFRECORD_FRAME_BYTES (CW_TFRECORD_HEADER_BYTES + CW_TFRECORD_FOOTER_BYTES)

/* Scans the whole file from header to header, and makes an index of where records begin. Verifies
 * the checksums of headers, not of data. */
int cw_tfrecord_scan(const struct cw_readable *file, struct cw_line_index **ret_index,
                     struct cw_err *err);
/* Reads record k into the arena, and verifies its checksum. */
int cw_tfrecord_get(const struct cw_readable *file, const struct cw_line_index *index, uint64_t k,
                    struct cw_arena *arena, void **ret_data, size_t *ret_bytes, struct cw_err *err);

/* The records that begin in a part of a file. */
struct cw_tfrecord_part {
    uint64_t
        *at; /* where they begin, and where the last one ends: n + 1 of them, NULL without any */
    size_t n;
};
void cw_tfrecord_part_fini(struct cw_tfrecord_part *part);
/* Finds the records that begin in [from, to), without an index. Of parts side by side from 0 to the file's end, either
 * each finds its own records, or one of them fails with STATE: the file is damaged, or what lies inside of a record
 * looks like a record. Verifies no checksum of data. */
int cw_tfrecord_find(const struct cw_readable *file, uint64_t from, uint64_t to,
                     struct cw_tfrecord_part *ret_part, struct cw_err *err);
/* Finds the data in the n bytes of a whole record, and verifies both checksums. The message names no record. */
int cw_tfrecord_unframe(const void *frame, size_t n, const void **ret_data, size_t *ret_bytes,
                        struct cw_err *err);

/* Whether the frame of a record, of so many bytes, is one with a right checksum. */
bool cw_tfrecord_is_right(const void *frame, size_t bytes);

#endif
