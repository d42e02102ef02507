/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the messages of Arrow files and streams. */
#include "format/arrow/head.h"

#include <endian.h>
#include <string.h>

#include "base/mem.h"

#define ROWS_MAX (INT64_C(1) << 45) /* of a batch: numbers of stretches have 32 bits */

enum {
    MAGIC_BYTES = 6,
    FILE_BEGIN = 8,             /* the magic, and two bytes that are not used */
    FILE_END = 4 + MAGIC_BYTES, /* the length of the footer, and the magic */
    BLOCK_BYTES = 24
};
static const char MAGIC[] = "ARROW1";
/* Numbers of members. */
enum { FOOTER_SCHEMA = 1, FOOTER_DICTIONARIES = 2, FOOTER_BATCHES = 3 };
enum { MESSAGE_KIND = 1, MESSAGE_HEADER = 2, MESSAGE_BODY_BYTES = 3 };
enum { RECORDS_ROWS = 0, RECORDS_PACKED = 3 };

static int damaged(const struct cw_readable *file, uint64_t byte, const char *why,
                   struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "%s: byte %llu: %s", file->name, (unsigned long long)byte,
                      why);
}

static uint32_t u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return le32toh(v);
}

void cw_arrow_head_fini(struct cw_arrow_head *h)
{
    for (size_t i = 0; i < h->leaves_n; i++)
        cw_mem_free(h->leaves[i].name);
    cw_mem_free(h->leaves);
    cw_mem_free(h->nodes);
    cw_mem_free(h->batches);
    cw_mem_free(h->dictionaries);
    *h = (struct cw_arrow_head){0};
}

