/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out prefetch requests of the owner: the frames of the announced ids are queued
 * (frame_fetch.c). For mapped chunks the kernel is asked to read them. */
#include <stdlib.h>
#include <sys/mman.h>

#include "cache/record/record_state.h"
#include "cache/record/frame_cache.h"
#include "cache/record/frame_fetch.h"
#include "cache/record/pin_set.h"

/* The most ids that are sorted together, so that neighbouring frames become one read. */
#define AT_ONCE 128u
/* The most bytes of records that are sorted together, so that what is needed first is not read
 * last. */
#define AT_ONCE_BYTES ((uint64_t)4 << 20)
#define PAGE ((uintptr_t)4096)

struct want {
    struct cw_cache_handle *handle;
    uint32_t frame, bytes; /* the record's frame, and its size */
    bool is_mapped;        /* the kernel is asked to read it */
};

static int compare(const void *a, const void *b)
{
    const struct want *x = a, *y = b;

    if (x->is_mapped != y->is_mapped)
        return x->is_mapped - y->is_mapped;
    if (x->handle != y->handle)
        return (uintptr_t)x->handle < (uintptr_t)y->handle ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

/* Whether a frame of a mapped chunk was used before. For a large frame the page cache is asked,
 * since the kernel may have dropped it. */
static bool is_there(struct cw_cache_chunk *chunk, uint32_t frame)
{
    const struct cw_chunk_frame *f = &chunk->index->frames[frame];

    if (f->stored >= CW_CHUNK_FRAME_BYTES)
        return cw_frame_cache_is_resident(chunk, frame);
    if (f->stored == f->plain)
        return cw_chunk_is_checked(chunk, frame);
    return cw_frame_cache_has(chunk, frame);
}

/* Finds what must be read for the id. Returns false if nothing must be. */
static bool find_read(struct cw_cache_dataset *dataset, uint64_t id, struct cw_cache_pins *pins,
                      struct want *ret_want)
{
    uint64_t place = cw_id_map_get(&dataset->ids, id);
    struct cw_cache_handle *handle = place ? cw_dataset_handle(dataset, place) : NULL;
    uint32_t no = cw_place_record(place);

    if (!handle || !cw_pin_handle(pins, handle) || !handle->chunk)
        return false;
    const struct cw_chunk_index *index = handle->chunk->index;
    if (no >= index->records_n || index->records[no].id != id ||
        index->records[no].bytes == CW_CHUNK_LEFT_OUT)
        return false;
    uint32_t frame = index->records[no].frame;
    bool is_mapped =
        !handle->chunk->stored || (handle->chunk->map && cw_chunk_is_checked(handle->chunk, frame));
    *ret_want = (struct want){handle, frame, index->records[no].bytes, is_mapped};
    return !handle->chunk->map || !is_there(handle->chunk, frame);
}

/* Asks the kernel to read neighbouring frames of a mapped chunk. */
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
        struct cw_cache_chunk *chunk = wants[i].handle->chunk;

        for (k = i; k < n && wants[k].handle == wants[i].handle &&
                    wants[k].is_mapped == wants[i].is_mapped;
             k++)
            frames[k - i] = wants[k].frame;
        if (wants[i].is_mapped)
            advise_all(chunk, frames, k - i);
        else
            cw_frame_fetch_enqueue(chunk, frames, k - i);
    }
}

bool cw_cache_wants_prefetch(const struct cw_cache_dataset *dataset)
{
    return atomic_load_explicit(&dataset->wants_prefetch, memory_order_relaxed);
}

void cw_cache_prefetch(struct cw_cache_dataset *dataset, const uint64_t *ids, size_t n)
{
    if (cw_store_is_unavailable(dataset->cache->store, NULL))
        return;
    while (n) {
        struct want wants[AT_ONCE];
        struct cw_cache_pins pins = {0};
        size_t found = 0, looked_at = 0;
        uint64_t bytes = 0;

        while (looked_at < CW_MIN(n, (size_t)AT_ONCE) && bytes < AT_ONCE_BYTES)
            if (find_read(dataset, ids[looked_at++], &pins, &wants[found]))
                bytes += wants[found++].bytes;
        if (found)
            begin(wants, found);
        cw_cache_unpin(&pins);
        ids += looked_at;
        n -= looked_at;
    }
    cw_frame_fetch_pump(dataset->cache);
}
