/* SPDX-License-Identifier: Apache-2.0 */
/* The set of what one thread has pinned while it works on elements. A chunk is in it once, however
 * many of its records were got. A pin is a handle or a span. When there are many, the last place of
 * the set refers to a list with the others. */
#include "cache/record/record_state.h"
#include "cache/record/pin_set.h"

#define SPAN ((uintptr_t)1) /* set in the low bit of a pin that is a span */
#define MORE_N 126

struct more {
    struct more *next;
    size_t n;
    void *refs[MORE_N];
};

static void *tagged(struct cw_span *span)
{
    return (void *)((uintptr_t)span | SPAN);
}

static bool is_held(const struct cw_cache_pins *pins, const void *ref)
{
    size_t n = pins->n < CW_CACHE_PINS ? pins->n : CW_CACHE_PINS - 1;

    for (size_t i = n; i-- > 0;)
        if (pins->refs[i] == ref)
            return true;
    return false;
}

static void add(struct cw_cache_pins *pins, void *ref)
{
    if (CW_LIKELY(pins->n < CW_CACHE_PINS - 1)) {
        pins->refs[pins->n++] = ref;
        return;
    }
    struct more *more = pins->n == CW_CACHE_PINS ? pins->refs[CW_CACHE_PINS - 1] : NULL;
    if (!more || more->n == MORE_N) {
        struct more *fresh = CW_NEW(struct more);

        fresh->next = more;
        pins->refs[CW_CACHE_PINS - 1] = more = fresh;
        pins->n = CW_CACHE_PINS;
    }
    more->refs[more->n++] = ref;
}

static void drop(void *ref)
{
    if ((uintptr_t)ref & SPAN)
        cw_span_unref((struct cw_span *)((uintptr_t)ref & ~SPAN));
    else
        cw_cache_handle_release(ref);
}

bool cw_pin_handle(struct cw_cache_pins *pins, struct cw_cache_handle *handle)
{
    if (is_held(pins, handle)) {
        if (pins->is_kept && !cw_cache_handle_is_live(handle))
            return false;
        pins->is_kept = false;
        return true;
    }
    if (!cw_cache_handle_acquire(handle))
        return false;
    add(pins, handle);
    pins->is_kept = false;
    return true;
}

void cw_pin_span(struct cw_cache_pins *pins, struct cw_span *span)
{
    if (is_held(pins, tagged(span)))
        cw_span_unref(span);
    else
        add(pins, tagged(span));
}

static bool ref_is_intact(void *ref)
{
    struct cw_cache_handle *handle = ref;

    return (uintptr_t)ref & SPAN || !handle->chunk || cw_intact_check(handle->chunk);
}

bool cw_cache_is_intact(const struct cw_cache_pins *pins)
{
    const struct more *more = pins->n == CW_CACHE_PINS ? pins->refs[CW_CACHE_PINS - 1] : NULL;
    bool intact = true;

    for (size_t i = more ? CW_CACHE_PINS - 1 : pins->n; i-- > 0;)
        intact = ref_is_intact(pins->refs[i]) && intact;
    for (; more; more = more->next)
        for (size_t i = more->n; i-- > 0;)
            intact = ref_is_intact(more->refs[i]) && intact;
    return intact;
}

/* Pins are released in reverse order, since a span belongs to a chunk that was pinned before it. */
void cw_cache_unpin(struct cw_cache_pins *pins)
{
    struct more *more = pins->n == CW_CACHE_PINS ? pins->refs[CW_CACHE_PINS - 1] : NULL;
    size_t n = more ? CW_CACHE_PINS - 1 : pins->n;

    while (more) {
        struct more *next = more->next;

        while (more->n)
            drop(more->refs[--more->n]);
        cw_mem_free(more);
        more = next;
    }
    while (n)
        drop(pins->refs[--n]);
    pins->n = 0;
    pins->is_kept = false;
}

void cw_cache_unpin_element(struct cw_cache_pins *pins)
{
    if (pins->n == 1 && !((uintptr_t)pins->refs[0] & SPAN))
        pins->is_kept = true;
    else
        cw_cache_unpin(pins);
}
