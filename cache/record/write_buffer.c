/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a write buffer consist of pages that never move, since readers look into them
 * without a lock. */
#include <string.h>

#include "base/clock.h"
#include "cache/record/record_state.h"
#include "cache/record/requests.h"

#define PAGE_BYTES (CW_WRITE_BUFFER_PAGE * sizeof(struct cw_buffered_record))

static void release_segments(void *arg, struct cw_buf *buf)
{
    (void)arg;
    cw_segments_free(buf->data);
}

struct cw_buf *cw_write_buffer_keep_segments(struct cw_write_buffer *buffer)
{
    if (!buffer->borrowed)
        buffer->borrowed = cw_buf_wrap(NULL, 0, release_segments, NULL);
    return buffer->borrowed;
}

/* Returns the segments to the pool, unless a write that was given up still reads them: then that
 * write frees them. */
static void drop_segments(struct cw_write_buffer *buffer)
{
    struct cw_cache *cache = buffer->dataset->cache;

    if (buffer->borrowed &&
        atomic_load_explicit(&buffer->borrowed->refs, memory_order_acquire) > 1) {
        cw_memory_budget_abandon_segments(cache, buffer->segments);
        buffer->borrowed->data = buffer->segments;
    } else {
        cw_memory_budget_give_segments(cache, buffer->segments);
    }
    cw_buf_unref(buffer->borrowed);
}

static void free_buffer(struct cw_write_buffer *buffer)
{
    struct cw_cache *cache = buffer->dataset->cache;

    drop_segments(buffer);
    for (size_t i = 0; i < CW_ARRAY_LEN(buffer->pages); i++)
        cw_mem_free(atomic_load_explicit(&buffer->pages[i], memory_order_relaxed));
    cw_memory_budget_release(cache, buffer->page_bytes);
    cw_mem_free(buffer);
}

static void reclaim(struct cw_cache_handle *handle)
{
    struct cw_cache_dataset *dataset = handle->buffer->dataset;

    free_buffer(handle->buffer);
    cw_dataset_handle_recycle(dataset, handle);
}

struct cw_write_buffer *cw_write_buffer_new(struct cw_cache_dataset *dataset)
{
    struct cw_write_buffer *buffer = CW_NEW(struct cw_write_buffer);

    buffer->dataset = dataset;
    buffer->handle = cw_dataset_handle_new(dataset, NULL, buffer, reclaim);
    if (!buffer->handle) {
        cw_mem_free(buffer);
        return NULL;
    }
    buffer->file_at = dataset->frames_at;
    cw_cache_dataset_ref(dataset);
    atomic_init(&buffer->pending, 1);
    return buffer;
}

struct cw_buffered_record *cw_write_buffer_at(const struct cw_write_buffer *buffer, uint32_t no)
{
    if (no >= CW_WRITE_BUFFER_RECORDS_MAX)
        return NULL;
    struct cw_buffered_record *page =
        atomic_load_explicit(&buffer->pages[no / CW_WRITE_BUFFER_PAGE], memory_order_acquire);
    return page ? &page[no % CW_WRITE_BUFFER_PAGE] : NULL;
}

static bool add_page(struct cw_write_buffer *buffer)
{
    struct cw_cache *cache = buffer->dataset->cache;

    if (!cw_memory_budget_reserve(cache, PAGE_BYTES))
        return false;
    struct cw_buffered_record *page = cw_mem_try(PAGE_BYTES);
    if (!page) {
        cw_memory_budget_release(cache, PAGE_BYTES);
        return false;
    }
    memset(page, 0, PAGE_BYTES);
    buffer->page_bytes += PAGE_BYTES;
    atomic_store_explicit(&buffer->pages[buffer->n / CW_WRITE_BUFFER_PAGE], page,
                          memory_order_release);
    return true;
}

/* Adds a segment. A record larger than a quarter of a segment gets a segment of its own; the one in
 * use stays first in the list. */
static struct cw_segment *add_segment(struct cw_write_buffer *buffer, uint32_t bytes)
{
    struct cw_cache *cache = buffer->dataset->cache;
    bool own = bytes > cache->segment_bytes / 4;
    struct cw_segment *segment =
        cw_memory_budget_take_segment(cache, own ? bytes + CW_MEM_PAGE : 0);

    if (!segment)
        return NULL;
    if (own && buffer->segments) {
        segment->next = buffer->segments->next;
        buffer->segments->next = segment;
    } else {
        segment->next = buffer->segments;
        buffer->segments = segment;
    }
    return segment;
}

