/* SPDX-License-Identifier: Apache-2.0 */
/* Write buffers become chunks. Records that other chunks have meanwhile are dropped; the others are
 * sorted by id and cut into frames, so that equal records make equal chunks. A frame borrows the
 * buffer's memory if its records lie there in this order; else they are gathered (copied together),
 * or, if memory does not allow that, stay in the order in which they came. Large records are frames
 * of their own, which are found one by one: they are written in the order in which they came, from
 * where they lie (aligned_parts.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "cache/record/aligned_parts.h"
#include "cache/record/record_state.h"
#include "cache/record/chunk_open.h"
#include "cache/record/flush.h"
#include "cache/record/requests.h"

#define GATHER_ALIGN ((size_t)64)
/* The most records in a frame. Elements that a filter left out have no bytes, so there may be many
 * of them. */
#define FRAME_RECORDS 4096u
/* for how long nothing is written to a store that was full */
#define FULL_NS ((int64_t)10 * 1000000000)
#define FULL_TRIES 2
/* wait after the first failed write of a buffer; it doubles with each further one */
#define RETRY_NS ((int64_t)100 * 1000000)
#define RETRY_MAX_NS ((int64_t)5 * 1000000000)
/* number of chunks that are written without trying to pack, after one for which packing saved too
 * little */
#define PLAIN_CHUNKS 15u
/* number of writes of a buffer that may fail with an error that says nothing about the store as a
 * whole */
#define ERROR_TRIES 3

struct item {
    uint64_t id;
    const unsigned char *data; /* NULL: a filter left the element out */
    uint64_t sum;              /* valid if has_sum */
    uint32_t bytes;
    bool has_sum;
};
struct job { /* the writing of one write buffer */
    struct cw_cache *cache;
    struct cw_write_buffer *buffer;
    struct item *items;
    size_t n;
    /* Whether all records are large: then they stay in the order in which they came, and are
     * written from where they lie. */
    bool are_large;
    bool borrow; /* there is no memory to gather records: frames borrow the buffer's memory */
    unsigned char *gathered;
    size_t gathered_bytes, gathered_used;
    struct cw_chunk_writer *writer;
    struct iovec *parts; /* the parts of the file, in order */
    bool *is_held;       /* for each part: whether it lies in a segment of the buffer */
    size_t parts_n;
    struct cw_str name;
};

/* ---- the records to be written ---- */

static bool collect(struct job *job)
{
    struct cw_write_buffer *buffer = job->buffer;
    struct cw_cache_dataset *dataset = buffer->dataset;

    job->items = cw_mem_try(buffer->n * sizeof(*job->items));
    if (!job->items)
        return false;
    job->are_large = true;
    for (uint32_t i = 0; i < buffer->n;) {
        uint32_t end = CW_MIN(i + CW_WRITE_BUFFER_PAGE, buffer->n);

        cw_mutex_lock(&dataset->lock);
        for (; i < end; i++) {
            const struct cw_buffered_record *record = cw_write_buffer_record(buffer, i);

            if (cw_id_map_get(&dataset->ids, record->id) != cw_place(buffer->handle->no, i))
                continue;
            job->are_large =
                job->are_large && record->data && record->bytes >= CW_CHUNK_FRAME_BYTES;
            job->items[job->n++] =
                (struct item){record->id, record->data, record->sum, record->bytes,
                              cw_write_buffer_sums(job->cache, record)};
        }
        cw_mutex_unlock(&dataset->lock);
    }
    return true;
}

