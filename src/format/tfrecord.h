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

#endif
