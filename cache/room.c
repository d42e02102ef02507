/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: one limit for blocks that wait to be written and frames that were read. Blocks take at most three quarters, frames what is left; frames
 * give way to both. A frame that is needed now is read even if that exceeds the limit (what a thread holds cannot be taken from it); reading
 * ahead and filling never do. Segments of blocks are used again while there is room: fresh memory costs page faults as much as copying. */
#include <sys/mman.h>

#include "cache/cache_int.h"

#define HUGE_PAGE ((size_t)2 << 20)

#define QUIET_TICKS 40u /* of the keeper: ten seconds */
#define LOOK_AT 256 /* spans, in search of one to drop */

static bool over(const struct cw_room *room, size_t bytes)
{
    size_t used = room->writing + room->frames + room->idle;

    return used > room->limit || bytes > room->limit - used;
}

static void unlink_span(struct cw_room *room, struct cw_span *span)
{
    if (span->prev)
        span->prev->next = span->next;
    else
        room->head = span->next;
    if (span->next)
        span->next->prev = span->prev;
    else
        room->tail = span->prev;
    span->prev = span->next = NULL;
    room->spans--;
}

static void append(struct cw_room *room, struct cw_span *span)
{
    span->next = NULL;
    span->prev = room->tail;
    if (room->tail)
        room->tail->next = span;
    else
        room->head = span;
    room->tail = span;
    room->spans++;
}

/* Takes it out of its chunk's table unless somebody holds it. */
static bool take_from_chunk(struct cw_span *span)
{
    struct cw_cache_chunk *chunk = span->chunk;
    bool mine = false;

    cw_mutex_lock(&chunk->lock);
    struct cw_span **table = span->is_plain ? chunk->plain : chunk->stored;
    if (table[span->first] == span && atomic_load_explicit(&span->refs, memory_order_acquire) == 1) {
        for (uint32_t i = 0; i < span->n; i++)
            table[span->first + i] = NULL;
        mine = true;
    }
    cw_mutex_unlock(&chunk->lock);
    return mine;
}

/* Oldest first: of those that were read, the ones that were not read again since the last look; those read ahead and not used yet only if `all`.
 * Looked at and spared = to the end. */
static struct cw_span *evict(struct cw_room *room, bool all)
{
    size_t tries = CW_MIN(room->spans, (size_t)LOOK_AT);

    while (tries--) {
        struct cw_span *span = room->head;
        int touched = atomic_load_explicit(&span->touched, memory_order_relaxed);

        unlink_span(room, span);
        if (touched == 2)
            atomic_store_explicit(&span->touched, 1, memory_order_relaxed);
        if ((touched == 1 || all) && take_from_chunk(span)) {
            room->frames -= span->bytes;
            return span;
        }
        append(room, span);
    }
    return NULL;
}

static struct cw_segment *take_idle(struct cw_room *room)
{
    struct cw_segment *segment = room->pool;

    room->pool = segment->next;
    room->idle -= segment->bytes;
    return segment;
}

struct garbage {
    struct cw_span *spans;
    struct cw_segment *segments;
};

/* room.lock. Makes room for `bytes`; what it dropped is freed by the caller without the lock. */
static bool make(struct cw_room *room, size_t bytes, bool all, struct garbage *garbage)
{
    while (over(room, bytes)) {
        struct cw_span *span;

        if (room->pool) {
            struct cw_segment *segment = take_idle(room);

            segment->next = garbage->segments;
            garbage->segments = segment;
        } else if ((span = evict(room, false)) || (span = evict(room, false)) || (all && (span = evict(room, true)))) {
            span->next = garbage->spans;
            garbage->spans = span;
        } else {
            return false;
        }
    }
    return true;
}

static void free_segment(struct cw_segment *segment)
{
    cw_mem_free(segment->data);
    cw_mem_free(segment);
}

static void clear(struct garbage *garbage)
{
    while (garbage->spans) {
        struct cw_span *next = garbage->spans->next;

        cw_mem_free(garbage->spans->data);
        cw_mem_free(garbage->spans);
        garbage->spans = next;
    }
    while (garbage->segments) {
        struct cw_segment *next = garbage->segments->next;

        free_segment(garbage->segments);
        garbage->segments = next;
    }
}

