/* SPDX-License-Identifier: Apache-2.0 */
/* A block: encoded records that wait to be written, found by readers like those of a chunk.
 * Records are written once, into segments of memory that the chunk's writer borrows later. Its
 * tables are pages that never move, since readers look into them without a lock. */
#include <string.h>

#include "base/clock.h"
#include "cache/record/record_int.h"

#define PAGE_BYTES (CW_BLOCK_PAGE * sizeof(struct cw_block_record))

struct cw_block *cw_block_new(struct cw_cache_node *node)
{
    struct cw_block *block = CW_NEW(struct cw_block);

    block->node = node;
    block->slot = cw_slot_new(node, NULL, block);
    if (!block->slot) {
        cw_mem_free(block);
        return NULL;
    }
    block->file_at = node->frames_at;
    cw_cache_node_ref(node);
    atomic_init(&block->pending, 1);
    return block;
}

static void release_segments(void *arg, struct cw_buf *buf)
{
    (void)arg;
    cw_segments_free(buf->data);
}

struct cw_buf *cw_block_hold(struct cw_block *block)
{
    if (!block->hold)
        block->hold = cw_buf_wrap(NULL, 0, release_segments, NULL);
    return block->hold;
}

/* To be used again, unless a write hangs in them. */
static void drop_segments(struct cw_block *block)
{
    struct cw_cache *cache = block->node->cache;

    if (block->hold && atomic_load_explicit(&block->hold->refs, memory_order_acquire) > 1) {
        cw_room_segments_leave(cache, block->segments);
        block->hold->data = block->segments;
    } else {
        cw_room_segments_free(cache, block->segments);
    }
    cw_buf_unref(block->hold);
}

void cw_block_free(struct cw_block *block)
{
    struct cw_cache *cache = block->node->cache;

    drop_segments(block);
    for (size_t i = 0; i < CW_ARRAY_LEN(block->pages); i++)
        cw_mem_free(atomic_load_explicit(&block->pages[i], memory_order_relaxed));
    cw_room_writing_sub(cache, block->page_bytes);
    cw_mem_free(block);
}

struct cw_block_record *cw_block_at(const struct cw_block *block, uint32_t no)
{
    if (no >= CW_BLOCK_RECORDS_MAX)
        return NULL;
    struct cw_block_record *page =
        atomic_load_explicit(&block->pages[no / CW_BLOCK_PAGE], memory_order_acquire);
    return page ? &page[no % CW_BLOCK_PAGE] : NULL;
}

static bool add_page(struct cw_block *block)
{
    struct cw_cache *cache = block->node->cache;

    if (!cw_room_writing_add(cache, PAGE_BYTES))
        return false;
    struct cw_block_record *page = cw_mem_try(PAGE_BYTES);
    if (!page) {
        cw_room_writing_sub(cache, PAGE_BYTES);
        return false;
    }
    memset(page, 0, PAGE_BYTES);
    block->page_bytes += PAGE_BYTES;
    atomic_store_explicit(&block->pages[block->n / CW_BLOCK_PAGE], page, memory_order_release);
    return true;
}

/* Records as large as a good part of a segment get one of their own; the one in use stays first. */
static struct cw_segment *add_segment(struct cw_block *block, uint32_t bytes)
{
    struct cw_cache *cache = block->node->cache;
    bool own = bytes > cache->segment_bytes / 4;
    struct cw_segment *segment = cw_room_segment(cache, own ? bytes + CW_MEM_PAGE : 0);

    if (!segment)
        return NULL;
    if (own && block->segments) {
        segment->next = block->segments->next;
        block->segments->next = segment;
    } else {
        segment->next = block->segments;
        block->segments = segment;
    }
    return segment;
}

/* What is skipped for alignment is zeroed: it is in the file, too. */
static unsigned char *place(struct cw_block *block, uint32_t bytes, size_t align)
{
    struct cw_segment *segment = block->segments;
    bool is_large = bytes >= CW_CHUNK_FRAME_BYTES;
    size_t at = segment ? CW_ALIGN_UP(segment->used, align) : 0;

    if (!segment || at > segment->bytes || bytes > segment->bytes - at) {
        segment = add_segment(block, bytes);
        if (!segment)
            return NULL;
        at = segment->used = segment->begin = is_large ? (size_t)(block->file_at % CW_MEM_PAGE) : 0;
    }
    size_t end = at + bytes,
           padded = is_large ? CW_MIN(CW_ALIGN_UP(end, align), segment->bytes) : end;
    memset(segment->data + segment->used, 0, at - segment->used);
    memset(segment->data + end, 0, padded - end);
    segment->used = end;
    block->file_at += is_large ? CW_ALIGN_UP((uint64_t)bytes, align) : 0;
    return segment->data + at;
}

struct cw_block_record *cw_block_reserve(struct cw_block *block, uint64_t id, uint32_t bytes,
                                         size_t align, unsigned char **ret_data, uint32_t *ret_no)
{
    unsigned char *data = NULL;

    if (block->n == CW_BLOCK_RECORDS_MAX || (!cw_block_at(block, block->n) && !add_page(block)))
        return NULL;
    if (bytes != CW_CHUNK_LEFT_OUT && !(data = place(block, bytes, align)))
        return NULL;
    struct cw_block_record *record = cw_block_record(block, block->n);
    record->id = id;
    record->data = data;
    record->bytes = bytes;
    if (block->n == 0) {
        block->first_ns = cw_clock_ns();
        atomic_fetch_add(&block->node->cache->blocks, 1);
    }
    block->bytes += data ? bytes : 0;
    *ret_data = data;
    *ret_no = block->n++;
    return record;
}

struct cw_block *cw_block_seal(struct cw_cache_node *node)
{
    struct cw_block *block = node->open;

    node->open = NULL;
    return block;
}

void cw_block_done(struct cw_block *block)
{
    if (atomic_fetch_sub_explicit(&block->pending, 1, memory_order_acq_rel) != 1)
        return;
    if (block->n)
        cw_write_queue(block->node->cache, block);
    else
        cw_block_retire(block);
}

void cw_block_flush(struct cw_cache_node *node)
{
    cw_mutex_lock(&node->lock);
    struct cw_block *block = cw_block_seal(node);
    cw_mutex_unlock(&node->lock);
    if (block)
        cw_block_done(block);
}

void cw_block_retire(struct cw_block *block)
{
    struct cw_cache_node *node = block->node;
    struct cw_cache *cache = node->cache;
    struct cw_slot *slot = block->slot;
    uint32_t n = block->n;

    for (uint32_t i = 0; i < n;) {
        uint32_t end = CW_MIN(i + CW_BLOCK_PAGE, n);

        cw_mutex_lock(&node->lock);
        for (; i < end; i++) {
            uint64_t id = cw_block_record(block, i)->id;

            if (cw_ids_get(&node->ids, id) == cw_place(slot->no, i))
                cw_node_place(node, id, 0);
        }
        cw_mutex_unlock(&node->lock);
    }
    cw_slot_kill(slot);
    cw_slot_drop(slot);
    if (n) {
        cw_mutex_lock(&cache->lock);
        if (atomic_fetch_sub(&cache->blocks, 1) == 1)
            cw_cond_broadcast(&cache->idle);
        cw_mutex_unlock(&cache->lock);
    }
    cw_cache_node_unref(node);
}
