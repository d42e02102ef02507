/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with large fields that exist packed already: they are sent from their buffers, not
 * copied. */
#include <string.h>

#include "base/mem.h"
#include "wire/wire.h"

#define TAG_LEN 2 /* the wire type of a field with a length */
#define FRAME_MAX 16

static size_t put_varint(uint8_t *p, uint64_t v)
{
    size_t n = 0;
    for (; v > 127; v >>= 7)
        p[n++] = (uint8_t)(v | 128);
    p[n++] = (uint8_t)v;
    return n;
}

/* Writes what stands before the value of a field: its number and its length. */
static size_t put_frame(uint8_t p[FRAME_MAX], uint32_t field, size_t len)
{
    size_t n = put_varint(p, (uint64_t)field << 3 | TAG_LEN);
    return n + put_varint(p + n, len);
}

static size_t put_part(uint8_t frame[FRAME_MAX], const ProtobufCMessageDescriptor *type,
                       const struct cw_wire_part *part)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(type, part->field);
    CW_ASSERT(field);
    return put_frame(frame, field->id, part->buf->len);
}

static size_t inner_len(const ProtobufCMessage *inner, const struct cw_wire_part *parts, size_t n)
{
    uint8_t frame[FRAME_MAX];
    size_t len = protobuf_c_message_get_packed_size(inner);
    for (size_t i = 0; i < n; i++)
        if (parts[i].buf)
            len += put_part(frame, inner->descriptor, &parts[i]) + parts[i].buf->len;
    return len;
}

static struct cw_buf *make_head(const ProtobufCMessage *outer, uint32_t field,
                                const ProtobufCMessage *inner, size_t len)
{
    uint8_t frame[FRAME_MAX];
    size_t outer_n = outer ? protobuf_c_message_get_packed_size(outer) : 0;
    size_t frame_n = outer ? put_frame(frame, field, len) : 0;
    struct cw_buf *head = cw_buf_new(outer_n + frame_n + protobuf_c_message_get_packed_size(inner));
    CW_ASSERT(head);
    uint8_t *p = head->data;
    if (outer) {
        protobuf_c_message_pack(outer, p);
        memcpy(p + outer_n, frame, frame_n);
    }
    protobuf_c_message_pack(inner, p + outer_n + frame_n);
    return head;
}

size_t cw_wire_pack_parts(const ProtobufCMessage *outer, uint32_t field,
                          const ProtobufCMessage *inner, const struct cw_wire_part *parts, size_t n,
                          struct cw_buf **ret_bufs)
{
    CW_ASSERT(n <= CW_WIRE_PARTS_MAX);
    size_t bufs_n = 0;
    ret_bufs[bufs_n++] = make_head(outer, field, inner, inner_len(inner, parts, n));
    for (size_t i = 0; i < n; i++) {
        if (!parts[i].buf)
            continue;
        uint8_t frame[FRAME_MAX];
        ret_bufs[bufs_n] = cw_buf_copy(frame, put_part(frame, inner->descriptor, &parts[i]));
        CW_ASSERT(ret_bufs[bufs_n]);
        bufs_n++;
        ret_bufs[bufs_n++] = cw_buf_ref(parts[i].buf);
    }
    return bufs_n;
}

void cw_wire_send_parts(struct cw_stream *stream, const ProtobufCMessage *outer, uint32_t field,
                        const ProtobufCMessage *inner, const struct cw_wire_part *parts, size_t n)
{
    struct cw_buf *bufs[CW_WIRE_PART_BUFS_MAX];
    size_t bufs_n = cw_wire_pack_parts(outer, field, inner, parts, n, bufs);
    cw_stream_send(stream, bufs, bufs_n);
    for (size_t i = 0; i < bufs_n; i++)
        cw_buf_unref(bufs[i]);
}
