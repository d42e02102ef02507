/* SPDX-License-Identifier: Apache-2.0 */
/* Group prefetching: issues the dependent memory loads of several coming gets together, so that
 * their cache misses overlap. A get of a small record misses again and again: for the place, the
 * line of the index, the first bytes, each known only when the one before has arrived. (Chen,
 * Ailamaki, Gibbons, Mowry, "Improving hash join performance through prefetching", ICDE 2004.) */
#include "cache/record/record_state.h"

/* bytes at the start of a record that are prefetched; the hardware prefetches what follows */
#define HEAD_BYTES 256u
#define LINE 64u

struct way {
    /* NULL: the id is not known, or its record is not in a mapped chunk */
    struct cw_cache_handle *handle;
    uint32_t no;
    bool is_pinned; /* with this way; else with an earlier one that is in the same chunk */
};

static void find_places(struct cw_cache_dataset *dataset, const uint64_t *ids, size_t n,
                        uint64_t *ret_places)
{
    for (size_t i = 0; i < n; i++)
        ret_places[i] = cw_id_map_get(&dataset->ids, ids[i]);
}

/* `last`: the chunk of the way before, which is pinned; NULL if there is none. */
static void touch_index(struct cw_cache_dataset *dataset, uint64_t place,
                        const struct cw_cache_handle *last, struct way *ret_way)
{
    struct cw_cache_handle *handle = place ? cw_dataset_handle(dataset, place) : NULL;
    bool is_pinned = handle && handle != last;

    *ret_way = (struct way){NULL, place ? cw_place_record(place) : 0, false};
    if (!handle || (is_pinned && !cw_cache_handle_acquire(handle)))
        return;
    if (!handle->chunk || !handle->chunk->map || ret_way->no >= handle->chunk->index->records_n) {
        if (is_pinned)
            cw_cache_handle_release(handle);
        return;
    }
    __builtin_prefetch(&handle->chunk->index->records[ret_way->no]);
    ret_way->handle = handle;
    ret_way->is_pinned = is_pinned;
}

static void touch_record(const struct cw_cache_chunk *chunk, uint32_t no)
{
    const struct cw_chunk_record *record = &chunk->index->records[no];

    if (record->bytes == CW_CHUNK_LEFT_OUT)
        return;
    __builtin_prefetch(chunk->map_end); /* cw_intact_check reads it after the record was used */
    const struct cw_chunk_frame *frame = &chunk->index->frames[record->frame];
    const unsigned char *p = chunk->map + frame->offset + record->offset;
    if (frame->stored != frame->plain || !cw_chunk_is_checked(chunk, record->frame))
        return;
    for (uint32_t at = 0; at < CW_MIN(record->bytes, HEAD_BYTES); at += LINE)
        __builtin_prefetch(p + at);
}

void cw_cache_cpu_prefetch(struct cw_cache_dataset *dataset, const uint64_t *ids, size_t n)
{
    uint64_t places[CW_CACHE_CPU_PREFETCH];
    struct way ways[CW_CACHE_CPU_PREFETCH];

    if (cw_cache_wants_prefetch(dataset))
        return;
    n = CW_MIN(n, (size_t)CW_CACHE_CPU_PREFETCH);
    find_places(dataset, ids, n, places);
    for (size_t i = 0; i < n; i++)
        touch_index(dataset, places[i], i > 0 ? ways[i - 1].handle : NULL, &ways[i]);
    for (size_t i = 0; i < n; i++)
        if (ways[i].handle)
            touch_record(ways[i].handle->chunk, ways[i].no);
    for (size_t i = 0; i < n; i++)
        if (ways[i].is_pinned)
            cw_cache_handle_release(ways[i].handle);
}