size_t cw_arrow_head_batch_of(const struct cw_arrow_head *h, int64_t row)
{
    size_t low = 0, high = h->batches_n - 1;
    while (low < high) {
        const size_t middle = low + (high - low + 1) / 2;
        if (h->batches[middle].first <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* ---- messages ---- */

int cw_arrow_message(const struct cw_readable *file, uint64_t at, const uint8_t *p, size_t n,
                     struct cw_flat *ret_flat, struct cw_flat_table *ret_message,
                     struct cw_err *err)
{
    *ret_flat = (struct cw_flat){.p = p, .n = n};
    *ret_message = cw_flat_root(ret_flat);
    return ret_flat->bad ? damaged(file, at, "the head of a message is damaged", err) : 0;
}

/* The length of the head of a message, and how many bytes say it: 8, of older writers 4. */
static void read_prefix(const uint8_t prefix[8], uint32_t *ret_bytes, uint32_t *ret_prefix)
{
    *ret_prefix = u32(prefix) == UINT32_MAX ? 8 : 4;
    *ret_bytes = u32(prefix + *ret_prefix - 4);
}

static int add_records(const struct cw_readable *file, const struct cw_flat_table *records,
                       struct cw_arrow_batch *batch, struct cw_arrow_head *h, struct cw_err *err)
{
    batch->first = h->rows;
    batch->rows = cw_flat_i64(records, RECORDS_ROWS, 0);
    batch->dictionaries = (uint32_t)h->dictionaries_n;
    batch->is_packed = cw_flat_table(records, RECORDS_PACKED).flat != NULL;
    if (batch->rows < 0 || batch->rows > ROWS_MAX ||
        __builtin_add_overflow(h->rows, batch->rows, &h->rows))
        return damaged(file, batch->meta, "a record batch has an impossible number of rows", err);
    if (batch->rows == 0)
        return 0;
    CW_GROW(h->batches, h->batches_n, h->batches_cap);
    h->batches[h->batches_n++] = *batch;
    return 0;
}

static void add_dictionary(const struct cw_flat_table *dictionary, struct cw_arrow_batch *batch,
                           struct cw_arrow_head *h)
{
    batch->id = cw_flat_i64(dictionary, 0, 0);
    batch->is_delta = cw_flat_u8(dictionary, 2, 0) != 0;
    CW_GROW(h->dictionaries, h->dictionaries_n, h->dictionaries_cap);
    h->dictionaries[h->dictionaries_n++] = *batch;
}

/* Adds what a message has, whose head lies at batch->meta, and is at p. Sets where its body ends. */
static int add_message(const struct cw_readable *file, const uint8_t *p,
                       struct cw_arrow_batch *batch, bool wants_schema, struct cw_arrow_head *h,
                       struct cw_err *err)
{
    struct cw_flat flat;
    struct cw_flat_table message;
    int rc = cw_arrow_message(file, batch->meta, p, batch->meta_bytes, &flat, &message, err);
    if (rc < 0)
        return rc;
    const struct cw_flat_table header = cw_flat_table(&message, MESSAGE_HEADER);
    const uint8_t kind = cw_flat_u8(&message, MESSAGE_KIND, 0);
    const int64_t body_bytes = cw_flat_i64(&message, MESSAGE_BODY_BYTES, 0);
    const char *fault = NULL;
    if (flat.bad || !header.flat || body_bytes < 0 ||
        (uint64_t)body_bytes > file->size - batch->body)
        return damaged(file, batch->meta, "a message is cut off, or damaged", err);
    batch->body_bytes = (uint64_t)body_bytes;
    if ((kind == CW_ARROW_SCHEMA) != wants_schema)
        fault = wants_schema ? "it does not begin with a schema" : "it has a second schema";
    else if (kind == CW_ARROW_SCHEMA)
        fault = cw_arrow_schema_read(&header, h);
    else if (kind == CW_ARROW_RECORDS)
        rc = add_records(file, &header, batch, h, err);
    else if (kind == CW_ARROW_DICTIONARY)
        add_dictionary(&header, batch, h);
    else
        fault = "it has a message that is neither records nor a dictionary";
    if (!fault && flat.bad)
        fault = "a message is damaged";
    return fault ? damaged(file, batch->meta, fault, err) : rc;
}

/* ---- streams ---- */

/* Reads the message at *at, and moves *at behind it. Returns 0 at the end, 1 otherwise. */
static int next_message(const struct cw_readable *file, uint64_t *at, bool first,
                        struct cw_arrow_head *h, struct cw_err *err)
{
    uint8_t prefix[8] = {0};
    uint32_t bytes, prefix_bytes;
    if (file->size - *at < 4)
        return *at == file->size ? 0 : damaged(file, *at, "the stream is cut off", err);
    int rc = cw_readable_get(file, *at, prefix, (size_t)CW_MIN(file->size - *at, (uint64_t)8), err);
    if (rc < 0)
        return rc;
    read_prefix(prefix, &bytes, &prefix_bytes);
    if (bytes == 0)
        return 0;
    struct cw_arrow_batch batch = {.meta = *at + prefix_bytes, .meta_bytes = bytes};
    batch.body = batch.meta + bytes;
    if (bytes > CW_ARROW_META_BYTES_MAX || batch.body > file->size)
        return damaged(file, *at,
                       first && prefix_bytes == 4 ? "not an Arrow file or stream"
                                                  : "a message is longer than the stream",
                       err);
    cw_autofree uint8_t *meta = cw_mem_new(bytes);
    rc = cw_readable_get(file, batch.meta, meta, bytes, err);
    if (rc == 0)
        rc = add_message(file, meta, &batch, first, h, err);
    *at = batch.body + batch.body_bytes;
    return rc < 0 ? rc : 1;
}

static int read_stream(const struct cw_readable *file, struct cw_arrow_head *h, struct cw_err *err)
{
    uint64_t at = 0;
    int rc = next_message(file, &at, true, h, err);
    if (rc == 0)
        return damaged(file, 0, "not an Arrow file or stream: it has no message", err);
    while (rc > 0) {
        rc = cw_stop_check_at(file->stop, file->name, err);
        if (rc == 0)
            rc = next_message(file, &at, false, h, err);
    }
    return rc;
}

/* ---- files ---- */

/* Reads the heads of the messages that the blocks of a footer name. */
/* Reads the heads of messages. Blocks may lie on each other in a file that means harm: *left: so many bytes of
 * heads may be read at all. */
static int read_blocks(const struct cw_readable *file, const struct cw_flat_vector *blocks,
                       uint64_t end, uint64_t *left, struct cw_arrow_head *h, struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < blocks->n && rc == 0; i++) {
        const int64_t at = cw_flat_vector_i64(blocks, i, BLOCK_BYTES, 0);
        const int32_t bytes = cw_flat_vector_i32(blocks, i, BLOCK_BYTES, 8);
        uint32_t meta_bytes, prefix_bytes;
        if (at < 0 || bytes < 8 || (uint64_t)at > end || (uint64_t)bytes > end - (uint64_t)at)
            return damaged(file, end, "a block of the footer lies outside of the file", err);
        if ((uint64_t)bytes > CW_ARROW_META_BYTES_MAX || (uint64_t)bytes > *left)
            return damaged(file, end, "its blocks are longer than the file", err);
        *left -= (uint64_t)bytes;
        cw_autofree uint8_t *meta = cw_mem_new((size_t)bytes);
        rc = cw_stop_check_at(file->stop, file->name, err);
        if (rc == 0)
            rc = cw_readable_get(file, (uint64_t)at, meta, (size_t)bytes, err);
        if (rc < 0)
            return rc;
        read_prefix(meta, &meta_bytes, &prefix_bytes);
        if (meta_bytes > (uint32_t)bytes - prefix_bytes)
            return damaged(file, (uint64_t)at, "a message has another length than its block", err);
        struct cw_arrow_batch batch = {.meta = (uint64_t)at + prefix_bytes,
                                       .meta_bytes = meta_bytes,
                                       .body = (uint64_t)at + (uint64_t)bytes};
        rc = add_message(file, meta + prefix_bytes, &batch, false, h, err);
    }
    return rc;
}

static int read_footer(const struct cw_readable *file, uint64_t at, const uint8_t *p, size_t n,
                       struct cw_arrow_head *h, struct cw_err *err)
{
    struct cw_flat flat = {.p = p, .n = n};
    const struct cw_flat_table footer = cw_flat_root(&flat);
    const struct cw_flat_table schema = cw_flat_table(&footer, FOOTER_SCHEMA);
    const struct cw_flat_vector dictionaries =
        cw_flat_vector(&footer, FOOTER_DICTIONARIES, BLOCK_BYTES);
    const struct cw_flat_vector batches = cw_flat_vector(&footer, FOOTER_BATCHES, BLOCK_BYTES);
    if (flat.bad || !schema.flat)
        return damaged(file, at, "the footer is damaged", err);
    const char *fault = cw_arrow_schema_read(&schema, h);
    if (fault)
        return damaged(file, at, fault, err);
    uint64_t left = at;
    int rc = read_blocks(file, &dictionaries, at, &left, h, err);
    return rc < 0 ? rc : read_blocks(file, &batches, at, &left, h, err);
}

static int read_file(const struct cw_readable *file, struct cw_arrow_head *h, struct cw_err *err)
{
    uint8_t end[FILE_END];
    if (file->size < FILE_BEGIN + FILE_END)
        return damaged(file, file->size, "truncated: it does not end with ARROW1", err);
    int rc = cw_readable_get(file, file->size - FILE_END, end, FILE_END, err);
    if (rc < 0)
        return rc;
    if (memcmp(end + 4, MAGIC, MAGIC_BYTES) != 0)
        return damaged(file, file->size, "truncated: it does not end with ARROW1", err);
    const uint32_t n = u32(end);
    if (n > CW_ARROW_META_BYTES_MAX || n > file->size - FILE_BEGIN - FILE_END)
        return damaged(file, file->size - FILE_END, "its footer would begin before the file", err);
    const uint64_t at = file->size - FILE_END - n;
    cw_autofree uint8_t *footer = cw_mem_new((size_t)n + 1);
    rc = cw_readable_get(file, at, footer, n, err);
    return rc < 0 ? rc : read_footer(file, at, footer, n, h, err);
}

int cw_arrow_head_read(const struct cw_readable *file, struct cw_arrow_head *ret_head,
                       struct cw_err *err)
{
    struct cw_arrow_head h = {0};
    char begin[FILE_BEGIN] = "";
    int rc = cw_readable_get(file, 0, begin, (size_t)CW_MIN(file->size, (uint64_t)FILE_BEGIN), err);
    if (rc < 0)
        return rc;
    if (memcmp(begin, "FEA1", 4) == 0)
        rc = cw_err_set(err, CW_E_UNSUPPORTED,
                        "%s: Feather of version 1 is not supported: write version 2", file->name);
    else
        rc = memcmp(begin, MAGIC, MAGIC_BYTES) == 0 ? read_file(file, &h, err)
                                                    : read_stream(file, &h, err);
    if (rc < 0)
        cw_arrow_head_fini(&h);
    else
        *ret_head = h;
    return rc;
}
