/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/bpe_long.h"

#include "base/mem.h"
#include "ops/text/candidates.h"

/* Scratch memory of a word beyond this is given back at once. */
#define KEEP_BYTES ((size_t)16 << 20)
#define END UINT32_MAX

struct symbol {
    int32_t id; /* -1: it was merged into the one before */
    uint32_t prev, next;
};
struct merging {
    const struct cw_bpe *bpe;
    struct symbol *symbols;
    /* pairs that could be merged when they were found: by rank, then from the left (rank << 32 |
     * number of the left symbol); a and b are their symbols */
    struct cw_candidates candidates;
};

void cw_bpe_scratch_fini(struct cw_bpe_scratch *scratch)
{
    cw_mem_free(scratch->memory);
    *scratch = (struct cw_bpe_scratch){0};
}

static void push_pair(struct merging *m, uint32_t left)
{
    const uint32_t right = left == END ? END : m->symbols[left].next;
    if (right == END)
        return;
    const int32_t a = m->symbols[left].id, b = m->symbols[right].id;
    const struct cw_bpe_pair *pair = cw_bpe_pair(m->bpe, a, b);
    if (pair)
        cw_candidates_push(&m->candidates, (struct cw_candidate){(uint64_t)pair->rank << 32 | left,
                                                                 (uint32_t)a, (uint32_t)b});
}

/* Merges a pair if its symbols are still there. */
static void merge(struct merging *m, struct cw_candidate candidate)
{
    struct symbol *left = &m->symbols[(uint32_t)candidate.order];
    if (left->id != (int32_t)candidate.a || left->next == END)
        return;
    struct symbol *right = &m->symbols[left->next];
    const struct cw_bpe_pair *pair =
        cw_bpe_pair(m->bpe, (int32_t)candidate.a, (int32_t)candidate.b);
    if (right->id != (int32_t)candidate.b || !pair)
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
    const size_t heap_bytes = 3 * n * sizeof(struct cw_candidate);
    const size_t bytes = heap_bytes + n * sizeof(struct symbol);
    if (bytes > scratch->bytes) {
        cw_bpe_scratch_fini(scratch);
        scratch->memory = cw_mem_try(bytes);
        if (!scratch->memory)
            return cw_err_set(err, CW_E_NOMEM, "no memory for a word of %zu symbols", n);
        scratch->bytes = bytes;
    }
    m->candidates.heap = scratch->memory;
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
    while (m.candidates.n > 0)
        merge(&m, cw_candidates_pop(&m.candidates));
    int64_t left_n = 0;
    for (uint32_t i = 0; i != END; i = m.symbols[i].next)
        ids[left_n++] = m.symbols[i].id;
    if (scratch->bytes > KEEP_BYTES)
        cw_bpe_scratch_fini(scratch);
    return left_n;
}
