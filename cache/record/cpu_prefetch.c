/* SPDX-License-Identifier: Apache-2.0 */
/* The next gets' way to their records, walked for all of them together. A get of a small record
 * waits for memory again and again: for its place, its line in the index, its first bytes, each
 * known only when the one before has come. Here all wait at once, for each of these in turn
 * (group prefetching: Chen, Ailamaki, Gibbons, Mowry, "Improving hash join performance through
 * prefetching", ICDE 2004). */
#include "cache/record/record_int.h"

#define HEAD_BYTES 256u /* of a record; the processor itself reads ahead in what follows */
#define LINE 64u

struct way {
    struct cw_slot *slot; /* NULL: nowhere, or not in a chunk */
    uint32_t no;
};

static void find_places(struct cw_cache_node *node, const uint64_t *ids, size_t n,
                        uint64_t *ret_places)
{
    for (size_t i = 0; i < n; i++)
        ret_places[i] = cw_ids_get(&node->ids, ids[i]);
}

static void touch_index(struct cw_cache_node *node, uint64_t place, struct way *ret_way)
{
    struct cw_slot *slot = place ? cw_slot_at(node, place) : NULL;

    *ret_way = (struct way){NULL, place ? cw_place_record(place) : 0};
    if (!slot || !cw_slot_take(slot))
        return;
    if (!slot->chunk || !slot->chunk->map || ret_way->no >= slot->chunk->index->records_n) {
        cw_slot_drop(slot);
        return;
    }
    __builtin_prefetch(&slot->chunk->index->records[ret_way->no]);
    ret_way->slot = slot;
}

static void touch_record(const struct cw_cache_chunk *chunk, uint32_t no)
{
    const struct cw_chunk_record *record = &chunk->index->records[no];

    if (record->bytes == CW_CHUNK_LEFT_OUT)
        return;
    __builtin_prefetch(chunk->map_end); /* looked at when the record was used */
    const struct cw_chunk_frame *frame = &chunk->index->frames[record->frame];
    const unsigned char *p = chunk->map + frame->offset + record->offset;
    if (frame->stored != frame->plain || !cw_chunk_is_checked(chunk, record->frame))
        return;
    for (uint32_t at = 0; at < CW_MIN(record->bytes, HEAD_BYTES); at += LINE)
        __builtin_prefetch(p + at);
}

void cw_cache_touch(struct cw_cache_node *node, const uint64_t *ids, size_t n)
{
    uint64_t places[CW_CACHE_TOUCH];
    struct way ways[CW_CACHE_TOUCH];

    if (cw_cache_wants_ahead(node))
        return;
    n = CW_MIN(n, (size_t)CW_CACHE_TOUCH);
    find_places(node, ids, n, places);
    for (size_t i = 0; i < n; i++)
        touch_index(node, places[i], &ways[i]);
    for (size_t i = 0; i < n; i++)
        if (ways[i].slot) {
            touch_record(ways[i].slot->chunk, ways[i].no);
            cw_slot_drop(ways[i].slot);
        }
}
