/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

#include <stdlib.h>

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
    return a->when_ns != b->when_ns ? a->when_ns < b->when_ns : a->seq < b->seq;
}

static void swap(struct sim_heap *heap, size_t i, size_t j)
{
    struct sim_event *event = heap->at[i];

    heap->at[i] = heap->at[j];
    heap->at[j] = event;
}

void sim_heap_push(struct sim_heap *heap, struct sim_event *event)
{
    if (heap->n == heap->cap) {
        heap->cap = heap->cap ? 2 * heap->cap : 256;
        heap->at = realloc(heap->at, heap->cap * sizeof(struct sim_event *));
        if (!heap->at)
            abort();
    }
    size_t i = heap->n++;
    heap->at[i] = event;
    for (; i > 0 && is_before(heap->at[i], heap->at[(i - 1) / 2]); i = (i - 1) / 2)
        swap(heap, i, (i - 1) / 2);
}

struct sim_event *sim_heap_pop(struct sim_heap *heap)
{
    if (heap->n == 0)
        return NULL;
    struct sim_event *first = heap->at[0];
    heap->at[0] = heap->at[--heap->n];
    for (size_t i = 0;;) {
        size_t least = i, left = 2 * i + 1;
        if (left < heap->n && is_before(heap->at[left], heap->at[least]))
            least = left;
        if (left + 1 < heap->n && is_before(heap->at[left + 1], heap->at[least]))
            least = left + 1;
        if (least == i)
            return first;
        swap(heap, i, least);
        i = least;
    }
}

void sim_heap_fini(struct sim_heap *heap)
{
    free(heap->at);
    *heap = (struct sim_heap){0};
}
