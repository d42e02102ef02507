/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a chunk. Frames are added; compressed bytes are kept in blocks of the writer, and finish
 * lists everything as parts of the file. Frames that are not compressed are written from where the
 * records lie. */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "format/chunk_int.h"

#define BLOCK_BYTES ((size_t)1 << 20)
#define AUTO_LEVEL 1
#define INDEX_LEVEL 1
#define TRIAL_FRAMES 4
#define TRIAL_BYTES ((size_t)256 << 10)

/* Whether compression is worth it: it must save a 16th, since less does not pay for the cost of
 * reading. */
static bool is_worth_it(size_t packed, size_t plain)
{
    return packed > 0 && packed < plain - plain / 16;
}

struct frame {
    const void *data; /* the bytes as they are stored */
    size_t stored, plain;
    uint64_t sum; /* the checksum of these bytes, valid if has_sum */
    bool has_sum;
};
struct block {
    struct block *next;
    size_t used, cap;
    char bytes[];
};
struct cw_chunk_writer {
    struct cw_chunk_head head;
    bool packs, tries;
    const struct cw_chunk_packing *packing; /* NULL: nothing is compressed, not even the index */
    struct cw_codec_packer *packer;         /* of frames; NULL: they are not compressed */
    size_t tried, tried_plain, tried_packed;
    struct block *blocks; /* list of blocks, newest first */
    struct frame *frames;
    size_t frames_n, frames_cap;
    struct cw_chunk_record *records;
    size_t records_n, records_cap;
    bool sorted; /* the ids that were added so far ascend */
    /* The fields below are set by finish. */
    struct cw_str head_bytes; /* the head, and zeros up to the first frame */
    size_t head_n;
    void *index, *index_packed;
    unsigned char footer[CW_CHUNK_FOOTER_BYTES];
    struct iovec *parts;
    size_t parts_n;
};

uint64_t cw_chunk_frames_at(const struct cw_chunk_head *head)
{
    CW_STR_AUTO bytes = {0};

    cw_chunk_head_put(head, &bytes);
    return cw_chunk_up(bytes.len);
}

struct cw_chunk_writer *cw_chunk_writer_new_by(const struct cw_chunk_head *head,
                                               const struct cw_chunk_packing *packing, int level)
{
    struct cw_chunk_writer *writer = CW_NEW(struct cw_chunk_writer);

    writer->head = *head;
    writer->sorted = true;
    writer->packing = packing;
    if (packing && level != CW_CHUNK_PLAIN)
        writer->packer = packing->begin(level == CW_CHUNK_AUTO ? AUTO_LEVEL : level);
    writer->packs = writer->packer != NULL;
    writer->tries = writer->packer && level == CW_CHUNK_AUTO;
    return writer;
}

struct cw_chunk_writer *cw_chunk_writer_new_plain(const struct cw_chunk_head *head)
{
    return cw_chunk_writer_new_by(head, NULL, CW_CHUNK_PLAIN);
}

void cw_chunk_writer_free(struct cw_chunk_writer *writer)
{
    if (!writer)
        return;
    while (writer->blocks) {
        struct block *block = writer->blocks;
        writer->blocks = block->next;
        cw_mem_free(block);
    }
    if (writer->packer)
        writer->packing->end(writer->packer);
    cw_mem_free(writer->frames);
    cw_mem_free(writer->records);
    cw_str_fini(&writer->head_bytes);
    cw_mem_free(writer->index);
    cw_mem_free(writer->index_packed);
    cw_mem_free(writer->parts);
    cw_mem_free(writer);
}

/* Returns memory for n more bytes in the newest block; makes a new block if they do not fit. */
static void *block_room(struct cw_chunk_writer *writer, size_t n)
{
    struct block *block = writer->blocks;

    if (!block || block->cap - block->used < n) {
        size_t cap = CW_MAX(n, BLOCK_BYTES);
        block = cw_mem_try(sizeof(*block) + cap);
        if (!block)
            return NULL;
        *block = (struct block){.next = writer->blocks, .cap = cap};
        writer->blocks = block;
    }
    return block->bytes + block->used;
}

/* Stops compressing if the first frames did not shrink by enough. */
static void decide_packing(struct cw_chunk_writer *writer, size_t plain, size_t packed)
{
    writer->tried++;
    writer->tried_plain += plain;
    writer->tried_packed += packed;
    if (writer->tried < TRIAL_FRAMES && writer->tried_plain < TRIAL_BYTES)
        return;
    writer->tries = false;
    writer->packs = writer->tried_packed < writer->tried_plain - writer->tried_plain / 10;
}

