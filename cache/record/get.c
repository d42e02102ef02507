/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a record takes these steps: the id map gives its place, the place names a handle, the
 * thread pins the handle once, and the handle's object has the bytes. For a mapped chunk that is
 * all: the frame's checksum is verified at its first use (or at each: ?verify=always), and the
 * element's fields are views of the mapping. For other frames frame_cache.c finds the bytes. */
#include <string.h>

#include "base/clock.h"
#include "cache/record/record_state.h"
#include "cache/record/frame_cache.h"
#include "cache/record/pin_set.h"
#include "cache/record/requests.h"

#define SAMPLE 16u /* one get in so many is timed, and its time stands for all of them */

static const unsigned char *frame_of(struct cw_cache_chunk *chunk, uint32_t no,
                                     struct cw_cache_pins *pins, int64_t *wait_ns)
{
    const struct cw_chunk_frame *frame = &chunk->index->frames[no];
    bool mapped = chunk->map && !chunk->stored && frame->stored == frame->plain &&
                  cw_chunk_is_checked(chunk, no) && !chunk->dataset->cache->verifies_always;

    return mapped ? chunk->map + frame->offset : cw_frame_cache_get(chunk, no, pins, wait_ns);
}

static enum cw_cache_found from_chunk(struct cw_cache_chunk *chunk, uint32_t no, uint64_t id,
                                      struct cw_cache_pins *pins, struct cw_element *element,
                                      uint32_t *ret_bytes, int64_t *wait_ns)
{
    const struct cw_chunk_index *index = chunk->index;
    const struct cw_chunk_record *record = &index->records[no];

    if (no >= index->records_n || record->id != id)
        return CW_CACHE_MISS;
    if (record->bytes == CW_CHUNK_LEFT_OUT)
        return CW_CACHE_LEFT_OUT;
    const unsigned char *p = frame_of(chunk, record->frame, pins, wait_ns);
    if (!p)
        return CW_CACHE_MISS;
    if (CW_UNLIKELY(cw_record_decode_shaped(&chunk->dataset->shape, p + record->offset,
                                            record->bytes, element, NULL) != 0)) {
        if (cw_intact_check(chunk))
            cw_request_retire(chunk, CW_CACHE_DAMAGED, "a record that does not fit its elements");
        return CW_CACHE_MISS;
    }
    *ret_bytes = record->bytes;
    return CW_CACHE_HIT;
}

static enum cw_cache_found from_buffer(const struct cw_write_buffer *buffer, uint32_t no,
                                       uint64_t id, struct cw_element *element, uint32_t *ret_bytes)
{
    const struct cw_buffered_record *record = cw_write_buffer_at(buffer, no);

    if (!record || !atomic_load_explicit(&record->ready, memory_order_acquire) || record->id != id)
        return CW_CACHE_MISS;
    if (record->bytes == CW_CHUNK_LEFT_OUT)
        return CW_CACHE_LEFT_OUT;
    *ret_bytes = record->bytes;
    return cw_record_decode_shaped(&buffer->dataset->shape, record->data, record->bytes, element,
                                   NULL) == 0
               ? CW_CACHE_HIT
               : CW_CACHE_MISS;
}

static enum cw_cache_found at_place(struct cw_cache_dataset *dataset, uint64_t place, uint64_t id,
                                    struct cw_cache_pins *pins, struct cw_element *element,
                                    uint32_t *ret_bytes, int64_t *wait_ns)
{
    struct cw_cache_handle *handle = cw_dataset_handle(dataset, place);

    if (!cw_pin_handle(pins, handle))
        return CW_CACHE_MISS;
    if (handle->buffer)
        return from_buffer(handle->buffer, cw_place_record(place), id, element, ret_bytes);
    return from_chunk(handle->chunk, cw_place_record(place), id, pins, element, ret_bytes, wait_ns);
}

static enum cw_cache_found find(struct cw_cache_dataset *dataset, uint64_t id,
                                struct cw_cache_pins *pins, struct cw_element *element,
                                uint32_t *ret_bytes, int64_t *wait_ns)
{
    uint64_t place = cw_id_map_get(&dataset->ids, id);
    enum cw_cache_found found =
        place ? at_place(dataset, place, id, pins, element, ret_bytes, wait_ns) : CW_CACHE_MISS;

    if (CW_LIKELY(found != CW_CACHE_MISS) || !place)
        return found;
    /* Looks once more: the record may have moved from its write buffer to its chunk meanwhile. */
    uint64_t now = cw_id_map_get(&dataset->ids, id);
    return now && now != place ? at_place(dataset, now, id, pins, element, ret_bytes, wait_ns)
                               : CW_CACHE_MISS;
}

/* what cw_cache_thread_wait_ns returns */
static _Thread_local uint64_t thread_wait_ns;

uint64_t cw_cache_thread_wait_ns(void)
{
    return thread_wait_ns;
}

static bool is_sample(void)
{
    static _Thread_local unsigned turn;

    return ++turn % SAMPLE == 0;
}

