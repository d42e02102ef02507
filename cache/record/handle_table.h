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

#define CW_HANDLE_LIVE ((uint64_t)1 << 32) /* the handle may be acquired */
/* nobody holds a reference: the object is being reclaimed, or there is none */
#define CW_HANDLE_FREE ((uint64_t)1 << 33)
#define CW_HANDLES_OF_SEGMENT 256u
#define CW_HANDLE_SEGMENTS 1024u

struct cw_cache_chunk;
struct cw_write_buffer;
struct cw_cache_handle {
    /* the number of references in the lower half, flags above */
    _Alignas(64) _Atomic uint64_t state;
    void (*reclaim)(struct cw_cache_handle *handle);
    /* The object: exactly one of these two is set, until the handle is recycled. */
    struct cw_cache_chunk *chunk;
    struct cw_write_buffer *buffer;
    /* next in the list of unused handles, or in a list of those to be reclaimed */
    struct cw_cache_handle *next;
    uint32_t no;
};
/* A table of handles, zeroed to begin with. A lock of its owner guards everything but the segments,
 * in which readers look up handles without a lock. */
struct cw_handle_table {
    _Atomic(struct cw_cache_handle *) segments[CW_HANDLE_SEGMENTS];
    uint32_t made; /* number of handles that were ever made */
    struct cw_cache_handle *unused;
};

/* Makes a live handle of the object with one reference, which belongs to the object. Returns NULL
 * if there is no memory, or the table is full. Called with the owner's lock held. */
struct cw_cache_handle *cw_cache_handle_new(struct cw_handle_table *table,
                                            struct cw_cache_chunk *chunk,
                                            struct cw_write_buffer *buffer,
                                            void (*reclaim)(struct cw_cache_handle *handle));
/* Puts a handle whose object was freed back into the list of unused ones. Called with the owner's
 * lock held. */
void cw_cache_handle_recycle(struct cw_handle_table *table, struct cw_cache_handle *handle);
/* Frees the table; no handle may be in use. */
void cw_handle_table_fini(struct cw_handle_table *table);

static inline struct cw_cache_handle *cw_cache_handle_at(const struct cw_handle_table *table,
                                                         uint32_t no)
{
    return &atomic_load_explicit(&table->segments[no / CW_HANDLES_OF_SEGMENT],
                                 memory_order_acquire)[no % CW_HANDLES_OF_SEGMENT];
}
/* Takes a reference if the handle is live; returns false if it is not. May call reclaim, so the
 * caller holds no lock. */
bool cw_cache_handle_acquire(struct cw_cache_handle *handle);
/* Does the same for callers that hold locks, and know that the handle is not recycled meanwhile. */
bool cw_cache_handle_try_acquire(struct cw_cache_handle *handle);
/* Takes one more reference; the caller holds one already. */
void cw_cache_handle_ref(struct cw_cache_handle *handle);
/* Gives up a reference. May call reclaim, so the caller holds no lock. */
void cw_cache_handle_release(struct cw_cache_handle *handle);
/* Makes the handle one that nobody can acquire any more. Returns true to the first caller, who has
 * to release the object's own reference later. */
bool cw_cache_handle_invalidate(struct cw_cache_handle *handle);
bool cw_cache_handle_is_live(const struct cw_cache_handle *handle);

#endif
