/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the records of a part of a TFRecord file.
 *
 * A place counts as the beginning of a record if a length with its checksum stands there, and behind the record
 * either the file ends or such a place follows. Bytes inside of a record may look like that, too: those of a
 * TFRecord file that is stored in a record. So a part is not only looked through from its first place on, record by
 * record, but what is behind it, too: between its end and the end of its last record there must be no such place,
 * and where that record ends there must be one. Part 0 begins with a record for certain. If each part before one
 * holds what is said, the first place in or behind it is that at which the last record before it ends: it is where a
 * record begins. So either all parts together have each record once, or one of them fails. */
#include "format/tfrecord.h"

#include <endian.h>
#include <string.h>

#include "base/mem.h"
#include "format/crc32c.h"

/* What is looked through at a time. */
#define WINDOW_BYTES ((size_t)64 << 10)

struct search {
    const struct cw_readable *file;
    uint64_t from; /* of the part */
    struct cw_tfrecord_part part;
    size_t cap;
};

void cw_tfrecord_part_fini(struct cw_tfrecord_part *part)
{
    cw_mem_free(part->at);
    *part = (struct cw_tfrecord_part){0};
}

/* Whether a header with a right checksum stands at p, which is byte `at`, of a record that fits into the file. */
static bool is_header(const struct cw_readable *file, uint64_t at, const uint8_t *p,
                      uint64_t *ret_end)
{
    uint64_t length;
    uint32_t crc;
    memcpy(&length, p, sizeof(length));
    length = le64toh(length);
    if (file->size - at < CW_TFRECORD_FRAME_BYTES ||
        length > file->size - at - CW_TFRECORD_FRAME_BYTES)
        return false;
    memcpy(&crc, p + sizeof(length), sizeof(crc));
    *ret_end = at + CW_TFRECORD_FRAME_BYTES + length;
    return cw_crc32c_masked(p, sizeof(length)) == le32toh(crc);
}

/* Returns 1 if a header stands at byte `at`, 0 if none does. */
static int read_header(const struct cw_readable *file, uint64_t at, uint64_t *ret_end,
                       struct cw_err *err)
{
    uint8_t header[CW_TFRECORD_HEADER_BYTES];
    if (file->size - at < CW_TFRECORD_FRAME_BYTES)
        return 0;
    int rc = cw_readable_get(file, at, header, sizeof(header), err);
    return rc < 0 ? rc : is_header(file, at, header, ret_end);
}

/* Returns 1 if a record ends at `end` behind which there is another one, or nothing. */
static int is_followed(const struct cw_readable *file, uint64_t end, struct cw_err *err)
{
    uint64_t next;
    return end == file->size ? 1 : read_header(file, end, &next, err);
}

/* Looks for the first place among those of a window, whose first byte is byte `at`. Returns 1 if there is one. */
static int look_through(const struct cw_readable *file, uint64_t at, const uint8_t *window,
                        size_t n, uint64_t *ret_place, struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i + CW_TFRECORD_HEADER_BYTES <= n; i++) {
        uint64_t end;
        if (is_header(file, at + i, window + i, &end))
            rc = is_followed(file, end, err);
        *ret_place = at + i;
    }
    return rc;
}

/* Looks for the first place in [from, to). Returns 1 if there is one. */
static int find_place(const struct cw_readable *file, uint64_t from, uint64_t to,
                      uint64_t *ret_place, struct cw_err *err)
{
    enum { OVERLAP = CW_TFRECORD_HEADER_BYTES - 1 };
    cw_autofree uint8_t *window = cw_mem_try(WINDOW_BYTES);
    const uint64_t end = CW_MIN(file->size, CW_MIN(to, file->size) + OVERLAP);
    int rc = 0;
    if (!window)
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory", file->name);
    for (uint64_t at = from; rc == 0 && at + OVERLAP < end; at += WINDOW_BYTES - OVERLAP) {
        const size_t n = (size_t)CW_MIN((uint64_t)WINDOW_BYTES, end - at);
        rc = cw_readable_get(file, at, window, n, err);
        if (rc == 0)
            rc = look_through(file, at, window, n, ret_place, err);
    }
    return rc;
}

static int add(struct search *s, uint64_t at, struct cw_err *err)
{
    struct cw_tfrecord_part *part = &s->part;
    if (part->n == s->cap) {
        const size_t cap = CW_MAX(2 * s->cap, (size_t)64);
        uint64_t *grown = cw_mem_try_grow(part->at, (cap + 1) * sizeof(*grown));
        if (!grown)
            return cw_err_set(err, CW_E_NOMEM, "%s: no memory for %zu records", s->file->name, cap);
        part->at = grown;
        s->cap = cap;
    }
    part->at[part->n++] = at;
    return 0;
}

