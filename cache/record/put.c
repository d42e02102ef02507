/* SPDX-License-Identifier: Apache-2.0 */
/* Filling the cache: a thread reserves room in the dataset's open write buffer under the lock, and
 * encodes the record there without the lock. */
#include "base/clock.h"
#include "cache/record/record_state.h"
#include "cache/record/requests.h"

static bool is_known(const struct cw_cache_dataset *dataset, uint64_t id)
{
    uint64_t place = cw_id_map_get(&dataset->ids, id);

    return place && cw_cache_handle_is_live(cw_dataset_handle(dataset, place));
}

bool cw_cache_has(struct cw_cache_dataset *dataset, uint64_t id)
{
    return is_known(dataset, id);
}

static bool is_full(const struct cw_cache *cache, const struct cw_write_buffer *buffer)
{
    return buffer->bytes >= cache->chunk_bytes || buffer->n == CW_WRITE_BUFFER_RECORDS_MAX;
}

/* Reserves room for a record; returns NULL if memory is full. If the open buffer was full, and was
 * sealed, it is returned in *ret_sealed; the caller gives up the count in `pending` that stood for
 * its being open. Called with dataset->lock held. */
static struct cw_buffered_record *reserve(struct cw_cache_dataset *dataset, uint64_t id,
                                          uint32_t bytes, unsigned char **ret_data,
                                          struct cw_write_buffer **ret_block,
                                          struct cw_write_buffer **ret_sealed)
{
    uint32_t no;

    if (!dataset->open)
        dataset->open = cw_write_buffer_new(dataset);
    struct cw_write_buffer *buffer = *ret_block = dataset->open;
    if (!buffer)
        return NULL;
    struct cw_buffered_record *record =
        cw_write_buffer_reserve(buffer, id, bytes, cw_record_align(bytes), ret_data, &no);
    if (!record) {
        if (buffer->n == 0) /* an empty buffer would keep the dataset alive */
            *ret_sealed = cw_write_buffer_seal(dataset);
        return NULL;
    }
    atomic_fetch_add_explicit(&buffer->pending, 1, memory_order_relaxed);
    /* If there is no memory for the place, the record is dropped when the buffer is written. */
    cw_dataset_set_place(dataset, id, cw_place(buffer->handle->no, no));
    if (is_full(dataset->cache, buffer))
        *ret_sealed = cw_write_buffer_seal(dataset);
    return record;
}

static void lose(struct cw_cache_dataset *dataset, const char *why)
{
    cw_request_report_lost(dataset, 1, why);
    atomic_store_explicit(&dataset->cache->pressed, true, memory_order_relaxed);
}

void cw_cache_put(struct cw_cache_dataset *dataset, uint64_t id, const struct cw_element *element,
                  int64_t cost_ns)
{
    struct cw_write_buffer *buffer = NULL, *sealed = NULL;
    unsigned char *data = NULL;

    if (is_known(dataset, id) ||
        atomic_load_explicit(&dataset->cache->closed, memory_order_relaxed))
        return;
    int64_t bytes = element ? cw_record_bytes(&dataset->spec, element) : (int64_t)CW_CHUNK_LEFT_OUT;
    if (bytes < 0 || (element && bytes > INT32_MAX)) {
        cw_request_report_lost(dataset, 1, "an element that cannot be kept");
        return;
    }
    cw_mutex_lock(&dataset->lock);
    bool known = is_known(dataset, id);
    struct cw_buffered_record *record =
        known ? NULL : reserve(dataset, id, (uint32_t)bytes, &data, &buffer, &sealed);
    cw_mutex_unlock(&dataset->lock);
    if (record) {
        if (element && cw_write_buffer_sums(dataset->cache, record))
            record->sum = cw_record_encode_nontemporal(&dataset->spec, element, data);
        else if (element)
            cw_record_encode(&dataset->spec, element, data);
        atomic_store_explicit(&record->ready, true, memory_order_release);
        atomic_fetch_add_explicit(&buffer->cost_ns, cost_ns, memory_order_relaxed);
        cw_counter_add(&dataset->shards[cw_counter_shard_no()].put, 1, cw_counter_shard_no());
        cw_write_buffer_done(buffer);
    } else if (!known) {
        lose(dataset, "memory is full of what waits to be written");
    }
    if (sealed)
        cw_write_buffer_done(sealed);
}

void cw_cache_flush(struct cw_cache *cache, struct cw_cache_dataset *dataset)
{
    size_t n;

    if (dataset) {
        cw_write_buffer_flush(dataset);
        return;
    }
    struct cw_cache_dataset **datasets = cw_dataset_all(cache, &n);
    for (size_t i = 0; i < n; i++) {
        cw_write_buffer_flush(datasets[i]);
        cw_cache_dataset_unref(datasets[i]);
    }
    cw_mem_free(datasets);
}
