/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with batches. protobuf-c packs the entries of a DataMessage's head, one by one. Behind
 * them the payload's tag and length are written by hand, and the batches' buffers follow unchanged,
 * so that the bytes are a valid protobuf message. Outputs that were packed while they waited are
 * copied into a few pieces: for gRPC, a message of hundreds of small outputs has two or three
 * pieces. */
#include <string.h>

#include "base/mem.h"
#include "rpc/pb.h"
#include "wire/wire_int.h"

typedef Cachew__V1__Output output_pb;
typedef Cachew__V1__TensorHeader tensor_pb;

#define OUTPUTS_FIELD 2
#define FIRST_BYTES 256
#define PIECE_BYTES ((size_t)64 << 10)

/* A buffer that bytes are appended to. */
struct piece {
    uint8_t *v;
    size_t n, cap;
};
struct cw_wire_outbox {
    struct piece head, small; /* small: payloads that are not in bufs yet */
    struct cw_buf **bufs;     /* the buffers of the payload in order; bufs[0] is for the head */
    size_t bufs_n, bufs_cap;
    uint64_t payload;
};

/* ---- one output ---- */

/* the message of one output: on the stack, unless it has many tensors */
#define FEW_TENSORS 16
struct entry {
    output_pb output;
    tensor_pb few[FEW_TENSORS];
    tensor_pb *few_list[FEW_TENSORS];
    tensor_pb *many; /* NULL: there are few */
};

/* Fills the message of one output; entry_fini frees what it makes. protobuf-c's pointers are not const,
 * but packing only reads. */
static void entry_init(struct entry *entry, const struct cw_batch *batch, uint64_t slot)
{
    output_pb *output = &entry->output;
    cachew__v1__output__init(output);
    output->epoch = batch->epoch;
    output->item = batch->item;
    output->elements = batch->elements;
    output->skipped = batch->skipped;
    output->payload_bytes = batch->buf ? batch->buf->len : 0;
    output->slot = slot;
    output->n_bad = cw_bad_list_n(batch->bad);
    output->bad = output->n_bad > 0 ? cw_wire_bad_to(batch->bad) : NULL;
    output->n_tensors = batch->n;
    output->tensors = entry->few_list;
    entry->many = NULL;
    if (batch->n > FEW_TENSORS) {
        entry->many = CW_NEW_ARRAY(tensor_pb, batch->n);
        output->tensors = CW_NEW_ARRAY(tensor_pb *, batch->n);
    }
    for (size_t i = 0; i < batch->n; i++) {
        const struct cw_tensor *tensor = &batch->tensors[i];
        tensor_pb *message = output->tensors[i] = entry->many ? &entry->many[i] : &entry->few[i];
        cachew__v1__tensor_header__init(message);
        message->name = (char *)(uintptr_t)tensor->field.name;
        message->dtype = tensor->field.dtype;
        message->n_dims = (size_t)tensor->field.rank;
        message->dims = (int64_t *)(uintptr_t)tensor->field.dims;
        message->offset = tensor->offset;
        message->bytes = tensor->bytes;
    }
}

static void entry_fini(struct entry *entry)
{
    cw_mem_free(entry->output.bad);
    if (entry->many)
        cw_mem_free(entry->output.tensors);
    cw_mem_free(entry->many);
}

struct cw_wire_size cw_wire_output_size(const struct cw_batch *batch)
{
    struct entry entry;
    entry_init(&entry, batch, 0);
    CW_ASSERT(entry.output.payload_bytes <= UINT32_MAX);
    struct cw_wire_size size = {(uint32_t)cachew__v1__output__get_packed_size(&entry.output),
                                (uint32_t)entry.output.payload_bytes};
    entry_fini(&entry);
    return size;
}

void cw_wire_output_pack(const struct cw_batch *batch, struct cw_wire_size size, uint8_t *dst)
{
    struct entry entry;
    entry_init(&entry, batch, 0);
    cachew__v1__output__pack(&entry.output, dst);
    entry_fini(&entry);
    if (size.payload > 0)
        memcpy(dst + size.head, batch->buf->data, size.payload);
}

/* ---- the message ---- */

/* Makes room for n more bytes at the end of a piece. */
static uint8_t *piece_room(struct piece *piece, size_t n)
{
    if (n > piece->cap - piece->n) {
        piece->cap = CW_MAX(CW_MAX(2 * piece->cap, piece->n + n), (size_t)FIRST_BYTES);
        piece->v = cw_mem_grow(piece->v, piece->cap, 1);
    }
    return piece->v + piece->n;
}