static bool may_write(struct cw_room *room, size_t bytes, struct garbage *garbage)
{
    size_t limit = room->limit / 4 * 3;

    return room->writing <= limit && bytes <= limit - room->writing && make(room, bytes, true, garbage);
}

bool cw_room_writing_add(struct cw_cache *cache, size_t bytes)
{
    struct cw_room *room = &cache->room;
    struct garbage garbage = {0};

    cw_mutex_lock(&room->lock);
    bool ok = may_write(room, bytes, &garbage);
    if (ok)
        room->writing += bytes;
    cw_mutex_unlock(&room->lock);
    clear(&garbage);
    return ok;
}

void cw_room_writing_sub(struct cw_cache *cache, size_t bytes)
{
    cw_mutex_lock(&cache->room.lock);
    cache->room.writing -= bytes;
    cw_mutex_unlock(&cache->room.lock);
}

bool cw_room_frames_add(struct cw_cache *cache, size_t bytes, enum cw_room_urgency urgency)
{
    struct cw_room *room = &cache->room;
    struct garbage garbage = {0};

    cw_mutex_lock(&room->lock);
    bool ok = make(room, bytes, urgency == CW_ROOM_NOW, &garbage) || urgency == CW_ROOM_NOW;
    if (ok)
        room->frames += bytes;
    cw_mutex_unlock(&room->lock);
    clear(&garbage);
    return ok;
}

void cw_room_frames_sub(struct cw_cache *cache, size_t bytes)
{
    cw_mutex_lock(&cache->room.lock);
    cache->room.frames -= bytes;
    cw_mutex_unlock(&cache->room.lock);
}

void cw_room_span_add(struct cw_cache *cache, struct cw_span *span)
{
    cw_mutex_lock(&cache->room.lock);
    append(&cache->room, span);
    cw_mutex_unlock(&cache->room.lock);
}

void cw_room_span_remove(struct cw_cache *cache, struct cw_span *span)
{
    struct cw_room *room = &cache->room;

    cw_mutex_lock(&room->lock);
    if (span->prev || span->next || room->head == span)
        unlink_span(room, span);
    cw_mutex_unlock(&room->lock);
}

/* ---- segments of blocks ---- */

static struct cw_segment *new_segment(size_t bytes)
{
    struct cw_segment *segment = CW_NEW(struct cw_segment);

    segment->bytes = bytes;
    segment->data = cw_mem_try_aligned(bytes % HUGE_PAGE ? 64 : HUGE_PAGE, bytes);
    if (segment->data && bytes % HUGE_PAGE == 0)
        (void)madvise(segment->data, bytes, MADV_HUGEPAGE); /* one page fault and not 512 */
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
    struct garbage garbage = {0};

    cw_mutex_lock(&room->lock);
    if (room->pool && bytes == cache->segment_bytes && room->writing <= room->limit / 4 * 3 - bytes)
        segment = take_idle(room);
    bool ok = segment || may_write(room, bytes, &garbage);
    if (ok)
        room->writing += bytes;
    cw_mutex_unlock(&room->lock);
    clear(&garbage);
    if (ok && !segment && !(segment = new_segment(bytes)))
        cw_room_writing_sub(cache, bytes);
    return segment;
}

void cw_room_segments_free(struct cw_cache *cache, struct cw_segment *first)
{
    struct cw_room *room = &cache->room;
    struct garbage garbage = {0};

    cw_mutex_lock(&room->lock);
    while (first) {
        struct cw_segment *next = first->next;
        bool keep = first->bytes == cache->segment_bytes && !over(room, 0);

        room->writing -= first->bytes;
        first->used = 0;
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
    clear(&garbage);
}

/* Once in a while: idle memory that nobody wanted since the last time goes. */
void cw_room_tick(struct cw_cache *cache)
{
    struct cw_room *room = &cache->room;
    struct garbage garbage = {0};

    cw_mutex_lock(&room->lock);
    room->quiet = room->writing ? 0 : room->quiet + 1;
    if (room->quiet >= QUIET_TICKS) {
        garbage.segments = room->pool;
        room->pool = NULL;
        room->idle = 0;
    }
    cw_mutex_unlock(&room->lock);
    clear(&garbage);
}

void cw_room_fini(struct cw_room *room)
{
    struct garbage garbage = {.segments = room->pool};

    clear(&garbage);
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
