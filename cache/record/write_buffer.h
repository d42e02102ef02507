/* SPDX-License-Identifier: Apache-2.0 */
/* A write buffer: encoded records that wait to be written. Readers find them like those of a chunk.
 * Records are copied once, into segments of memory, and the chunk is written from there. */
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
#define CW_WRITE_BUFFER_PAGE 4096u /* number of records in a page of the buffer's table */
struct cw_buffered_record {
    uint64_t id;
    const unsigned char *data; /* the record's bytes, in a segment */
    /* checksum, if cw_write_buffer_sums says so; it is taken while the bytes are in the CPU's
     * caches */
    uint64_t sum;
    uint32_t bytes;    /* size of the record, or CW_CHUNK_LEFT_OUT */
    atomic_bool ready; /* the bytes are encoded, and may be read */
};
struct cw_write_buffer {
    struct cw_cache_dataset *dataset; /* holds a reference */
    struct cw_cache_handle *handle;
    /* the number of threads that still encode, plus one while the buffer is open */
    atomic_int pending;
    struct cw_segment *segments;
    /* Keeps the segments: the buffer holds one reference, and so does each write that borrows them.
     * NULL until the buffer is written. */
    struct cw_buf *borrowed;
    /* The offset that the next large record will have in the file, if all records are large and
     * none is dropped. */
    uint64_t file_at;
    _Atomic(struct cw_buffered_record *) pages[CW_WRITE_BUFFER_RECORDS_MAX / CW_WRITE_BUFFER_PAGE];
    uint32_t n;           /* number of records; lock: dataset->lock while the buffer is open */
    size_t bytes;         /* bytes of records; lock: the same */
    size_t page_bytes;    /* bytes reserved in the budget for pages of the table */
    atomic_llong cost_ns; /* the time that computing the records took */
    /* when the first record came, and before when the buffer is not written (after an error) */
    int64_t first_ns, retry_ns;
    /* number of failed writes, and of those that failed because the store was full */
    uint32_t tries, full_tries;
    struct cw_write_buffer *next; /* lock: cache->lock; next in the list of buffers to be written */
};
/* Makes a buffer. Called with dataset->lock held. */
struct cw_write_buffer *cw_write_buffer_new(struct cw_cache_dataset *dataset);
/* Reserves room for a record at *ret_data; *ret_no receives its number. Returns NULL if memory or
 * the buffer is full. Called with dataset->lock held. */
struct cw_buffered_record *cw_write_buffer_reserve(struct cw_write_buffer *buffer, uint64_t id,
                                                   uint32_t bytes, size_t align,
                                                   unsigned char **ret_data, uint32_t *ret_no);
/* Returns the record of this number, or NULL if there is none. Any thread that holds a reference to
 * the handle may call it. */
struct cw_buffered_record *cw_write_buffer_at(const struct cw_write_buffer *buffer, uint32_t no);
/* Returns a record that is known to exist. */
static inline struct cw_buffered_record *
cw_write_buffer_record(const struct cw_write_buffer *buffer, uint32_t no)
{
    return &atomic_load_explicit(&buffer->pages[no / CW_WRITE_BUFFER_PAGE],
                                 memory_order_acquire)[no % CW_WRITE_BUFFER_PAGE];
}
/* Closes the dataset's open buffer and returns it, or NULL if there is none. The caller gives up
 * one count of `pending` (cw_write_buffer_done). Called with dataset->lock held. */
struct cw_write_buffer *cw_write_buffer_seal(struct cw_cache_dataset *dataset);
/* Gives up one count of `pending`. The last one has the buffer written. */
void cw_write_buffer_done(struct cw_write_buffer *buffer);
/* Has the dataset's open buffer written, however few records are in it. */
void cw_write_buffer_flush(struct cw_cache_dataset *dataset);
/* Removes the buffer from use: gets do not find its records in it any more. Gives up the buffer's
 * own reference to its handle. */
void cw_write_buffer_retire(struct cw_write_buffer *buffer);
/* Returns the object that keeps the segments, without a reference for the caller. Only the writer's
 * thread may call it. */
struct cw_buf *cw_write_buffer_keep_segments(struct cw_write_buffer *buffer);

#endif
