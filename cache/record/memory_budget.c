/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: one limit for blocks that wait to be written and frames that were read. Blocks take at
 * most three quarters, frames what is left; frames give way to both (which: frame_lru.c). A frame
 * that is needed now is read even if that exceeds the limit (what a thread holds cannot be taken
 * from it); reading ahead and filling never do. Segments of blocks are used again while there is
 * room: fresh memory costs page faults as much as copying. */
#include "cache/record/record_int.h"

#define QUIET_TICKS 40u /* of the keeper: ten seconds */

bool cw_room_is_over(const struct cw_room *room, size_t bytes)
{
    size_t used = room->writing + room->frames + room->idle;

    return used > room->limit || bytes > room->limit - used;
}

static struct cw_segment *take_idle(struct cw_room *room)
{
    struct cw_segment *segment = room->pool;

    room->pool = segment->next;
    room->idle -= segment->bytes;
    return segment;
}

bool cw_room_drop_segment(struct cw_room *room, struct cw_garbage *garbage)
{
    if (!room->pool)
        return false;
    struct cw_segment *segment = take_idle(room);
    segment->next = garbage->segments;
    garbage->segments = segment;
    return true;
}

bool cw_room_make(struct cw_room *room, size_t bytes, bool all, struct cw_garbage *garbage)
{
    while (cw_room_is_over(room, bytes)) {
        if (cw_spare_drop(room, garbage) || cw_room_drop_segment(room, garbage))
            continue;
        struct cw_span *span = cw_shelf_drop(room, all);
        if (!span)
            return false;
        room->frames -= span->cap;
        span->next = garbage->spans;
        garbage->spans = span;
    }
    return true;
}

void cw_segments_free(struct cw_segment *first)
{
    while (first) {
        struct cw_segment *next = first->next;

        cw_mem_free(first->data);
        cw_mem_free(first);
        first = next;
    }
}

void cw_room_clear(struct cw_garbage *garbage)
{
    while (garbage->spans) {
        struct cw_span *next = garbage->spans->next;

        cw_mem_free(garbage->spans->data);
        cw_mem_free(garbage->spans);
        garbage->spans = next;
    }
    cw_segments_free(garbage->segments);
    garbage->segments = NULL;
    while (garbage->spare) {
        struct cw_spare *next = garbage->spare->next;

        cw_mem_free(garbage->spare);
        garbage->spare = next;
    }
}

static bool may_write(struct cw_room *room, size_t bytes, struct cw_garbage *garbage)
{
    size_t limit = room->limit / 4 * 3;

    return room->writing <= limit && bytes <= limit - room->writing &&
           cw_room_make(room, bytes, true, garbage);
}

bool cw_room_writing_add(struct cw_cache *cache, size_t bytes)
{
    struct cw_room *room = &cache->room;
    struct cw_garbage garbage = {0};

    cw_mutex_lock(&room->lock);
    bool ok = may_write(room, bytes, &garbage);
    if (ok)
        room->writing += bytes;
    cw_mutex_unlock(&room->lock);
    cw_room_clear(&garbage);
    return ok;
}

void cw_room_writing_sub(struct cw_cache *cache, size_t bytes)
{
    cw_mutex_lock(&cache->room.lock);
    cache->room.writing -= bytes;
    cw_mutex_unlock(&cache->room.lock);
}

/* ---- segments of blocks ---- */

static struct cw_segment *new_segment(size_t bytes)
{
    struct cw_segment *segment = CW_NEW(struct cw_segment);

    segment->bytes = bytes;
    segment->data = cw_mem_try_pages(bytes);
    if (segment->data)
        return segment;
    cw_mem_free(segment);
    return NULL;
}

struct cw_segment *cw_room_segment(struct cw_cache *cache, size_t at_least)
{
    struct cw_room *room = &cache->room;
    size_t bytes = CW_MAX(cache->segment_bytes, at_least);
    struct cw_segment *segment = NULL;
    struct cw_garbage garbage = {0};

    cw_mutex_lock(&room->lock);
    if (room->pool && bytes == cache->segment_bytes && room->writing <= room->limit / 4 * 3 - bytes)
        segment = take_idle(room);
    bool ok = segment || may_write(room, bytes, &garbage);
    if (ok)
        room->writing += bytes;
    cw_mutex_unlock(&room->lock);
    cw_room_clear(&garbage);
    if (ok && !segment && !(segment = new_segment(bytes)))
        cw_room_writing_sub(cache, bytes);
    return segment;
}

void cw_room_segments_free(struct cw_cache *cache, struct cw_segment *first)
{
    struct cw_room *room = &cache->room;
    struct cw_garbage garbage = {0};

    cw_mutex_lock(&room->lock);
    while (first) {
        struct cw_segment *next = first->next;
        bool keep = first->bytes == cache->segment_bytes && !cw_room_is_over(room, 0);

        room->writing -= first->bytes;
        first->used = first->begin = 0;
        first->next = keep ? room->pool : garbage.segments;
        if (keep) {
            room->pool = first;
            room->idle += first->bytes;
        } else {
            garbage.segments = first;
        }
        first = next;
    }
    cw_mutex_unlock(&room->lock);
    cw_room_clear(&garbage);
}

void cw_room_segments_leave(struct cw_cache *cache, const struct cw_segment *first)
{
    for (; first; first = first->next)
        cw_room_writing_sub(cache, first->bytes);
}

/* Once in a while: idle memory that nobody wanted since the last time goes. */
void cw_room_tick(struct cw_cache *cache)
{
    struct cw_room *room = &cache->room;
    struct cw_garbage garbage = {0};

    cw_mutex_lock(&room->lock);
    room->quiet = room->writing || room->busy ? 0 : room->quiet + 1;
    room->busy = false;
    while (room->quiet >= QUIET_TICKS && cw_spare_drop(room, &garbage))
        ;
    if (room->quiet >= QUIET_TICKS) {
        garbage.segments = room->pool;
        for (const struct cw_segment *segment = room->pool; segment; segment = segment->next)
            room->idle -= segment->bytes;
        room->pool = NULL;
    }
    cw_mutex_unlock(&room->lock);
    cw_room_clear(&garbage);
}

void cw_room_fini(struct cw_room *room)
{
    struct cw_garbage garbage = {.segments = room->pool};

    while (cw_spare_drop(room, &garbage))
        ;
    cw_room_clear(&garbage);
    cw_line_fini(&room->line);
    cw_mutex_fini(&room->lock);
}

size_t cw_cache_memory_used(const struct cw_cache *cache)
{
    struct cw_room *room = &((struct cw_cache *)(uintptr_t)cache)->room; /* only its lock changes */

    cw_mutex_lock(&room->lock);
    size_t used = room->writing + room->frames;
    cw_mutex_unlock(&room->lock);
    return used;
}
