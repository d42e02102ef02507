/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a chunk from a write buffer. Records that other chunks have meanwhile are dropped; the
 * others are sorted by id and cut into frames, so that equal records make equal chunks. A frame
 * borrows the buffer's memory if its records lie there in this order; otherwise they are gathered
 * (copied together), or, if there is no memory for that, stay in the order in which they came.
 * Large records are frames of their own, which gets find one by one: they are written in the order
 * in which they came, from where they lie (aligned_parts.c). */
#include "cache/record/chunk_build.h"
#include <stdlib.h>
#include <string.h>
#include "cache/record/aligned_parts.h"

#define GATHER_ALIGN ((size_t)64)
/* The most records in a frame. Elements that a filter left out have no bytes, so there may be many
 * of them. */
#define FRAME_RECORDS 4096u
/* number of chunks that are written without trying to pack, after one for which packing saved too
 * little */
#define PLAIN_CHUNKS 15u

bool cw_chunk_build_collect(struct cw_chunk_build *build)
{
    struct cw_write_buffer *buffer = build->buffer;
    struct cw_cache_dataset *dataset = buffer->dataset;

    build->items = cw_mem_try(buffer->n * sizeof(*build->items));
    if (!build->items)
        return false;
    build->are_large = true;
    for (uint32_t i = 0; i < buffer->n;) {
        uint32_t end = CW_MIN(i + CW_WRITE_BUFFER_PAGE, buffer->n);

        cw_mutex_lock(&dataset->lock);
        for (; i < end; i++) {
            const struct cw_buffered_record *record = cw_write_buffer_record(buffer, i);

            if (cw_id_map_get(&dataset->ids, record->id) != cw_place(buffer->handle->no, i))
                continue;
            build->are_large =
                build->are_large && record->data && record->bytes >= CW_CHUNK_FRAME_BYTES;
            build->items[build->n++] =
                (struct cw_chunk_item){record->id, record->data, record->sum, record->bytes,
                                       cw_write_buffer_sums(build->cache, record)};
        }
        cw_mutex_unlock(&dataset->lock);
    }
    return true;
}

