/* SPDX-License-Identifier: Apache-2.0 */
/* Frames in memory. A span is a run of neighbouring frames of one chunk that were read together, or
 * one packed frame after it was unpacked. The chunk's table of frames has one reference; every
 * thread that uses a span, and the read that fills it, has another. A span that only its table
 * refers to may be evicted (frame_lru.h). */
#ifndef CW_CACHE_RECORD_SPAN_H
#define CW_CACHE_RECORD_SPAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_cache_chunk;

#define CW_SPAN_FRAMES 64u              /* the most frames in a span */
#define CW_SPAN_BYTES ((size_t)1 << 20) /* the most bytes that are read at once */
enum cw_span_state { CW_SPAN_COMING, CW_SPAN_READY, CW_SPAN_FAILED };
enum cw_frame_list {                     /* the list of the LRU in which a span is */
                     CW_FRAMES_UNLISTED, /* in no list */
                     /* some of the gets for which it was read have not come yet */
                     CW_FRAMES_PREFETCHED,
                     CW_FRAMES_RECENT,    /* its last get came just now */
                     CW_FRAMES_KEPT,      /* kept for the next epoch, while memory allows */
                     CW_FRAMES_DUPLICATE, /* of a mapped chunk: the page cache has the bytes, too */
                     CW_FRAME_LISTS
};
struct cw_span {
    atomic_int refs;
    struct cw_cache_chunk *chunk;
    uint32_t first, n;        /* the chunk's frames first to first + n - 1 */
    bool is_plain;            /* it holds an unpacked frame */
    enum cw_span_state state; /* lock: chunk->lock */
    _Atomic uint64_t checked; /* one bit for each frame: its checksum was verified */
    /* number of gets that it was read or kept for, and that have not come yet */
    atomic_uint wanted;
    unsigned char *data; /* NULL if its read failed */
    size_t cap;          /* capacity of data in bytes */
    /* lock: the memory budget's, as for all that follows */
    enum cw_frame_list list_no;
    int64_t since_ns; /* in PREFETCHED: when it was read, or announced anew */
    struct cw_span *prev, *next;
};
/* Gives up a reference; with the last one the buffer goes back to the pool. The caller holds no
 * lock. */
void cw_span_unref(struct cw_span *span);

#endif
