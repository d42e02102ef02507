/* SPDX-License-Identifier: Apache-2.0 */
/* An element that was taken apart (take_apart.h), with all its parts, held for those that are asked for next: by
 * the thread that took it apart, and the last ones by the plan, where other threads find them. */
#ifndef CW_EXEC_HELD_WHOLE_H
#define CW_EXEC_HELD_WHOLE_H

#include <stdatomic.h>

#include "base/arena.h"
#include "data/element.h"

/* Immutable once it is held, but for its count of references. */
struct cw_whole {
    _Atomic int refs;
    size_t node;  /* that takes it apart */
    int64_t pos;  /* its position at that node's input */
    uint64_t rep; /* what was asked for (cw_plan_drawn_rep) */
    uint64_t id, its_rep;
    struct cw_arena *arena; /* what its parts have views of */
    struct cw_view *views;  /* of each part those of its fields */
    uint64_t n;             /* number of parts */
    size_t bytes;
};
/* Makes one with one reference, and an arena for so many bytes. */
struct cw_whole *cw_whole_new(size_t bytes);
struct cw_whole *cw_whole_ref(struct cw_whole *whole);
void cw_whole_unref(struct cw_whole *whole);
/* whole may be NULL: that is not it. */
static inline bool cw_whole_is(const struct cw_whole *whole, size_t node, int64_t pos, uint64_t rep)
{
    return whole && whole->node == node && whole->pos == pos && whole->rep == rep;
}

#define CW_WHOLES_MAX 16
/* Those that a plan holds have at most so many bytes together, views included. */
#define CW_WHOLES_BYTES_MAX ((size_t)64 << 20)
struct cw_whole_ring {
    struct cw_whole *v[CW_WHOLES_MAX]; /* one reference each; NULL: none */
    size_t next;                       /* the oldest one */
    size_t bytes;
};
void cw_whole_ring_fini(struct cw_whole_ring *ring);
/* Returns a new reference, or NULL. */
struct cw_whole *cw_whole_ring_find(const struct cw_whole_ring *ring, size_t node, int64_t pos,
                                    uint64_t rep);
/* Adds a reference of its own, unless it is too large. Those that it removes are the caller's, to be given up
 * without a lock. Returns how many. */
size_t cw_whole_ring_add(struct cw_whole_ring *ring, struct cw_whole *whole,
                         struct cw_whole *ret_removed[CW_WHOLES_MAX]);

#endif
