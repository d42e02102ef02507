/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of spans are pooled: the one that came back last is taken first, while it is in the CPU's
 * caches. Sizes are rounded up to four classes an octave. An idle buffer of up to four times the
 * size is preferred to fresh memory. */
#include "cache/record/buffer_pool.h"
#include "cache/record/record_state.h"
#include "cache/record/frame_lru.h"

#define SMALLEST_BITS 12u
#define SMALLEST ((size_t)1 << SMALLEST_BITS)
#define STEPS 4u
#define LOOK_ABOVE (2 * STEPS)

/* Returns the smallest size class whose buffers have at least so many bytes, or CW_BUFFER_CLASSES
 * if no class is large enough. */
static unsigned class_of(size_t bytes)
{
    if (bytes <= SMALLEST)
        return 0;
    unsigned top = 63 - (unsigned)__builtin_clzll(bytes - 1);
    size_t base = (size_t)1 << top, step = base / STEPS;
    unsigned class = (top - SMALLEST_BITS) * STEPS + (unsigned)((bytes - base + step - 1) / step);
    return CW_MIN(class, CW_BUFFER_CLASSES);
}

static size_t cap_of(unsigned class)
{
    size_t base = SMALLEST << (class / STEPS);

    return base + base / STEPS * (class % STEPS);
}

size_t cw_buffer_pool_cap(size_t bytes)
{
    unsigned class = class_of(bytes);

    return class < CW_BUFFER_CLASSES ? cap_of(class) : CW_ALIGN_UP(bytes, SMALLEST);
}

unsigned char *cw_buffer_pool_alloc(size_t cap)
{
    return cw_mem_try_aligned(64, cap);
}

static void *pop(struct cw_memory_budget *budget, unsigned class)
{
    struct cw_pooled_buffer *pooled = budget->pooled[class];

    if (pooled) {
        budget->pooled[class] = pooled->next;
        budget->idle -= cap_of(class);
    }
    return pooled;
}

static unsigned char *pop_fitting(struct cw_memory_budget *budget, size_t *cap)
{
    unsigned first = class_of(*cap), end = CW_MIN(first + LOOK_ABOVE, CW_BUFFER_CLASSES);

    for (unsigned class = first; class < end; class ++) {
        void *data = pop(budget, class);

        if (data) {
            *cap = cap_of(class);
            return data;
        }
    }
    return NULL;
}

void cw_buffer_pool_give(struct cw_memory_budget *budget, unsigned char *data, size_t cap,
                         struct cw_garbage *garbage)
{
    struct cw_pooled_buffer *pooled = (struct cw_pooled_buffer *)(void *)data;
    unsigned class = class_of(cap);

    budget->frames -= cap;
    if (!data)
        return;
    bool keep = class < CW_BUFFER_CLASSES && !cw_memory_budget_is_over(budget, cap);
    struct cw_pooled_buffer **list = keep ? &budget->pooled[class] : &garbage->pooled;
    pooled->next = *list;
    *list = pooled;
    budget->idle += keep ? cap : 0;
}

bool cw_buffer_pool_drop(struct cw_memory_budget *budget, struct cw_garbage *garbage)
{
    for (unsigned class = CW_BUFFER_CLASSES; class -- > 0;) {
        struct cw_pooled_buffer *pooled = pop(budget, class);

        if (!pooled)
            continue;
        pooled->next = garbage->pooled;
        garbage->pooled = pooled;
        return true;
    }
    return false;
}

bool cw_buffer_pool_take(struct cw_memory_budget *budget, size_t *cap, bool now,
                         unsigned char **ret_data, struct cw_garbage *garbage)
{
    bool ok = true;

    budget->busy = true;
    while (!(*ret_data = pop_fitting(budget, cap))) {
        struct cw_span *span = cw_frame_lru_evict_duplicate(budget);

        if (!span && !cw_memory_budget_is_over(budget, *cap))
            break;
        if (!span &&
            (cw_buffer_pool_drop(budget, garbage) || cw_segment_pool_drop(budget, garbage)))
            continue;
        if (!span)
            span = cw_frame_lru_evict(budget, false);
        if (!span) {
            ok = now;
            break;
        }
        cw_buffer_pool_give(budget, span->data, span->cap, garbage);
        span->data = NULL;
        span->next = garbage->spans;
        garbage->spans = span;
    }
    budget->frames += ok ? *cap : 0;
    return ok;
}
