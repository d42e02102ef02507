/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/held_whole.h"

#include "base/mem.h"

struct cw_whole *cw_whole_new(size_t bytes)
{
    struct cw_whole *whole = CW_NEW(struct cw_whole);
    whole->refs = 1;
    whole->arena = cw_arena_new(bytes);
    return whole;
}

struct cw_whole *cw_whole_ref(struct cw_whole *whole)
{
    atomic_fetch_add_explicit(&whole->refs, 1, memory_order_relaxed);
    return whole;
}

void cw_whole_unref(struct cw_whole *whole)
{
    if (!whole || atomic_fetch_sub_explicit(&whole->refs, 1, memory_order_acq_rel) != 1)
        return;
    cw_arena_free(whole->arena);
    cw_mem_free(whole->views);
    cw_mem_free(whole);
}

void cw_whole_ring_fini(struct cw_whole_ring *ring)
{
    for (size_t i = 0; i < CW_WHOLES_MAX; i++)
        cw_whole_unref(ring->v[i]);
}

struct cw_whole *cw_whole_ring_find(const struct cw_whole_ring *ring, size_t node, int64_t pos,
                                    uint64_t rep)
{
    for (size_t i = 0; i < CW_WHOLES_MAX; i++)
        if (cw_whole_is(ring->v[i], node, pos, rep))
            return cw_whole_ref(ring->v[i]);
    return NULL;
}

static struct cw_whole *remove_oldest(struct cw_whole_ring *ring)
{
    struct cw_whole *oldest = ring->v[ring->next];
    ring->bytes -= oldest ? oldest->bytes : 0;
    ring->v[ring->next] = NULL;
    ring->next = (ring->next + 1) % CW_WHOLES_MAX;
    return oldest;
}

size_t cw_whole_ring_add(struct cw_whole_ring *ring, struct cw_whole *whole,
                         struct cw_whole *ret_removed[CW_WHOLES_MAX])
{
    size_t n = 0;
    if (whole->bytes > CW_WHOLES_BYTES_MAX)
        return 0;
    do { /* the place that becomes free is behind all others */
        ret_removed[n++] = remove_oldest(ring);
    } while (ring->bytes + whole->bytes > CW_WHOLES_BYTES_MAX && n < CW_WHOLES_MAX);
    ring->v[(ring->next + CW_WHOLES_MAX - 1) % CW_WHOLES_MAX] = cw_whole_ref(whole);
    ring->bytes += whole->bytes;
    return n;
}