static int by_id(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static int by_data(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    return ((uintptr_t)x->data > (uintptr_t)y->data) - ((uintptr_t)x->data < (uintptr_t)y->data);
}

struct frame {
    size_t n;     /* number of its records */
    size_t bytes; /* bytes of the frame */
    /* where its bytes lie together already; NULL: they must be gathered */
    const unsigned char *data;
};

/* Returns the frame that begins with item i. It ends with the record that reaches the size of a
 * frame; a large record is a frame by itself. */
static struct frame next_frame(const struct job *job, size_t i, uint32_t *ret_offsets)
{
    struct frame frame = {0};
    bool together = true;

    for (; i + frame.n < job->n && frame.n < FRAME_RECORDS && frame.bytes < CW_CHUNK_FRAME_BYTES;
         frame.n++) {
        const struct item *item = &job->items[i + frame.n];
        size_t at = item->data ? CW_ALIGN_UP(frame.bytes, cw_record_align(item->bytes)) : 0;

        if (item->data && frame.bytes && item->bytes >= CW_CHUNK_FRAME_BYTES)
            break;
        bool follows = !item->data || !frame.data || item->data == frame.data + at;
        if (!follows && job->borrow)
            break;
        together = together && follows;
        ret_offsets[frame.n] = (uint32_t)at;
        if (!item->data)
            continue;
        if (!frame.data)
            frame.data = item->data;
        frame.bytes = at + item->bytes;
    }
    if (!together)
        frame.data = NULL;
    return frame;
}

/* Reserves memory for the frames that must be gathered. If there is none, the records stay in the
 * order in which they came. */
static void plan_gathering(struct job *job, uint32_t *offsets)
{
    size_t total = 0;

    for (size_t i = 0; i < job->n;) {
        struct frame frame = next_frame(job, i, offsets);

        total += frame.data ? 0 : CW_ALIGN_UP(frame.bytes, GATHER_ALIGN);
        i += frame.n;
    }
    if (!total)
        return;
    if (cw_memory_budget_reserve(job->cache, total)) {
        job->gathered = cw_mem_try_aligned(GATHER_ALIGN, total);
        job->gathered_bytes = total;
        if (job->gathered)
            return;
        cw_memory_budget_release(job->cache, total);
        job->gathered_bytes = 0;
    }
    job->borrow = true;
    qsort(job->items, job->n, sizeof(*job->items), by_data);
}

static const unsigned char *gather(struct job *job, size_t i, const struct frame *frame,
                                   const uint32_t *offsets)
{
    unsigned char *p = job->gathered + job->gathered_used;
    size_t used = 0;

    for (size_t k = 0; k < frame->n; k++) {
        const struct item *item = &job->items[i + k];

        if (!item->data)
            continue;
        memset(p + used, 0, offsets[k] - used);
        memcpy(p + offsets[k], item->data, item->bytes);
        used = offsets[k] + item->bytes;
    }
    job->gathered_used += CW_ALIGN_UP(frame->bytes, GATHER_ALIGN);
    return p;
}

/* Returns the checksum taken when the record was encoded, if the frame consists of one record; else
 * NULL. */
static const uint64_t *frame_sum(const struct item *first, const struct frame *frame)
{
    return frame->n == 1 && first->has_sum ? &first->sum : NULL;
}

static int add_frames(struct job *job, uint32_t *offsets, struct cw_err *err)
{
    cw_autofree struct cw_chunk_record *records =
        CW_NEW_ARRAY(struct cw_chunk_record, FRAME_RECORDS);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < job->n;) {
        struct frame frame = next_frame(job, i, offsets);

        for (size_t k = 0; k < frame.n; k++)
            records[k] = (struct cw_chunk_record){
                .id = job->items[i + k].id, .offset = offsets[k], .bytes = job->items[i + k].bytes};
        if (!frame.bytes)
            frame.data = (const unsigned char *)"";
        else if (!frame.data)
            frame.data = gather(job, i, &frame, offsets);
        rc = cw_chunk_writer_add(job->writer, frame.data, frame.bytes,
                                 frame_sum(&job->items[i], &frame), records, frame.n, err);
        i += frame.n;
    }
    return rc;
}

/* Returns the level of compression. Records of one dataset are alike: if packing saved too little
 * for one chunk, it is not tried for the next ones. */
static int level_of(struct job *job)
{
    atomic_uint *plain_n = &job->buffer->dataset->plain_n;
    unsigned n = atomic_load_explicit(plain_n, memory_order_relaxed);

    if (job->cache->level != CW_CHUNK_AUTO || n == 0)
        return job->cache->level;
    atomic_store_explicit(plain_n, n - 1, memory_order_relaxed);
    return CW_CHUNK_PLAIN;
}

