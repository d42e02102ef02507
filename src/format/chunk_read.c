/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a chunk. Nothing in the file is trusted. The place of everything follows from the sizes
 * of the frames, so there is one valid place for each thing, and nothing can overlap. */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "codec/codec.h"
#include "format/chunk_int.h"
#include "format/record.h"

struct footer {
    uint64_t offset, sum, bytes;
    size_t stored, plain;
    struct cw_hash key;
};

static int read_footer(const unsigned char *p, uint64_t bytes, struct footer *ret,
                       struct cw_err *err)
{
    const struct footer f = {.offset = cw_chunk_u64(p),
                             .stored = cw_chunk_u32(p + 8),
                             .plain = cw_chunk_u32(p + 12),
                             .sum = cw_chunk_u64(p + 16),
                             .bytes = cw_chunk_u64(p + 24),
                             .key = {cw_chunk_u64(p + 32), cw_chunk_u64(p + 40)}};

    if (memcmp(p + 56, cw_chunk_end_magic, sizeof(cw_chunk_end_magic)) != 0)
        return cw_err_set(err, CW_E_CORRUPT,
                          "chunk: does not end with cachewE1: cut off, or not a chunk");
    if (cw_hash_u64(p, 48) != cw_chunk_u64(p + 48))
        return cw_err_set(err, CW_E_CORRUPT, "chunk: footer: checksum is wrong");
    if (f.bytes != bytes)
        return cw_err_set(err, CW_E_CORRUPT, "chunk: %" PRIu64 " bytes, written were %" PRIu64,
                          bytes, f.bytes);
    if (f.offset % CW_CHUNK_ALIGN || f.offset > bytes ||
        bytes - f.offset != (uint64_t)f.stored + CW_CHUNK_FOOTER_BYTES || f.stored > f.plain)
        return cw_err_set(err, CW_E_CORRUPT,
                          "chunk: footer: impossible place of the index: %" PRIu64 ", %zu bytes",
                          f.offset, f.stored);
    *ret = f;
    return 0;
}

int cw_chunk_footer_read(const void *footer, uint64_t bytes, uint64_t *ret_offset,
                         size_t *ret_bytes, struct cw_err *err)
{
    struct footer f = {0};

    if (bytes < CW_CHUNK_FOOTER_BYTES)
        return cw_err_set(err, CW_E_CORRUPT, "chunk: %" PRIu64 " bytes, less than its footer",
                          bytes);
    int rc = read_footer(footer, bytes, &f, err);
    if (rc < 0)
        return rc;
    *ret_offset = f.offset;
    *ret_bytes = f.stored;
    return 0;
}

/* ---- index ---- */

static int read_frames(const unsigned char *p, struct cw_chunk_index *index, uint64_t at,
                       const struct footer *footer, struct cw_err *err)
{
    for (uint32_t i = 0; i < index->frames_n; i++, p += CW_CHUNK_FRAME_ENTRY_BYTES) {
        struct cw_chunk_frame frame = {.offset = cw_chunk_u64(p),
                                       .stored = cw_chunk_u32(p + 8),
                                       .plain = cw_chunk_u32(p + 12),
                                       .sum = cw_chunk_u64(p + 16)};
        if (frame.offset != at || frame.stored > frame.plain || frame.plain > CW_CHUNK_FRAME_MAX ||
            frame.stored > footer->offset - CW_MIN(at, footer->offset))
            return cw_err_set(err, CW_E_CORRUPT,
                              "chunk: index: frame %u: at %" PRIu64
                              ", %u bytes: must begin at %" PRIu64,
                              i, frame.offset, frame.stored, at);
        at = cw_chunk_up(at + frame.stored);
        index->frames[i] = frame;
    }
    if (at != footer->offset)
        return cw_err_set(err, CW_E_CORRUPT,
                          "chunk: index: the frames end at %" PRIu64
                          ", the index begins at %" PRIu64,
                          at, footer->offset);
    return 0;
}

