/* SPDX-License-Identifier: Apache-2.0 */
/* One limit for the memory of a cache: write buffers, frames that were read, and idle buffers of
 * both. Also what is shared by those who divide it: lists of spans, pools, the prefetch queue. */
#ifndef CW_CACHE_RECORD_MEMORY_BUDGET_H
#define CW_CACHE_RECORD_MEMORY_BUDGET_H

#include "base/thread.h"
#include "cache/record/prefetch_queue.h"
#include "cache/record/span.h"

struct cw_cache;

struct cw_segment { /* memory for records of a write buffer */
    struct cw_segment *next;
    size_t bytes, used; /* of data */
    /* offset of the first record: as far into a page as in the file (aligned_parts.h) */
    size_t begin;
    unsigned char *data;
};
#define CW_BUFFER_CLASSES 49u /* sizes of pooled buffers (buffer_pool.c) */
struct cw_pooled_buffer {     /* lies in the idle buffer itself */
    struct cw_pooled_buffer *next;
};
struct cw_span_list { /* oldest first */
    struct cw_span *head, *tail;
    size_t bytes;
};
struct cw_memory_budget {
    struct cw_mutex lock; /* guards all that follows, and fields of spans and chunks that say so */
    size_t limit;         /* bytes; does not change */
    size_t writing, frames, idle; /* bytes in use: write buffers, frames, pools */
    struct cw_segment *pool;      /* idle segments */
    struct cw_pooled_buffer *pooled[CW_BUFFER_CLASSES]; /* idle buffers of frames */
    unsigned quiet; /* ticks of the maintenance thread without a write or a read */
    bool busy;      /* there was one since the last tick */
    struct cw_span_list lists[CW_FRAME_LISTS];
    unsigned dropped; /* evictions so far: every 16th takes the oldest span */
    struct cw_prefetch_queue queue;
    size_t reading;           /* reads of spans under way */
    bool pumping, pump_again; /* one thread at a time serves the queue (frame_fetch.c) */
};
/* Memory that was taken out of the budget under its lock, to be freed without it. */
struct cw_garbage {
    struct cw_span *spans;
    struct cw_segment *segments;
    struct cw_pooled_buffer *pooled;
};
void cw_garbage_free(struct cw_garbage *garbage); /* garbage.c */

/* Whether so many bytes more exceed the limit. Lock. */
static inline bool cw_memory_budget_is_over(const struct cw_memory_budget *budget, size_t bytes)
{
    size_t used = budget->writing + budget->frames + budget->idle;

    return used > budget->limit || bytes > budget->limit - used;
}
/* The functions below take the lock. */

/* Bytes of write buffers besides segments. false: memory is full. */
bool cw_memory_budget_reserve(struct cw_cache *cache, size_t bytes);
void cw_memory_budget_release(struct cw_cache *cache, size_t bytes);
/* A segment with room for at_least bytes. NULL: memory is full. */
struct cw_segment *cw_memory_budget_take_segment(struct cw_cache *cache, size_t at_least);
void cw_memory_budget_give_segments(struct cw_cache *cache, struct cw_segment *first);
/* For segments which a write that was given up still reads: they do not count any more. The I/O
 * thread frees them (cw_segments_free) when the write returns. */
void cw_memory_budget_abandon_segments(struct cw_cache *cache, const struct cw_segment *first);
/* Each tick of the maintenance thread: idle memory that nobody wanted for long is freed. */
void cw_memory_budget_trim(struct cw_cache *cache);
void cw_memory_budget_fini(struct cw_memory_budget *budget);

/* segment_pool.c: idle segments. Lock. */
struct cw_segment *cw_segment_pool_pop(struct cw_memory_budget *budget); /* NULL: it is empty */
void cw_segment_pool_push(struct cw_memory_budget *budget, struct cw_segment *segment);
/* Frees one. false: there is none. */
bool cw_segment_pool_drop(struct cw_memory_budget *budget, struct cw_garbage *garbage);
void cw_segments_free(struct cw_segment *first); /* all of the list; without the lock */

#endif
