/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of byte strings, for finding all of them that begin at a place. Its edges are in one hash
 * table, so its memory is in proportion to the strings' bytes. It does not change once filled. */
#ifndef CW_OPS_TEXT_TRIE_H
#define CW_OPS_TEXT_TRIE_H

#include "base/err.h"

/* Nodes of a tree: a file that needs more is refused. */
#define CW_TRIE_NODES_MAX ((size_t)1 << 28)
#define CW_TRIE_ROOT 0u
#define CW_TRIE_NONE UINT32_MAX

struct cw_trie_edge {
    uint64_t key; /* (parent << 8 | byte) + 1; 0: empty */
    uint32_t child;
};
struct cw_trie {
    struct cw_trie_edge *edges;
    size_t edges_n; /* a power of 2, twice as many as there are nodes */
    int shift;
    int32_t *values; /* of each node; -1: no string ends there */
    size_t nodes_n, nodes_cap;
};

void cw_trie_init(struct cw_trie *trie);
void cw_trie_fini(struct cw_trie *trie);
/* Adds a string of n > 0 bytes, or gives it another value >= 0. Returns 0 or LIMIT. */
int cw_trie_add(struct cw_trie *trie, const void *p, size_t n, int32_t value, struct cw_err *err);

/* Returns the node behind a byte, or CW_TRIE_NONE. */
static inline uint32_t cw_trie_step(const struct cw_trie *trie, uint32_t node, uint8_t byte)
{
    const uint64_t key = ((uint64_t)node << 8 | byte) + 1;
    size_t i = (size_t)((key * 0x9e3779b97f4a7c15u) >> trie->shift);
    for (; trie->edges[i].key; i = (i + 1) & (trie->edges_n - 1))
        if (trie->edges[i].key == key)
            return trie->edges[i].child;
    return CW_TRIE_NONE;
}

/* Returns the length of the longest string that begins at p, 0: there is none. */
size_t cw_trie_longest(const struct cw_trie *trie, const uint8_t *p, size_t n, int32_t *ret_value);

#endif
