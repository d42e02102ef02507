/* SPDX-License-Identifier: Apache-2.0 */
/* Frames for which gets were announced, in the order in which the gets will come: a ring with one
 * entry for each frame and announcement. Gets of one frame that were announced one after another
 * are one entry with a count. A frame that is needed soon, and again much later, has two entries;
 * only the first of them has it read and kept. A position is a number of an entry counted from the
 * beginning of the queue, and grows for ever.
 *
 * Everything under the lock of the memory budget. */
#ifndef CW_CACHE_RECORD_PREFETCH_QUEUE_H
#define CW_CACHE_RECORD_PREFETCH_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cw_cache_chunk;
struct cw_span;

#define CW_PREFETCH_QUEUE_CAP 32768u
#define CW_PREFETCH_NEVER UINT64_MAX
struct cw_queued_frame {  /* positions of a frame's entries */
    uint64_t first, last; /* first 0: it has none */
};
struct cw_prefetch_entry {
    struct cw_cache_chunk *chunk; /* NULL: it was taken out */
    uint32_t frame;
    uint32_t n;     /* gets that were announced */
    uint64_t later; /* the position of the frame's next entry; 0: it has none */
    int64_t since_ns;
};
struct cw_prefetch_queue {
    struct cw_prefetch_entry *entries; /* the ring; NULL until something is announced */
    uint64_t head, tail;               /* positions */
    atomic_size_t n;                   /* entries, without those that were taken out */
};
/* false: the queue is full */
bool cw_prefetch_queue_push(struct cw_prefetch_queue *queue, struct cw_cache_chunk *chunk,
                            uint32_t frame, int64_t now_ns);
/* NULL: the queue is empty */
struct cw_prefetch_entry *cw_prefetch_queue_head(const struct cw_prefetch_queue *queue);
/* Takes out the frame's first entry. Returns how many gets it stands for; 0: there is none. */
uint32_t cw_prefetch_queue_take(struct cw_prefetch_queue *queue, struct cw_cache_chunk *chunk,
                                uint32_t frame);
/* One of the gets of the frame's first entry has come already. */
void cw_prefetch_queue_skip(struct cw_prefetch_queue *queue, struct cw_cache_chunk *chunk,
                            uint32_t frame);
/* How many frames from this one on follow one another both in the queue and in the file, and may
 * be one read. Takes chunk->lock to be held, too. */
uint32_t cw_prefetch_queue_run(const struct cw_cache_chunk *chunk, uint32_t frame);
/* The first position of any of its frames; CW_PREFETCH_NEVER: none of them is queued. */
uint64_t cw_prefetch_queue_position(const struct cw_span *span);
/* Takes out all entries of the chunk. */
void cw_prefetch_queue_drop(struct cw_prefetch_queue *queue, struct cw_cache_chunk *chunk);
void cw_prefetch_queue_fini(struct cw_prefetch_queue *queue);

#endif
