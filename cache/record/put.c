/* SPDX-License-Identifier: Apache-2.0 */
/* Filling: a thread takes a place in the node's open block under the lock, and writes the record
 * there without it. */
#include "base/clock.h"
#include "cache/record/record_int.h"

static bool is_known(const struct cw_cache_node *node, uint64_t id)
{
    uint64_t place = cw_ids_get(&node->ids, id);

    return place && cw_slot_is_live(cw_slot_at(node, place));
}

bool cw_cache_has(struct cw_cache_node *node, uint64_t id)
{
    return is_known(node, id);
}

static bool is_full(const struct cw_cache *cache, const struct cw_block *block)
{
    return block->bytes >= cache->chunk_bytes || block->n == CW_BLOCK_RECORDS_MAX;
}

/* node->lock. NULL: memory is full. A block that takes no more is handed out in *ret_sealed,
 * with what was its pending of being open. */
static struct cw_block_record *reserve(struct cw_cache_node *node, uint64_t id, uint32_t bytes,
                                       unsigned char **ret_data, struct cw_block **ret_block,
                                       struct cw_block **ret_sealed)
{
    uint32_t no;

    if (!node->open)
        node->open = cw_block_new(node);
    struct cw_block *block = *ret_block = node->open;
    if (!block)
        return NULL;
    struct cw_block_record *record =
        cw_block_reserve(block, id, bytes, cw_record_align(bytes), ret_data, &no);
    if (!record) {
        if (block->n == 0) /* an empty one would keep the node */
            *ret_sealed = cw_block_seal(node);
        return NULL;
    }
    atomic_fetch_add_explicit(&block->pending, 1, memory_order_relaxed);
    /* without memory for this it is dropped when the block is written */
    cw_node_place(node, id, cw_place(block->slot->no, no));
    if (is_full(node->cache, block))
        *ret_sealed = cw_block_seal(node);
    return record;
}

static void lose(struct cw_cache_node *node, const char *why)
{
    cw_keep_lost(node, 1, why);
    atomic_store_explicit(&node->cache->pressed, true, memory_order_relaxed);
}

void cw_cache_put(struct cw_cache_node *node, uint64_t id, const struct cw_element *element,
                  int64_t cost_ns)
{
    struct cw_block *block = NULL, *sealed = NULL;
    unsigned char *data = NULL;

    if (is_known(node, id) || atomic_load_explicit(&node->cache->closed, memory_order_relaxed))
        return;
    int64_t bytes = element ? cw_record_bytes(&node->spec, element) : (int64_t)CW_CHUNK_LEFT_OUT;
    if (bytes < 0 || (element && bytes > INT32_MAX)) {
        cw_keep_lost(node, 1, "an element that cannot be kept");
        return;
    }
    cw_mutex_lock(&node->lock);
    bool known = is_known(node, id);
    struct cw_block_record *record =
        known ? NULL : reserve(node, id, (uint32_t)bytes, &data, &block, &sealed);
    cw_mutex_unlock(&node->lock);
    if (record) {
        if (element && cw_block_sums(node->cache, record))
            record->sum = cw_record_encode_away(&node->spec, element, data);
        else if (element)
            cw_record_encode(&node->spec, element, data);
        atomic_store_explicit(&record->ready, true, memory_order_release);
        atomic_fetch_add_explicit(&block->cost_ns, cost_ns, memory_order_relaxed);
        cw_count_add(&node->shards[cw_counts_shard()].put, 1, cw_counts_shard());
        cw_block_done(block);
    } else if (!known) {
        lose(node, "memory is full of what waits to be written");
    }
    if (sealed)
        cw_block_done(sealed);
}

void cw_cache_flush(struct cw_cache *cache, struct cw_cache_node *node)
{
    size_t n;

    if (node) {
        cw_block_flush(node);
        return;
    }
    struct cw_cache_node **nodes = cw_node_all(cache, &n);
    for (size_t i = 0; i < n; i++) {
        cw_block_flush(nodes[i]);
        cw_cache_node_unref(nodes[i]);
    }
    cw_mem_free(nodes);
}
