/* SPDX-License-Identifier: Apache-2.0 */
#include "format/chunk_rows.h"

#include "base/mem.h"
#include "format/record.h"

/* The records of a frame are encoded here, and the writer borrows them. */
struct frame {
    struct frame *before;
    size_t n, cap;
    _Alignas(64) char bytes[];
};
struct cw_chunk_rows {
    struct cw_chunk_writer *writer;
    const struct cw_spec *spec;
    size_t frame_bytes;
    struct frame *frame; /* the newest one, which is added to the writer when it is full */
    struct cw_chunk_record *records; /* of that frame */
    size_t records_n, records_cap;
    uint64_t bytes;
};

struct cw_chunk_rows *cw_chunk_rows_new(struct cw_chunk_writer *writer, const struct cw_spec *spec,
                                        size_t frame_bytes)
{
    struct cw_chunk_rows *rows = CW_NEW(struct cw_chunk_rows);
    rows->writer = writer;
    rows->spec = spec;
    rows->frame_bytes = frame_bytes;
    return rows;
}

static int close_frame(struct cw_chunk_rows *rows, struct cw_err *err)
{
    if (rows->records_n == 0)
        return 0;
    int rc = cw_chunk_writer_add(rows->writer, rows->frame->bytes, rows->frame->n, NULL,
                                 rows->records, rows->records_n, err);
    rows->records_n = 0;
    return rc;
}

static int new_frame(struct cw_chunk_rows *rows, size_t bytes, struct cw_err *err)
{
    size_t cap = CW_MAX(bytes, rows->frame_bytes);
    int rc = close_frame(rows, err);
    if (rc < 0)
        return rc;
    struct frame *frame = cw_mem_try_aligned(64, sizeof(*frame) + cap);
    if (!frame)
        return cw_err_set(err, CW_E_NOMEM, "no memory for a frame of %zu bytes", cap);
    frame->before = rows->frame;
    frame->n = 0;
    frame->cap = cap;
    rows->frame = frame;
    return 0;
}

int cw_chunk_rows_add(struct cw_chunk_rows *rows, uint64_t id, const struct cw_element *element,
                      struct cw_err *err)
{
    int64_t bytes = cw_record_bytes(rows->spec, element);
    if (bytes < 0)
        return cw_err_set(
            err, CW_E_LIMIT,
            "element %llu: has more than 2 GiB, or not the shape that the pipeline says",
            (unsigned long long)id);
    size_t n = (size_t)bytes, align = cw_record_align(n),
           at = rows->frame ? CW_ALIGN_UP(rows->frame->n, align) : 0;
    if (!rows->frame || n > rows->frame->cap - CW_MIN(at, rows->frame->cap)) {
        int rc = new_frame(rows, n, err);
        if (rc < 0)
            return rc;
        at = 0;
    }
    struct frame *frame = rows->frame;
    for (; frame->n < at; frame->n++)
        frame->bytes[frame->n] = 0;
    cw_record_encode(rows->spec, element, frame->bytes + at);
    frame->n = at + n;
    CW_GROW(rows->records, rows->records_n, rows->records_cap);
    rows->records[rows->records_n++] =
        (struct cw_chunk_record){.id = id, .offset = (uint32_t)at, .bytes = (uint32_t)n};
    rows->bytes += n;
    return 0;
}

uint64_t cw_chunk_rows_bytes(const struct cw_chunk_rows *rows)
{
    return rows->bytes;
}

int cw_chunk_rows_finish(struct cw_chunk_rows *rows, const struct iovec **ret_parts,
                         size_t *ret_parts_n, struct cw_err *err)
{
    CW_STR_AUTO name = {0};
    uint64_t bytes;
    int rc = close_frame(rows, err);
    return rc < 0
               ? rc
               : cw_chunk_writer_finish(rows->writer, ret_parts, ret_parts_n, &bytes, &name, err);
}

void cw_chunk_rows_free(struct cw_chunk_rows *rows)
{
    if (!rows)
        return;
    cw_chunk_writer_free(rows->writer);
    while (rows->frame) {
        struct frame *frame = rows->frame;
        rows->frame = frame->before;
        cw_mem_free(frame);
    }
    cw_mem_free(rows->records);
    cw_mem_free(rows);
}