static int build(struct job *job, uint64_t *ret_bytes, struct cw_err *err)
{
    struct cw_cache_dataset *dataset = job->buffer->dataset;
    const int level = level_of(job);
    struct cw_chunk_head head = {.key = dataset->key, .spec = dataset->spec};
    cw_autofree uint32_t *offsets = CW_NEW_ARRAY(uint32_t, FRAME_RECORDS);
    CW_STR_AUTO base = {0};
    const struct iovec *parts;

    if (!job->are_large) {
        qsort(job->items, job->n, sizeof(*job->items), by_id);
        plan_gathering(job, offsets);
    }
    job->writer = cw_chunk_writer_new(&head, level);
    if (!job->writer)
        return cw_err_set(err, CW_E_NOMEM, "no memory for a chunk");
    int rc = add_frames(job, offsets, err);
    if (level == CW_CHUNK_AUTO && !cw_chunk_writer_packs(job->writer))
        atomic_store_explicit(&dataset->plain_n, PLAIN_CHUNKS, memory_order_relaxed);
    if (rc == 0)
        rc = cw_chunk_writer_finish(job->writer, &parts, &job->parts_n, ret_bytes, &base, err);
    if (rc < 0)
        return rc;
    cw_str_addf(&job->name, "%s/%s", dataset->tenant, cw_str_text(&base));
    job->parts = cw_mem_try(job->parts_n * sizeof(*parts));
    job->is_held = cw_mem_try(job->parts_n * sizeof(bool));
    if (!job->parts || !job->is_held)
        return cw_err_set(err, CW_E_NOMEM, "no memory for a list of %zu parts", job->parts_n);
    memcpy(job->parts, parts, job->parts_n * sizeof(*parts));
    job->parts_n = cw_aligned_parts(job->buffer, job->parts, job->is_held, job->parts_n);
    return 0;
}

static void job_fini(struct job *job)
{
    cw_mem_free(job->parts);
    cw_mem_free(job->is_held);
    cw_chunk_writer_free(job->writer);
    cw_mem_free(job->gathered);
    if (job->gathered_bytes)
        cw_memory_budget_release(job->cache, job->gathered_bytes);
    cw_mem_free(job->items);
    cw_str_fini(&job->name);
}

/* ---- after the write ---- */

static bool is_there(struct cw_cache_dataset *dataset, const char *name)
{
    cw_mutex_lock(&dataset->lock);
    bool there = cw_strmap_get(&dataset->names, name) != NULL;
    cw_mutex_unlock(&dataset->lock);
    return there;
}

/* Opens the chunk that was written: its records are read from the store from now on. */
static void use(struct cw_cache *cache, struct cw_cache_dataset *dataset, const char *name)
{
    cw_mutex_lock(&dataset->lock);
    struct cw_cache_chunk *chunk =
        cw_strmap_get(&dataset->names, name) ? NULL : cw_cache_chunk_new(dataset, name);
    if (chunk) {
        chunk->state = CW_CHUNK_LOADING;
        cw_strmap_set(&dataset->names, name, chunk);
    }
    cw_mutex_unlock(&dataset->lock);
    if (chunk)
        cw_chunk_open(cache, chunk);
}

static void written(struct job *job, uint64_t bytes)
{
    struct cw_write_buffer *buffer = job->buffer;
    struct cw_cache_dataset *dataset = buffer->dataset;
    long long cost = atomic_load(&buffer->cost_ns);
    struct cw_cache_event event = {.kind = CW_CACHE_WRITTEN,
                                   .dataset = dataset,
                                   .name = cw_str_text(&job->name),
                                   .records = job->n,
                                   .bytes = bytes};

    event.cost_ns = cost > 0 ? (uint64_t)((double)cost * (double)job->n / buffer->n) : 0;
    atomic_fetch_add(&dataset->written, job->n);
    atomic_fetch_add(&dataset->written_bytes, bytes);
    atomic_fetch_add(&dataset->chunks_written, 1);
    use(job->cache, dataset, event.name);
    cw_cache_emit(job->cache, &event);
}

static void lose(struct cw_write_buffer *buffer, uint64_t records, const char *why)
{
    if (records)
        cw_request_report_lost(buffer->dataset, records, why);
    cw_write_buffer_retire(buffer);
}

void cw_flush_discard_all(struct cw_cache *cache, const char *why)
{
    cw_mutex_lock(&cache->lock);
    struct cw_write_buffer *buffer = cache->write_first;
    cache->write_first = NULL;
    cw_mutex_unlock(&cache->lock);
    while (buffer) {
        struct cw_write_buffer *next = buffer->next;

        lose(buffer, buffer->n, why);
        buffer = next;
    }
}

static void again(struct cw_cache *cache, struct cw_write_buffer *buffer, int64_t at_ns)
{
    buffer->retry_ns = at_ns;
    cw_request_flush(cache, buffer);
}