static int by_id(const void *a, const void *b)
{
    const struct cw_chunk_item *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static int by_data(const void *a, const void *b)
{
    const struct cw_chunk_item *x = a, *y = b;

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
static struct frame next_frame(const struct cw_chunk_build *build, size_t i, uint32_t *ret_offsets)
{
    struct frame frame = {0};
    bool together = true;

    for (; i + frame.n < build->n && frame.n < FRAME_RECORDS && frame.bytes < CW_CHUNK_FRAME_BYTES;
         frame.n++) {
        const struct cw_chunk_item *item = &build->items[i + frame.n];
        size_t at = item->data ? CW_ALIGN_UP(frame.bytes, cw_record_align(item->bytes)) : 0;

        if (item->data && frame.bytes && item->bytes >= CW_CHUNK_FRAME_BYTES)
            break;
        bool follows = !item->data || !frame.data || item->data == frame.data + at;
        if (!follows && build->borrow)
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
static void plan_gathering(struct cw_chunk_build *build, uint32_t *offsets)
{
    size_t total = 0;

    for (size_t i = 0; i < build->n;) {
        struct frame frame = next_frame(build, i, offsets);

        total += frame.data ? 0 : CW_ALIGN_UP(frame.bytes, GATHER_ALIGN);
        i += frame.n;
    }
    if (!total)
        return;
    if (cw_memory_budget_reserve(build->cache, total)) {
        build->gathered = cw_mem_try_aligned(GATHER_ALIGN, total);
        build->gathered_bytes = total;
        if (build->gathered)
            return;
        cw_memory_budget_release(build->cache, total);
        build->gathered_bytes = 0;
    }
    build->borrow = true;
    qsort(build->items, build->n, sizeof(*build->items), by_data);
}

static const unsigned char *gather(struct cw_chunk_build *build, size_t i,
                                   const struct frame *frame, const uint32_t *offsets)
{
    unsigned char *p = build->gathered + build->gathered_used;
    size_t used = 0;

    for (size_t k = 0; k < frame->n; k++) {
        const struct cw_chunk_item *item = &build->items[i + k];

        if (!item->data)
            continue;
        memset(p + used, 0, offsets[k] - used);
        memcpy(p + offsets[k], item->data, item->bytes);
        used = offsets[k] + item->bytes;
    }
    build->gathered_used += CW_ALIGN_UP(frame->bytes, GATHER_ALIGN);
    return p;
}

/* Returns the checksum taken when the record was encoded, if the frame consists of one record; else
 * NULL. */
static const uint64_t *frame_sum(const struct cw_chunk_item *first, const struct frame *frame)
{
    return frame->n == 1 && first->has_sum ? &first->sum : NULL;
}

static int add_frames(struct cw_chunk_build *build, uint32_t *offsets, struct cw_err *err)
{
    cw_autofree struct cw_chunk_record *records =
        CW_NEW_ARRAY(struct cw_chunk_record, FRAME_RECORDS);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < build->n;) {
        struct frame frame = next_frame(build, i, offsets);

        for (size_t k = 0; k < frame.n; k++)
            records[k] = (struct cw_chunk_record){.id = build->items[i + k].id,
                                                  .offset = offsets[k],
                                                  .bytes = build->items[i + k].bytes};
        if (!frame.bytes)
            frame.data = (const unsigned char *)"";
        else if (!frame.data)
            frame.data = gather(build, i, &frame, offsets);
        rc = cw_chunk_writer_add(build->writer, frame.data, frame.bytes,
                                 frame_sum(&build->items[i], &frame), records, frame.n, err);
        i += frame.n;
    }
    return rc;
}

/* Returns the level of compression. Records of one dataset are alike: if packing saved too little
 * for one chunk, it is not tried for the next ones. */
static int level_of(struct cw_chunk_build *build)
{
    atomic_uint *plain_n = &build->buffer->dataset->plain_n;
    unsigned n = atomic_load_explicit(plain_n, memory_order_relaxed);

    if (build->cache->level != CW_CHUNK_AUTO || n == 0)
        return build->cache->level;
    atomic_store_explicit(plain_n, n - 1, memory_order_relaxed);
    return CW_CHUNK_PLAIN;
}

int cw_chunk_build_run(struct cw_chunk_build *build, uint64_t *ret_bytes, struct cw_err *err)
{
    struct cw_cache_dataset *dataset = build->buffer->dataset;
    const int level = level_of(build);
    struct cw_chunk_head head = {.key = dataset->key, .spec = cw_spec_borrow(&dataset->spec)};
    cw_autofree uint32_t *offsets = CW_NEW_ARRAY(uint32_t, FRAME_RECORDS);
    CW_STR_AUTO base = {0};
    const struct iovec *parts;

    if (!build->are_large) {
        qsort(build->items, build->n, sizeof(*build->items), by_id);
        plan_gathering(build, offsets);
    }
    build->writer = cw_chunk_writer_new(&head, level);
    if (!build->writer)
        return cw_err_set(err, CW_E_NOMEM, "no memory for a chunk");
    int rc = add_frames(build, offsets, err);
    if (level == CW_CHUNK_AUTO && !cw_chunk_writer_packs(build->writer))
        atomic_store_explicit(&dataset->plain_n, PLAIN_CHUNKS, memory_order_relaxed);
    if (rc == 0)
        rc = cw_chunk_writer_finish(build->writer, &parts, &build->parts_n, ret_bytes, &base, err);
    if (rc < 0)
        return rc;
    cw_str_addf(&build->name, "%s/%s", dataset->tenant, cw_str_text(&base));
    build->parts = cw_mem_try(build->parts_n * sizeof(*parts));
    build->is_held = cw_mem_try(build->parts_n * sizeof(bool));
    if (!build->parts || !build->is_held)
        return cw_err_set(err, CW_E_NOMEM, "no memory for a list of %zu parts", build->parts_n);
    memcpy(build->parts, parts, build->parts_n * sizeof(*parts));
    build->parts_n = cw_aligned_parts(build->buffer, build->parts, build->is_held, build->parts_n);
    return 0;
}

void cw_chunk_build_fini(struct cw_chunk_build *build)
{
    cw_mem_free(build->parts);
    cw_mem_free(build->is_held);
    cw_chunk_writer_free(build->writer);
    cw_mem_free(build->gathered);
    if (build->gathered_bytes)
        cw_memory_budget_release(build->cache, build->gathered_bytes);
    cw_mem_free(build->items);
    cw_str_fini(&build->name);
}
