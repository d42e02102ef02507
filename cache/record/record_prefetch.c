/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ahead: the frames of the ids that will be asked for (frame_fetch.c). Of mapped chunks the
 * kernel is told. */
#include <stdlib.h>
#include <sys/mman.h>

#include "cache/record/record_int.h"

/* ids looked at together, where neighbours are found: at most, and */
#define AT_ONCE 128u
/* no more than this, so that what is needed first is not read last */
#define AT_ONCE_BYTES ((uint64_t)4 << 20)
#define PAGE ((uintptr_t)4096)

struct want {
    struct cw_slot *slot;
    uint32_t frame, bytes; /* of the record */
    bool is_mapped;        /* the kernel is asked to read it */
};

static int compare(const void *a, const void *b)
{
    const struct want *x = a, *y = b;

    if (x->is_mapped != y->is_mapped)
        return x->is_mapped - y->is_mapped;
    if (x->slot != y->slot)
        return (uintptr_t)x->slot < (uintptr_t)y->slot ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

/* Of a mapped chunk: was it used before? Of a large frame the kernel is asked, who may have let
 * it go. */
static bool is_there(struct cw_cache_chunk *chunk, uint32_t frame)
{
    const struct cw_chunk_frame *f = &chunk->index->frames[frame];

    if (f->stored >= CW_CHUNK_FRAME_BYTES)
        return cw_frames_are_resident(chunk, frame);
    if (f->stored == f->plain)
        return cw_chunk_is_checked(chunk, frame);
    return cw_frames_are_there(chunk, frame);
}

/* What id wants read; false: nothing. */
static bool look(struct cw_cache_node *node, uint64_t id, struct cw_cache_hold *hold,
                 struct want *ret_want)
{
    uint64_t place = cw_ids_get(&node->ids, id);
    struct cw_slot *slot = place ? cw_slot_at(node, place) : NULL;
    uint32_t no = cw_place_record(place);

    if (!slot || !cw_hold_slot(hold, slot) || !slot->chunk)
        return false;
    const struct cw_chunk_index *index = slot->chunk->index;
    if (no >= index->records_n || index->records[no].id != id ||
        index->records[no].bytes == CW_CHUNK_LEFT_OUT)
        return false;
    uint32_t frame = index->records[no].frame;
    bool is_mapped =
        !slot->chunk->stored || (slot->chunk->map && cw_chunk_is_checked(slot->chunk, frame));
    *ret_want = (struct want){slot, frame, index->records[no].bytes, is_mapped};
    return !slot->chunk->map || !is_there(slot->chunk, frame);
}

/* Of a mapped chunk: frames that stand one behind another. */
static void advise(const struct cw_cache_chunk *chunk, uint32_t first, uint32_t last)
{
    const struct cw_chunk_frame *frames = chunk->index->frames;
    uintptr_t begin = (uintptr_t)chunk->map + frames[first].offset,
              end = (uintptr_t)chunk->map + frames[last].offset + frames[last].stored;

    begin &= ~(PAGE - 1);
    (void)madvise((void *)begin, end - begin, MADV_WILLNEED);
}

static void advise_all(const struct cw_cache_chunk *chunk, const uint32_t *frames, size_t n)
{
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && frames[k] <= frames[k - 1] + 1;)
            k++;
        advise(chunk, frames[i], frames[k - 1]);
    }
}

static void begin(struct want *wants, size_t n)
{
    uint32_t frames[AT_ONCE];

    qsort(wants, n, sizeof(*wants), compare);
    for (size_t i = 0, k; i < n; i = k) {
        struct cw_cache_chunk *chunk = wants[i].slot->chunk;

        for (k = i;
             k < n && wants[k].slot == wants[i].slot && wants[k].is_mapped == wants[i].is_mapped;
             k++)
            frames[k - i] = wants[k].frame;
        if (wants[i].is_mapped)
            advise_all(chunk, frames, k - i);
        else
            cw_fetch_want(chunk, frames, k - i);
    }
}

bool cw_cache_wants_ahead(const struct cw_cache_node *node)
{
    return atomic_load_explicit(&node->wants_ahead, memory_order_relaxed);
}

void cw_cache_prefetch(struct cw_cache_node *node, const uint64_t *ids, size_t n)
{
    if (cw_store_is_away(node->cache->store, NULL))
        return;
    while (n) {
        struct want wants[AT_ONCE];
        struct cw_cache_hold hold = {0};
        size_t found = 0, looked_at = 0;
        uint64_t bytes = 0;

        while (looked_at < CW_MIN(n, (size_t)AT_ONCE) && bytes < AT_ONCE_BYTES)
            if (look(node, ids[looked_at++], &hold, &wants[found]))
                bytes += wants[found++].bytes;
        if (found)
            begin(wants, found);
        cw_cache_release(&hold);
        ids += looked_at;
        n -= looked_at;
    }
    cw_fetch_pump(node->cache);
}
