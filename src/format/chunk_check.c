/* SPDX-License-Identifier: Apache-2.0 */
/* Loading parts of a chunk from a file, and checking all of it. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "codec/codec.h"
#include "format/chunk_int.h"
#include "format/record.h"

static int load(const struct cw_readable *file, struct cw_chunk_index **ret_index,
                struct cw_err *err)
{
    unsigned char footer[CW_CHUNK_FOOTER_BYTES] = {0};
    uint64_t offset;
    size_t n;

    if (file->size < sizeof(footer))
        return cw_chunk_footer_read(footer, file->size, &offset, &n, err);
    int rc = file->read_at(file->arg, file->size - sizeof(footer), footer, sizeof(footer), err);
    if (rc == 0)
        rc = cw_chunk_footer_read(footer, file->size, &offset, &n, err);
    if (rc < 0)
        return rc;
    cw_autofree void *bytes = cw_mem_try(n + sizeof(footer));
    if (!bytes)
        return cw_err_set(err, CW_E_NOMEM, "no memory for an index of %zu bytes", n);
    rc = file->read_at(file->arg, offset, bytes, n + sizeof(footer), err);
    return rc < 0 ? rc : cw_chunk_index_read(bytes, n + sizeof(footer), file->size, ret_index, err);
}

int cw_chunk_load(const struct cw_readable *file, struct cw_chunk_index **ret_index,
                  struct cw_err *err)
{
    int rc = load(file, ret_index, err);

    if (rc < 0)
        cw_err_wrap(err, "%s", file->name);
    return rc;
}

/* Reads the stored bytes of a frame and the zeros behind it, and checks them. */
static int read_stored(const struct cw_readable *file, const struct cw_chunk_index *index,
                       uint32_t frame, struct cw_buf **ret_buf, struct cw_err *err)
{
    const struct cw_chunk_frame *f = &index->frames[frame];
    size_t n = (size_t)cw_chunk_up(f->stored);
    struct cw_buf *buf = cw_buf_new(n);

    if (!buf)
        return cw_err_set(err, CW_E_NOMEM, "no memory for a frame of %u bytes", f->stored);
    int rc = file->read_at(file->arg, f->offset, buf->data, n, err);
    if (rc == 0)
        rc = cw_chunk_frame_check(index, frame, buf->data, err);
    for (size_t i = f->stored; rc == 0 && i < n; i++)
        if (((char *)buf->data)[i])
            rc = cw_err_set(err, CW_E_CORRUPT, "chunk: the bytes behind frame %u are not zero",
                            frame);
    if (rc < 0)
        cw_buf_unref(buf);
    else
        *ret_buf = buf;
    return rc;
}

static int frame_load(const struct cw_readable *file, const struct cw_chunk_index *index,
                      uint32_t frame, struct cw_buf **ret_buf, struct cw_err *err)
{
    const struct cw_chunk_frame *f = &index->frames[frame];
    struct cw_buf *stored = NULL;
    int rc = read_stored(file, index, frame, &stored, err);

    if (rc < 0 || f->stored == f->plain) {
        if (rc == 0)
            *ret_buf = stored;
        return rc;
    }
    struct cw_buf *plain =
        cw_codec_content_is(stored->data, f->stored, f->plain) ? cw_buf_new(f->plain) : NULL;
    if (!cw_codec_content_is(stored->data, f->stored, f->plain))
        rc = cw_err_set(err, CW_E_CORRUPT, "chunk: frame %u: does not have %u bytes", frame,
                        f->plain);
    else if (plain)
        rc = cw_chunk_frame_unpack(index, frame, stored->data, plain->data, err);
    else
        rc = cw_err_set(err, CW_E_NOMEM, "no memory for a frame of %u bytes", f->plain);
    cw_buf_unref(stored);
    if (rc < 0)
        cw_buf_unref(plain);
    else
        *ret_buf = plain;
    return rc;
}

int cw_chunk_frame_load(const struct cw_readable *file, const struct cw_chunk_index *index,
                        uint32_t frame, struct cw_buf **ret_buf, struct cw_err *err)
{
    int rc = frame_load(file, index, frame, ret_buf, err);

    if (rc < 0)
        cw_err_wrap(err, "%s", file->name);
    return rc;
}

