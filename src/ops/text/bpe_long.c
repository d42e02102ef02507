/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/bpe_long.h"

#include "base/mem.h"

/* Scratch memory of a word beyond this is given back at once. */
#define KEEP_BYTES ((size_t)16 << 20)
#define END UINT32_MAX

struct symbol {
    int32_t id; /* -1: it was merged into the one before */
    uint32_t prev, next;
};
/* A pair that could be merged when it was found: by rank, then from the left. */
struct candidate {
    uint64_t order; /* rank << 32 | number of the left symbol */
    int32_t left, right;
};
struct merging {
    const struct cw_bpe *bpe;
    struct symbol *symbols;
    struct candidate *heap;
    size_t heap_n;
};

void cw_bpe_scratch_fini(struct cw_bpe_scratch *scratch)
{
    cw_mem_free(scratch->memory);
    *scratch = (struct cw_bpe_scratch){0};
}

static void push(struct merging *m, struct candidate candidate)
{
    size_t i = m->heap_n++;
    for (; i > 0 && m->heap[(i - 1) / 2].order > candidate.order; i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = candidate;
}

static struct candidate pop(struct merging *m)
{
    const struct candidate top = m->heap[0], last = m->heap[--m->heap_n];
    size_t i = 0;
    for (size_t child = 1; child < m->heap_n; child = 2 * i + 1) {
        if (child + 1 < m->heap_n && m->heap[child + 1].order < m->heap[child].order)
            child++;
        if (m->heap[child].order >= last.order)
            break;
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = last;
    return top;
}

static void push_pair(struct merging *m, uint32_t left)
{
    const uint32_t right = left == END ? END : m->symbols[left].next;
    if (right == END)
        return;
    const int32_t a = m->symbols[left].id, b = m->symbols[right].id;
    const struct cw_bpe_pair *pair = cw_bpe_pair(m->bpe, a, b);
    if (pair)
        push(m, (struct candidate){(uint64_t)pair->rank << 32 | left, a, b});
}

/* Merges a pair if its symbols are still there. */
static void merge(struct merging *m, struct candidate candidate)
{
    struct symbol *left = &m->symbols[(uint32_t)candidate.order];
    if (left->id != candidate.left || left->next == END)
        return;
    struct symbol *right = &m->symbols[left->next];
    const struct cw_bpe_pair *pair = cw_bpe_pair(m->bpe, candidate.left, candidate.right);
    if (right->id != candidate.right || !pair)
        return;
    left->id = pair->id;
    right->id = -1;
    left->next = right->next;
    if (right->next != END)
        m->symbols[right->next].prev = (uint32_t)candidate.order;
    push_pair(m, left->prev);
    push_pair(m, (uint32_t)candidate.order);
}

/* Each of n - 1 merges adds at most two pairs to the n - 1 of the beginning. */
static int set_memory(struct cw_bpe_scratch *scratch, size_t n, struct merging *m,
                      struct cw_err *err)
{
    const size_t heap_bytes = 3 * n * sizeof(struct candidate);
    const size_t bytes = heap_bytes + n * sizeof(struct symbol);
    if (bytes > scratch->bytes) {
        cw_bpe_scratch_fini(scratch);
        scratch->memory = cw_mem_try(bytes);
        if (!scratch->memory)
            return cw_err_set(err, CW_E_NOMEM, "no memory for a word of %zu symbols", n);
        scratch->bytes = bytes;
    }
    m->heap = scratch->memory;
    m->symbols = (void *)((char *)scratch->memory + heap_bytes);
    return 0;
}

int64_t cw_bpe_merge_long(const struct cw_bpe *bpe, struct cw_bpe_scratch *scratch, int32_t *ids,
                          size_t n, struct cw_err *err)
{
    struct merging m = {.bpe = bpe};
    if (n >= END / 2)
        return cw_err_set(err, CW_E_LIMIT, "a word of %zu symbols is too long", n);
    int rc = set_memory(scratch, n, &m, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < n; i++)
        m.symbols[i] = (struct symbol){ids[i], i ? i - 1 : END, i + 1 < n ? i + 1 : END};
    for (uint32_t i = 0; i + 1 < n; i++)
        push_pair(&m, i);
    while (m.heap_n > 0)
        merge(&m, pop(&m));
    int64_t left_n = 0;
    for (uint32_t i = 0; i != END; i = m.symbols[i].next)
        ids[left_n++] = m.symbols[i].id;
    if (scratch->bytes > KEEP_BYTES)
        cw_bpe_scratch_fini(scratch);
    return left_n;
}
