/* SPDX-License-Identifier: Apache-2.0 */
/* An arena has one block that it keeps, and further blocks for what did not fit. After a reset, the
 * next allocation replaces the kept block by one that would have held everything (at most `keep`
 * bytes). */
#include "base/arena.h"

#include "base/mem.h"

#define ALIGN ((size_t)64)
#define FIRST_BYTES ((size_t)64 << 10)

/* A further block has a part of what is in use, so that there are few of them. */
#define EXTRA_PART 4
#define EXTRA_BYTES_MAX ((size_t)4 << 20)

struct extra {
    struct extra *next;
    size_t cap, at; /* of the bytes behind it */
    char pad[ALIGN - sizeof(struct extra *) - 2 * sizeof(size_t)];
};
struct cw_arena {
    char *base;
    size_t cap;  /* bytes of base */
    size_t at;   /* bytes used in base */
    size_t used; /* bytes used in base and extras since the reset */
    size_t keep;
    size_t want; /* bytes with which base should be made anew */
    struct extra *extras;
};

struct cw_arena *cw_arena_new(size_t keep_bytes)
{
    struct cw_arena *arena = CW_NEW(struct cw_arena);

    arena->keep = keep_bytes;
    arena->want = CW_MIN(FIRST_BYTES, keep_bytes);
    return arena;
}

static void free_extras(struct cw_arena *arena)
{
    while (arena->extras) {
        struct extra *next = arena->extras->next;
        cw_mem_free(arena->extras);
        arena->extras = next;
    }
}

void cw_arena_free(struct cw_arena *arena)
{
    if (!arena)
        return;
    free_extras(arena);
    cw_mem_free(arena->base);
    cw_mem_free(arena);
}

static struct extra *extra_new(const struct cw_arena *arena, size_t bytes)
{
    size_t cap =
        CW_ALIGN_UP(CW_MAX(bytes, CW_MIN(arena->used / EXTRA_PART, EXTRA_BYTES_MAX)), ALIGN);
    struct extra *extra = cw_mem_try_aligned(ALIGN, sizeof(*extra) + cap);

    if (extra)
        *extra = (struct extra){.next = arena->extras, .cap = cap};
    return extra;
}

static void *alloc_extra(struct cw_arena *arena, size_t bytes)
{
    struct extra *extra = arena->extras;

    if (!extra || extra->cap - extra->at < bytes)
        extra = extra_new(arena, bytes);
    if (!extra)
        return NULL;
    char *p = (char *)(extra + 1) + extra->at;
    arena->extras = extra;
    extra->at += bytes;
    arena->used += bytes;
    return p;
}

void *cw_arena_alloc(struct cw_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    size_t need = bytes ? CW_ALIGN_UP(bytes, ALIGN) : ALIGN;

    if (!arena->base && arena->want) {
        arena->base = cw_mem_try_aligned(ALIGN, arena->want);
        arena->cap = arena->base ? arena->want : 0;
    }
    if (need > arena->cap - arena->at)
        return alloc_extra(arena, need);
    char *p = arena->base + arena->at;
    arena->at += need;
    arena->used += need;
    return p;
}

static void drop_base(struct cw_arena *arena, size_t want)
{
    cw_mem_free(arena->base);
    arena->base = NULL;
    arena->cap = 0;
    arena->want = want;
}

void cw_arena_reset(struct cw_arena *arena)
{
    if (arena->extras) {
        size_t want = CW_MIN(CW_ALIGN_UP(arena->used + arena->used / 4, ALIGN), arena->keep);

        free_extras(arena);
        if (want > arena->cap)
            drop_base(arena, want);
    }
    if (arena->cap > arena->keep)
        drop_base(arena, arena->keep);
    arena->at = 0;
    arena->used = 0;
}

void cw_arena_set_keep(struct cw_arena *arena, size_t keep_bytes)
{
    arena->keep = keep_bytes;
    arena->want = CW_MIN(arena->want, keep_bytes);
}

void cw_arena_trim(struct cw_arena *arena)
{
    free_extras(arena);
    drop_base(arena, CW_MIN(FIRST_BYTES, arena->keep));
    arena->at = 0;
    arena->used = 0;
}

size_t cw_arena_bytes(const struct cw_arena *arena)
{
    size_t bytes = arena->cap;
    for (const struct extra *extra = arena->extras; extra; extra = extra->next)
        bytes += sizeof(*extra) + extra->cap;
    return bytes;
}

size_t cw_arena_used(const struct cw_arena *arena)
{
    return arena->used;
}