/* There is no record at `at`, behind those that were found: the file is damaged, or the first of these is none. */
static int broken(const struct search *s, uint64_t at, struct cw_err *err)
{
    const struct cw_tfrecord_part *part = &s->part;
    if (s->from == 0)
        return cw_err_set(err, CW_E_STATE,
                          "%s: no record begins at byte %llu: it is truncated, damaged, or no "
                          "TFRecord file",
                          s->file->name, (unsigned long long)at);
    return cw_err_set(
        err, CW_E_STATE,
        "%s: no record begins at byte %llu, where the one at byte %llu ends: the file is "
        "damaged, or what was found at byte %llu is a TFRecord file inside of a record, for "
        "which an index is needed (leave out index: false)",
        s->file->name, (unsigned long long)at, (unsigned long long)part->at[part->n - 1],
        (unsigned long long)part->at[0]);
}

static int inside_of(const struct search *s, uint64_t place, struct cw_err *err)
{
    return cw_err_set(err, CW_E_STATE,
                      "%s: what stands at byte %llu looks like a record, but lies inside of the "
                      "one at byte %llu: an index is needed to tell them apart (leave out index: "
                      "false)",
                      s->file->name, (unsigned long long)place,
                      (unsigned long long)s->part.at[s->part.n - 1]);
}

/* Goes from record to record; *at becomes the end of the last. */
static int walk(struct search *s, uint64_t to, uint64_t *at, struct cw_err *err)
{
    int rc = 0;
    while (rc == 0 && *at < to && *at < s->file->size) {
        uint64_t end;
        rc = read_header(s->file, *at, &end, err);
        if (rc == 0)
            return broken(s, *at, err);
        if (rc > 0)
            rc = add(s, *at, err);
        if (rc == 0)
            *at = end;
        if (rc == 0 && s->part.n % 4096 == 0)
            rc = cw_stop_check(s->file->stop, err);
    }
    return rc;
}

/* Checks that the next place is where the last record ends. */
static int check_next(const struct search *s, uint64_t to, uint64_t at, struct cw_err *err)
{
    uint64_t end, place = 0;
    int rc = 1;
    if (at < s->file->size) {
        rc = read_header(s->file, at, &end, err);
        if (rc == 0)
            return broken(s, at, err);
        if (rc > 0)
            rc = is_followed(s->file, end, err);
        if (rc == 0)
            return broken(s, end, err);
    }
    if (rc > 0)
        rc = to < at ? find_place(s->file, to, at, &place, err) : 0;
    return rc > 0 ? inside_of(s, place, err) : rc;
}

int cw_tfrecord_find(const struct cw_readable *file, uint64_t from, uint64_t to,
                     struct cw_tfrecord_part *ret_part, struct cw_err *err)
{
    struct search s = {.file = file, .from = from};
    uint64_t at = 0;
    int rc = from < file->size;
    if (from > 0 && from < file->size)
        rc = find_place(file, from, to, &at, err);
    if (rc > 0) {
        rc = walk(&s, to, &at, err);
        if (rc == 0)
            rc = check_next(&s, to, at, err);
        if (rc == 0)
            s.part.at[s.part.n] = at;
    }
    if (rc < 0)
        cw_tfrecord_part_fini(&s.part);
    else
        *ret_part = s.part;
    return rc;
}

int cw_tfrecord_unframe(const void *frame, size_t n, const void **ret_data, size_t *ret_bytes,
                        struct cw_err *err)
{
    const uint8_t *p = frame;
    const struct cw_readable_bytes bytes = {frame, n};
    const struct cw_readable whole = cw_readable_mem("", &bytes);
    uint64_t end = 0;
    uint32_t crc;
    if (n < CW_TFRECORD_FRAME_BYTES || !is_header(&whole, 0, p, &end) || end != n)
        return cw_err_set(err, CW_E_CORRUPT, "is no record with its length and checksums");
    memcpy(&crc, p + n - sizeof(crc), sizeof(crc));
    *ret_data = p + CW_TFRECORD_HEADER_BYTES;
    *ret_bytes = n - CW_TFRECORD_FRAME_BYTES;
    if (cw_crc32c_masked(*ret_data, *ret_bytes) != le32toh(crc))
        return cw_err_set(err, CW_E_CORRUPT, "checksum does not match");
    return 0;
}
