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

#define CW_SPAN_FRAMES 64u              /* at most in a span */
#define CW_SPAN_BYTES ((size_t)1 << 20) /* at most read at once */
enum cw_span_state { CW_SPAN_COMING, CW_SPAN_READY, CW_SPAN_FAILED };
enum cw_frame_list {                       /* which list of the LRU it is in */
                     CW_FRAMES_UNLISTED,   /* none */
                     CW_FRAMES_PREFETCHED, /* gets for which it was read have not all come yet */
                     CW_FRAMES_RECENT,     /* its last get came just now */
                     CW_FRAMES_KEPT,       /* kept for the next epoch, while memory allows */
                     CW_FRAMES_SPENT,      /* of a mapped chunk: the page cache has it, too */
                     CW_FRAME_LISTS
};
struct cw_span {
    atomic_int refs;
    struct cw_cache_chunk *chunk;
    uint32_t first, n;        /* frames of the chunk */
    bool is_plain;            /* an unpacked frame */
    enum cw_span_state state; /* lock: chunk->lock */
    _Atomic uint64_t checked; /* a bit a frame: its checksum was verified */
    atomic_uint wanted;       /* gets that it was read or kept for, and that have not come yet */
    unsigned char *data;      /* NULL when its read failed */
    size_t cap;               /* bytes of data */
    /* lock of the memory budget, as all that follows */
    enum cw_frame_list list_no;
    int64_t since_ns; /* PREFETCHED: when it was read, or wanted anew */
    struct cw_span *prev, *next;
};
/* Gives its buffer back with the last reference. No lock may be held. */
void cw_span_unref(struct cw_span *span);

#endif