static int check_record(const struct cw_chunk_index *index, const struct cw_chunk_record *record,
                        struct cw_err *err)
{
    if (record->bytes == CW_CHUNK_LEFT_OUT && record->frame == 0 && record->offset == 0)
        return 0;
    if (record->frame >= index->frames_n)
        return cw_err_set(err, CW_E_CORRUPT, "chunk: index: record %" PRIu64 ": in frame %u of %u",
                          record->id, record->frame, index->frames_n);
    uint32_t plain = index->frames[record->frame].plain;
    if (record->offset > plain || record->bytes > plain - record->offset ||
        record->offset % cw_record_align(record->bytes))
        return cw_err_set(err, CW_E_CORRUPT,
                          "chunk: index: record %" PRIu64 ": %u bytes at %u of a frame of %u",
                          record->id, record->bytes, record->offset, plain);
    return 0;
}

static int read_records(const unsigned char *p, struct cw_chunk_index *index, struct cw_err *err)
{
    size_t n = index->records_n;
    const unsigned char *ids = p, *frames = ids + 8 * n, *offsets = frames + 4 * n,
                        *bytes = offsets + 4 * n;
    struct cw_chunk_record last = {0};

    for (size_t i = 0; i < n; i++) {
        uint64_t step = cw_chunk_u64(ids + 8 * i);
        struct cw_chunk_record record = {.id = last.id + step,
                                         .frame = last.frame + cw_chunk_u32(frames + 4 * i),
                                         .offset = last.offset + cw_chunk_u32(offsets + 4 * i),
                                         .bytes = last.bytes + cw_chunk_u32(bytes + 4 * i)};
        if (i > 0 && record.id <= last.id)
            return cw_err_set(err, CW_E_CORRUPT,
                              "chunk: index: record %" PRIu64 " follows record %" PRIu64, record.id,
                              last.id);
        int rc = check_record(index, &record, err);
        if (rc < 0)
            return rc;
        index->records[i] = last = record;
    }
    return 0;
}

/* Reads the index, whose plain bytes are p[0, n). */
static int read_index(const unsigned char *p, size_t n, const struct footer *footer,
                      struct cw_chunk_index *index, struct cw_err *err)
{
    size_t at = 0;
    int rc = cw_chunk_head_get(p, n, &index->head, &at, err);

    if (rc < 0)
        return rc;
    if (!cw_hash_eq(index->head.key, footer->key))
        return cw_err_set(err, CW_E_CORRUPT,
                          "chunk: the key in its footer is not the one in its index");
    if (n - at < 8)
        return cw_err_set(err, CW_E_CORRUPT, "chunk: index: cut off");
    index->frames_n = cw_chunk_u32(p + at);
    index->records_n = cw_chunk_u32(p + at + 4);
    if (index->records_n == 0 || index->records_n > CW_CHUNK_RECORDS_MAX ||
        index->frames_n > index->records_n ||
        n - at - 8 != (size_t)index->frames_n * CW_CHUNK_FRAME_ENTRY_BYTES +
                          (size_t)index->records_n * CW_CHUNK_RECORD_ENTRY_BYTES)
        return cw_err_set(err, CW_E_CORRUPT, "chunk: index: %u frames and %u records in %zu bytes",
                          index->frames_n, index->records_n, n);
    index->frames = cw_mem_try(CW_MAX((size_t)index->frames_n, (size_t)1) * sizeof(*index->frames));
    index->records = cw_mem_try((size_t)index->records_n * sizeof(*index->records));
    if (!index->frames || !index->records)
        return cw_err_set(err, CW_E_NOMEM, "chunk: no memory for an index of %u records",
                          index->records_n);
    rc = read_frames(p + at + 8, index, cw_chunk_up(at), footer, err);
    if (rc == 0)
        rc = read_records(p + at + 8 + (size_t)index->frames_n * CW_CHUNK_FRAME_ENTRY_BYTES, index,
                          err);
    return rc;
}

