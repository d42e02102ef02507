/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/trie.h"

#include "base/mem.h"

static void set_edges(struct cw_trie *trie, int bits)
{
    trie->edges_n = (size_t)1 << bits;
    trie->shift = 64 - bits;
    trie->edges = CW_NEW_ARRAY(struct cw_trie_edge, trie->edges_n);
}

static uint32_t add_node(struct cw_trie *trie)
{
    if (trie->nodes_n >= trie->nodes_cap) {
        trie->nodes_cap = trie->nodes_cap ? 2 * trie->nodes_cap : 256;
        trie->values = cw_mem_grow(trie->values, trie->nodes_cap, sizeof(trie->values[0]));
    }
    trie->values[trie->nodes_n] = -1;
    return (uint32_t)trie->nodes_n++;
}

void cw_trie_init(struct cw_trie *trie)
{
    *trie = (struct cw_trie){0};
    set_edges(trie, 10);
    add_node(trie);
}

void cw_trie_fini(struct cw_trie *trie)
{
    cw_mem_free(trie->edges);
    cw_mem_free(trie->values);
    *trie = (struct cw_trie){0};
}

static void put(struct cw_trie *trie, struct cw_trie_edge edge)
{
    size_t i = (size_t)((edge.key * 0x9e3779b97f4a7c15u) >> trie->shift);
    while (trie->edges[i].key)
        i = (i + 1) & (trie->edges_n - 1);
    trie->edges[i] = edge;
}

static void grow(struct cw_trie *trie)
{
    struct cw_trie_edge *old = trie->edges;
    const size_t old_n = trie->edges_n;
    set_edges(trie, 64 - trie->shift + 1);
    for (size_t i = 0; i < old_n; i++)
        if (old[i].key)
            put(trie, old[i]);
    cw_mem_free(old);
}

int cw_trie_add(struct cw_trie *trie, const void *p, size_t n, int32_t value, struct cw_err *err)
{
    uint32_t node = CW_TRIE_ROOT;
    for (size_t i = 0; i < n; i++) {
        const uint8_t byte = ((const uint8_t *)p)[i];
        uint32_t next = cw_trie_step(trie, node, byte);
        if (next == CW_TRIE_NONE) {
            if (trie->nodes_n >= CW_TRIE_NODES_MAX)
                return cw_err_set(err, CW_E_LIMIT, "the tokens need a tree of more than %zu nodes",
                                  CW_TRIE_NODES_MAX);
            if (2 * trie->nodes_n >= trie->edges_n)
                grow(trie);
            next = add_node(trie);
            put(trie, (struct cw_trie_edge){((uint64_t)node << 8 | byte) + 1, next});
        }
        node = next;
    }
    trie->values[node] = value;
    return 0;
}

size_t cw_trie_longest(const struct cw_trie *trie, const uint8_t *p, size_t n, int32_t *ret_value)
{
    size_t longest = 0;
    uint32_t node = CW_TRIE_ROOT;
    for (size_t i = 0; i < n; i++) {
        node = cw_trie_step(trie, node, p[i]);
        if (node == CW_TRIE_NONE)
            break;
        if (trie->values[node] >= 0) {
            longest = i + 1;
            *ret_value = trie->values[node];
        }
    }
    return longest;
}