/* Compresses the frame; leaves it plain if that saves nothing, or there is no memory. */
static void pack(struct cw_chunk_writer *writer, struct frame *frame)
{
    const struct cw_chunk_packing *packing = writer->packing;
    size_t bound = packing->bound(frame->plain);
    void *dst = block_room(writer, bound);

    if (!dst)
        return;
    size_t packed = packing->pack(writer->packer, dst, bound, frame->data, frame->plain);
    if (is_worth_it(packed, frame->plain)) {
        frame->data = dst;
        frame->stored = packed;
        frame->has_sum = false;
        writer->blocks->used += packed;
    }
    if (writer->tries)
        decide_packing(writer, frame->plain, frame->stored);
}

static int grow(void *array_to_pointer, size_t need, size_t *cap, size_t size, struct cw_err *err)
{
    void *old, *bigger;
    size_t n = CW_MAX(*cap, (size_t)64);

    if (need <= *cap)
        return 0;
    while (n < need)
        n *= 2;
    memcpy(&old, array_to_pointer, sizeof(old));
    bigger = cw_mem_try(n * size);
    if (!bigger)
        return cw_err_set(err, CW_E_NOMEM, "chunk: no memory for an index of %zu", n);
    if (*cap)
        memcpy(bigger, old, *cap * size);
    cw_mem_free(old);
    memcpy(array_to_pointer, &bigger, sizeof(bigger));
    *cap = n;
    return 0;
}

static int add_record(struct cw_chunk_writer *writer, struct cw_chunk_record record, bool has_frame,
                      size_t n, struct cw_err *err)
{
    bool left_out = record.bytes == CW_CHUNK_LEFT_OUT;

    if (!left_out && (!has_frame || record.offset > n || record.bytes > n - record.offset))
        return cw_err_set(err, CW_E_INVALID, "chunk: record %" PRIu64 ": is not inside its frame",
                          record.id);
    record.frame = left_out ? 0 : (uint32_t)writer->frames_n;
    record.offset = left_out ? 0 : record.offset;
    record.unused = 0;
    if (writer->records_n > 0 && record.id <= writer->records[writer->records_n - 1].id)
        writer->sorted = false;
    writer->records[writer->records_n++] = record;
    return 0;
}

int cw_chunk_writer_add(struct cw_chunk_writer *writer, const void *data, size_t n,
                        const uint64_t *sum, const struct cw_chunk_record *records,
                        size_t records_n, struct cw_err *err)
{
    struct frame frame = {
        .data = data, .stored = n, .plain = n, .sum = sum ? *sum : 0, .has_sum = sum != NULL};
    size_t before = writer->records_n;
    bool has_frame = n > 0;

    if (records_n > CW_CHUNK_RECORDS_MAX - before)
        return cw_err_set(err, CW_E_LIMIT, "chunk: more than %u records", CW_CHUNK_RECORDS_MAX);
    if (n > CW_CHUNK_FRAME_MAX)
        return cw_err_set(err, CW_E_LIMIT, "chunk: a frame of %zu bytes", n);
    int rc =
        grow(&writer->records, before + records_n, &writer->records_cap, sizeof(*records), err);
    if (rc == 0)
        rc = grow(&writer->frames, writer->frames_n + 1, &writer->frames_cap, sizeof(frame), err);
    for (size_t i = 0; i < records_n; i++)
        /* a record without bytes belongs to an empty frame */
        has_frame = has_frame || records[i].bytes != CW_CHUNK_LEFT_OUT;
    if (rc == 0 && n > 0 && records_n == 0)
        rc = cw_err_set(err, CW_E_INVALID, "chunk: a frame without records");
    for (size_t i = 0; i < records_n && rc == 0; i++)
        rc = add_record(writer, records[i], has_frame, n, err);
    if (rc < 0) {
        writer->records_n = before;
        return rc;
    }
    if (writer->packs && n > 0)
        pack(writer, &frame);
    if (has_frame)
        writer->frames[writer->frames_n++] = frame;
    return 0;
}

bool cw_chunk_writer_packs(const struct cw_chunk_writer *writer)
{
    return writer->packs;
}

/* ---- finish ---- */