/* Decides what happens after a failed write. If the store is unavailable, the buffer waits until it
 * answers. If the store is full, the write is tried once more, later; if the store is still full
 * then, all waiting records are given up to free memory. After any other error a few more tries
 * follow. */
static void failed(struct job *job, int rc, const struct cw_err *err)
{
    struct cw_write_buffer *buffer = job->buffer;
    struct cw_cache *cache = job->cache;
    int64_t now = cw_clock_ns(), wait = RETRY_NS << CW_MIN(buffer->tries, 10u);

    if (rc == CW_E_LIMIT) {
        cw_mutex_lock(&cache->lock);
        cache->full_until_ns = now + FULL_NS;
        cw_mutex_unlock(&cache->lock);
        if (++buffer->full_tries < FULL_TRIES) {
            again(cache, buffer, now + FULL_NS);
        } else {
            lose(buffer, job->n, err->msg);
            cw_flush_discard_all(cache, err->msg);
        }
        return;
    }
    buffer->tries++;
    if (rc != CW_E_TIMEOUT && rc != CW_E_UNAVAILABLE && buffer->tries >= ERROR_TRIES)
        lose(buffer, job->n, err->msg);
    else
        again(cache, buffer, now + CW_MIN(wait, RETRY_MAX_NS));
}

static int put(struct job *job, uint64_t *ret_bytes, bool *ret_new, struct cw_err *err)
{
    int rc = build(job, ret_bytes, err);

    if (rc != 0)
        return rc;
    cw_fault_point("cache.chunk_built");
    *ret_new = !is_there(job->buffer->dataset, cw_str_text(&job->name));
    if (!*ret_new)
        return 0;
    cw_fault_point("cache.before_put");
    const struct cw_store_held held = {cw_write_buffer_keep_segments(job->buffer), job->is_held};
    rc = cw_store_put_held(job->cache->store, cw_str_text(&job->name), job->parts, job->parts_n,
                           &held, err);
    cw_fault_point("cache.after_put");
    cw_request_note_result(job->cache, rc, err);
    return rc;
}

static void write_block(struct cw_cache *cache, struct cw_write_buffer *buffer)
{
    struct job job = {.cache = cache, .buffer = buffer};
    struct cw_err err = {0};
    uint64_t bytes = 0;
    bool is_new = false;
    int rc = 0;

    if (cw_store_is_away(cache->store, &err))
        rc = CW_E_UNAVAILABLE;
    else if (!collect(&job))
        rc = cw_err_set(&err, CW_E_NOMEM, "no memory to order the records of a chunk");
    else if (job.n)
        rc = put(&job, &bytes, &is_new, &err);
    if (rc != 0) {
        failed(&job, rc, &err);
    } else {
        if (is_new)
            written(&job, bytes);
        cw_write_buffer_retire(buffer);
    }
    job_fini(&job);
}

/* Returns the first buffer whose time to be written has come. If there is none, returns NULL and
 * writes to *ret_until the time when there will be one. Called with cache->lock held. */
static struct cw_write_buffer *next_block(struct cw_cache *cache, int64_t now, int64_t *ret_until)
{
    *ret_until = INT64_MAX;
    for (struct cw_write_buffer **at = &cache->write_first; *at; at = &(*at)->next) {
        struct cw_write_buffer *buffer = *at;
        int64_t when = CW_MAX(buffer->retry_ns, cache->full_until_ns);

        if (when <= now) {
            *at = buffer->next;
            return buffer;
        }
        *ret_until = CW_MIN(*ret_until, when);
    }
    return NULL;
}

void cw_flush_thread(void *arg)
{
    struct cw_cache *cache = arg;
    int64_t until;

    cw_mutex_lock(&cache->lock);
    while (!cache->stop) {
        struct cw_write_buffer *buffer = next_block(cache, cw_clock_ns(), &until);

        if (!buffer && until == INT64_MAX)
            cw_cond_wait(&cache->write_wake, &cache->lock);
        else if (!buffer)
            cw_cond_wait_until(&cache->write_wake, &cache->lock, until);
        if (!buffer)
            continue;
        cache->writing++;
        cw_mutex_unlock(&cache->lock);
        write_block(cache, buffer);
        cw_mutex_lock(&cache->lock);
        cache->writing--;
    }
    cw_mutex_unlock(&cache->lock);
}