/* ---- checking the whole file ---- */

static int check_head(const struct cw_readable *file, const struct cw_chunk_index *index,
                      struct cw_err *err)
{
    cw_autofree char *found = cw_mem_new(CW_CHUNK_HEAD_MAX + CW_CHUNK_ALIGN);
    CW_STR_AUTO head = {0};

    cw_chunk_head_put(&index->head, &head);
    while (head.len % CW_CHUNK_ALIGN)
        cw_str_add_char(&head, '\0');
    /* If the file were too short for this, the index would not be in its place. */
    int rc = file->read_at(file->arg, 0, found, head.len, err);
    if (rc == 0 && memcmp(found, head.s, head.len) != 0)
        rc = cw_err_set(err, CW_E_CORRUPT, "chunk: its head is not the one in its index");
    return rc;
}

/* Groups the numbers of records by frame: those of frame f are order[ends[f - 1], ends[f]). */
static int group_records(const struct cw_chunk_index *index, uint32_t **ret_order,
                         uint32_t **ret_ends, struct cw_err *err)
{
    uint32_t *order = cw_mem_try((size_t)index->records_n * sizeof(*order)),
             *ends = cw_mem_try(((size_t)index->frames_n + 1) * sizeof(*ends));

    if (!order || !ends) {
        cw_mem_free(order);
        cw_mem_free(ends);
        return cw_err_set(err, CW_E_NOMEM, "no memory to check %u records", index->records_n);
    }
    memset(ends, 0, ((size_t)index->frames_n + 1) * sizeof(*ends));
    for (uint32_t i = 0; i < index->records_n; i++)
        if (index->records[i].bytes != CW_CHUNK_LEFT_OUT)
            ends[index->records[i].frame + 1]++;
    for (uint32_t f = 0; f < index->frames_n; f++)
        ends[f + 1] += ends[f];
    for (uint32_t i = 0; i < index->records_n; i++)
        if (index->records[i].bytes != CW_CHUNK_LEFT_OUT)
            order[ends[index->records[i].frame]++] = i;
    *ret_order = order;
    *ret_ends = ends;
    return 0;
}

static int check_records(const struct cw_chunk_index *index, const char *plain,
                         const uint32_t *order, size_t n, struct cw_err *err)
{
    cw_autofree struct cw_element *element = CW_NEW(struct cw_element);

    for (size_t i = 0; i < n; i++) {
        const struct cw_chunk_record *record = &index->records[order[i]];
        int rc = cw_record_decode(&index->head.spec, plain + record->offset, record->bytes, element,
                                  err);
        if (rc < 0) {
            cw_err_wrap(err, "id %" PRIu64, record->id);
            return rc;
        }
    }
    return 0;
}

static int check_frames(const struct cw_readable *file, const struct cw_chunk_index *index,
                        struct cw_err *err)
{
    cw_autofree uint32_t *order = NULL;
    cw_autofree uint32_t *ends = NULL;
    int rc = group_records(index, &order, &ends, err);

    for (uint32_t f = 0; rc == 0 && f < index->frames_n; f++) {
        struct cw_buf *plain = NULL;
        uint32_t begin = f ? ends[f - 1] : 0;
        rc = frame_load(file, index, f, &plain, err);
        if (rc == 0)
            rc = check_records(index, plain->data, order + begin, ends[f] - begin, err);
        cw_buf_unref(plain);
    }
    return rc;
}

int cw_chunk_check(const struct cw_readable *file, struct cw_chunk_index **ret_index,
                   struct cw_err *err)
{
    struct cw_chunk_index *index = NULL;
    int rc = load(file, &index, err);

    if (rc == 0)
        rc = check_head(file, index, err);
    if (rc == 0)
        rc = check_frames(file, index, err);
    if (rc == 0 && ret_index)
        *ret_index = index;
    else
        cw_chunk_index_free(index);
    if (rc < 0)
        cw_err_wrap(err, "%s", file->name);
    return rc;
}
