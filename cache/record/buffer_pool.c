/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of spans: each comes back, and the one that came back last goes first, while it is in
 * the processor's cache. Sizes are rounded up to four classes an octave; a buffer of up to four
 * times the size is taken before memory that is new. */
#include "cache/record/record_int.h"

#define SMALLEST_BITS 12u
#define SMALLEST ((size_t)1 << SMALLEST_BITS)
#define STEPS 4u
#define LOOK_ABOVE (2 * STEPS)

/* The smallest that has so much; CW_SPARE_CLASSES: none. */
static unsigned class_of(size_t bytes)
{
    if (bytes <= SMALLEST)
        return 0;
    unsigned top = 63 - (unsigned)__builtin_clzll(bytes - 1);
    size_t base = (size_t)1 << top, step = base / STEPS;
    unsigned class = (top - SMALLEST_BITS) * STEPS + (unsigned)((bytes - base + step - 1) / step);
    return CW_MIN(class, CW_SPARE_CLASSES);
}

static size_t cap_of(unsigned class)
{
    size_t base = SMALLEST << (class / STEPS);

    return base + base / STEPS * (class % STEPS);
}

size_t cw_spare_cap(size_t bytes)
{
    unsigned class = class_of(bytes);

    return class < CW_SPARE_CLASSES ? cap_of(class) : CW_ALIGN_UP(bytes, SMALLEST);
}

unsigned char *cw_spare_new(size_t cap)
{
    return cw_mem_try_aligned(64, cap);
}

static void *pop(struct cw_room *room, unsigned class)
{
    struct cw_spare *spare = room->spare[class];

    if (spare) {
        room->spare[class] = spare->next;
        room->idle -= cap_of(class);
    }
    return spare;
}

static unsigned char *pop_fitting(struct cw_room *room, size_t *cap)
{
    unsigned first = class_of(*cap), end = CW_MIN(first + LOOK_ABOVE, CW_SPARE_CLASSES);

    for (unsigned class = first; class < end; class ++) {
        void *data = pop(room, class);

        if (data) {
            *cap = cap_of(class);
            return data;
        }
    }
    return NULL;
}

void cw_spare_give(struct cw_room *room, unsigned char *data, size_t cap,
                   struct cw_garbage *garbage)
{
    struct cw_spare *spare = (struct cw_spare *)(void *)data;
    unsigned class = class_of(cap);

    room->frames -= cap;
    if (!data)
        return;
    bool keep = class < CW_SPARE_CLASSES && !cw_room_is_over(room, cap);
    struct cw_spare **list = keep ? &room->spare[class] : &garbage->spare;
    spare->next = *list;
    *list = spare;
    room->idle += keep ? cap : 0;
}

bool cw_spare_drop(struct cw_room *room, struct cw_garbage *garbage)
{
    for (unsigned class = CW_SPARE_CLASSES; class -- > 0;) {
        struct cw_spare *spare = pop(room, class);

        if (!spare)
            continue;
        spare->next = garbage->spare;
        garbage->spare = spare;
        return true;
    }
    return false;
}

bool cw_spare_take(struct cw_room *room, size_t *cap, bool now, unsigned char **ret_data,
                   struct cw_garbage *garbage)
{
    bool ok = true;

    room->busy = true;
    while (!(*ret_data = pop_fitting(room, cap))) {
        struct cw_span *span = cw_shelf_drop_done(room);

        if (!span && !cw_room_is_over(room, *cap))
            break;
        if (!span && (cw_spare_drop(room, garbage) || cw_room_drop_segment(room, garbage)))
            continue;
        if (!span)
            span = cw_shelf_drop(room, false);
        if (!span) {
            ok = now;
            break;
        }
        cw_spare_give(room, span->data, span->cap, garbage);
        span->data = NULL;
        span->next = garbage->spans;
        garbage->spans = span;
    }
    room->frames += ok ? *cap : 0;
    return ok;
}