/* Returns the memory for a record. Bytes that are skipped for alignment are zeroed, since they are
 * written to the file. */
static unsigned char *place(struct cw_write_buffer *buffer, uint32_t bytes, size_t align)
{
    struct cw_segment *segment = buffer->segments;
    bool is_large = bytes >= CW_CHUNK_FRAME_BYTES;
    size_t at = segment ? CW_ALIGN_UP(segment->used, align) : 0;

    if (!segment || at > segment->bytes || bytes > segment->bytes - at) {
        segment = add_segment(buffer, bytes);
        if (!segment)
            return NULL;
        at = segment->used = segment->begin =
            is_large ? (size_t)(buffer->file_at % CW_MEM_PAGE) : 0;
    }
    size_t end = at + bytes,
           padded = is_large ? CW_MIN(CW_ALIGN_UP(end, align), segment->bytes) : end;
    memset(segment->data + segment->used, 0, at - segment->used);
    memset(segment->data + end, 0, padded - end);
    segment->used = end;
    buffer->file_at += is_large ? CW_ALIGN_UP((uint64_t)bytes, align) : 0;
    return segment->data + at;
}

struct cw_buffered_record *cw_write_buffer_reserve(struct cw_write_buffer *buffer, uint64_t id,
                                                   uint32_t bytes, size_t align,
                                                   unsigned char **ret_data, uint32_t *ret_no)
{
    unsigned char *data = NULL;

    if (buffer->n == CW_WRITE_BUFFER_RECORDS_MAX ||
        (!cw_write_buffer_at(buffer, buffer->n) && !add_page(buffer)))
        return NULL;
    if (bytes != CW_CHUNK_LEFT_OUT && !(data = place(buffer, bytes, align)))
        return NULL;
    struct cw_buffered_record *record = cw_write_buffer_record(buffer, buffer->n);
    record->id = id;
    record->data = data;
    record->bytes = bytes;
    if (buffer->n == 0) {
        buffer->first_ns = cw_clock_ns();
        atomic_fetch_add(&buffer->dataset->cache->unwritten, 1);
    }
    buffer->bytes += data ? bytes : 0;
    *ret_data = data;
    *ret_no = buffer->n++;
    return record;
}

struct cw_write_buffer *cw_write_buffer_seal(struct cw_cache_dataset *dataset)
{
    struct cw_write_buffer *buffer = dataset->open;

    dataset->open = NULL;
    return buffer;
}

void cw_write_buffer_done(struct cw_write_buffer *buffer)
{
    if (atomic_fetch_sub_explicit(&buffer->pending, 1, memory_order_acq_rel) != 1)
        return;
    if (buffer->n)
        cw_request_flush(buffer->dataset->cache, buffer);
    else
        cw_write_buffer_retire(buffer);
}

void cw_write_buffer_flush(struct cw_cache_dataset *dataset)
{
    cw_mutex_lock(&dataset->lock);
    struct cw_write_buffer *buffer = cw_write_buffer_seal(dataset);
    cw_mutex_unlock(&dataset->lock);
    if (buffer)
        cw_write_buffer_done(buffer);
}

void cw_write_buffer_retire(struct cw_write_buffer *buffer)
{
    struct cw_cache_dataset *dataset = buffer->dataset;
    struct cw_cache *cache = dataset->cache;
    struct cw_cache_handle *handle = buffer->handle;
    uint32_t n = buffer->n;

    for (uint32_t i = 0; i < n;) {
        uint32_t end = CW_MIN(i + CW_WRITE_BUFFER_PAGE, n);

        cw_mutex_lock(&dataset->lock);
        for (; i < end; i++) {
            uint64_t id = cw_write_buffer_record(buffer, i)->id;

            if (cw_id_map_get(&dataset->ids, id) == cw_place(handle->no, i))
                cw_dataset_set_place(dataset, id, 0);
        }
        cw_mutex_unlock(&dataset->lock);
    }
    cw_cache_handle_invalidate(handle);
    cw_cache_handle_release(handle);
    if (n) {
        cw_mutex_lock(&cache->lock);
        if (atomic_fetch_sub(&cache->unwritten, 1) == 1)
            cw_cond_broadcast(&cache->idle);
        cw_mutex_unlock(&cache->lock);
    }
    cw_cache_dataset_unref(dataset);
}
