/* SPDX-License-Identifier: Apache-2.0 */
/* Writes shards as chunks (docs/cache-format.md), in which the ids are the elements' numbers. The
 * operator `chunks` reads them. */
#include "base/mem.h"
#include "client/tool/shard/shard.h"
#include "format/chunk.h"
#include "format/record.h"

/* The records of a frame are encoded here, and the writer borrows them. */
struct frame {
    struct frame *before;
    size_t n, cap;
    _Alignas(64) char bytes[];
};
struct tool_shard {
    const struct tool_shard_options *options;
    struct cw_chunk_writer *writer;
    struct frame *frame; /* The newest frame, which is added to the writer when it is full. */
    struct cw_chunk_record *records; /* The records of that frame. */
    size_t records_n, records_cap;
    uint64_t bytes;
};

static int check(const struct tool_shard_options *options, struct cw_err *err)
{
    (void)options;
    (void)err;
    return 0;
}

static struct tool_shard *begin(const struct tool_shard_options *options)
{
    struct tool_shard *shard = CW_NEW(struct tool_shard);
    const struct cw_chunk_head head = {.key = options->id, .spec = cw_spec_borrow(&options->spec)};
    shard->options = options;
    shard->writer = cw_chunk_writer_new(&head, options->level);
    return shard;
}

static int close_frame(struct tool_shard *shard, struct cw_err *err)
{
    if (shard->records_n == 0)
        return 0;
    int rc = cw_chunk_writer_add(shard->writer, shard->frame->bytes, shard->frame->n, NULL,
                                 shard->records, shard->records_n, err);
    shard->records_n = 0;
    return rc;
}

static int new_frame(struct tool_shard *shard, size_t bytes, struct cw_err *err)
{
    size_t cap = CW_MAX(bytes, CW_CHUNK_FRAME_BYTES);
    int rc = close_frame(shard, err);
    if (rc < 0)
        return rc;
    struct frame *frame = cw_mem_try_aligned(64, sizeof(*frame) + cap);
    if (!frame)
        return cw_err_set(err, CW_E_NOMEM, "no memory for a frame of %zu bytes", cap);
    frame->before = shard->frame;
    frame->n = 0;
    frame->cap = cap;
    shard->frame = frame;
    return 0;
}

static int add(struct tool_shard *shard, uint64_t number, const struct cw_element *element,
               struct cw_err *err)
{
    const struct cw_spec *spec = &shard->options->spec;
    int64_t bytes = cw_record_bytes(spec, element);
    if (bytes < 0)
        return cw_err_set(
            err, CW_E_LIMIT,
            "element %llu: has more than 2 GiB, or not the shape that the pipeline says",
            (unsigned long long)number);
    size_t n = (size_t)bytes, align = cw_record_align(n),
           at = shard->frame ? CW_ALIGN_UP(shard->frame->n, align) : 0;
    if (!shard->frame || n > shard->frame->cap - CW_MIN(at, shard->frame->cap)) {
        int rc = new_frame(shard, n, err);
        if (rc < 0)
            return rc;
        at = 0;
    }
    struct frame *frame = shard->frame;
    for (; frame->n < at; frame->n++)
        frame->bytes[frame->n] = 0;
    cw_record_encode(spec, element, frame->bytes + at);
    frame->n = at + n;
    CW_GROW(shard->records, shard->records_n, shard->records_cap);
    shard->records[shard->records_n++] =
        (struct cw_chunk_record){.id = number, .offset = (uint32_t)at, .bytes = (uint32_t)n};
    shard->bytes += n;
    return 0;
}

static uint64_t bytes_of(const struct tool_shard *shard)
{
    return shard->bytes;
}

static int finish(struct tool_shard *shard, const struct iovec **ret_parts, size_t *ret_parts_n,
                  struct cw_err *err)
{
    CW_STR_AUTO name = {0};
    uint64_t bytes;
    int rc = close_frame(shard, err);
    return rc < 0
               ? rc
               : cw_chunk_writer_finish(shard->writer, ret_parts, ret_parts_n, &bytes, &name, err);
}

static void discard(struct tool_shard *shard)
{
    if (!shard)
        return;
    cw_chunk_writer_free(shard->writer);
    while (shard->frame) {
        struct frame *frame = shard->frame;
        shard->frame = frame->before;
        cw_mem_free(frame);
    }
    cw_mem_free(shard->records);
    cw_mem_free(shard);
}

const struct tool_shard_format tool_shard_chunks = {.name = "chunks",
                                                    .ext = "chunk",
                                                    .check = check,
                                                    .begin = begin,
                                                    .add = add,
                                                    .bytes = bytes_of,
                                                    .finish = finish,
                                                    .discard = discard};
