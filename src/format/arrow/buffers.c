/* SPDX-License-Identifier: Apache-2.0 */
/* Reads buffers of record batches, and unpacks those that are compressed. */
#include "format/arrow/buffers.h"

#include <endian.h>
#include <lz4frame.h>
#include <string.h>

#include "base/mem.h"
#include "codec/codec.h"

enum { BUFFER_BYTES = 16, LENGTH_BYTES = 8 };
/* Numbers of the format. */
enum { MESSAGE_HEADER = 2, DICTIONARY_DATA = 1 };
enum {
    RECORDS_ROWS = 0,
    RECORDS_NODES = 1,
    RECORDS_BUFFERS = 2,
    RECORDS_PACKED = 3,
    RECORDS_VIEWS = 4
};
enum { CODEC_NONE = -1, CODEC_LZ4 = 0, CODEC_ZSTD = 1 };

int cw_arrow_buffers_fail(const struct cw_arrow_buffers *b, const char *why, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "%s: column %s of the record batch at byte %llu: %s",
                      b->file->name, b->column, (unsigned long long)b->batch->meta, why);
}

/* Takes over the numbers of a head. */
static int read_records(const struct cw_arrow_buffers *b, const struct cw_flat *flat,
                        const struct cw_flat_table *records, struct cw_arrow_places *places,
                        struct cw_err *err)
{
    const struct cw_flat_table packed = cw_flat_table(records, RECORDS_PACKED);
    const struct cw_flat_vector buffers = cw_flat_vector(records, RECORDS_BUFFERS, BUFFER_BYTES),
                                views = cw_flat_vector(records, RECORDS_VIEWS, 8);
    (void)cw_flat_vector(records, RECORDS_NODES, BUFFER_BYTES);
    places->rows = cw_flat_i64(records, RECORDS_ROWS, 0);
    places->codec = packed.flat ? cw_flat_u8(&packed, 0, 0) : CODEC_NONE;
    if (flat->bad || places->rows < 0)
        return cw_arrow_buffers_fail(b, "its head is damaged", err);
    if (packed.flat && (places->codec > CODEC_ZSTD || cw_flat_u8(&packed, 1, 0) != 0))
        return cw_arrow_buffers_fail(b, "its compression is not known", err);
    int64_t *to = places->numbers = CW_NEW_ARRAY(int64_t, 2 * buffers.n + views.n + 1);
    places->buffers_n = buffers.n;
    places->views_n = views.n;
    for (size_t i = 0; i < buffers.n; i++) {
        *to++ = cw_flat_vector_i64(&buffers, i, BUFFER_BYTES, 0);
        *to++ = cw_flat_vector_i64(&buffers, i, BUFFER_BYTES, 8);
    }
    for (size_t i = 0; i < views.n; i++)
        *to++ = cw_flat_vector_i64(&views, i, 8, 0);
    return 0;
}

int cw_arrow_places_read(const struct cw_readable *file, const struct cw_arrow_batch *batch,
                         bool is_dictionary, struct cw_arrow_places *ret_places, struct cw_err *err)
{
    const struct cw_arrow_buffers b = {.file = file, .batch = batch, .column = ""};
    struct cw_arrow_places places = {0};
    struct cw_flat flat;
    struct cw_flat_table message;
    cw_autofree uint8_t *meta = cw_mem_new((size_t)batch->meta_bytes + 1);
    int rc = cw_readable_get(file, batch->meta, meta, batch->meta_bytes, err);
    if (rc == 0)
        rc = cw_arrow_message(file, batch->meta, meta, batch->meta_bytes, &flat, &message, err);
    if (rc < 0)
        return rc;
    struct cw_flat_table records = cw_flat_table(&message, MESSAGE_HEADER);
    if (is_dictionary)
        records = cw_flat_table(&records, DICTIONARY_DATA);
    rc = records.flat ? read_records(&b, &flat, &records, &places, err)
                      : cw_arrow_buffers_fail(&b, "its head is damaged", err);
    if (rc == 0)
        *ret_places = places;
    return rc;
}

void cw_arrow_places_fini(struct cw_arrow_places *places)
{
    cw_mem_free(places->numbers);
    *places = (struct cw_arrow_places){0};
}

size_t cw_arrow_places_bytes(const struct cw_arrow_places *places)
{
    return (2 * places->buffers_n + places->views_n + 1) * sizeof(*places->numbers);
}

size_t cw_arrow_buffer_of(const struct cw_arrow_places *places, const struct cw_arrow_node *node,
                          unsigned which)
{
    const int64_t *views = places->numbers + 2 * places->buffers_n;
    size_t number = node->buffer + which;
    for (size_t i = 0; i < node->views && i < places->views_n; i++)
        number += (size_t)CW_MAX(views[i], 0);
    return number;
}

bool cw_arrow_buffer_is_empty(const struct cw_arrow_buffers *b, size_t number)
{
    return number < b->places->buffers_n && b->places->numbers[2 * number + 1] == 0;
}

