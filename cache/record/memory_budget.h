/* SPDX-License-Identifier: Apache-2.0 */
/* One limit for the memory of a cache: write buffers, frames that were read, and idle buffers of
 * both. The struct also holds what those who share the limit have in common: the lists of spans,
 * the pools, the prefetch queue. */
#ifndef CW_CACHE_RECORD_MEMORY_BUDGET_H
#define CW_CACHE_RECORD_MEMORY_BUDGET_H

#include "base/thread.h"
#include "cache/record/prefetch_queue.h"
#include "cache/record/span.h"

struct cw_cache;

struct cw_segment { /* memory for the records of a write buffer */
    struct cw_segment *next;
    size_t bytes, used; /* bytes of data */
    /* Offset of the first record. It lies as far into a page as it will in the file
     * (aligned_parts.h). */
    size_t begin;
    unsigned char *data;
};
#define CW_BUFFER_CLASSES 49u /* number of sizes of pooled buffers (buffer_pool.c) */
struct cw_pooled_buffer {     /* an entry of the pool; it lies in the idle buffer itself */
    struct cw_pooled_buffer *next;
};
struct cw_span_list { /* a list of spans, oldest first */
    struct cw_span *head, *tail;
    size_t bytes;
};
struct cw_memory_budget {
    /* guards all that follows, and those fields of spans and chunks that say so */
    struct cw_mutex lock;
    size_t limit;                 /* bytes; constant */
    size_t writing, frames, idle; /* bytes in use by write buffers, by frames, and by the pools */
    struct cw_segment *pool;      /* list of idle segments */
    struct cw_pooled_buffer *pooled[CW_BUFFER_CLASSES]; /* idle buffers of frames, by size */
    unsigned quiet; /* ticks of the maintenance thread since the last write or read */
    bool busy;      /* there was a write or a read since the last tick */
    struct cw_span_list lists[CW_FRAME_LISTS];
    unsigned dropped; /* number of evictions; every 16th takes the oldest span */
    struct cw_prefetch_queue queue;
    size_t reading; /* number of reads of spans under way */
    /* a thread serves the queue; another asked it to look once more (frame_fetch.c) */
    bool pumping, pump_again;
};
/* Memory that was taken out of the budget under its lock, to be freed without it. */
struct cw_garbage {
    struct cw_span *spans;
    struct cw_segment *segments;
    struct cw_pooled_buffer *pooled;
};
/* Frees what is in the garbage (garbage.c). The caller does not hold the lock. */
void cw_garbage_free(struct cw_garbage *garbage);

/* Whether so many more bytes exceed the limit. Called with the lock held. */
static inline bool cw_memory_budget_is_over(const struct cw_memory_budget *budget, size_t bytes)
{
    size_t used = budget->writing + budget->frames + budget->idle;

    return used > budget->limit || bytes > budget->limit - used;
}
/* The functions below take the lock. */

/* Reserves bytes for parts of write buffers other than segments. Returns false if memory is
 * full. */
bool cw_memory_budget_reserve(struct cw_cache *cache, size_t bytes);
void cw_memory_budget_release(struct cw_cache *cache, size_t bytes);
/* Returns a segment with room for at_least bytes, or NULL if memory is full. */
struct cw_segment *cw_memory_budget_take_segment(struct cw_cache *cache, size_t at_least);
void cw_memory_budget_give_segments(struct cw_cache *cache, struct cw_segment *first);
/* Stops counting segments that a write which was given up still reads. The I/O thread frees them
 * (cw_segments_free) when the write returns. */
void cw_memory_budget_abandon_segments(struct cw_cache *cache, const struct cw_segment *first);
/* Frees idle memory that nobody needed for long. The maintenance thread calls it at each tick. */
void cw_memory_budget_trim(struct cw_cache *cache);
void cw_memory_budget_fini(struct cw_memory_budget *budget);

/* The pool of idle segments (segment_pool.c). Called with the lock held. */
/* NULL: the pool is empty */
struct cw_segment *cw_segment_pool_pop(struct cw_memory_budget *budget);
void cw_segment_pool_push(struct cw_memory_budget *budget, struct cw_segment *segment);
/* Moves one idle segment to the garbage. Returns false if there is none. */
bool cw_segment_pool_drop(struct cw_memory_budget *budget, struct cw_garbage *garbage);
/* Frees all segments of the list. The caller does not hold the lock. */
void cw_segments_free(struct cw_segment *first);

#endif