static int unpack_index(const unsigned char *p, const struct footer *footer,
                        struct cw_chunk_index *index, struct cw_err *err)
{
    if (footer->plain > CW_CHUNK_HEAD_MAX + 8 +
                            (size_t)CW_CHUNK_RECORDS_MAX *
                                (CW_CHUNK_FRAME_ENTRY_BYTES + CW_CHUNK_RECORD_ENTRY_BYTES))
        return cw_err_set(err, CW_E_CORRUPT, "chunk: footer: an index of %zu bytes", footer->plain);
    if (footer->stored == footer->plain)
        return read_index(p, footer->plain, footer, index, err);
    if (!cw_codec_content_is(p, footer->stored, footer->plain))
        return cw_err_set(err, CW_E_CORRUPT, "chunk: index: does not have %zu bytes",
                          footer->plain);
    cw_autofree unsigned char *plain = cw_mem_try(footer->plain);
    if (!plain)
        return cw_err_set(err, CW_E_NOMEM, "chunk: no memory for an index of %zu bytes",
                          footer->plain);
    int rc = cw_codec_unpack_to(plain, footer->plain, p, footer->stored, "chunk: index", err);
    return rc < 0 ? rc : read_index(plain, footer->plain, footer, index, err);
}

int cw_chunk_index_read(const void *p, size_t n, uint64_t file_bytes,
                        struct cw_chunk_index **ret_index, struct cw_err *err)
{
    struct footer footer = {0};

    if (n < CW_CHUNK_FOOTER_BYTES || file_bytes < n)
        return cw_err_set(err, CW_E_CORRUPT, "chunk: index: cut off");
    int rc =
        read_footer((const unsigned char *)p + n - CW_CHUNK_FOOTER_BYTES, file_bytes, &footer, err);
    if (rc < 0)
        return rc;
    if (footer.stored != n - CW_CHUNK_FOOTER_BYTES)
        return cw_err_set(err, CW_E_CORRUPT, "chunk: index: %zu bytes, the footer says %zu",
                          n - CW_CHUNK_FOOTER_BYTES, footer.stored);
    if (cw_hash_u64(p, footer.stored) != footer.sum)
        return cw_err_set(err, CW_E_CORRUPT, "chunk: index: checksum is wrong");
    struct cw_chunk_index *index = CW_NEW(struct cw_chunk_index);
    index->bytes = file_bytes;
    rc = unpack_index(p, &footer, index, err);
    if (rc < 0)
        cw_chunk_index_free(index);
    else
        *ret_index = index;
    return rc;
}

void cw_chunk_index_free(struct cw_chunk_index *index)
{
    if (!index)
        return;
    cw_spec_fini(&index->head.spec);
    cw_mem_free(index->frames);
    cw_mem_free(index->records);
    cw_mem_free(index);
}

const struct cw_chunk_record *cw_chunk_find(const struct cw_chunk_index *index, uint64_t id)
{
    size_t lo = 0, hi = index->records_n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (index->records[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < index->records_n && index->records[lo].id == id ? &index->records[lo] : NULL;
}

/* ---- frames ---- */

int cw_chunk_frame_check(const struct cw_chunk_index *index, uint32_t frame, const void *stored,
                         struct cw_err *err)
{
    const struct cw_chunk_frame *f = &index->frames[frame];

    if (cw_hash_u64(stored, f->stored) != f->sum)
        return cw_err_set(err, CW_E_CORRUPT,
                          "chunk: frame %u (%u bytes at %" PRIu64 "): checksum is wrong", frame,
                          f->stored, f->offset);
    return 0;
}

int cw_chunk_frame_unpack(const struct cw_chunk_index *index, uint32_t frame, const void *stored,
                          void *dst, struct cw_err *err)
{
    const struct cw_chunk_frame *f = &index->frames[frame];
    int rc = cw_codec_unpack_to(dst, f->plain, stored, f->stored, "chunk: frame", err);

    if (rc < 0)
        cw_err_wrap(err, "frame %u (%u bytes at %" PRIu64 ")", frame, f->stored, f->offset);
    return rc;
}
