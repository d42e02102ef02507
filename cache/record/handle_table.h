/* SPDX-License-Identifier: Apache-2.0 */
/* Type-stable, reference-counted handles: what the place of a record names. A reader finds a place
 * without a lock, and by then the object may be gone. So the memory of handles is never freed
 * while the table lives: a reader adds its reference first and asks then whether the handle was
 * still live. A handle that was used again for another object does no harm, since the reader
 * compares the record's id.
 *
 * The table knows nothing of the objects. Whoever drops the last reference of a handle that was
 * invalidated has `reclaim` called, once; it frees the object and recycles the handle. */
#ifndef CW_CACHE_RECORD_HANDLE_TABLE_H
#define CW_CACHE_RECORD_HANDLE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CW_HANDLE_LIVE ((uint64_t)1 << 32) /* may be acquired */
#define CW_HANDLE_FREE ((uint64_t)1 << 33) /* nobody has a reference: being reclaimed, or unused */
#define CW_HANDLES_OF_SEGMENT 256u
#define CW_HANDLE_SEGMENTS 1024u

struct cw_cache_chunk;
struct cw_write_buffer;
struct cw_cache_handle {
    _Alignas(64) _Atomic uint64_t state; /* references in the low half, flags above */
    void (*reclaim)(struct cw_cache_handle *handle);
    /* The object, exactly one of these two. They stay until the handle is recycled. */
    struct cw_cache_chunk *chunk;
    struct cw_write_buffer *buffer;
    struct cw_cache_handle *next; /* in the list of unused ones, or in one of its reclaimer's */
    uint32_t no;
};
/* Zeroed. One lock of the owner's guards everything but the segments, which readers look up
 * without it. */
struct cw_handle_table {
    _Atomic(struct cw_cache_handle *) segments[CW_HANDLE_SEGMENTS];
    uint32_t made; /* handles ever made */
    struct cw_cache_handle *unused;
};

/* A live handle of the object with one reference, the object's own. NULL: no memory, or the table
 * is full. Owner's lock. */
struct cw_cache_handle *cw_cache_handle_new(struct cw_handle_table *table,
                                            struct cw_cache_chunk *chunk,
                                            struct cw_write_buffer *buffer,
                                            void (*reclaim)(struct cw_cache_handle *handle));
/* Puts a handle whose object was freed back into the list of unused ones. Owner's lock. */
void cw_cache_handle_recycle(struct cw_handle_table *table, struct cw_cache_handle *handle);
void cw_handle_table_fini(struct cw_handle_table *table); /* no handle is in use */

static inline struct cw_cache_handle *cw_cache_handle_at(const struct cw_handle_table *table,
                                                         uint32_t no)
{
    return &atomic_load_explicit(&table->segments[no / CW_HANDLES_OF_SEGMENT],
                                 memory_order_acquire)[no % CW_HANDLES_OF_SEGMENT];
}
/* A reference if the handle is live; false: it is not. May reclaim: no lock may be held. */
bool cw_cache_handle_acquire(struct cw_cache_handle *handle);
/* The same for callers that hold locks, and know that the handle is not recycled meanwhile. */
bool cw_cache_handle_try_acquire(struct cw_cache_handle *handle);
void cw_cache_handle_ref(struct cw_cache_handle *handle); /* the caller has one already */
/* May reclaim: no lock may be held. */
void cw_cache_handle_release(struct cw_cache_handle *handle);
/* Nobody can acquire it any more. true for the first caller, who has to release the object's own
 * reference later. */
bool cw_cache_handle_invalidate(struct cw_cache_handle *handle);
bool cw_cache_handle_is_live(const struct cw_cache_handle *handle);

#endif
