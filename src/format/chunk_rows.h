/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a chunk of elements that come one by one: encodes them as records (format/record.h) and gathers
 * these in frames. One thread at a time. */
#ifndef CW_FORMAT_CHUNK_ROWS_H
#define CW_FORMAT_CHUNK_ROWS_H

#include "data/element.h"
#include "format/chunk.h"

struct cw_chunk_rows;
/* Takes the writer. spec: of the elements, borrowed. frame_bytes: a frame is full when it has so many; a
 * reader needs all of a frame for one record of it. */
struct cw_chunk_rows *cw_chunk_rows_new(struct cw_chunk_writer *writer, const struct cw_spec *spec,
                                        size_t frame_bytes) CW_MUST_CHECK;
void cw_chunk_rows_free(struct cw_chunk_rows *rows);
/* LIMIT: the element has more than 2 GiB, or another shape than the spec says. */
int cw_chunk_rows_add(struct cw_chunk_rows *rows, uint64_t id, const struct cw_element *element,
                      struct cw_err *err);
/* Returns the bytes of the records so far. */
uint64_t cw_chunk_rows_bytes(const struct cw_chunk_rows *rows);
/* Ends the chunk: its parts, as cw_chunk_writer_finish gives them, valid until cw_chunk_rows_free. */
int cw_chunk_rows_finish(struct cw_chunk_rows *rows, const struct iovec **ret_parts,
                         size_t *ret_parts_n, struct cw_err *err);

#endif
