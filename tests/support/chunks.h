/* SPDX-License-Identifier: Apache-2.0 */
/* Small chunks for tests. */
#ifndef CW_TESTS_CHUNKS_H
#define CW_TESTS_CHUNKS_H

#include <string.h>

#include "base/mem.h"
#include "format/chunk.h"
#include "format/record.h"

/* A chunk as one string of bytes, and its name. The elements' ids count; one with n == SIZE_MAX
 * is left out. */
struct cw_test_chunk {
    struct cw_str bytes, name;
    int rc;
    struct cw_err err;
};

static inline void cw_test_chunk_fini(struct cw_test_chunk *chunk)
{
    cw_str_fini(&chunk->bytes);
    cw_str_fini(&chunk->name);
}

static inline void cw_test_chunk_put(struct cw_str *frame, const struct cw_spec *spec,
                                     const struct cw_element *element,
                                     struct cw_chunk_record *record)
{
    static const char zeros[64];
    *record = (struct cw_chunk_record){.id = element->id, .bytes = CW_CHUNK_LEFT_OUT};
    if (element->n == SIZE_MAX)
        return;
    int64_t bytes = cw_record_bytes(spec, element);
    CW_ASSERT(bytes >= 0);
    cw_str_add_bytes(frame, zeros,
                     CW_ALIGN_UP(frame->len, cw_record_align((size_t)bytes)) - frame->len);
    record->offset = (uint32_t)frame->len;
    record->bytes = (uint32_t)bytes;
    cw_autofree void *p = cw_mem_new((size_t)bytes + 1);
    cw_record_encode(spec, element, p);
    cw_str_add_bytes(frame, p, (size_t)bytes);
}

/* per_frame elements in each frame, in the given order. */
static inline struct cw_test_chunk cw_test_chunk_new(const struct cw_chunk_head *head,
                                                     const struct cw_element *elements, size_t n,
                                                     size_t per_frame, int level)
{
    struct cw_test_chunk chunk = {0};
    struct cw_chunk_writer *writer = cw_chunk_writer_new(head, level);
    struct cw_str *frames = CW_NEW_ARRAY(struct cw_str, n + 1);
    size_t frames_n = 0;
    const struct iovec *parts = NULL;
    size_t parts_n = 0;
    uint64_t bytes = 0;

    for (size_t i = 0; i < n && chunk.rc == 0; i += per_frame) {
        struct cw_str *frame = &frames[frames_n++];
        size_t k = CW_MIN(per_frame, n - i);
        struct cw_chunk_record *records = CW_NEW_ARRAY(struct cw_chunk_record, k);
        for (size_t j = 0; j < k; j++)
            cw_test_chunk_put(frame, &head->spec, &elements[i + j], &records[j]);
        chunk.rc = cw_chunk_writer_add(writer, cw_str_text(frame), frame->len, NULL, records, k,
                                       &chunk.err);
        cw_mem_free(records);
    }
    if (chunk.rc == 0)
        chunk.rc =
            cw_chunk_writer_finish(writer, &parts, &parts_n, &bytes, &chunk.name, &chunk.err);
    for (size_t i = 0; i < parts_n; i++)
        cw_str_add_bytes(&chunk.bytes, parts[i].iov_base, parts[i].iov_len);
    CW_ASSERT(chunk.bytes.len == bytes);
    cw_chunk_writer_free(writer);
    for (size_t i = 0; i < frames_n; i++)
        cw_str_fini(&frames[i]);
    cw_mem_free(frames);
    return chunk;
}

#endif