/* Sorts the records by id, byte by byte (radix sort): a shuffled epoch has millions of records. */
static int sort_records(struct cw_chunk_writer *writer, struct cw_err *err)
{
    size_t n = writer->records_n;
    struct cw_chunk_record *from = writer->records,
                           *to = cw_mem_try(writer->records_cap * sizeof(*to));

    if (!to)
        return cw_err_set(err, CW_E_NOMEM, "chunk: no memory to sort %zu records", n);
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t ends[257] = {0};
        for (size_t i = 0; i < n; i++)
            ends[(from[i].id >> shift & 255) + 1]++;
        if (ends[(from[0].id >> shift & 255) + 1] == n)
            continue; /* all ids have the same value in this byte */
        for (size_t k = 1; k < 257; k++)
            ends[k] += ends[k - 1];
        for (size_t i = 0; i < n; i++)
            to[ends[from[i].id >> shift & 255]++] = from[i];
        struct cw_chunk_record *swap = from;
        from = to;
        to = swap;
    }
    writer->records = from;
    cw_mem_free(to);
    return 0;
}

static int order_records(struct cw_chunk_writer *writer, struct cw_err *err)
{
    if (writer->records_n == 0)
        return cw_err_set(err, CW_E_INVALID, "chunk: no records");
    int rc = writer->sorted ? 0 : sort_records(writer, err);
    for (size_t i = 1; rc == 0 && i < writer->records_n; i++)
        if (writer->records[i].id == writer->records[i - 1].id)
            rc = cw_err_set(err, CW_E_INVALID, "chunk: record %" PRIu64 " is there twice",
                            writer->records[i].id);
    return rc;
}

static unsigned char *put_u32(unsigned char *p, uint32_t v)
{
    v = htole32(v);
    memcpy(p, &v, sizeof(v));
    return p + sizeof(v);
}

static unsigned char *put_u64(unsigned char *p, uint64_t v)
{
    v = htole64(v);
    memcpy(p, &v, sizeof(v));
    return p + sizeof(v);
}

/* Writes the records as columns of differences. Neighbours are alike, so the columns compress to
 * almost nothing. */
static unsigned char *put_records(unsigned char *p, const struct cw_chunk_record *records, size_t n)
{
    const struct cw_chunk_record none = {0};

    for (size_t i = 0; i < n; i++)
        p = put_u64(p, records[i].id - (i ? records[i - 1].id : 0));
    for (size_t i = 0; i < n; i++)
        p = put_u32(p, records[i].frame - (i ? records[i - 1] : none).frame);
    for (size_t i = 0; i < n; i++)
        p = put_u32(p, records[i].offset - (i ? records[i - 1] : none).offset);
    for (size_t i = 0; i < n; i++)
        p = put_u32(p, records[i].bytes - (i ? records[i - 1] : none).bytes);
    return p;
}

struct index {
    const void *data;
    size_t stored, plain;
    uint64_t offset; /* offset in the file */
};

static void put_frames(struct cw_chunk_writer *writer, unsigned char *p, struct index *index)
{
    uint64_t at = writer->head_bytes.len;

    for (size_t i = 0; i < writer->frames_n; i++) {
        const struct frame *frame = &writer->frames[i];
        p = put_u64(p, at);
        p = put_u32(p, (uint32_t)frame->stored);
        p = put_u32(p, (uint32_t)frame->plain);
        p = put_u64(p, frame->has_sum ? frame->sum : cw_hash_u64(frame->data, frame->stored));
        at = cw_chunk_up(at + frame->stored);
    }
    index->offset = at;
}

static void put_head(struct cw_chunk_writer *writer)
{
    cw_chunk_head_put(&writer->head, &writer->head_bytes);
    writer->head_n = writer->head_bytes.len;
    while (writer->head_bytes.len % CW_CHUNK_ALIGN)
        cw_str_add_char(&writer->head_bytes, '\0');
}

/* Compresses the n bytes of the index. Returns how many bytes that gave; 0: it was not done. */
static size_t pack_index(struct cw_chunk_writer *writer, size_t n)
{
    const struct cw_chunk_packing *packing = writer->packing;
    struct cw_codec_packer *packer = packing ? packing->begin(INDEX_LEVEL) : NULL;
    size_t bound = packer ? packing->bound(n) : 0, packed = 0;

    writer->index_packed = packer ? cw_mem_try(bound) : NULL;
    if (writer->index_packed)
        packed = packing->pack(packer, writer->index_packed, bound, writer->index, n);
    if (packer)
        packing->end(packer);
    return packed;
}

