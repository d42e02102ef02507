/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ahead: the frames of the ids that will be asked for, neighbours in one read. Of mapped chunks the kernel is told. */
#include <stdlib.h>
#include <sys/mman.h>

#include "cache/cache_int.h"

#define AT_ONCE 128u /* ids looked at together: where neighbours are found */
#define PAGE ((uintptr_t)4096)

struct want {
    struct cw_slot *slot;
    uint32_t frame;
};

static int compare(const void *a, const void *b)
{
    const struct want *x = a, *y = b;

    if (x->slot != y->slot)
        return (uintptr_t)x->slot < (uintptr_t)y->slot ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

static bool is_there(struct cw_cache_chunk *chunk, uint32_t frame)
{
    const struct cw_chunk_frame *f = &chunk->index->frames[frame];

    if (chunk->map && f->stored == f->plain)
        return atomic_load_explicit(&chunk->checked[frame / 64].word, memory_order_relaxed) >> (frame % 64) & 1;
    return cw_frames_are_there(chunk, frame);
}

/* What id wants read; false: nothing. */
static bool look(struct cw_cache_node *node, uint64_t id, struct cw_cache_hold *hold, struct want *ret_want)
{
    uint64_t place = cw_ids_get(&node->ids, id);
    struct cw_slot *slot = place ? cw_slot_at(node, place) : NULL;
    uint32_t no = cw_place_record(place);

    if (!slot || !cw_hold_slot(hold, slot) || !slot->chunk)
        return false;
    const struct cw_chunk_index *index = slot->chunk->index;
    if (no >= index->records_n || index->records[no].id != id || index->records[no].bytes == CW_CHUNK_LEFT_OUT)
        return false;
    *ret_want = (struct want){slot, index->records[no].frame};
    return !is_there(slot->chunk, ret_want->frame);
}

static uint64_t end_of(const struct cw_chunk_index *index, uint32_t frame)
{
    return index->frames[frame].offset + index->frames[frame].stored;
}

/* How many of wants[i...] can be one read. *ret_next: the first of another. */
static uint32_t run_of(const struct want *wants, size_t n, size_t i, size_t *ret_next)
{
    const struct cw_chunk_index *index = wants[i].slot->chunk->index;
    uint32_t first = wants[i].frame, last = first;
    size_t k = i + 1;

    for (; k < n && wants[k].slot == wants[i].slot; k++) {
        uint32_t frame = wants[k].frame;

        if (frame == last)
            continue;
        if (frame != last + 1 || frame - first >= CW_SPAN_FRAMES || index->frames[frame].offset < end_of(index, last)
            || end_of(index, frame) - index->frames[first].offset > CW_SPAN_BYTES)
            break;
        last = frame;
    }
    *ret_next = k;
    return last - first + 1;
}

static void advise(const struct cw_cache_chunk *chunk, uint32_t first, uint32_t n)
{
    uintptr_t begin = (uintptr_t)chunk->map + chunk->index->frames[first].offset;
    uintptr_t end = (uintptr_t)chunk->map + end_of(chunk->index, first + n - 1);

    begin &= ~(PAGE - 1);
    (void)madvise((void *)begin, end - begin, MADV_WILLNEED);
}

/* false: no room for more. */
static bool start(struct want *wants, size_t n)
{
    qsort(wants, n, sizeof(*wants), compare);
    for (size_t i = 0, next; i < n; i = next) {
        struct cw_cache_chunk *chunk = wants[i].slot->chunk;
        uint32_t frames = run_of(wants, n, i, &next);

        if (chunk->map)
            advise(chunk, wants[i].frame, frames);
        else if (!cw_frames_start(chunk, wants[i].frame, frames))
            return false;
    }
    return true;
}

void cw_cache_prefetch(struct cw_cache_node *node, const uint64_t *ids, size_t n)
{
    bool more = !cw_store_is_away(node->cache->store, NULL);

    while (more && n) {
        struct want wants[AT_ONCE];
        struct cw_cache_hold hold = {0};
        size_t found = 0, look_at = CW_MIN(n, (size_t)AT_ONCE);

        for (size_t i = 0; i < look_at; i++)
            found += look(node, ids[i], &hold, &wants[found]);
        if (found)
            more = start(wants, found);
        cw_cache_release(&hold);
        ids += look_at;
        n -= look_at;
    }
}