/* Unpacks one frame of LZ4, which must have exactly n bytes. */
static const char *unpack_lz4(const uint8_t *p, size_t bytes, uint8_t *dst, size_t n)
{
    LZ4F_dctx *lz4 = NULL;
    size_t used = 0, made = 0, more = 1;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&lz4, LZ4F_VERSION)))
        return "no memory to unpack a buffer";
    while (more > 0 && !LZ4F_isError(more)) {
        size_t in = bytes - used, out = n - made;
        more = LZ4F_decompress(lz4, dst + made, &out, p + used, &in, NULL);
        if (in == 0 && out == 0)
            break;
        used += in;
        made += out;
    }
    const bool good = more == 0 && made == n && used == bytes;
    LZ4F_freeDecompressionContext(lz4);
    return good ? NULL : "a buffer in LZ4 is damaged";
}

static const char *unpack_zstd(const uint8_t *p, size_t bytes, uint8_t *dst, size_t n)
{
    return cw_codec_unpack_to(dst, n, p, bytes, "a buffer", NULL) == 0
               ? NULL
               : "a buffer in zstd is damaged";
}

/* Unpacks all of a buffer: its length, and then a frame. A length of -1 says that it is as it is. */
static const char *unpack(const struct cw_arrow_buffers *b, const uint8_t *p, size_t n,
                          struct cw_arrow_bytes *ret_bytes)
{
    int64_t length;
    if (n < LENGTH_BYTES)
        return "a buffer is too short";
    memcpy(&length, p, sizeof(length));
    length = (int64_t)le64toh((uint64_t)length);
    p += LENGTH_BYTES;
    n -= LENGTH_BYTES;
    const bool is_plain = length == -1;
    if (is_plain)
        length = (int64_t)n;
    /* No frame of LZ4 becomes more than 255 times as long. */
    if (length < 0 || (uint64_t)length > b->bytes_max ||
        (b->places->codec == CODEC_LZ4 && (uint64_t)length / 256 > n))
        return "a buffer unpacks to more bytes than the limit";
    ret_bytes->n = (size_t)length;
    ret_bytes->p = cw_mem_try(CW_MAX(ret_bytes->n, 1));
    if (!ret_bytes->p)
        return "no memory for a buffer";
    if (is_plain)
        memcpy(ret_bytes->p, p, n);
    if (is_plain || length == 0)
        return NULL;
    return b->places->codec == CODEC_ZSTD ? unpack_zstd(p, n, ret_bytes->p, ret_bytes->n)
                                          : unpack_lz4(p, n, ret_bytes->p, ret_bytes->n);
}

/* Reads bytes of the body. */
static int read_body(const struct cw_arrow_buffers *b, uint64_t at, uint64_t n, uint8_t **ret_p,
                     struct cw_err *err)
{
    uint8_t *p = n <= b->bytes_max ? cw_mem_try(CW_MAX((size_t)n, 1)) : NULL;
    if (!p)
        return cw_err_set(
            err, CW_E_NOMEM,
            "%s: column %s of the record batch at byte %llu: no memory for its %llu bytes",
            b->file->name, b->column, (unsigned long long)b->batch->meta, (unsigned long long)n);
    int rc = cw_readable_get(b->file, b->batch->body + at, p, (size_t)n, err);
    if (rc < 0)
        cw_mem_free(p);
    else
        *ret_p = p;
    return rc;
}

/* Reads and unpacks a buffer, of which bytes from `first` on are wanted. */
static int get_packed(struct cw_arrow_buffers *b, uint64_t at, uint64_t length, uint64_t first,
                      uint64_t n, struct cw_arrow_bytes *ret_bytes, struct cw_err *err)
{
    struct cw_arrow_bytes all = {0};
    cw_autofree uint8_t *packed = NULL;
    int rc = read_body(b, at, length, &packed, err);
    if (rc < 0)
        return rc;
    const char *fault = length == 0 ? NULL : unpack(b, packed, (size_t)length, &all);
    if (!fault && (first > all.n || n > all.n - first))
        fault = "a buffer is shorter than its column";
    if (fault) {
        cw_mem_free(all.p);
        return cw_arrow_buffers_fail(b, fault, err);
    }
    if (!all.p)
        all.p = cw_mem_new(1);
    if (first > 0)
        memmove(all.p, all.p + first, (size_t)n);
    *ret_bytes = (struct cw_arrow_bytes){all.p, (size_t)n};
    return 0;
}

int cw_arrow_buffer_get(struct cw_arrow_buffers *b, size_t number, uint64_t first, uint64_t n,
                        struct cw_arrow_bytes *ret_bytes, struct cw_err *err)
{
    if (number >= b->places->buffers_n)
        return cw_arrow_buffers_fail(b, "it has less buffers than its columns need", err);
    const int64_t at = b->places->numbers[2 * number], length = b->places->numbers[2 * number + 1];
    if (at < 0 || length < 0 || (uint64_t)at > b->batch->body_bytes ||
        (uint64_t)length > b->batch->body_bytes - (uint64_t)at)
        return cw_arrow_buffers_fail(b, "a buffer lies outside of the batch", err);
    if (b->places->codec != CODEC_NONE)
        return get_packed(b, (uint64_t)at, (uint64_t)length, first, n, ret_bytes, err);
    if (first > (uint64_t)length || n > (uint64_t)length - first)
        return cw_arrow_buffers_fail(b, "a buffer is shorter than its column", err);
    int rc = read_body(b, (uint64_t)at + first, n, &ret_bytes->p, err);
    ret_bytes->n = (size_t)n;
    return rc;
}