enum cw_cache_found cw_cache_get(struct cw_cache_dataset *dataset, uint64_t id,
                                 struct cw_cache_pins *pins, struct cw_element *element)
{
    bool timed = is_sample();
    int64_t begin = timed ? cw_clock_ns() : 0, wait_ns = 0;
    uint32_t bytes = 0;
    enum cw_cache_found found = find(dataset, id, pins, element, &bytes, &wait_ns);
    unsigned no = cw_counter_shard_no();
    struct cw_counter_shard *shard = &dataset->shards[no];

    thread_wait_ns += (uint64_t)wait_ns;
    if (found == CW_CACHE_MISS) {
        if (pins->is_kept) /* nothing of the element that is computed now is in that chunk */
            cw_cache_unpin(pins);
        cw_counter_add(&shard->misses, 1, no);
        return found;
    }
    cw_counter_add(&shard->hits, 1, no);
    cw_counter_add(&shard->hit_bytes, bytes, no);
    if (timed)
        cw_counter_add(&shard->get_ns, (uint64_t)(cw_clock_ns() - begin - wait_ns) * SAMPLE, no);
    if (wait_ns)
        cw_counter_add(&shard->wait_ns, (uint64_t)wait_ns, no);
    return found;
}

/* ---- rows of a batch ---- */

#define ROW_PINS 8 /* rows of more chunks are copied by the next call */

static bool have_room(const struct cw_record_shape *shape, const struct cw_cache_rows *rows)
{
    bool fit = shape->fixed && rows->n == shape->spec->n;

    for (size_t f = 0; fit && f < rows->n; f++)
        fit = shape->views[f].bytes == rows->bytes[f];
    return fit;
}

/* Returns the record's bytes if it is in a chunk, and of the size that all have; NULL otherwise. */
static const unsigned char *row_of(struct cw_cache_dataset *dataset, uint64_t id,
                                   struct cw_cache_pins *pins, int64_t *wait_ns)
{
    uint64_t place = cw_id_map_get(&dataset->ids, id);
    struct cw_cache_handle *handle = place ? cw_dataset_handle(dataset, place) : NULL;

    if (!handle || !cw_pin_handle(pins, handle) || handle->buffer)
        return NULL;
    const struct cw_chunk_index *index = handle->chunk->index;
    uint32_t no = cw_place_record(place);
    if (no >= index->records_n || index->records[no].id != id ||
        index->records[no].bytes != dataset->shape.bytes)
        return NULL;
    const unsigned char *p = frame_of(handle->chunk, index->records[no].frame, pins, wait_ns);
    return p ? p + index->records[no].offset : NULL;
}

static void copy_row(const struct cw_record_shape *shape, const unsigned char *p,
                     const struct cw_cache_rows *rows, size_t i)
{
    for (size_t f = 0; f < rows->n; f++)
        memcpy(rows->to[f] + i * rows->bytes[f], p + shape->begin[f], rows->bytes[f]);
}

/* Adds the time to *get_ns if the get is one of those that are timed. */
static const unsigned char *timed_row_of(struct cw_cache_dataset *dataset, uint64_t id,
                                         struct cw_cache_pins *pins, int64_t *wait_ns,
                                         int64_t *get_ns)
{
    bool timed = is_sample();
    int64_t begin = timed ? cw_clock_ns() - *wait_ns : 0;
    const unsigned char *p = row_of(dataset, id, pins, wait_ns);

    if (timed)
        *get_ns += (cw_clock_ns() - *wait_ns - begin) * SAMPLE;
    return p;
}

static void count_rows(struct cw_cache_dataset *dataset, size_t n, int64_t get_ns, int64_t wait_ns)
{
    unsigned no = cw_counter_shard_no();
    struct cw_counter_shard *shard = &dataset->shards[no];

    cw_counter_add(&shard->hits, n, no);
    cw_counter_add(&shard->hit_bytes, n * dataset->shape.bytes, no);
    cw_counter_add(&shard->get_ns, (uint64_t)get_ns, no);
    cw_counter_add(&shard->wait_ns, (uint64_t)wait_ns, no);
}

size_t cw_cache_get_rows(struct cw_cache_dataset *dataset, const int64_t *ids, size_t n,
                         struct cw_cache_pins *pins, const struct cw_cache_rows *rows)
{
    int64_t wait_ns = 0, get_ns = 0;
    size_t i = 0;

    if (!have_room(&dataset->shape, rows))
        return 0;
    for (; i < n && pins->n <= ROW_PINS; i++) {
        const unsigned char *p = timed_row_of(dataset, (uint64_t)ids[i], pins, &wait_ns, &get_ns);
        if (!p)
            break;
        copy_row(&dataset->shape, p, rows, i);
    }
    thread_wait_ns += (uint64_t)wait_ns;
    if (!cw_cache_is_intact(pins)) {
        cw_cache_unpin(pins);
        return 0;
    }
    cw_cache_unpin_element(pins);
    if (i > 0)
        count_rows(dataset, i, get_ns, wait_ns);
    return i;
}
