/* SPDX-License-Identifier: Apache-2.0 */
/* The frames for which gets were announced, in the order in which the gets will come: a ring with
 * one entry for each frame and announcement. Gets of one frame that were announced one after
 * another are one entry with a count. A frame that is needed soon, and again much later, has two
 * entries; only the first of them has it read and kept. A position is the number of an entry,
 * counted from the first one that the queue ever had.
 *
 * All of it is guarded by the lock of the memory budget. */
#ifndef CW_CACHE_RECORD_PREFETCH_QUEUE_H
#define CW_CACHE_RECORD_PREFETCH_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cw_cache_chunk;
struct cw_span;

#define CW_PREFETCH_QUEUE_CAP 32768u
#define CW_PREFETCH_NEVER UINT64_MAX
struct cw_queued_frame {  /* the positions of a frame's entries */
    uint64_t first, last; /* first is 0 if the frame has no entry */
};
struct cw_prefetch_entry {
    struct cw_cache_chunk *chunk; /* NULL: the entry was taken out */
    uint32_t frame;
    uint32_t n;     /* number of gets that were announced */
    uint64_t later; /* the position of the frame's next entry; 0: it has no other */
    int64_t since_ns;
};
struct cw_prefetch_queue {
    struct cw_prefetch_entry *entries; /* the ring; NULL until something is announced */
    uint64_t head, tail;               /* positions of the first entry, and behind the last one */
    atomic_size_t n;                   /* number of entries that were not taken out */
};
/* Adds gets of a frame. Returns false if the queue is full. */
bool cw_prefetch_queue_push(struct cw_prefetch_queue *queue, struct cw_cache_chunk *chunk,
                            uint32_t frame, int64_t now_ns);
/* Returns the first entry, or NULL if the queue is empty. */
struct cw_prefetch_entry *cw_prefetch_queue_head(const struct cw_prefetch_queue *queue);
/* Takes out the frame's first entry. Returns the number of gets that it stood for; 0: it has no
 * entry. */
uint32_t cw_prefetch_queue_take(struct cw_prefetch_queue *queue, struct cw_cache_chunk *chunk,
                                uint32_t frame);
/* Counts one get less at the frame's first entry, because that get has come already. */
void cw_prefetch_queue_skip(struct cw_prefetch_queue *queue, struct cw_cache_chunk *chunk,
                            uint32_t frame);
/* Returns how many frames, beginning with this one, follow one another both in the queue and in the
 * file, so that one read can fetch them. The caller holds chunk->lock, too. */
uint32_t cw_prefetch_queue_run(const struct cw_cache_chunk *chunk, uint32_t frame);
/* Returns the lowest position of the frames of a span, or CW_PREFETCH_NEVER if none of them is
 * queued. */
uint64_t cw_prefetch_queue_position(const struct cw_span *span);
/* Takes out all entries of the chunk. */
void cw_prefetch_queue_drop(struct cw_prefetch_queue *queue, struct cw_cache_chunk *chunk);
void cw_prefetch_queue_fini(struct cw_prefetch_queue *queue);

#endif
