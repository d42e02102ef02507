/* SPDX-License-Identifier: Apache-2.0 */
/* A write buffer: encoded records that wait to be written, and are found by readers like those of
 * a chunk. Records are copied once, into segments of memory that the chunk's writer borrows. */
#ifndef CW_CACHE_RECORD_WRITE_BUFFER_H
#define CW_CACHE_RECORD_WRITE_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_buf;
struct cw_cache_dataset;
struct cw_cache_handle;
struct cw_segment;

#define CW_WRITE_BUFFER_RECORDS_MAX (1u << 20)
#define CW_WRITE_BUFFER_PAGE 4096u /* records */
struct cw_buffered_record {
    uint64_t id;
    const unsigned char *data; /* in a segment */
    uint64_t sum;      /* checksum, if cw_write_buffer_sums: taken while the bytes are in the CPU's
                       * caches */
    uint32_t bytes;    /* or CW_CHUNK_LEFT_OUT */
    atomic_bool ready; /* the bytes are written */
};
struct cw_write_buffer {
    struct cw_cache_dataset *dataset; /* a reference */
    struct cw_cache_handle *handle;
    atomic_int pending; /* threads that still encode, and one while it is open */
    struct cw_segment *segments;
    /* Keeps the segments: a reference of the buffer's, and one of each write that borrows them.
     * NULL until it is written. */
    struct cw_buf *borrowed;
    /* where the next large record will stand in the file, if all are large and none is dropped */
    uint64_t file_at;
    _Atomic(struct cw_buffered_record *) pages[CW_WRITE_BUFFER_RECORDS_MAX / CW_WRITE_BUFFER_PAGE];
    uint32_t n;                   /* records; dataset->lock while it is open */
    size_t bytes;                 /* of records; the same */
    size_t page_bytes;            /* reserved in the budget for pages */
    atomic_llong cost_ns;         /* what computing the records took */
    int64_t first_ns, retry_ns;   /* when the first record came; it is not written before */
    uint32_t tries, full_tries;   /* writes that failed; of these, because the store was full */
    struct cw_write_buffer *next; /* cache->lock: in the list that writers work off */
};
struct cw_write_buffer *cw_write_buffer_new(struct cw_cache_dataset *dataset); /* dataset->lock */
/* Room for a record, at *ret_data; its number in *ret_no. NULL: memory or the buffer is full.
 * dataset->lock. */
struct cw_buffered_record *cw_write_buffer_reserve(struct cw_write_buffer *buffer, uint64_t id,
                                                   uint32_t bytes, size_t align,
                                                   unsigned char **ret_data, uint32_t *ret_no);
/* NULL: there is none. Any thread with a reference of the handle. */
struct cw_buffered_record *cw_write_buffer_at(const struct cw_write_buffer *buffer, uint32_t no);
/* One that is known to be there. */
static inline struct cw_buffered_record *
cw_write_buffer_record(const struct cw_write_buffer *buffer, uint32_t no)
{
    return &atomic_load_explicit(&buffer->pages[no / CW_WRITE_BUFFER_PAGE],
                                 memory_order_acquire)[no % CW_WRITE_BUFFER_PAGE];
}
/* Closes the dataset's open buffer. NULL: there is none. The caller gives up one of `pending`
 * (cw_write_buffer_done). dataset->lock. */
struct cw_write_buffer *cw_write_buffer_seal(struct cw_cache_dataset *dataset);
/* Gives up one of `pending`. The last one has the buffer written. */
void cw_write_buffer_done(struct cw_write_buffer *buffer);
/* Has the dataset's open buffer written, however little is in it. */
void cw_write_buffer_flush(struct cw_cache_dataset *dataset);
/* Its ids are not found here any more; gives up the buffer's own reference of its handle. */
void cw_write_buffer_retire(struct cw_write_buffer *buffer);
/* What keeps the segments; not a reference of the caller's. Only the writer's thread. */
struct cw_buf *cw_write_buffer_keep_segments(struct cw_write_buffer *buffer);

#endif
