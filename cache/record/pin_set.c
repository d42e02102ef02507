/* SPDX-License-Identifier: Apache-2.0 */
/* What one thread keeps while it works on elements: each chunk once, however many of its records
 * were got. A ref is a slot or a span; the last place is for a list of more when there are many. */
#include "cache/record/record_int.h"

#define SPAN ((uintptr_t)1) /* in the low bit of a ref */
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

static bool is_held(const struct cw_cache_hold *hold, const void *ref)
{
    size_t n = hold->n < CW_CACHE_HOLDS ? hold->n : CW_CACHE_HOLDS - 1;

    for (size_t i = n; i-- > 0;)
        if (hold->refs[i] == ref)
            return true;
    return false;
}

static void add(struct cw_cache_hold *hold, void *ref)
{
    if (CW_LIKELY(hold->n < CW_CACHE_HOLDS - 1)) {
        hold->refs[hold->n++] = ref;
        return;
    }
    struct more *more = hold->n == CW_CACHE_HOLDS ? hold->refs[CW_CACHE_HOLDS - 1] : NULL;
    if (!more || more->n == MORE_N) {
        struct more *fresh = CW_NEW(struct more);

        fresh->next = more;
        hold->refs[CW_CACHE_HOLDS - 1] = more = fresh;
        hold->n = CW_CACHE_HOLDS;
    }
    more->refs[more->n++] = ref;
}

static void drop(void *ref)
{
    if ((uintptr_t)ref & SPAN)
        cw_span_unref((struct cw_span *)((uintptr_t)ref & ~SPAN));
    else
        cw_slot_drop(ref);
}

bool cw_hold_slot(struct cw_cache_hold *hold, struct cw_slot *slot)
{
    if (is_held(hold, slot))
        return true;
    if (!cw_slot_take(slot))
        return false;
    add(hold, slot);
    return true;
}

void cw_hold_span(struct cw_cache_hold *hold, struct cw_span *span)
{
    if (is_held(hold, tagged(span)))
        cw_span_unref(span);
    else
        add(hold, tagged(span));
}

static bool ref_is_intact(void *ref)
{
    struct cw_slot *slot = ref;

    return (uintptr_t)ref & SPAN || !slot->chunk || cw_intact_check(slot->chunk);
}

bool cw_cache_is_intact(const struct cw_cache_hold *hold)
{
    const struct more *more = hold->n == CW_CACHE_HOLDS ? hold->refs[CW_CACHE_HOLDS - 1] : NULL;
    bool intact = true;

    for (size_t i = more ? CW_CACHE_HOLDS - 1 : hold->n; i-- > 0;)
        intact = ref_is_intact(hold->refs[i]) && intact;
    for (; more; more = more->next)
        for (size_t i = more->n; i-- > 0;)
            intact = ref_is_intact(more->refs[i]) && intact;
    return intact;
}

/* Backwards: a span lies in a chunk that was taken before it. */
void cw_cache_release(struct cw_cache_hold *hold)
{
    struct more *more = hold->n == CW_CACHE_HOLDS ? hold->refs[CW_CACHE_HOLDS - 1] : NULL;
    size_t n = more ? CW_CACHE_HOLDS - 1 : hold->n;

    while (more) {
        struct more *next = more->next;

        while (more->n)
            drop(more->refs[--more->n]);
        cw_mem_free(more);
        more = next;
    }
    while (n)
        drop(hold->refs[--n]);
    hold->n = 0;
}
