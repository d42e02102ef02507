/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames stay in memory. Jobs read each record once an epoch: what was read just now is
 * what will be needed last. So when memory is full, what came last to the shelf of those that
 * are kept goes first, and the others are hits in the next epoch; the buffer that was just used
 * is the next one to be read into. Of the last ones those stay that stand in the line once more,
 * the nearer to its head the rather. Now and then the oldest goes, so that what nobody reads any
 * more does not stay for ever. Of mapped chunks only what is read for the first time comes here,
 * past the page cache, for which that is too early: data that is read once need not push out
 * other data. Its buffers are the first to be used again (DONE). Frames whose last record was
 * got just now stay a little in any case (RECENT): somebody who did not tell ahead may read on
 * there. What somebody holds stays where it is. */
#include "base/clock.h"
#include "cache/record/record_int.h"

#define RECENT_BYTES ((size_t)4 << 20) /* at most; and an eighth of the memory */
#define TURNS 16u                      /* one of so many is the oldest */
/* spans, in search of one that nobody holds and nobody needs soon */
#define LOOK_AT 64u
#define OLD_NS ((int64_t)5 * 1000000000)

static void take_off(struct cw_room *room, struct cw_span *span)
{
    struct cw_shelf_list *list = &room->shelves[span->shelf];

    if (span->shelf == CW_SHELF_NONE)
        return;
    if (span->prev)
        span->prev->next = span->next;
    else
        list->head = span->next;
    if (span->next)
        span->next->prev = span->prev;
    else
        list->tail = span->prev;
    list->bytes -= span->cap;
    span->prev = span->next = NULL;
    span->shelf = CW_SHELF_NONE;
}

static void move(struct cw_room *room, struct cw_span *span, enum cw_shelf shelf)
{
    struct cw_shelf_list *list = &room->shelves[shelf];

    take_off(room, span);
    if (shelf == CW_SHELF_NONE)
        return;
    span->prev = list->tail;
    if (list->tail)
        list->tail->next = span;
    else
        list->head = span;
    list->tail = span;
    list->bytes += span->cap;
    span->shelf = shelf;
}

void cw_shelf_put(struct cw_room *room, struct cw_span *span, enum cw_shelf shelf)
{
    const struct cw_shelf_list *recent = &room->shelves[CW_SHELF_RECENT];

    move(room, span, shelf);
    while (recent->bytes > CW_MIN(room->limit / 8, RECENT_BYTES) && recent->head != span)
        move(room, recent->head,
             recent->head->chunk->map && !recent->head->is_plain ? CW_SHELF_DONE : CW_SHELF_KEPT);
}

/* The next time they are got from the mapping, by way of the page cache. */
static void mark_checked(struct cw_cache_chunk *chunk, const struct cw_span *span)
{
    uint64_t good = atomic_load_explicit(&span->checked, memory_order_relaxed);

    for (uint32_t i = 0; i < span->n; i++) {
        uint32_t frame = span->first + i;

        if (good >> i & 1)
            atomic_fetch_or_explicit(&chunk->checked[frame / 64].word, (uint64_t)1 << frame % 64,
                                     memory_order_release);
    }
}

/* Takes it out of its chunk's table unless somebody holds it. */
static bool take_from_chunk(struct cw_span *span)
{
    struct cw_cache_chunk *chunk = span->chunk;
    bool mine = false;

    cw_mutex_lock(&chunk->lock);
    struct cw_span **table = span->is_plain ? chunk->plain : chunk->stored;
    if (table[span->first] == span &&
        atomic_load_explicit(&span->refs, memory_order_acquire) == 1) {
        for (uint32_t i = 0; i < span->n; i++)
            table[span->first + i] = NULL;
        if (chunk->map && !span->is_plain)
            mark_checked(chunk, span);
        mine = true;
    }
    cw_mutex_unlock(&chunk->lock);
    return mine;
}

/* Of some that nobody holds the one that is needed last. */
static struct cw_span *find_last_needed(const struct cw_shelf_list *list, bool newest)
{
    struct cw_span *span = newest ? list->tail : list->head, *found = NULL;
    uint64_t found_turn = 0;

    for (unsigned i = 0; span && i < LOOK_AT && found_turn != CW_LINE_NEVER;
         i++, span = newest ? span->prev : span->next) {
        uint64_t turn =
            atomic_load_explicit(&span->refs, memory_order_relaxed) == 1 ? cw_line_turn(span) : 0;

        if (turn > found_turn) {
            found = span;
            found_turn = turn;
        }
    }
    return found;
}

static struct cw_span *drop_from(struct cw_room *room, enum cw_shelf shelf, bool newest)
{
    for (unsigned i = 0; i < LOOK_AT; i++) { /* somebody may take it just now */
        struct cw_span *span = find_last_needed(&room->shelves[shelf], newest);

        if (!span || take_from_chunk(span)) {
            if (span)
                take_off(room, span);
            return span;
        }
    }
    return NULL;
}

struct cw_span *cw_shelf_drop_done(struct cw_room *room)
{
    return drop_from(room, CW_SHELF_DONE, false);
}

/* Of those that are wanted the newest: they are needed last. */
struct cw_span *cw_shelf_drop(struct cw_room *room, bool all)
{
    struct cw_span *span = cw_shelf_drop_done(room);

    if (!span)
        span = drop_from(room, CW_SHELF_KEPT, ++room->dropped % TURNS != 0);
    if (!span)
        span = drop_from(room, CW_SHELF_RECENT, false);
    if (!span && all)
        span = drop_from(room, CW_SHELF_AHEAD, true);
    return span;
}

void cw_shelf_forget_old(struct cw_room *room)
{
    const struct cw_shelf_list *ahead = &room->shelves[CW_SHELF_AHEAD];
    int64_t now = cw_clock_ns();

    while (ahead->head && now - ahead->head->since_ns >= OLD_NS &&
           atomic_load(&ahead->head->refs) == 1) {
        atomic_store(&ahead->head->wanted, 0);
        cw_shelf_put(room, ahead->head, CW_SHELF_RECENT);
    }
}

void cw_shelf_used(struct cw_span *span, uint32_t frame)
{
    struct cw_cache_chunk *chunk = span->chunk;
    struct cw_cache *cache = chunk->node->cache;
    unsigned n = atomic_load_explicit(&span->wanted, memory_order_relaxed);

    while (n && !atomic_compare_exchange_weak_explicit(&span->wanted, &n, n - 1,
                                                       memory_order_relaxed, memory_order_relaxed))
        ;
    if (n > 1 || (n == 0 && atomic_load_explicit(&chunk->told_n, memory_order_relaxed) == 0))
        return;
    cw_mutex_lock(&cache->room.lock);
    if (n == 0 && atomic_load_explicit(&chunk->told_n, memory_order_relaxed) > 0)
        cw_line_got(&cache->room.line, chunk, frame); /* before its turn */
    else if (span->shelf == CW_SHELF_AHEAD && atomic_load(&span->wanted) == 0)
        cw_shelf_put(&cache->room, span, CW_SHELF_RECENT);
    cw_mutex_unlock(&cache->room.lock);
    cw_fetch_pump(cache);
}
