/* SPDX-License-Identifier: Apache-2.0 */
/* Scans and reads TFRecord files, and verifies their checksums. */
#include "format/tfrecord.h"

#include "base/mem.h"
#include "format/crc32c.h"

#include <endian.h>
#include <string.h>

/* One read covers many small records; the data of a large record are skipped. */
#define WINDOW_BYTES ((size_t)256 << 10)

struct scan {
    const struct cw_readable *file;
    uint8_t *window;
    uint64_t window_begin;
    size_t window_n;
    struct cw_line_index *index;
};

static uint32_t u32_at(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return le32toh(v);
}

static uint64_t u64_at(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return le64toh(v);
}

static unsigned long long records(const struct scan *s)
{
    return cw_line_index_n(s->index);
}

static int no_room(const struct scan *s, struct cw_err *err)
{
    return cw_err_set(err, CW_E_NOMEM, "%s: no memory for an index of %llu records", s->file->name,
                      records(s));
}

static int truncated(const struct scan *s, uint64_t offset, struct cw_err *err)
{
    return cw_err_set(
        err, CW_E_CORRUPT, "%s: record %llu at byte %llu: truncated, the file ends at byte %llu",
        s->file->name, records(s), (unsigned long long)offset, (unsigned long long)s->file->size);
}

static int header_at(struct scan *s, uint64_t offset, const uint8_t **ret_header,
                     struct cw_err *err)
{
    if (s->file->size - offset < CW_TFRECORD_FRAME_BYTES)
        return truncated(s, offset, err);
    bool inside = offset >= s->window_begin &&
                  offset + CW_TFRECORD_HEADER_BYTES <= s->window_begin + s->window_n;
    if (!inside) {
        s->window_begin = offset;
        s->window_n = (size_t)CW_MIN((uint64_t)WINDOW_BYTES, s->file->size - offset);
        int rc = cw_readable_get(s->file, offset, s->window, s->window_n, err);
        if (rc < 0)
            return rc;
    }
    *ret_header = s->window + (offset - s->window_begin);
    return 0;
}

static int bad_header(const struct scan *s, uint64_t offset, const uint8_t *header,
                      struct cw_err *err)
{
    bool gzip = offset == 0 && header[0] == 0x1f && header[1] == 0x8b;
    return cw_err_set(
        err, CW_E_CORRUPT, "%s: record %llu at byte %llu: %s", s->file->name, records(s),
        (unsigned long long)offset,
        gzip ? "this is a gzip file: its name should end in .gz"
             : "the checksum of the length does not match: not a TFRecord file, or damaged");
}

static int scan_records(struct scan *s, struct cw_err *err)
{
    uint64_t offset = 0;
    while (offset < s->file->size) {
        const uint8_t *header = s->window;
        int rc = header_at(s, offset, &header, err);
        if (rc < 0)
            return rc;
        if (cw_crc32c_masked(header, 8) != u32_at(header + 8))
            return bad_header(s, offset, header, err);
        uint64_t length = u64_at(header);
        if (length > s->file->size - offset - CW_TFRECORD_FRAME_BYTES)
            return truncated(s, offset, err);
        if (cw_line_index_add(s->index, offset) < 0)
            return no_room(s, err);
        offset += CW_TFRECORD_FRAME_BYTES + length;
    }
    return cw_line_index_end(s->index, offset) < 0 ? no_room(s, err) : 0;
}

int cw_tfrecord_scan(const struct cw_readable *file, struct cw_line_index **ret_index,
                     struct cw_err *err)
{
    struct scan s = {
        .file = file, .window = cw_mem_try(WINDOW_BYTES), .index = cw_line_index_new()};
    int rc =
        s.window ? scan_records(&s, err) : cw_err_set(err, CW_E_NOMEM, "%s: no memory", file->name);
    cw_mem_free(s.window);
    if (rc < 0)
        cw_line_index_free(s.index);
    else
        *ret_index = s.index;
    return rc;
}

bool cw_tfrecord_is_right(const void *frame, size_t bytes)
{
    const uint8_t *data = (const uint8_t *)frame + CW_TFRECORD_HEADER_BYTES;
    if (bytes < CW_TFRECORD_FRAME_BYTES || u64_at(frame) != bytes - CW_TFRECORD_FRAME_BYTES)
        return false;
    bytes -= CW_TFRECORD_FRAME_BYTES;
    return cw_crc32c_masked(data, bytes) == u32_at(data + bytes);
}

int cw_tfrecord_get(const struct cw_readable *file, const struct cw_line_index *index, uint64_t k,
                    struct cw_arena *arena, void **ret_data, size_t *ret_bytes, struct cw_err *err)
{
    uint64_t begin = cw_line_index_at(index, k);
    size_t frame_bytes = (size_t)(cw_line_index_at(index, k + 1) - begin);
    if (frame_bytes < CW_TFRECORD_FRAME_BYTES)
        return cw_err_set(err, CW_E_CORRUPT, "%s: record %llu at byte %llu: its index is damaged",
                          file->name, (unsigned long long)k, (unsigned long long)begin);
    size_t bytes = frame_bytes - CW_TFRECORD_FRAME_BYTES;
    uint8_t *frame = cw_arena_alloc(arena, frame_bytes);
    if (!frame)
        return cw_err_set(err, CW_E_NOMEM,
                          "%s: record %llu at byte %llu: no memory for its %zu bytes", file->name,
                          (unsigned long long)k, (unsigned long long)begin, bytes);
    int rc = cw_readable_get(file, begin, frame, frame_bytes, err);
    if (rc < 0)
        return rc;
    uint8_t *data = frame + CW_TFRECORD_HEADER_BYTES;
    if (!cw_tfrecord_is_right(frame, frame_bytes))
        return cw_err_set(err, CW_E_CORRUPT,
                          "%s: record %llu at byte %llu: checksum does not match", file->name,
                          (unsigned long long)k, (unsigned long long)begin);
    *ret_data = data;
    *ret_bytes = bytes;
    return 0;
}
