/* SPDX-License-Identifier: Apache-2.0 */
/* Where the records of a text file begin, for any number of records in little memory: records come
 * in blocks of 128, of which each has the offset of its first record and, for every record, the
 * distance from there in 1, 2, 4 or 8 bytes, whichever is enough for the block. Lines of up to
 * 500 bytes cost 2 bytes each, longer ones 4 and the room in which it grew. It is built by one
 * thread, then any may read it. */
#ifndef CW_FORMAT_LINE_INDEX_H
#define CW_FORMAT_LINE_INDEX_H

#include "base/err.h"
#include "base/str.h"

struct cw_line_index;
struct cw_line_index *cw_line_index_new(void) CW_MUST_CHECK;
void cw_line_index_free(struct cw_line_index *index);
/* Adds a record that begins behind those that are there. NOMEM is not set in an error message,
 * since only the caller knows the file. */
int cw_line_index_add(struct cw_line_index *index, uint64_t begin);
/* Is called once behind the last record, with the end of the file. */
int cw_line_index_end(struct cw_line_index *index, uint64_t end);
uint64_t cw_line_index_n(const struct cw_line_index *index);
/* Returns where record k begins; for k = n, where the file ends. */
uint64_t cw_line_index_at(const struct cw_line_index *index, uint64_t k);
/* Asks for what cw_line_index_at needs of record k. */
void cw_line_index_prefetch(const struct cw_line_index *index, uint64_t k);
/* Returns how much memory the index needs. */
size_t cw_line_index_bytes(const struct cw_line_index *index);
/* Appends the finished index as bytes, for cw_line_index_unpack. */
void cw_line_index_pack(const struct cw_line_index *index, struct cw_str *out);
/* Makes an index again. Returns NULL if the bytes are none of a file of `size` bytes, in which records
 * follow each other, or if there is no memory. */
struct cw_line_index *cw_line_index_unpack(const void *bytes, size_t n, uint64_t size);

#endif
