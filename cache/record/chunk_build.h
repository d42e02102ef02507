/* SPDX-License-Identifier: Apache-2.0 */
/* Building a chunk from a write buffer. One writer thread builds a chunk; no lock is held. */
#ifndef CW_CACHE_RECORD_CHUNK_BUILD_H
#define CW_CACHE_RECORD_CHUNK_BUILD_H

#include "cache/record/record_state.h"

struct cw_chunk_item { /* a record to be written */
    uint64_t id;
    const unsigned char *data; /* NULL: a filter left the element out */
    uint64_t sum;              /* valid if has_sum */
    uint32_t bytes;
    bool has_sum;
};
/* The building of one chunk. Zeroed to begin with, but for cache and buffer. */
struct cw_chunk_build {
    struct cw_cache *cache;
    struct cw_write_buffer *buffer;
    struct cw_chunk_item *items;
    size_t n;
    /* Whether all records are large: then they stay in the order in which they came, and are
     * written from where they lie. */
    bool are_large;
    bool borrow; /* there is no memory to gather records: frames borrow the buffer's memory */
    unsigned char *gathered;
    size_t gathered_bytes, gathered_used;
    struct cw_chunk_writer *writer;
    struct iovec *parts; /* the parts of the file, in order */
    bool *is_held;       /* for each part: whether it lies in a segment of the buffer */
    size_t parts_n;
    struct cw_str name;
};

/* Lists the records of the buffer that no other chunk has. Returns false if there is no memory. */
bool cw_chunk_build_collect(struct cw_chunk_build *build) CW_MUST_CHECK;
/* Builds the chunk: sets name, parts and is_held. *ret_bytes receives the size of the file. */
int cw_chunk_build_run(struct cw_chunk_build *build, uint64_t *ret_bytes, struct cw_err *err);
/* Frees everything but the buffer. */
void cw_chunk_build_fini(struct cw_chunk_build *build);

#endif