static void release_piece(void *arg, struct cw_buf *buf)
{
    (void)arg;
    cw_mem_free(buf->data);
}

/* Makes a buffer of a piece, and leaves the piece empty. Memory that is not used is freed, since
 * the buffer may wait for long. */
static struct cw_buf *piece_to_buf(struct piece *piece)
{
    uint8_t *v = piece->n > 0 ? cw_mem_grow(piece->v, piece->n, 1) : piece->v;
    struct cw_buf *buf = cw_buf_wrap(v, piece->n, release_piece, NULL);
    *piece = (struct piece){0};
    return buf;
}

static void add_buf(struct cw_wire_outbox *box, struct cw_buf *buf)
{
    CW_GROW(box->bufs, box->bufs_n, box->bufs_cap);
    box->bufs[box->bufs_n++] = buf;
}

static void close_small(struct cw_wire_outbox *box)
{
    if (box->small.n > 0)
        add_buf(box, piece_to_buf(&box->small));
}

struct cw_wire_outbox *cw_wire_outbox_new(void)
{
    struct cw_wire_outbox *box = CW_NEW(struct cw_wire_outbox);
    add_buf(box, NULL);
    return box;
}

/* Writes the tag and length of an entry of n bytes, and makes room for the entry. */
static uint8_t *begin_entry(struct cw_wire_outbox *box, size_t n)
{
    uint8_t *at = piece_room(&box->head, n + CW_PB_HEAD_MAX);
    at += cw_pb_put_varint(at, OUTPUTS_FIELD << 3 | CW_PB_BYTES);
    at += cw_pb_put_varint(at, n);
    box->head.n = (size_t)(at - box->head.v) + n;
    return at;
}

void cw_wire_outbox_add(struct cw_wire_outbox *box, const struct cw_batch *batch, uint64_t slot)
{
    struct entry entry;
    entry_init(&entry, batch, slot);
    cachew__v1__output__pack(&entry.output,
                             begin_entry(box, cachew__v1__output__get_packed_size(&entry.output)));
    entry_fini(&entry);
    if (slot || !batch->buf || batch->buf->len == 0)
        return;
    close_small(box);
    add_buf(box, cw_buf_ref(batch->buf));
    box->payload += batch->buf->len;
}

void cw_wire_outbox_add_packed(struct cw_wire_outbox *box, struct cw_wire_size size,
                               const uint8_t *packed)
{
    memcpy(begin_entry(box, size.head), packed, size.head);
    if (size.payload == 0)
        return;
    if (box->small.n >= PIECE_BYTES)
        close_small(box);
    memcpy(piece_room(&box->small, size.payload), packed + size.head, size.payload);
    box->small.n += size.payload;
    box->payload += size.payload;
}

void cw_wire_outbox_free(struct cw_wire_outbox *box)
{
    for (size_t i = 0; i < box->bufs_n; i++)
        cw_buf_unref(box->bufs[i]);
    cw_mem_free(box->bufs);
    cw_mem_free(box->head.v);
    cw_mem_free(box->small.v);
    cw_mem_free(box);
}

void cw_wire_outbox_send(struct cw_wire_outbox *box, struct cw_stream *stream)
{
    close_small(box);
    if (box->payload > 0) {
        uint8_t *at = piece_room(&box->head, CW_PB_HEAD_MAX);
        at += cw_pb_put_varint(at, CW_WIRE_PAYLOAD_FIELD << 3 | CW_PB_BYTES);
        at += cw_pb_put_varint(at, box->payload);
        box->head.n = (size_t)(at - box->head.v);
    }
    box->bufs[0] = piece_to_buf(&box->head);
    cw_stream_send(stream, box->bufs, box->bufs_n);
    cw_wire_outbox_free(box);
}

const void *cw_wire_outbox_message(const struct cw_wire_outbox *box, size_t *ret_n)
{
    *ret_n = box->head.n;
    return box->payload == 0 ? box->head.v : NULL;
}

void cw_wire_send_outputs(struct cw_stream *stream, struct cw_batch *const *batches,
                          const uint64_t *slots, size_t n)
{
    struct cw_wire_outbox *box = cw_wire_outbox_new();
    for (size_t i = 0; i < n; i++)
        cw_wire_outbox_add(box, batches[i], slots ? slots[i] : 0);
    cw_wire_outbox_send(box, stream);
}