static int build_index(struct cw_chunk_writer *writer, struct index *index, struct cw_err *err)
{
    size_t head_n = writer->head_n, frames_n = writer->frames_n * CW_CHUNK_FRAME_ENTRY_BYTES;
    size_t n = head_n + 8 + frames_n + writer->records_n * CW_CHUNK_RECORD_ENTRY_BYTES;
    unsigned char *p = writer->index = cw_mem_try(n);

    if (!p)
        return cw_err_set(err, CW_E_NOMEM, "chunk: no memory for an index of %zu bytes", n);
    memcpy(p, writer->head_bytes.s, head_n);
    p = put_u32(p + head_n, (uint32_t)writer->frames_n);
    p = put_u32(p, (uint32_t)writer->records_n);
    put_frames(writer, p, index);
    put_records(p + frames_n, writer->records, writer->records_n);
    index->data = writer->index;
    index->stored = index->plain = n;
    const size_t packed = pack_index(writer, n);
    if (is_worth_it(packed, n)) {
        index->data = writer->index_packed;
        index->stored = packed;
    }
    return 0;
}

static void build_footer(struct cw_chunk_writer *writer, const struct index *index)
{
    unsigned char *p = writer->footer;

    p = put_u64(p, index->offset);
    p = put_u32(p, (uint32_t)index->stored);
    p = put_u32(p, (uint32_t)index->plain);
    p = put_u64(p, cw_hash_u64(index->data, index->stored));
    p = put_u64(p, index->offset + index->stored + CW_CHUNK_FOOTER_BYTES);
    p = put_u64(p, writer->head.key.hi);
    p = put_u64(p, writer->head.key.lo);
    p = put_u64(p, cw_hash_u64(writer->footer, 48));
    memcpy(p, cw_chunk_end_magic, sizeof(cw_chunk_end_magic));
}

static void add_part(struct cw_chunk_writer *writer, const void *p, size_t n, bool pads)
{
    static const char zeros[CW_CHUNK_ALIGN];
    size_t pad = (size_t)(cw_chunk_up(n) - n);

    if (n > 0)
        writer->parts[writer->parts_n++] = (struct iovec){(void *)(uintptr_t)p, n};
    if (pads && pad > 0)
        writer->parts[writer->parts_n++] = (struct iovec){(void *)(uintptr_t)zeros, pad};
}

static int build_parts(struct cw_chunk_writer *writer, const struct index *index,
                       struct cw_err *err)
{
    writer->parts = cw_mem_try((2 * writer->frames_n + 4) * sizeof(*writer->parts));
    if (!writer->parts)
        return cw_err_set(err, CW_E_NOMEM, "chunk: no memory for a list of %zu frames",
                          writer->frames_n);
    add_part(writer, writer->head_bytes.s, writer->head_bytes.len, false);
    for (size_t i = 0; i < writer->frames_n; i++)
        add_part(writer, writer->frames[i].data, writer->frames[i].stored, true);
    add_part(writer, index->data, index->stored, false);
    add_part(writer, writer->footer, sizeof(writer->footer), false);
    return 0;
}

int cw_chunk_writer_finish(struct cw_chunk_writer *writer, const struct iovec **ret_parts,
                           size_t *ret_parts_n, uint64_t *ret_bytes, struct cw_str *ret_name,
                           struct cw_err *err)
{
    struct index index = {0};
    char key[CW_HASH_TEXT_BYTES];
    int rc = order_records(writer, err);

    if (rc == 0) {
        put_head(writer);
        rc = build_index(writer, &index, err);
    }
    if (rc < 0)
        return rc;
    build_footer(writer, &index);
    rc = build_parts(writer, &index, err);
    if (rc < 0)
        return rc;
    cw_hash_text(writer->head.key, key);
    cw_str_addf(ret_name, "%s/%" PRIu64 "-%zu-%016" PRIx64 ".chunk", key, writer->records[0].id,
                writer->records_n, cw_chunk_ids_sum(writer->records, writer->records_n));
    *ret_parts = writer->parts;
    *ret_parts_n = writer->parts_n;
    *ret_bytes = index.offset + index.stored + CW_CHUNK_FOOTER_BYTES;
    return 0;
}
